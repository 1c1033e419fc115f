"""Content made at read time: listed as dynamic, made within bounds, and never other than it was listed."""

import asyncio
import threading
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import LiveSkill, Skill, SkillRequest, Skills, SkillServer
from skillwire.authoring.live import Resolver
from skillwire.authoring.resolve import MAX_THREADS
from skillwire.errors import ConflictError, InvalidValueError
from skillwire.frontmatter.document import read_document
from skillwire.frontmatter.writer import write_frontmatter
from skillwire.host.dialects.client import ask
from tests.support.clients import ERAS

pytestmark = pytest.mark.anyio


def server_of(*skills: LiveSkill | Skill) -> SkillServer:
    return SkillServer("live").add(*skills)


def live(function: Any, path: str = "reports/daily", **more: Any) -> LiveSkill:
    return LiveSkill(path, function, description="Reports of the day.", **more)


def says(made: Any) -> Resolver:
    """Return a function that always makes the same."""

    def function(_request: SkillRequest) -> Any:
        return made

    return function


async def read(client: Client, uri: str = "skill://reports/daily/SKILL.md") -> str:
    (block,) = (await client.read_resource(uri)).contents
    return getattr(block, "text", "")


@pytest.mark.rule("S9")
@pytest.mark.parametrize("mode", ERAS)
async def test_content_made_at_read_time_is_listed_as_dynamic(mode: Any) -> None:
    server = SkillServer("live")
    numbers = iter(range(100))

    @server.skill("reports/daily", description="Reports of the day.")
    async def daily(request: SkillRequest) -> str:
        assert request == SkillRequest("skill://reports/daily/SKILL.md")
        return f"# Report {next(numbers)}\n"

    async with Client(server.build(), mode=mode) as client:
        (entry,) = (await ask(client, "skills/list"))["skills"]
        assert entry == {
            "uri": "skill://reports/daily/SKILL.md",
            "frontmatter": {"name": "daily", "description": "Reports of the day."},
            "resources": "dynamic",
        }
        got = await ask(client, "skills/get", uri=entry["uri"])
        assert got["skill"] == entry
        assert await read(client) == (
            "---\nname: daily\ndescription: Reports of the day.\n---\n\n# Report 0\n"
        )
        assert (await read(client)).endswith("# Report 1\n")
    assert daily.__name__ == "daily"  # the decorator gives back what it was given


async def test_the_docstring_is_the_description_unless_there_is_one() -> None:
    server = SkillServer("live")

    @server.skill("reports/daily")
    def daily(request: SkillRequest) -> str:
        """Reports of
        the day.

        More.
        """
        return request.uri

    (skill,) = server.skills
    assert isinstance(skill, LiveSkill)
    assert skill.description == "Reports of the day."
    with pytest.raises(InvalidValueError, match="has no description"):
        server.skill("reports/weekly")(says("x"))


async def test_text_with_its_own_frontmatter_is_served_as_it_is_if_it_says_the_same() -> None:
    text = "---\r\ndescription: 'Reports of the day.'\r\nname: daily\r\n---\r\n# Body"
    async with Client(server_of(live(says(text))).build()) as client:
        assert await read(client) == text


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("---\nname: other\ndescription: Reports of the day.\n---\n", "has another name than the listing"),
        ("---\nname: daily\ndescription: x\n---\n", "has another description than the listing"),
        ("---\nname: daily\n", "cannot be read: the frontmatter that starts on line 1 never ends"),
        (None, "returned NoneType, and no text"),
        (7, "returned int, and no text"),
        ("\ud800", "holds half a character"),
        (b"x" * (16 * 1024 * 1024 + 1), "the limit is 16,777,216"),
    ],
)
@pytest.mark.parametrize("mode", ERAS)
async def test_what_is_not_as_listed_is_never_served(mode: Any, made: Any, told: str) -> None:
    async with Client(server_of(live(says(made))).build(), mode=mode) as client:
        with pytest.raises(MCPError, match=told) as refused:
            await read(client)
        assert refused.value.code == -32603


@pytest.mark.parametrize("mode", ERAS)
async def test_a_failing_function_is_a_clean_error_and_holds_up_no_other(mode: Any) -> None:
    async def fails(_request: SkillRequest) -> str:
        raise ValueError("the password is hunter2")

    good = LiveSkill("good", says("fine"), description="Good.")
    async with Client(server_of(live(fails), good).build(), mode=mode) as client:
        with pytest.raises(MCPError, match=r"the function that makes .* failed") as refused:
            await read(client)
        assert refused.value.code == -32603
        assert "hunter2" not in str(refused.value.error)
        assert "Traceback" not in str(refused.value.error)
        assert (await read(client, "skill://good/SKILL.md")).endswith("fine")


async def test_functions_of_both_kinds_wait_for_each_other_only_if_they_want_to() -> None:
    both = threading.Barrier(2)
    met = anyio.Event()
    waiting = 0

    def in_a_thread(_request: SkillRequest) -> str:
        both.wait(timeout=20)  # passes only if the other one runs meanwhile
        return "thread"

    async def in_the_loop(_request: SkillRequest) -> str:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            met.set()
        await met.wait()
        return "loop"

    server = server_of(
        live(in_a_thread, "a"), live(in_a_thread, "b"), live(in_the_loop, "c"), live(in_the_loop, "d")
    )
    async with Client(server.build()) as client:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for name in "abcd":
                    tasks.start_soon(read, client, f"skill://{name}/SKILL.md")


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_slow_function_is_bounded(*, blocking: bool) -> None:
    released = threading.Event()

    async def waits(_request: SkillRequest) -> str:
        await anyio.sleep_forever()
        return ""

    def blocks(_request: SkillRequest) -> str:
        released.wait(20)
        return ""

    slow = live(blocks if blocking else waits, timeout=0.05)
    async with Client(server_of(slow).build()) as client:
        with pytest.raises(MCPError, match=r"was not made within 0\.05 s") as refused:
            await read(client)
        assert refused.value.code == -32603
    released.set()


async def test_what_a_live_skill_cannot_be_is_refused_where_it_is_written() -> None:
    for path, told in [
        ("", "is empty"),
        ("Reports", "is not lowercase letters"),
        ("a/../b", "has the segment `..`"),
        ("docs/{Product}", "as a whole segment"),
        ("docs/x{product}", "as a whole segment"),
        ("{a}/{a}/b", "has a parameter twice"),
    ]:
        with pytest.raises(InvalidValueError, match=told):
            live(says("x"), path)
    with pytest.raises(InvalidValueError, match="is not in the path"):
        live(says("x"), values={"product": ["x"]})
    with pytest.raises(InvalidValueError, match="is no further field"):
        live(says("x"), frontmatter={"name": "y"})
    with pytest.raises(InvalidValueError, match="cannot be"):
        LiveSkill("x", says("x"), description="")
    with pytest.raises(InvalidValueError, match="is no YAML"):
        live(says("x"), frontmatter={"metadata": {"x": float("nan")}})
    with pytest.raises(InvalidValueError, match="never has the same text"):
        Skills().add(live(says("x")), prompt="daily")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"frontmatter": {"x": date(2026, 1, 1)}}, "holds a `date`, which is no JSON value"),
        ({"frontmatter": {"x": [{"y": (1, 2)}]}}, "holds a `tuple`, which is no JSON value"),
        ({"frontmatter": {1: "x"}}, "in the frontmatter is no text"),
        ({"frontmatter": {"x": {1: "x"}}}, "in the frontmatter is no text"),
        ({"timeout": -1}, "is no number of seconds above zero"),
        ({"timeout": 0}, "is no number of seconds above zero"),
        ({"timeout": float("nan")}, "is no number of seconds above zero"),
        ({"timeout": "5"}, "is no number of seconds above zero"),
        ({"function": None}, "which is no function"),
        ({"values": {"p": "anvil"}}, "is no list of texts"),
        ({"values": {"p": {"anvil"}}}, "is no list of texts"),
        ({"values": {"p": [7]}}, "of `p` is not a text"),
        ({"values": {"p": ["{p}"]}}, "without braces"),
        ({"values": {"p": ["a/b"]}}, "can be one segment"),
        ({"path": "docs/{p}", "values": {"p": ["Not A Name"]}}, "is the name of a skill"),
    ],
)
async def test_what_a_live_skill_is_given_is_checked_where_it_is_written(
    more: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidValueError, match=told):
        live(**dict[str, Any](function=says("x"), path="docs/{p}/guide") | more)


async def test_nothing_stands_below_content_that_is_made_when_it_is_read() -> None:
    fixed = Skill("inner", "---\nname: inner\ndescription: x\n---\n").with_path("reports/daily/inner")
    with pytest.raises(ConflictError, match=r"stands below `skill://reports/daily/SKILL\.md`"):
        server_of(live(says("x")), fixed).build()
    outer = Skill("reports", "---\nname: reports\ndescription: x\n---\n")
    with pytest.raises(ConflictError, match=r"stands below `skill://reports/SKILL\.md`"):
        server_of(outer, live(says("x"))).build()


async def test_skills_of_every_kind_keep_the_order_in_which_they_came(tmp_path: Path) -> None:
    server = SkillServer("live")
    server.add(Skill("z", "---\nname: z\ndescription: x\n---\n"))
    server.skill("m", description="x")(says("x"))
    server.add(Skill("a", "---\nname: a\ndescription: x\n---\n"))
    listed = await server.list_resources()
    assert [each["name"] for each in listed][:3] == ["z", "m", "a"]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc: ,{}\"'", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12), json_values, min_size=1
    )
)
def test_a_frontmatter_that_is_written_reads_as_the_same_fields(fields: dict[str, Any]) -> None:
    assert read_document(write_frontmatter(fields).encode(), "SKILL.md", None).frontmatter == fields


@pytest.mark.parametrize("kind", [asyncio.CancelledError, SystemExit, TimeoutError])
@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("mode", ERAS)
async def test_whatever_a_function_raises_the_connection_stays(
    mode: Any, kind: type[BaseException], *, blocking: bool
) -> None:
    async def raises(_request: SkillRequest) -> str:
        raise kind

    def raises_in_a_thread(_request: SkillRequest) -> str:
        raise kind

    good = LiveSkill("good", says("fine"), description="Good.")
    server = server_of(live(raises_in_a_thread if blocking else raises), good)
    async with Client(server.build(), mode=mode) as client:
        with pytest.raises(MCPError, match=r"the function that makes .* failed") as refused:
            await read(client)
        assert refused.value.code == -32603
        assert (await read(client, "skill://good/SKILL.md")).endswith("fine")


async def test_more_slow_functions_than_there_are_threads_hold_up_nobody_else() -> None:
    released = threading.Event()
    started = threading.Semaphore(0)

    def blocks(_request: SkillRequest) -> str:
        started.release()
        released.wait(60)
        return "late"

    async def quick(_request: SkillRequest) -> str:
        return "quick"

    fixed = Skill("fixed", "---\nname: fixed\ndescription: x\n---\n")
    server = server_of(live(blocks, timeout=60), live(quick, "quick"), fixed)
    texts: list[str] = []

    async def read_late(client: Client) -> None:
        texts.append(await read(client))

    async with Client(server.build()) as client, anyio.create_task_group() as tasks:
        for _ in range(MAX_THREADS + 10):
            tasks.start_soon(read_late, client)
        for _ in range(MAX_THREADS):
            while not started.acquire(blocking=False):
                await anyio.lowlevel.checkpoint()
        with anyio.fail_after(20):
            assert (await read(client, "skill://quick/SKILL.md")).endswith("quick")
            assert (await read(client, "skill://fixed/SKILL.md")).startswith("---")
        released.set()
    assert len(texts) == MAX_THREADS + 10


def test_a_server_can_run_in_one_loop_after_another() -> None:
    server = server_of(live(says("x"))).build()

    async def use() -> str:
        async with Client(server) as client:
            return await read(client)

    assert anyio.run(use) == anyio.run(use)


async def test_a_function_that_needs_no_request_takes_none() -> None:
    server = SkillServer("live")

    @server.skill("one", description="One.")
    async def one() -> str:
        return "first"

    @server.skill("two", description="Two.")
    def two() -> str:
        return "second"

    assert callable(one)
    assert callable(two)
    async with Client(server.build()) as client:
        assert (await read(client, "skill://one/SKILL.md")).endswith("first")
        assert (await read(client, "skill://two/SKILL.md")).endswith("second")
    with pytest.raises(InvalidValueError, match="wants other arguments"):
        live(lambda a, b: "x")  # pyright: ignore[reportUnknownLambdaType] - that is the point

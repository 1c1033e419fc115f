"""Live skills: listed as dynamic, made within limits, and never different from the listing."""

import asyncio
import threading
from datetime import date
from pathlib import Path
from typing import Any, cast

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
from skillwire.errors import ConflictError, InvalidValueError, NotFoundError
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
    """Return a resolver that always returns `made`."""

    def function(_request: SkillRequest) -> Any:
        return made

    return function


async def read(client: Client, uri: str = "skill://reports/daily/SKILL.md") -> str:
    (block,) = (await client.read_resource(uri)).contents
    return getattr(block, "text", "")


@pytest.mark.rule("S9")
@pytest.mark.parametrize("mode", ERAS)
async def test_live_skill_is_listed_as_dynamic(mode: Any) -> None:
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


async def test_docstring_is_the_default_description() -> None:
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


async def test_text_with_matching_frontmatter_is_served_unchanged() -> None:
    text = "---\r\ndescription: 'Reports of the day.'\r\nname: daily\r\n---\r\n# Body"
    async with Client(server_of(live(says(text))).build()) as client:
        assert await read(client) == text


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("---\nname: other\ndescription: Reports of the day.\n---\n", ", name is not as listed"),
        ("---\nname: daily\ndescription: x\n---\n", ", description is not as listed"),
        ("---\nname: daily\n", "cannot be read: the frontmatter that starts on line 1 never ends"),
        (None, "returned NoneType instead of text"),
        (7, "returned int instead of text"),
        ("\ud800", "holds half of a surrogate pair"),
        (b"x" * (16 * 1024 * 1024 + 1), "the limit is 16,777,216"),
    ],
)
@pytest.mark.parametrize("mode", ERAS)
async def test_text_that_differs_from_listing_is_never_served(mode: Any, made: Any, told: str) -> None:
    async with Client(server_of(live(says(made))).build(), mode=mode) as client:
        with pytest.raises(MCPError, match=told) as refused:
            await read(client)
        assert refused.value.code == -32603


@pytest.mark.parametrize("mode", ERAS)
async def test_failing_function_is_a_clean_error(mode: Any) -> None:
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


async def test_sync_and_async_functions_run_concurrently() -> None:
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
async def test_slow_function_times_out(*, blocking: bool) -> None:
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


async def test_invalid_live_skill_is_refused_when_created() -> None:
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
    with pytest.raises(InvalidValueError, match="cannot be set in `frontmatter`"):
        live(says("x"), frontmatter={"name": "y"})
    with pytest.raises(InvalidValueError, match="is invalid"):
        LiveSkill("x", says("x"), description="")
    with pytest.raises(InvalidValueError, match="cannot be written as YAML"):
        live(says("x"), frontmatter={"metadata": {"x": float("nan")}})
    with pytest.raises(InvalidValueError, match="cannot be made from a live skill"):
        Skills().add(live(says("x")), prompt="daily")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"frontmatter": {"x": date(2026, 1, 1)}}, "holds a `date`, which is not a JSON value"),
        ({"frontmatter": {"x": [{"y": (1, 2)}]}}, "holds a `tuple`, which is not a JSON value"),
        ({"frontmatter": {1: "x"}}, "in the frontmatter is not a string"),
        ({"frontmatter": {"x": {1: "x"}}}, "in the frontmatter is not a string"),
        ({"timeout": -1}, "is not a positive number of seconds"),
        ({"timeout": 0}, "is not a positive number of seconds"),
        ({"timeout": float("nan")}, "is not a positive number of seconds"),
        ({"timeout": "5"}, "is not a positive number of seconds"),
        ({"function": None}, "which cannot be called"),
        ({"values": {"p": "anvil"}}, "is not a list of strings"),
        ({"values": {"p": {"anvil"}}}, "is not a list of strings"),
        ({"values": {"p": [7]}}, "of `p` is not a text"),
        ({"values": {"p": ["{p}"]}}, "without braces"),
        ({"values": {"p": ["a/b"]}}, "can be one segment"),
        ({"path": "docs/{p}", "values": {"p": ["Not A Name"]}}, "is the name of a skill"),
    ],
)
async def test_arguments_of_live_skill_are_checked_when_created(more: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidValueError, match=told):
        live(**dict[str, Any](function=says("x"), path="docs/{p}/guide") | more)


async def test_live_skills_cannot_be_nested() -> None:
    fixed = Skill("inner", "---\nname: inner\ndescription: x\n---\n").with_path("reports/daily/inner")
    with pytest.raises(ConflictError, match=r"is below `skill://reports/daily/SKILL\.md`"):
        server_of(live(says("x")), fixed).build()
    outer = Skill("reports", "---\nname: reports\ndescription: x\n---\n")
    with pytest.raises(ConflictError, match=r"is below `skill://reports/SKILL\.md`"):
        server_of(outer, live(says("x"))).build()


async def test_skills_of_every_kind_keep_their_order(tmp_path: Path) -> None:
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
def test_written_frontmatter_reads_back_unchanged(fields: dict[str, Any]) -> None:
    assert read_document(write_frontmatter(fields).encode(), "SKILL.md", None).frontmatter == fields


@pytest.mark.parametrize("kind", [asyncio.CancelledError, SystemExit, TimeoutError])
@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("mode", ERAS)
async def test_connection_survives_whatever_a_function_raises(
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


async def test_slow_functions_do_not_block_others_beyond_threads() -> None:
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


def test_server_can_run_in_successive_event_loops() -> None:
    server = server_of(live(says("x"))).build()

    async def use() -> str:
        async with Client(server) as client:
            return await read(client)

    assert anyio.run(use) == anyio.run(use)


async def test_function_may_take_no_arguments() -> None:
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
    with pytest.raises(InvalidValueError, match="requires other arguments"):
        live(lambda a, b: "x")  # pyright: ignore[reportUnknownLambdaType] - that is the point


async def test_function_that_returns_no_text_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(server_of(live(says(cast("Any", None)))).build()) as client:
        for _ in range(2):
            with pytest.raises(MCPError):
                await read(client)
    logged = [each.message for each in caplog.records if each.name == "skillwire.authoring.resolve"]
    assert len(logged) == 1
    assert "returned NoneType, so it cannot be read; return Markdown, or raise" in logged[0]


async def test_function_answers_that_there_is_no_skill(caplog: pytest.LogCaptureFixture) -> None:
    async def missing(_request: SkillRequest) -> str:
        raise NotFoundError("there is no report today")

    async with Client(server_of(live(missing)).build()) as client:
        with pytest.raises(MCPError, match="there is no report today") as refused:
            await read(client)
    assert refused.value.code == -32602
    assert "skillwire.authoring.resolve" not in {each.name for each in caplog.records}

"""Prompts with whole skills: one message whose bytes are those of the files."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp_types import TextContent

from skillwire import FolderSource, Library, ServeOptions, Skill
from skillwire.cli.main import run
from skillwire.cli.serve import serve
from skillwire.config.choice import ConfigFlags
from skillwire.errors import UsageError
from skillwire.host import SkillsClient
from skillwire.host.compare_prompts import PromptReport, compare_prompts
from skillwire.server import PromptScope, skills_server
from skillwire.sources import MemorySkill
from tests.support.clients import ERAS, connected, library_of, skill
from tests.support.listening import listening
from tests.support.peers import skillwire
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

WHOLE = ServeOptions(prompt_scope=PromptScope.WHOLE)
FILES = {
    "assets/logo.png": bytes(range(256)),
    "data.json": b"{}",
    "references/guide.md": b"# Guide\r\n",
    "scripts/run.py": b"print()\n",
}
REFUNDS = skill("acme/refunds", files=FILES)


def limited(tokens: int) -> ServeOptions:
    return ServeOptions(prompt_scope=PromptScope.WHOLE, prompt_tokens=tokens)


def stitched(memory: MemorySkill, *paths: str) -> str:
    """Return the text that the same skill written in code has as its prompt."""
    written = Skill(memory.path.rpartition("/")[2], bytes(memory.files["SKILL.md"]))  # type: ignore[arg-type]
    for path in paths:
        written = written.with_reference(path, "text/plain", memory.files[path])  # type: ignore[arg-type]
    return written.prompt_text()


async def texts(client: Client, prompt: str, arguments: dict[str, str] | None = None) -> list[str]:
    messages = (await client.get_prompt(prompt, arguments)).messages
    contents = [each.content for each in messages]
    return [each.text if isinstance(each, TextContent) else each.resource.text for each in contents]  # type: ignore[union-attr]


async def compared(library: Library, options: ServeOptions) -> list[PromptReport]:
    async with Client(skills_server(library, options=options)) as client:
        return [each async for each in compare_prompts(SkillsClient(client))]


@pytest.mark.parametrize("mode", ERAS)
async def test_prompt_has_the_text_files_as_prompts_in_code_have(mode: Any) -> None:
    expected = stitched(REFUNDS, "data.json", "references/guide.md", "scripts/run.py")
    async with connected(mode, REFUNDS, skill("returns"), options=WHOLE) as client:
        _, refunds, returns = (await client.list_prompts()).prompts
        root = "skill://acme/refunds"
        assert refunds.meta == {
            "dev.skillwire/skill": f"{root}/SKILL.md",
            "dev.skillwire/resources": [
                f"{root}/{path}"
                for path in ("SKILL.md", "data.json", "references/guide.md", "scripts/run.py")
            ],
        }
        assert returns.description == "Does returns."
        for prompt, arguments in (("refunds", None), ("skill", {"name": "refunds"})):
            assert await texts(client, prompt, arguments) == [expected]


@pytest.mark.parametrize("mode", ERAS)
async def test_skill_over_the_budget_is_its_document_and_says_so(mode: Any) -> None:
    large = skill("large", files={"a.md": b"x" * 4000})
    reason = "only the `SKILL.md`: the whole skill has about 1,022 tokens, and the limit is 1,000"
    async with connected(mode, large, skill("small"), options=limited(1000)) as client:
        _, prompt, small = (await client.list_prompts()).prompts
        assert prompt.description == f"Does large. ({reason})"
        assert (prompt.meta, small.description) == (None, "Does small.")
        document, note = await texts(client, "large")
        assert document.encode() == large.files["SKILL.md"]
        assert note == f"This is {reason}. The other files that it names are resources beside it."


async def test_single_large_document_names_no_other_files() -> None:
    large = skill("large", body="x" * 4000)
    reason = "its `SKILL.md` has about 1,017 tokens, and the limit is 1,000"
    async with connected("auto", large, options=limited(1000)) as client:
        _, prompt = (await client.list_prompts()).prompts
        assert (prompt.description, prompt.meta) == (f"Does large. ({reason})", None)
        document, note = await texts(client, "large")
    assert document.encode() == large.files["SKILL.md"]
    assert note == f"The skill has no other files; {reason}."


async def test_size_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "large", {"a.md": "x" * 4000})
    library = Library([FolderSource(tmp_path)])
    await library.load()
    (folder / "a.md").unlink()
    async with Client(skills_server(library, options=limited(1000))) as client:
        document, _ = await texts(client, "large")
    assert document.startswith("---\nname: large\n")


async def test_dynamic_skills_are_their_documents() -> None:
    async def made() -> bytes:
        return b"---\nname: live\ndescription: Is live.\n---\nNow.\n"

    alone = MemorySkill("live", {"SKILL.md": made})
    more = MemorySkill("folder/live", {"SKILL.md": made, "a.md": made})
    async with connected("auto", alone, more, options=WHOLE) as client:
        _, first, second = (await client.list_prompts()).prompts
        assert len(await texts(client, first.name)) == 1
        assert "the sizes of its other files are not known" in (second.description or "")
        assert len(await texts(client, second.name)) == 2


async def test_nested_skills_are_files_of_the_outer_prompt(tmp_path: Path) -> None:
    write_skill(tmp_path, "outer", {"a.md": "a\n"})
    write_skill(tmp_path, "outer/inner", {"b.md": "b\n"})
    library = Library([FolderSource(tmp_path)])
    await library.load()
    async with Client(skills_server(library, options=WHOLE)) as client:
        (outer,) = await texts(client, "outer")
    for path in ("a.md", "inner/SKILL.md", "inner/b.md"):
        assert f"\n--- {path} ---\n" in outer
    reports = await compared(library, WHOLE)
    assert [(each.prompt, each.resources, each.finding) for each in reports] == [
        ("outer", 4, None),
        ("inner", 2, None),
    ]


async def test_file_that_is_no_text_is_left_out() -> None:
    odd = skill("odd", files={"a.md": b"\xff\xfe", "b.md": b"b\n"})
    library = await library_of(odd)
    async with Client(skills_server(library, options=WHOLE)) as client:
        for prompt, arguments in (("odd", None), ("skill", {"name": "odd"})):
            got = await client.get_prompt(prompt, arguments)
            assert [each.content.text for each in got.messages] == [stitched(odd, "b.md")]  # type: ignore[union-attr]
            listed = (await client.list_prompts()).prompts[1].meta or {}
            assert listed["dev.skillwire/resources"] == ["skill://odd/SKILL.md", "skill://odd/b.md"]
            assert (got.meta or {}).items() >= listed.items()


@pytest.mark.parametrize("mode", ERAS)
async def test_changed_skill_is_whole_in_its_new_version(mode: Any, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one", {"a.md": "old\n"})
    library = Library([FolderSource(tmp_path)])
    await library.load()
    async with listening(skills_server(library, options=WHOLE), mode) as (client, heard):
        assert (await texts(client, "one"))[0].endswith("\n--- a.md ---\nold\n")
        (folder / "a.md").write_text("newer\n")
        assert (await texts(client, "one"))[0].endswith("\n--- a.md ---\nnewer\n")
        heard.take()
        (folder / "b.md").write_text("b\n")
        await library.rescan_source(library.sources[0])
        await heard.until("prompts")
        assert (await texts(client, "one"))[0].endswith("\n--- b.md ---\nb\n")


async def test_arguments_change_only_the_document() -> None:
    fix = skill("fix", "arguments: issue\n", files={"a.md": b"$issue\n"}, body="Fix $issue.\n")
    library = await library_of(fix)
    async with Client(skills_server(library, options=WHOLE)) as client:
        (text,) = await texts(client, "fix", {"issue": "42"})
        assert text.endswith("Fix 42.\n\n--- a.md ---\n$issue\n")
        assert "dev.skillwire/resources" not in ((await client.get_prompt("fix", {"issue": "42"})).meta or {})
        assert (await client.list_prompts()).prompts[1].meta is None
    assert await compared(library, WHOLE) == []


names = st.sampled_from(["a.md", "b/c.txt", "d.json", "e.bin", "f", "größe 1.md", "inner/x.py"])
files = st.dictionaries(
    names, st.binary(max_size=30) | st.text(max_size=30).map(lambda text: text.encode(errors="replace"))
)


@settings(max_examples=40, deadline=None)
@given(st.lists(files, min_size=1, max_size=4), st.integers(0, 200))
def test_every_whole_prompt_equals_its_resources(drawn: list[dict[str, bytes]], tokens: int) -> None:
    async def compare() -> None:
        skills = [skill(f"s{number}", files=each) for number, each in enumerate(drawn)]
        library = await library_of(*skills)
        async with Client(skills_server(library, options=limited(tokens))) as client:
            whole = [prompt for prompt in (await client.list_prompts()).prompts if prompt.meta]
            reports = [each async for each in compare_prompts(SkillsClient(client))]
        assert [each.finding for each in reports] == [None] * len(whole)
        assert all(each.size <= 4 * tokens for each in reports)

    anyio.run(compare)


def test_verify_proves_prompts_of_a_served_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = write_skill(tmp_path / "skills", "refunds", {"references/guide.md": "# Guide\n"})
    (folder / "references" / "binary.md").write_bytes(b"\xff\xfe")
    write_skill(tmp_path / "skills", "returns")
    served = skillwire("serve", tmp_path / "skills", "--no-config", "--prompts", "whole")
    assert run(["verify", "--surfaces", "--", *map(str, served)]) == 0
    shown = capfd.readouterr()
    assert "refunds: " in shown.out
    assert "of the prompt equal 2 resources" in shown.out
    assert "2 prompts equal to the resources" in shown.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--prompt-tokens", "10"], "`--prompt-tokens` has no effect"),
        (["--prompts", "whole", "--prompt-tokens", "-1"], "which is negative"),
    ],
)
def test_wrong_budgets_are_wrong_usage(tmp_path: Path, arguments: list[str], told: str) -> None:
    prompts = "whole" if "--prompts" in arguments else "document"
    with pytest.raises(UsageError, match=told):
        serve(
            [str(tmp_path)],
            config=ConfigFlags(no_config=True),
            prompts=prompts,
            prompt_tokens=int(arguments[-1]),
        )

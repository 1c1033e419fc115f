"""What a model writes: names and paths as the text of a skill says them, in every tool of a session."""

from pathlib import Path
from typing import Any

import pytest

from skillwire import Session
from skillwire.errors import VerificationError
from tests.support.clients import ERAS
from tests.support.hosts import Person, honest, open_host
from tests.support.scripted import ScriptedServer
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)

GUIDE = b"# Guide\n"


def workspace() -> ScriptedServer:
    """Return a server with a skill, and a skill below it that is not among its files."""
    script = ScriptedServer()
    script.publish("workspace/review", {"references/guide.md": GUIDE})
    script.publish("workspace/review/files", {"a.md": b"# Inner\n"})
    return script


async def ask(session: Session, tool: str, **arguments: Any) -> str:
    found = next(each for each in session.tools(resources=True) if each.name == tool)
    return await found.call(arguments)


@every_era
@pytest.mark.parametrize(
    "name",
    [
        "acme:files",
        "files",
        "/workspace/review/files/skill.md",
        "files/skill.md",
        "./files/SKILL.md",
        "acme/workspace/review/files",
        "skill://workspace/review/files/SKILL.md",
    ],
)
async def test_model_loads_a_skill_that_the_text_names(mode: Any, name: str) -> None:
    async with open_host(mode, person := Person(), acme=workspace()) as host:
        session = host.session()
        await session.load("acme:review")
        text = await ask(session, "read_skill", name=name)
        assert text.startswith("The skill `acme:files`, from the server `acme`.")
        assert [each.skill.handle for each in person.loads] == ["acme:review", "acme:files"]


@every_era
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("acme:review", "references/guide.md"),
        ("review", "./references/guide.md"),
        ("review", "references%2Fguide.md"),
        ("acme:review", "/workspace/review/references/guide.md"),
        ("acme:review", "skill://workspace/review/references/guide.md"),
        ("acme:review", "review/references/guide.md"),
        ("acme:review/references/guide.md", ""),
    ],
)
async def test_every_spelling_reads_the_same_file(mode: Any, name: str, path: str) -> None:
    async with open_host(mode, Person(), acme=workspace()) as host:
        session = host.session()
        await session.load("acme:review")
        assert "# Guide" in await ask(session, "read_skill_file", name=name, path=path)
        assert (await session.read_file(name, path)).content == GUIDE
        assert "# Guide" in await ask(
            session, "read_resource", server="acme", uri="review/references/guide.md"
        )
        assert "# Guide" in await ask(session, "read_skill", name="acme:review/references/guide.md")


@every_era
@pytest.mark.parametrize("listed", ["files/skill.md", "files/SKILL.md"])
@pytest.mark.parametrize(
    "path",
    [
        "files/skill.md",
        "./files/SKILL.md",
        "/workspace/review/files/skill.md",
        "review/files/SKILL.md",
        "skill://workspace/review/files/skill.md",
        "skill://workspace/review/files/SKILL.md",
    ],
)
async def test_inner_document_without_a_skill_is_a_file(mode: Any, listed: str, path: str) -> None:
    script = ScriptedServer()
    script.publish("workspace/review", {listed: b"# Steps\n"})
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        await session.load("acme:review")
        for tool, arguments in (
            ("read_skill", {"name": path}),
            ("read_skill", {"name": f"acme:{path}" if "://" in path else f"acme:review/{listed}"}),
            ("read_skill_file", {"name": "acme:review", "path": path}),
        ):
            assert "# Steps" in await ask(session, tool, **arguments), (tool, arguments)


@pytest.mark.rule("H14", "H18")
async def test_file_of_a_skill_that_is_not_loaded_is_refused() -> None:
    async with open_host("auto", Person(), acme=(script := workspace()), beta=honest("review")) as host:
        session = host.session()
        for name in ("acme:review/references/guide.md", "beta:review/references/guide.md"):
            told = await ask(session, "read_skill", name=name)
            assert told.endswith("is not loaded; load it first, with `read_skill`")
        await session.load("acme:review")
        for path in ("files/a.md", "files/skill.md", "/workspace/review/files/a.md"):
            told = await ask(session, "read_skill_file", name="acme:review", path=path)
            assert told == "error: the skill `acme:files` is not loaded; load it first, with `read_skill`"
        assert {uri["uri"] for method, uri in script.asked if method == "resources/read"} == {
            "skill://workspace/review/SKILL.md"
        }
        await session.load("acme:files")
        for path in ("files/a.md", "/workspace/review/files/a.md", "skill://workspace/review/files/a.md"):
            assert "# Inner" in await ask(session, "read_skill_file", name="acme:review", path=path)


@pytest.mark.rule("H9", "H22")
async def test_path_in_a_skill_never_leads_to_another_server() -> None:
    async with open_host("auto", Person(), acme=honest("review"), beta=honest("other")) as host:
        session = host.session()
        await session.load("beta:other")
        await session.load("acme:review")
        for path in ("/other/references/guide.md", "other/SKILL.md", "beta:other", "skill://other/SKILL.md"):
            with pytest.raises(VerificationError, match=r"not among its files|not a path below"):
                await session.read_file("acme:review", path)


@pytest.mark.rule("H19")
async def test_path_out_of_a_skill_is_refused() -> None:
    async with open_host("auto", Person(), acme=workspace()) as host:
        session = host.session()
        await session.load("acme:files")
        await session.load("acme:review")
        for path in ("../review/SKILL.md", "files/../../x", "%2e%2e/x", "references\\..\\..\\x"):
            told = await ask(session, "read_skill_file", name="acme:review", path=path)
            assert "it is not a path below the folder of the skill" in told


@pytest.mark.rule("H10")
async def test_own_skill_loads_whatever_a_server_says(tmp_path: Path) -> None:
    write_skill(tmp_path, "files")
    async with open_host("auto", person := Person(), None, {"mine": tmp_path}, acme=workspace()) as host:
        session = host.session()
        await session.load("acme:review")
        for name in ("files", "files/skill.md"):
            assert "folder `mine`" in await ask(session, "read_skill", name=name)
        assert len(person.loads) == 1
        told = await ask(session, "read_skill", name="/workspace/review/files/skill.md")
        assert told.startswith("The skill `acme:files`")


@pytest.mark.rule("H10")
async def test_several_matches_are_listed_for_the_model() -> None:
    async with open_host("auto", Person(), acme=honest("a/review"), beta=honest("a/review")) as host:
        told = await ask(host.session(), "read_skill", name="/a/review/references/guide.md")
        assert told == (
            "error: `/a/review/references/guide.md` is the name of 2 skills; use one of: "
            "`acme:review/references/guide.md`, `beta:review/references/guide.md`"
        )


@pytest.mark.rule("H3", "H22")
async def test_unlisted_skill_of_another_server_is_asked_about_first() -> None:
    beta = honest("other")
    unlisted = beta.publish("hidden")
    shown = list(beta.entries)
    beta.got, beta.entries = {unlisted: shown[1]}, shown[:1]
    person = Person()
    async with open_host("auto", person, acme=honest("review"), beta=beta) as host:
        session = host.session()
        await session.load("acme:review")
        assert "`beta:hidden`" in await ask(session, "read_skill", name=f"beta:{unlisted}")
        (asked,) = person.foreign_reads
        assert (asked.server, asked.uri) == ("beta", unlisted)

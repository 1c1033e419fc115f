"""A host of real servers: one that it starts, one over HTTP, and one that nobody answers for."""

import sys
from pathlib import Path

import pytest

from skillwire.host import Answer, Host, State, Target
from tests.support.hosts import Person
from tests.support.peers import HttpServer, skillwire
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio


@pytest.mark.rule("H5", "H13", "H28")
async def test_skills_of_real_servers_are_found_approved_and_read(
    tmp_path: Path, http_server: HttpServer
) -> None:
    write_skill(tmp_path / "served", "refunds", {"references/guide.md": "# Guide\n"})
    command = tuple(map(str, skillwire("serve", tmp_path / "served", "--no-config")))
    servers = [
        Target("program", command=command),
        Target("web", url=http_server.url),
        Target("nobody", command=(sys.executable, "-c", "raise SystemExit('no luck')")),
    ]
    person = Person(Answer.KEEP)
    with State.open(tmp_path / "state") as state:
        async with Host(servers, approve=person, state=state) as host:
            registry = await host.discover()
            assert {each.label for each in registry} == {"program", "web"}
            (problem,) = [str(each) for each in registry.problems if each.label == "nobody"]
            assert problem.startswith("`nobody`: does not answer: ")
            assert "its last output: `no luck`" in problem
            session = host.session()
            await session.load("program:refunds")
            assert (await session.read_file("refunds", "references/guide.md")).content == b"# Guide\n"
            await session.load("web:bytes")
            assert (await session.read_file("web:bytes", "data/blob.bin")).content == bytes(range(256))
        async with Host(servers[:1], state=state) as host:
            await host.discover()
            assert "server `program`" in (await host.session().load("program:refunds")).text
    assert len(person.asked) == 2


async def test_server_commands_and_urls_do_not_leak_secrets(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text("import sys; sys.exit(f'unknown {sys.argv[1:]}')\n", "utf-8")
    servers = [
        Target("program", command=(sys.executable, str(script), "--token", "s3cret-word")),
        Target("web", url="http://me:s3cret-word@127.0.0.1:1/mcp?key=s3cret-word"),
    ]
    async with Host(servers, approve=Person(Answer.KEEP)) as host:
        problems = [str(each) for each in (await host.discover()).problems]
        assert len(problems) == 2
        read_skill = host.session().tools()[0]
        told = [await read_skill.invoke({"name": f"{each.label}:skill://a/SKILL.md"}) for each in servers]
    assert all("does not answer" in each for each in (*problems, *told))
    assert "s3cret" not in " ".join((*problems, *told))


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["missing-file.py", "--token", "s3cret-word"], "missing-file.py"),
        (["-m", "missing_module", "s3cret-word"], "No module named missing_module"),
        (["https://me:s3cret-word@example.com/x"], "…"),
    ],
)
async def test_message_names_what_cannot_be_started(arguments: list[str], shown: str) -> None:
    async with Host([Target("program", command=(sys.executable, *arguments))]) as host:
        (problem,) = [str(each) for each in (await host.discover()).problems]
    assert shown in problem
    assert "s3cret" not in problem


async def test_last_lines_of_a_program_are_shown_without_frames(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    printing = "import sys\nfor at in range(5):\n    print('line', at, file=sys.stderr)\n"
    script.write_text(f"{printing}raise ValueError('x')\n", "utf-8")
    async with Host([Target("program", command=(sys.executable, str(script)))]) as host:
        (problem,) = [str(each) for each in (await host.discover()).problems]
    assert problem.endswith("its last output: `line 3`, `line 4`, `ValueError: x`")

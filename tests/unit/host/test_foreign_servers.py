"""Our host and servers that we did not write: the honest is accepted, and what falls short is named."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from skillwire import Host, State, Target
from skillwire.errors import VerificationError
from skillwire.host import Answer, DraftsClient, Outcome, Report, SkillsClient, verify_server
from skillwire.host.connections.connect import connected
from skillwire.host.dialects.drafts import discover
from skillwire.protocol.claims import Dialect, Integrity
from skillwire.sources import Rule
from tests.support.clients import ERAS
from tests.support.fastmcp_server import server_of
from tests.support.fastmcp_servers import client_of
from tests.support.foreign_servers import fastmcp, fastmcp_manifests, typescript
from tests.support.hosts import Person
from tests.support.skills import write

pytestmark = pytest.mark.anyio
PLAIN = b"---\nname: plain\ndescription: Does plain things.\nmetadata:\n  owner: us\n---\n\n# Plain\n"
MAIN = "skill://plain/SKILL.md"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that every peer can serve."""
    root = tmp_path_factory.mktemp("honest")
    write(
        root / "plain",
        {
            "SKILL.md": PLAIN,
            "references/guide.md": "# Guide\n",
            "references/deep/more.md": "",
            "data/blob.bin": bytes(range(256)),
            "with space & 100%.md": "percent\n",
        },
    )
    for name in ("one", "two", "three"):
        write(root / name, {"SKILL.md": f"---\nname: {name}\ndescription: Is {name}.\n---\n"})
    return root


@pytest.fixture(scope="module")
def tricky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder at which peers stumble: YAML that was read otherwise in 1.1, and line ends of Windows."""
    root = tmp_path_factory.mktemp("tricky")
    typed = "name: typed\ndescription: Has types.\nflag: yes\nwhen: 12:30:45\n"
    write(root / "typed", {"SKILL.md": f"---\n{typed}---\n"})
    crlf = b"---\r\nname: crlf\r\ndescription: Lines of Windows.\r\n---\r\n"
    write(root / "crlf", {"SKILL.md": crlf, "notes.txt": b"one\r\ntwo\r\n"})
    return root


@asynccontextmanager
async def asking(peer: str, folder: Path, mode: Any) -> AsyncGenerator[SkillsClient]:
    """Yield a client of a peer: a process of Node, or a server of FastMCP in this one."""
    if peer == "typescript":
        async with connected(Target("peer", command=typescript(folder)), mode) as client:
            yield SkillsClient(client)
    else:
        server = server_of(str(folder), extension=peer == "extension")
        async with client_of(server, mode) as client:
            yield SkillsClient(client)


async def verified(peer: str, folder: Path, mode: Any = "auto") -> Report:
    async with asking(peer, folder, mode) as client:
        return await verify_server(client, drafts=True)


def faults_by_skill(report: Report) -> dict[str, set[Rule]]:
    return {skill.uri: {each.rule for each in skill.findings} for skill in report.skills}


@pytest.mark.parametrize(
    ("peer", "mode"), [("typescript", "auto"), ("typescript", "legacy"), ("extension", "auto")]
)
async def test_third_party_server_is_listed_read_and_verified(peer: str, mode: Any, honest: Path) -> None:
    async with asking(peer, honest, mode) as client:
        listing = await discover(client)
        assert (listing.dialect, listing.complete, listing.findings.kept) == (Dialect.FINAL, True, [])
        assert [skill.name for skill in listing.skills] == ["one", "plain", "three", "two"]
        plain = listing.skills[1]
        assert await client.get(MAIN) == plain
        assert plain.lasting
        assert await client.read(MAIN) == PLAIN
        report = await verify_server(client)
    assert report.all_findings() == []
    assert [skill.files for skill in report.skills] == [1, 5, 1, 1]
    assert report.outcome(require_digests=True) is Outcome.VERIFIED


@pytest.mark.parametrize("mode", ERAS)
async def test_manifests_from_before_the_extension_are_read_and_verified(mode: Any, honest: Path) -> None:
    async with asking("manifests", honest, mode) as client:
        skills = DraftsClient(client)
        listing = await skills.list()
        assert listing.dialect is Dialect.MANIFEST
        assert sorted(skill.name for skill in listing.skills) == ["one", "plain", "three", "two"]
        plain = next(skill for skill in listing.skills if skill.uri == MAIN)
        assert (plain.description, plain.integrity) == ("Does plain things.", Integrity.FULL)
        assert await skills.get(MAIN) == plain
        assert await skills.read(MAIN) == PLAIN
        report = await verify_server(client, drafts=True)
    assert faults_by_skill(report)[MAIN] == set()
    assert {skill.uri: skill.files for skill in report.skills}[MAIN] == 5
    assert report.found.rules == {Rule.LIST_SHAPE, Rule.OLD_DRAFT}
    assert report.outcome() is Outcome.NONCONFORMANT


async def test_typescript_sdk_server_agrees_on_yaml_and_bytes(tricky: Path) -> None:
    assert (await verified("typescript", tricky)).all_findings() == []


async def test_fastmcp_yaml_differences_are_findings(tricky: Path) -> None:
    report = await verified("extension", tricky)
    assert report.dialect is Dialect.FINAL
    assert faults_by_skill(report) == {
        "skill://crlf/SKILL.md": set(),
        "skill://typed/SKILL.md": {Rule.FRONTMATTER},
    }
    told = sorted(finding.message for finding in report.all_findings())
    assert told == [f"the field `{field}` differs from the document" for field in ("flag", "when")]


async def test_fastmcp_manifest_line_ending_changes_are_findings(tricky: Path) -> None:
    report = await verified("manifests", tricky)
    assert faults_by_skill(report) == {
        "skill://crlf/SKILL.md": {Rule.SIZE, Rule.DIGEST},
        "skill://typed/SKILL.md": set(),
    }


async def test_fastmcp_on_older_protocol_falls_back_to_manifests_with_findings(honest: Path) -> None:
    """What is left there are manifests, with a description that no document has."""
    report = await verified("extension", honest, "legacy")
    assert report.dialect is Dialect.MANIFEST
    assert faults_by_skill(report)[MAIN] == {Rule.FRONTMATTER}
    assert {Rule.LIST_SHAPE, Rule.OLD_DRAFT} < report.found.rules


@pytest.mark.rule("H13", "H17", "H30")
@pytest.mark.parametrize(
    ("peer", "times"),
    [(typescript, 2), (fastmcp, 1), (fastmcp_manifests, 1)],  # the others take seconds to start
    ids=["typescript", "extension", "manifests"],
)
async def test_third_party_skill_loads_after_approval(
    peer: Any, times: int, honest: Path, tmp_path: Path
) -> None:
    """Over stdio, with a process for each host. The second has the approval of the first."""
    target, person = Target("peer", command=peer(honest)), Person(Answer.KEEP)
    with State.open(tmp_path) as state:
        for _ in range(times):
            async with Host([target], approve=person, state=state, drafts=True) as host:
                assert len(await host.discover()) == 4
                session = host.session()
                assert (await session.load("plain")).content == PLAIN
                guide = await session.read_file("plain", "references/guide.md")
                assert (guide.content, "`peer`" in guide.text) == (b"# Guide\n", True)
                assert (await session.read_file("plain", "with space & 100%.md")).content == b"percent\n"
                with pytest.raises(VerificationError):
                    await session.read_file("plain", "none.md")
    assert [each.skill.uri for each in person.loads] == [MAIN]

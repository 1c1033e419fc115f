"""A host that reads drafts loads their skills, with their files, and compares whatever they promise."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from skillwire import Host, ServerSource
from skillwire.errors import ChangedError, HostError, NotApprovedError, VerificationError
from skillwire.host import Answer, Request
from skillwire.host.servers.link import ServerLink
from skillwire.protocol.claims import DeliveryClaim
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.sources import Digest
from tests.support.clients import ERAS
from tests.support.draft_servers import (
    FILES,
    MAIN,
    ROOT,
    archive_a,
    archive_b,
    draft_c,
    entry_a,
    entry_b,
    index_of,
    indexed,
    resource,
    scanned,
    with_manifests,
)
from tests.support.hosts import Person
from tests.support.links import NOWHERE, Wire
from tests.support.scripted import ScriptedServer, block_of, files_of

pytestmark = pytest.mark.anyio


def old_uris() -> ScriptedServer:
    script = scanned([resource("skill://good", "Does good."), resource("skill://good/")])
    script.files = {"skill://good": FILES[MAIN]}
    others = [block_of(uri, content) for uri, content in FILES.items() if uri != MAIN]
    script.read = {"skill://good/": {"contents": others}}
    return script


SERVERS: dict[str, Callable[[], ScriptedServer]] = {
    "draft-c": draft_c,
    "draft-b": lambda: indexed(entry_b()),
    "draft-b-archive": lambda: indexed(
        entry_b(url=None, digest=None, archives=[archive_b(ArchiveFormat.ZIP)]), files={}
    ),
    "draft-a": lambda: indexed(entry_a()),
    "draft-a-archive": lambda: indexed(archive_a(ArchiveFormat.TAR_GZ), files={}),
    "manifest": with_manifests,
    "scan": scanned,
    "old-uris": old_uris,
}
every_server = pytest.mark.parametrize("made", SERVERS.values(), ids=SERVERS)


def link_to(wire: Wire, *, drafts: bool = True) -> ServerLink:
    return ServerLink(NOWHERE, drafts=drafts, connect=wire.connect)


@asynccontextmanager
async def open_host(wire: Wire, person: Person) -> AsyncGenerator[Host]:
    async with link_to(wire) as link, Host(sources=[ServerSource(link)], approve=person) as host:
        await host.discover()
        yield host


@pytest.mark.parametrize("mode", ERAS)
@every_server
@pytest.mark.rule("H13", "H19")
async def test_skill_and_its_files_are_read_in_every_dialect(made: Any, mode: Any) -> None:
    person = Person(Answer.KEEP)
    async with open_host(Wire(made().server(), mode), person) as host:
        session = host.session()
        assert (await session.load("good")).content == FILES[MAIN]
        assert (await session.read_file("good", "references/a b.md")).content == b"a"
        assert (await session.read_file("good", "logo.png")).content == FILES[f"{ROOT}/logo.png"]
        for path in ("none.md", "../other/SKILL.md"):
            with pytest.raises(HostError):
                await session.read_file("good", path)
        assert len(person.loads) == 1


@every_server
@pytest.mark.rule("H1")
async def test_host_without_drafts_ignores_draft_servers(made: Any) -> None:
    script = made()
    async with (
        link_to(Wire(script.server()), drafts=False) as link,
        Host(sources=[ServerSource(link)]) as host,
    ):
        registry = await host.discover()
    assert len(registry.skills) == 0
    assert {method for method, _ in script.asked} <= ({"skills/list"} if script.declared else set())


@every_server
async def test_draft_dialect_is_reported_as_a_problem(made: Any) -> None:
    async with open_host(Wire(made().server()), Person()) as host:
        assert [str(each) for each in host.registry.problems if "the extension" in str(each)]


@pytest.mark.parametrize("name", ["draft-b-archive", "old-uris", "draft-c"])
async def test_files_are_readable_after_reconnecting(name: str) -> None:
    wire = Wire(SERVERS[name]().server())
    async with open_host(wire, Person()) as host:
        session = host.session()
        await session.load("good")
        wire.cut()
        await anyio.wait_all_tasks_blocked()
        assert (await session.read_file("good", "logo.png")).content == FILES[f"{ROOT}/logo.png"]
    assert wire.connections == 2


@pytest.mark.rule("H15")
async def test_draft_document_changed_after_listing_is_refused() -> None:
    script = indexed(entry_b())
    async with open_host(Wire(script.server()), Person()) as host:
        script.files = {**script.files, MAIN: FILES[MAIN] + b"More.\n"}
        with pytest.raises(VerificationError, match="it was listed as"):
            await host.session().load("good")


@pytest.mark.rule("H15", "H17")
async def test_draft_changed_during_approval_is_asked_about_again() -> None:
    script, person = indexed(entry_b()), Person()
    async with open_host(Wire(script.server()), person) as host:

        async def rotating(_request: Request) -> None:
            person.meanwhile = None
            document = FILES[MAIN] + b"More.\n"
            changed = indexed(entry_b(digest=Digest.of(document).text))
            script.files = {**changed.files, MAIN: document}
            await host.discover()

        person.meanwhile = rotating
        session = host.session()
        assert (await session.load("good")).content.endswith(b"More.\n")
        first, second = person.loads
        assert "It was approved before, and has changed: its digests or URIs have changed" in str(second)
        assert first.skill.deliveries != second.skill.deliveries


@pytest.mark.rule("H14", "H15")
async def test_loaded_draft_skill_that_changes_cannot_be_read() -> None:
    script = indexed(entry_b())
    async with open_host(Wire(script.server()), Person()) as host:
        session = host.session()
        await session.load("good")
        document = FILES[MAIN] + b"More.\n"
        script.files = {**indexed(entry_b(digest=Digest.of(document).text)).files, MAIN: document}
        with pytest.raises(HostError, match=r"it was listed as|has changed"):
            await session.read_file("good", "SKILL.md")
        await host.discover()
        with pytest.raises(ChangedError, match="its digests or URIs have changed"):
            await session.read_file("good", "SKILL.md")


@pytest.mark.rule("H13")
async def test_description_differing_from_the_document_is_refused() -> None:
    for script in (indexed(entry_a(description="Harmless.")), scanned([resource(MAIN, "Harmless.")])):
        async with open_host(Wire(script.server()), Person()) as host:
            with pytest.raises(VerificationError, match="the field `description` differs from"):
                await host.session().load("good")


@pytest.mark.rule("H3")
@pytest.mark.parametrize(
    ("entry", "declared"),
    [(entry_a(), None), (entry_a(), {}), (entry_b(), None), (entry_b(), {}), (None, None)],
)
async def test_unlisted_skill_of_a_draft_loads_by_its_uri(entry: Any, declared: Any) -> None:
    more = files_of("hidden", {"a.md": b"A"})
    script = indexed(*([] if entry is None else [entry]), files={**FILES, **more})
    script.declared, script.methods = declared, False
    person = Person(Answer.KEEP)
    async with open_host(Wire(script.server()), person) as host:
        session = host.session()
        read = await session.load("upstream:skill://hidden/SKILL.md")
        assert read.content == more["skill://hidden/SKILL.md"]
        assert (await session.read_file("hidden", "a.md")).content == b"A"
        (asked,) = person.loads
        assert (asked.can_be_kept, asked.skill.description) == (False, "Does hidden.")
        await session.load("hidden")  # nothing is bound to its files, so the person is asked each time
        assert len(person.loads) == 2


@pytest.mark.rule("H3", "H7")
@pytest.mark.parametrize(
    ("uri", "content"),
    [
        ("skill://hidden/SKILL.md", b"No frontmatter.\n"),
        ("skill://hidden/SKILL.md", b"---\nname: other\ndescription: Does.\n---\n"),
        ("skill://hidden/SKILL.md", b"---\nname: hidden\n---\n"),
        ("skill://hidden/SKILL.md", b"\xff\xfe"),
        ("skill://hidden/README.md", b"---\nname: hidden\ndescription: Does.\n---\n"),
        ("file:///hidden/SKILL.md", b"---\nname: hidden\ndescription: Does.\n---\n"),
    ],
)
async def test_resource_that_is_no_skill_cannot_be_loaded(uri: str, content: bytes) -> None:
    script, person = indexed(entry_b(), files={**FILES, uri: content}), Person()
    async with open_host(Wire(script.server()), person) as host:
        with pytest.raises(HostError):
            await host.session().load(f"upstream:{uri}")
        assert person.asked == []


@pytest.mark.rule("H22")
async def test_unlisted_draft_skill_of_another_server_is_asked_about_first() -> None:
    hidden, person = indexed(entry_b(), files={**FILES, **files_of("hidden")}), Person()
    other = Wire(indexed(entry_b()).server())
    async with (
        link_to(Wire(hidden.server())) as link,
        ServerLink(replace(NOWHERE, label="other"), drafts=True, connect=other.connect) as second,
        Host(sources=[ServerSource(link), ServerSource(second)], approve=person) as host,
    ):
        await host.discover()
        session = host.session()
        await session.load("other:good")
        person.answer, before = Answer.NO, len(hidden.asked)
        with pytest.raises(NotApprovedError):
            await session.load("upstream:skill://hidden/SKILL.md")
        assert len(hidden.asked) == before
        assert [each.uri for each in person.foreign_reads] == ["skill://hidden/SKILL.md"]


async def test_link_gets_unlisted_skills_from_their_documents() -> None:
    script = indexed(entry_b())
    async with link_to(Wire(script.server())) as link:
        assert (await link.get(MAIN)).deliveries[0].digest is not None
        script.files = {**script.files, "skill://index.json": index_of()}
        assert (await link.get(MAIN)).deliveries == (DeliveryClaim(MAIN),)
        script.files = {"skill://index.json": index_of()}
        with pytest.raises(VerificationError, match="does not list it"):
            await link.get(MAIN)

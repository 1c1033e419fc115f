"""Any source is a place of a host: a server needs approval, and all others are the person's own."""

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp import Client

from skillwire import FolderSource, Host, Library, MemorySource, ServerSource, State
from skillwire.errors import HostError, StateError, VerificationError
from skillwire.host import Answer, ConnectedServer, Trust
from skillwire.library.library_source import LibrarySource
from skillwire.server import skills_server
from skillwire.sources import EVERYWHERE, PrefixedSource, Progress, Scan, SkillFile, ignore_progress
from skillwire.sources.base import WrappedSource
from tests.support.clients import skill
from tests.support.hosts import Person, honest, open_host
from tests.support.links import Wire
from tests.support.peers import PATIENCE
from tests.support.skills import write, write_skill

pytestmark = pytest.mark.anyio


async def test_an_own_folder_keeps_the_records_of_its_source(tmp_path: Path) -> None:
    write(write_skill(tmp_path, "refunds"), {"references/guide.md": "# Guide\n"})
    async with Host(folders={"mine": tmp_path}) as host:
        (found,) = await host.discover()
        assert found.claim is None
        (source_record,) = (await FolderSource(tmp_path, label="mine").scan()).entries
        assert found.record == source_record
        session = host.session()
        await session.load("refunds")
        assert (await session.read_file("refunds", "references/guide.md")).content == b"# Guide\n"


async def test_changed_own_file_is_read_anew(tmp_path: Path) -> None:
    folder = write(write_skill(tmp_path, "refunds"), {"a.md": "one"})
    async with Host(folders={"mine": tmp_path}) as host:
        skill_before = (await host.discover()).resolve("refunds")
        session = host.session()
        await session.load("refunds")
        (folder / "a.md").write_text("another")
        # What is held promises other bytes: those of now are not given for them.
        with pytest.raises(VerificationError):
            await host.read(skill_before, "a.md")
        assert (await session.read_file("refunds", "a.md")).content == b"another"


async def test_own_source_needs_no_approval() -> None:
    async with Host(sources=[MemorySource([skill("team/refunds")], label="mine")]) as host:
        (found,) = await host.discover()
        assert (found.handle, found.local, found.record.trust) == ("refunds", True, Trust.OWN)
        assert "# " in (await host.session().load("refunds")).text


async def test_wrapped_server_skills_are_rejected_as_own() -> None:
    wire = Wire(skills_server(Library([MemorySource([skill("refunds")])])))
    async with wire.link() as link:
        inside = ServerSource(link, trusted=True)
        hidden = [PrefixedSource(inside, "mine"), LibrarySource(Library([inside]), "library")]
        async with Host(sources=hidden, approve=Person(Answer.KEEP)) as host:
            registry = await host.discover()
            assert len(registry) == 0
            assert [each.label for each in registry.problems] == ["upstream", "library"]
            assert all("it comes from a server" in str(each) for each in registry.problems)


@pytest.mark.parametrize("wrapped", ["prefix", "library"])
async def test_wrapped_server_resources_cannot_be_read_as_own(wrapped: str) -> None:
    wire = Wire(skills_server(Library([MemorySource([skill("refunds")])])))
    async with wire.link() as link:
        inside = ServerSource(link, trusted=True)
        prefixed = wrapped == "prefix"
        source = PrefixedSource(inside, "mine") if prefixed else LibrarySource(Library([inside]), "library")
        (record,) = (await source.scan()).entries
        async with Host(sources=[source], approve=Person(Answer.NO)) as host:
            await host.discover()
            with pytest.raises(HostError, match="it comes from a server"):
                await host.session().read_resource(source.label, record.uri)


class Mislabelled(WrappedSource):
    """An own source whose records name a server as their source."""

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        scan = await self.source.scan(progress)
        entries = tuple(replace(each, origin=replace(each.origin, source="acme")) for each in scan.entries)
        return replace(scan, entries=entries)


async def test_own_skill_takes_the_label_of_its_source() -> None:
    source = Mislabelled(MemorySource([skill("refunds")], label="mine"))
    async with Host(sources=[source]) as host:
        (found,) = await host.discover()
        assert (found.label, found.local) == ("mine", True)


def test_a_wrapped_folder_inside_the_state_is_refused(tmp_path: Path) -> None:
    with State.open(tmp_path) as state, pytest.raises(StateError):
        Host(sources=[PrefixedSource(FolderSource(tmp_path / "files"), "x")], state=state)


async def test_skill_record_shows_its_approval_status(tmp_path: Path) -> None:
    script, person = honest("refunds"), Person(Answer.KEEP)
    with State.open(tmp_path / "state") as state:
        async with open_host("auto", person, state, acme=script) as host:

            def trust() -> tuple[Trust, str]:
                record = host.registry.resolve("acme:refunds").record
                return record.trust, "" if record.withheld is None else record.withheld.reason

            found = host.registry.resolve("acme:refunds")
            assert found.record.origin.foreign
            assert (found.record.uri, found.record.origin.location) == (
                "skill://acme/refunds/SKILL.md",
                found.uri,
            )
            assert all(isinstance(file, SkillFile) for file in found.record.files)
            assert trust() == (Trust.WITHHELD, "it is not approved")
            await host.approve(found)
            assert trust() == (Trust.APPROVED, "")
            await host.revoke(found)
            assert trust() == (Trust.WITHHELD, "its approval was revoked")
            await host.approve(found)
            script.publish("refunds", {"references/guide.md": b"# Another\n"})
            await host.discover()
            assert trust() == (Trust.WITHHELD, "it has changed since it was approved")


async def test_outdated_trust_in_a_record_allows_no_read(tmp_path: Path) -> None:
    """A decision of another program counts at once, whatever the registry showed last."""
    with State.open(tmp_path / "state") as state:
        async with open_host("auto", Person(Answer.NO), state, acme=honest("refunds")) as host:
            found = host.registry.resolve("acme:refunds")
            await host.approve(found)
            session = host.session()
            await session.load("acme:refunds")
            state.approvals.revoke("acme", found.uri)
            assert host.registry.resolve("acme:refunds").record.trust is Trust.APPROVED
            with pytest.raises(Exception, match="is not approved any more"):
                await session.read_file("acme:refunds", "references/guide.md")


def test_a_folder_source_inside_the_state_is_refused(tmp_path: Path) -> None:
    with State.open(tmp_path) as state, pytest.raises(StateError):
        Host(sources=[FolderSource(tmp_path / "files")], state=state)


async def test_already_connected_server_is_read_and_watched_for_changes() -> None:
    script = honest("refunds")
    async with Client(script.server()) as client:
        source = ServerSource(ConnectedServer("acme", client), every=0.01, trusted=True)
        library = Library([source])
        uri = "skill://acme/refunds/references/guide.md"
        await library.load()
        assert (await library.read(uri)).content == b"# Guide\n"
        script.publish("orders")
        with anyio.fail_after(PATIENCE):
            async with aclosing(source.changes()) as changes:
                assert await anext(changes) == EVERYWHERE
        assert {entry.name for entry in (await source.rescan()).entries} == {"refunds", "orders"}

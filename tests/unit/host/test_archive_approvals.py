"""Archives of early drafts can be approved: the approval is bound to the archive and to its files."""

import hashlib
import io
import json
import sqlite3
import stat
import tarfile
import zipfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from skillwire import Host, ServerSource, State
from skillwire.errors import ChangedError, HostError, NotApprovedError, UsageError, VerificationError
from skillwire.host import Answer
from skillwire.host.servers.link import ServerLink
from skillwire.host.store.approvals import ApprovalStatus
from skillwire.protocol.archive_rules import UnpackedFiles
from skillwire.protocol.claims import DeliveryClaim, SkillClaim
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.packing import pack
from skillwire.sources import Digest, Limits
from tests.support.draft_servers import (
    FILES,
    INDEX,
    MAIN,
    ROOT,
    archive_a,
    archive_b,
    entry_a,
    entry_b,
    index_of,
    indexed,
    packed,
    path_of,
)
from tests.support.hosts import Person
from tests.support.links import NOWHERE, Wire
from tests.support.scripted import ScriptedServer, document_of, entry_of, files_of
from tests.support.skill_claims import skill_claim

pytestmark = pytest.mark.anyio
ZIP, TAR = ArchiveFormat.ZIP, ArchiveFormat.TAR_GZ
URI, LOGO = f"{ROOT}.zip", f"{ROOT}/logo.png"
OTHER_LOGO = {**FILES, LOGO: b"\x89PNG\x01"}


def only_archive(
    content: bytes | None = None, form: ArchiveFormat = ZIP, *, draft: str = "b", **changed: Any
) -> Any:
    """Return a server with one skill, which it delivers as an archive only."""
    made = packed(form) if content is None else content
    archived = archive_b(form, made, **changed)
    entry = (
        entry_b(url=None, digest=None, archives=[archived])
        if draft == "b"
        else archive_a(form, made, **changed)
    )
    script = indexed(entry, files={})
    script.files = {**script.files, f"{ROOT}{form.suffix}": made}
    return script


def repacked(files: Mapping[str, bytes] = FILES) -> bytes:
    """Return an archive of the same files with other bytes, as another program makes it."""
    packing = io.BytesIO()
    with zipfile.ZipFile(packing, "w", zipfile.ZIP_STORED) as into:
        for uri, content in files.items():
            into.writestr(zipfile.ZipInfo(path_of(uri), (2026, 4, 1, 0, 0, 0)), content)
    return packing.getvalue()


def fetched(script: ScriptedServer) -> list[str]:
    """Return the archives and files that were read, without the index."""
    reads = [params["uri"] for method, params in script.asked if method == "resources/read"]
    return [uri for uri in reads if uri != INDEX]


class Meanwhile(ServerLink):
    """A link on which something happens while an archive is fetched."""

    happens: Callable[[], Awaitable[object]] | None = None

    async def unpack(self, skill: SkillClaim, archive: DeliveryClaim) -> UnpackedFiles:
        unpacked = await super().unpack(skill, archive)
        if self.happens is not None:
            await self.happens()
        return unpacked


@asynccontextmanager
async def open_host(
    script: ScriptedServer, person: Person | None, state: State | None = None, limits: Limits | None = None
) -> AsyncGenerator[tuple[Host, Meanwhile]]:
    wire = Wire(script.server())
    link = Meanwhile(NOWHERE, drafts=True, limits=limits, connect=wire.connect)
    async with link, Host(sources=[ServerSource(link)], approve=person, state=state, limits=limits) as host:
        await host.discover()
        yield host, link


def status(host: Host) -> ApprovalStatus:
    return host.registry.resolve("upstream:good").approval_status


@pytest.mark.rule("H11", "H17")
@pytest.mark.parametrize("form", list(ArchiveFormat))
@pytest.mark.parametrize("draft", ["a", "b"])
async def test_approved_archive_needs_no_question_and_no_fetch_later(
    form: ArchiveFormat, draft: str, state: State
) -> None:
    script, person = only_archive(form=form, draft=draft), Person(Answer.KEEP)
    async with open_host(script, person, state) as (host, _):
        assert (await host.session().load("good")).content == FILES[MAIN]
        await host.discover()
        assert status(host) is ApprovalStatus.APPROVED
    assert [each.can_be_kept for each in person.loads] == [True]
    script.asked.clear()
    async with open_host(script, person, state) as (host, _):
        skill = host.registry.resolve("upstream:good")
        assert skill.approval_status is ApprovalStatus.APPROVED
        assert {each.uri for each in skill.files or ()} == set(FILES)
        assert fetched(script) == []
        session = host.session()
        await session.load("good")
        assert (await session.read_file("good", "logo.png")).content == FILES[LOGO]
        with pytest.raises(VerificationError, match="is not among its files"):
            await session.read_file("good", "none.md")
    assert len(person.loads) == 1


@pytest.mark.rule("H11", "H13")
async def test_archive_is_fetched_only_after_the_person_agreed(state: State) -> None:
    script, person = only_archive(), Person(Answer.NO)
    async with open_host(script, person, state) as (host, _):
        session = host.session()
        with pytest.raises(NotApprovedError):
            await session.load("good")
        assert fetched(script) == []
        question = str(person.loads[0])
        assert f"Its digest is {Digest.of(packed(ZIP))}." in question
        assert "different each time" not in question
        person.answer = Answer.ONCE
        await session.load("good")
        await session.load("good")  # the same files in the same session
        assert len(person.loads) == 2
        await host.discover()
        assert (await session.read_file("good", "logo.png")).content == FILES[LOGO]
        assert set(fetched(script)) == {URI}
        assert status(host) is ApprovalStatus.UNKNOWN


@pytest.mark.rule("H17")
async def test_repacked_archive_with_equal_files_stays_approved(state: State) -> None:
    person = Person(Answer.KEEP)
    async with open_host(only_archive(), person, state) as (host, _):
        await host.session().load("good")
    script = only_archive(repacked())
    for rounds in range(2):
        script.asked.clear()
        async with open_host(script, person, state) as (host, _):
            # Before the archive is fetched, no one knows that it has the same files.
            assert status(host) is [ApprovalStatus.UNKNOWN, ApprovalStatus.APPROVED][rounds]
            assert fetched(script) == []
            await host.session().load("good")
            assert status(host) is ApprovalStatus.APPROVED
    assert len(person.loads) == 1


@pytest.mark.rule("H15", "H17")
@pytest.mark.parametrize("listed_first", [True, False])
async def test_changed_file_with_the_same_name_ends_the_approval(listed_first: Any, state: State) -> None:
    person = Person(Answer.KEEP)
    async with open_host(only_archive(), person, state) as (host, _):
        await host.session().load("good")
    async with open_host(only_archive(repacked(OTHER_LOGO)), person, state) as (host, _):
        if listed_first:
            shown = await host.with_files(host.registry.resolve("upstream:good"))
            assert (shown.approval_status, str(await host.diff(shown))) == (
                ApprovalStatus.CHANGED,
                "`logo.png` has changed",
            )
        person.answer = Answer.NO
        with pytest.raises(NotApprovedError):
            await host.session().load("good")
        assert "It was approved before, and has changed: `logo.png` has changed" in str(person.loads[-1])
    async with open_host(only_archive(), person, state) as (host, _):  # an ended approval does not come back
        assert status(host) is ApprovalStatus.CHANGED


@pytest.mark.rule("H15")
async def test_other_bytes_than_the_listed_digest_are_never_approved(state: State) -> None:
    script, person = only_archive(), Person(Answer.KEEP)
    async with open_host(script, person, state) as (host, _):
        script.files = {**script.files, URI: repacked(OTHER_LOGO)}
        with pytest.raises(VerificationError, match="it was listed as"):
            await host.session().load("good")
        with pytest.raises(VerificationError, match="it was listed as"):
            await host.approve(host.registry.resolve("upstream:good"))
    assert state.approvals.all() == []


@pytest.mark.rule("H13", "H17")
async def test_archive_of_another_skill_is_refused_even_with_its_digest(state: State) -> None:
    other = pack({"SKILL.md": files_of("other")["skill://other/SKILL.md"]}, ZIP)
    script, person = only_archive(), Person(Answer.KEEP)
    entry = entry_b(
        url=None,
        digest=None,
        frontmatter={"name": "other", "description": "Does other."},
        archives=[{**archive_b(ZIP, other), "url": "skill://other.zip"}],
    )
    stolen = entry_b(url=None, digest=None, archives=[archive_b(ZIP, other)])
    script.files = {INDEX: index_of(entry, stolen), "skill://other.zip": other, URI: other}
    async with open_host(script, person, state) as (host, _):
        await host.session().load("other")
        with pytest.raises(VerificationError, match="differs from the document"):
            await host.session().load("good")
    assert [each.uri for each in state.approvals.all()] == ["skill://other/SKILL.md"]


@pytest.mark.rule("H9", "H17")
async def test_approval_is_never_found_by_a_digest_alone(state: State) -> None:
    person = Person(Answer.KEEP)
    async with open_host(only_archive(), person, state) as (host, _):
        await host.session().load("good")
    moved = packed(ZIP)
    entry = entry_b(
        url=None, digest=None, archives=[{**archive_b(ZIP, moved), "url": "skill://else/good.zip"}]
    )
    script = indexed(entry, files={"skill://else/good.zip": moved})
    async with open_host(script, person, state) as (host, _):
        skill = host.registry.resolve("upstream:good")
        assert (skill.uri, skill.files, skill.approval_status) == (
            "skill://else/good/SKILL.md",
            None,
            ApprovalStatus.UNKNOWN,
        )
    other_form = only_archive(packed(TAR), TAR)  # the same skill, in an archive that was not approved
    async with open_host(other_form, person, state) as (host, _):
        assert host.registry.resolve("upstream:good").files is None


@pytest.mark.rule("H17")
async def test_approved_archive_is_preferred_to_one_listed_before_it(state: State) -> None:
    person = Person(Answer.KEEP)
    async with open_host(only_archive(), person, state) as (host, _):
        await host.session().load("good")
    archives = [archive_b(TAR, packed(TAR, OTHER_LOGO)), archive_b(ZIP)]
    script = indexed(entry_b(url=None, digest=None, archives=archives), files={})
    script.files = {**script.files, f"{ROOT}.tar.gz": packed(TAR, OTHER_LOGO)}
    async with open_host(script, person, state) as (host, _):
        assert status(host) is ApprovalStatus.APPROVED
        session = host.session()
        await session.load("good")
        assert (await session.read_file("good", "logo.png")).content == FILES[LOGO]
        read = await session.read_resource("upstream", LOGO)
        assert read.content == FILES[LOGO]
    assert set(fetched(script)) == {URI}
    assert len(person.loads) == 1


@pytest.mark.rule("H13", "H15")
async def test_document_beside_the_archive_is_never_used_instead(state: State) -> None:
    lie = FILES[MAIN] + b"Obey.\n"
    person = Person(Answer.KEEP)
    entry = entry_a()  # draft A: a document without a digest, beside an archive with one
    script = indexed(entry, archive_a(ZIP), files={MAIN: lie})
    async with open_host(script, person, state) as (host, _):
        session = host.session()
        assert (await session.load("good")).content == FILES[MAIN]
        assert (await session.read_file("good", "SKILL.md")).content == FILES[MAIN]
        assert (await session.read_resource("upstream", MAIN)).content == FILES[MAIN]
    contradicted = indexed(entry_b(digest=Digest.of(lie).text, archives=[archive_b(ZIP)]), files={MAIN: lie})
    async with open_host(contradicted, person, state) as (host, _):
        assert status(host) is not ApprovalStatus.APPROVED
        with pytest.raises(VerificationError, match="differs from the one beside it"):
            await host.session().load("good")


@pytest.mark.rule("H17")
@pytest.mark.parametrize("beside", [True, False])
async def test_archive_without_a_digest_is_asked_about_each_time(beside: Any, state: State) -> None:
    documents = [entry_a()] if beside else []
    script = indexed(*documents, entry_a(type="archive", url=URI), files=FILES if beside else {})
    person = Person(Answer.KEEP)
    async with open_host(script, person, state) as (host, _):
        skill = host.registry.resolve("upstream:good")
        session = host.session()
        for _ in range(2):
            await session.load("good")
        assert [each.can_be_kept for each in person.loads] == [False, False]
        assert "without a digest" in str(person.loads[0])
        assert "generated" not in str(skill.record.withheld)
        with pytest.raises(UsageError, match="cannot be stored"):
            await host.approve(skill)
        with pytest.raises(UsageError, match="its archive has no digest"):
            await host.pull(skill, "anywhere")
    assert state.approvals.all() == []


@pytest.mark.rule("H15", "H17")
async def test_archive_that_loses_its_digest_loses_its_approval(state: State) -> None:
    person = Person(Answer.KEEP)
    async with open_host(only_archive(draft="a"), person, state) as (host, _):
        await host.session().load("good")
    without = indexed(entry_a(type="archive", url=URI), files={})
    async with open_host(without, person, state) as (host, _):
        assert status(host) is ApprovalStatus.CHANGED


@pytest.mark.rule("H24")
async def test_purged_cache_costs_a_fetch_and_no_approval(state: State) -> None:
    script, person = only_archive(), Person(Answer.KEEP)
    async with open_host(script, person, state) as (host, _):
        session = host.session()
        await session.load("good")
        await session.read_file("good", "logo.png")
    assert {each.uri for each in state.cache.list_files()} == {MAIN, LOGO}
    async with open_host(script, person, state) as (host, _):
        script.asked.clear()
        await host.session().load("good")
        assert fetched(script) == []  # the document is cached
        state.cache.purge()
        session = host.session()
        assert (await session.load("good")).content == FILES[MAIN]
        assert fetched(script) == [URI]
        state.cache.purge()
        script.files = {**script.files, URI: repacked(OTHER_LOGO)}
    async with open_host(script, person, state) as (host, _):
        with pytest.raises(HostError, match="it was listed as"):
            await host.session().load("good")
    assert len(person.loads) == 1


@pytest.mark.rule("H17")
async def test_two_processes_share_the_approval_and_its_revocation(state: State) -> None:
    script, person = only_archive(), Person(Answer.KEEP)
    with State.open(state.folder) as elsewhere:
        async with (
            open_host(script, person, state) as (host, _),
            open_host(script, person, elsewhere) as (second, _),
        ):
            await host.session().load("good")
            await second.discover()
            assert status(second) is ApprovalStatus.APPROVED
            session = second.session()
            await session.load("good")
            state.approvals.revoke("upstream", MAIN)
            with pytest.raises(NotApprovedError):
                await session.read_file("good", "logo.png")
            await second.discover()
            assert status(second) is ApprovalStatus.REVOKED
    assert len(person.loads) == 1


@pytest.mark.rule("H15", "H17")
@pytest.mark.parametrize("answer", [Answer.ONCE, Answer.KEEP])
async def test_revocation_during_the_fetch_is_not_lost(answer: Answer, state: State) -> None:
    script, person = only_archive(), Person(answer)
    async with open_host(script, person, state) as (host, link):
        skill = host.registry.resolve("upstream:good")
        link.happens = lambda: host.revoke(skill)
        session = host.session()
        with pytest.raises(NotApprovedError, match="not approved any more"):
            await session.load("good")
        assert session.acting == ()
        assert status(host) is not ApprovalStatus.APPROVED
        link.happens = None
        await session.load("good")  # a new question, a new answer
    assert len(person.loads) == 2


@pytest.mark.rule("H15", "H17")
async def test_revocation_by_another_process_during_the_fetch_holds(state: State) -> None:
    person = Person(Answer.KEEP)
    async with open_host(only_archive(), person, state) as (host, _):
        await host.session().load("good")
    state.approvals.revoke("upstream", MAIN)
    async with open_host(only_archive(repacked()), person, state) as (host, link):

        async def revoke() -> None:
            with State.open(state.folder) as elsewhere:
                elsewhere.bind("upstream", NOWHERE.identity)
                elsewhere.approvals.revoke("upstream", MAIN)

        link.happens = revoke
        with pytest.raises(NotApprovedError):
            await host.session().load("good")
        assert status(host) is ApprovalStatus.REVOKED


@pytest.mark.rule("H15")
async def test_listing_that_changes_during_the_fetch_is_asked_about_again(state: State) -> None:
    script, person = only_archive(), Person(Answer.KEEP)
    async with open_host(script, person, state) as (host, link):

        async def replace() -> None:
            link.happens = None
            script.files = only_archive(repacked(OTHER_LOGO)).files
            await host.discover()

        link.happens = replace
        session = host.session()
        await session.load("good")
        assert (await session.read_file("good", "logo.png")).content == OTHER_LOGO[LOGO]
        first, second = (each.skill.deliveries[0].digest for each in person.loads)
        assert first != second


@pytest.mark.rule("H14", "H15")
async def test_loaded_skill_is_refused_once_another_archive_is_listed(state: State) -> None:
    script, person = only_archive(), Person(Answer.KEEP)
    async with open_host(script, person, state) as (host, _):
        session = host.session()
        await session.load("good")
        script.files = only_archive(repacked(OTHER_LOGO)).files
        await host.discover()
        with pytest.raises(ChangedError, match="its digests or URIs have changed"):
            await session.read_file("good", "logo.png")
        await session.load("good")
        assert "`logo.png` has changed" in str(person.loads[-1])
        assert (await session.read_file("good", "logo.png")).content == OTHER_LOGO[LOGO]


def bomb() -> bytes:
    packing = io.BytesIO()
    with zipfile.ZipFile(packing, "w", zipfile.ZIP_DEFLATED) as into:
        into.writestr("SKILL.md", FILES[MAIN])
        into.writestr("zeros", bytes(4 * 1024 * 1024))
    return packing.getvalue()


def linked(kind: bytes) -> bytes:
    packing = io.BytesIO()
    with tarfile.open(fileobj=packing, mode="w:gz") as into:
        document = tarfile.TarInfo("SKILL.md")
        document.size = len(FILES[MAIN])
        into.addfile(document, io.BytesIO(FILES[MAIN]))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = kind, "/etc/passwd"
        into.addfile(link)
    return packing.getvalue()


def zipped_link() -> bytes:
    packing = io.BytesIO()
    with zipfile.ZipFile(packing, "w") as into:
        into.writestr("SKILL.md", FILES[MAIN])
        entry = zipfile.ZipInfo("link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        into.writestr(entry, "/etc/passwd")
    return packing.getvalue()


@pytest.mark.rule("H8", "H25")
@pytest.mark.parametrize(
    ("content", "form", "reason"),
    [
        (bomb(), ZIP, "more than 1,048,576 bytes"),
        (zipped_link(), ZIP, "symbolic link"),
        (linked(tarfile.SYMTYPE), TAR, "symbolic link"),
        (linked(tarfile.LNKTYPE), TAR, "hard link"),
        (linked(tarfile.CHRTYPE), TAR, "is neither|device"),
        (pack({"SKILL.md": FILES[MAIN], "../x": b""}, ZIP), ZIP, r"\.\."),
        (packed(ZIP)[:-7], ZIP, "archive"),
    ],
    ids=["bomb", "zip-link", "tar-link", "hard-link", "device", "climbs-out", "cut"],
)
async def test_hostile_archive_is_neither_loaded_nor_approved(
    content: bytes, form: ArchiveFormat, reason: str, state: State, tmp_path: Path
) -> None:
    person = Person(Answer.KEEP)
    script = only_archive(content, form)
    async with open_host(script, person, state, Limits(bytes=1024 * 1024)) as (host, _):
        skill = host.registry.resolve("upstream:good")
        for use in (
            lambda: host.session().load("good"),
            lambda: host.approve(skill),
            lambda: host.with_files(skill),
            lambda: host.pull(skill, tmp_path / "pulled"),
            lambda: host.read(skill, "SKILL.md"),
        ):
            with pytest.raises(VerificationError, match=reason):
                await use()
    assert state.approvals.all() == []
    assert not (tmp_path / "pulled").exists()


@pytest.mark.rule("H13", "H21")
async def test_draft_a_uses_the_whole_frontmatter_of_the_archive(state: State) -> None:
    fields = {"allowed-tools": "Bash Read", "license": "MIT"}
    files = {**FILES, MAIN: document_of("good", fields)}
    script, person = only_archive(packed(ZIP, files), draft="a"), Person(Answer.KEEP)
    async with open_host(script, person, state) as (host, _):
        assert set(host.registry.resolve("upstream:good").frontmatter) == {"name", "description"}
        skill = await host.with_files(host.registry.resolve("upstream:good"))
        assert skill.frontmatter == {"name": "good", "description": "Does good.", **fields}
        assert "allowed-tools: Bash" in (await host.inspect(skill)).effects
        await host.approve(skill)
        await host.grant(host.registry.resolve("upstream:good"), ["Read"])
        session = host.session()
        await session.load("good")
        assert await session.allowed_tools("good") == {"Read"}
    async with open_host(script, person, state) as (host, _):
        assert host.registry.resolve("upstream:good").record.frontmatter["license"] == "MIT"
    assert person.asked == []


@pytest.mark.rule("H21")
async def test_model_cannot_load_what_the_archive_reserves_for_users(state: State) -> None:
    files = {**FILES, MAIN: document_of("good", {"disable-model-invocation": True})}
    script, person = only_archive(packed(ZIP, files), draft="a"), Person(Answer.KEEP)
    async with open_host(script, person, state) as (host, _):
        session = host.session()
        for _ in range(2):
            with pytest.raises(NotApprovedError, match="is not for models to load"):
                await session.load_for_model("good")
        assert session.acting == ()
        await session.load("good")


@pytest.mark.rule("H18")
async def test_nested_skills_are_read_from_their_own_archives(state: State) -> None:
    inner = {"SKILL.md": document_of("inner"), "a.md": b"own"}
    outer = {
        "SKILL.md": FILES[MAIN],
        "inner/SKILL.md": document_of("inner", body="# Copy\n"),
        "inner/a.md": b"copy",
    }
    entries = [
        entry_b(url=None, digest=None, archives=[archive_b(ZIP, pack(outer, ZIP))]),
        entry_b(
            url=None, digest=None, frontmatter={"name": "inner", "description": "Does inner."},
            archives=[{**archive_b(ZIP, pack(inner, ZIP)), "url": f"{ROOT}/inner.zip"}],
        ),
    ]  # fmt: skip
    script = indexed(*entries, files={})
    script.files = {**script.files, URI: pack(outer, ZIP), f"{ROOT}/inner.zip": pack(inner, ZIP)}
    person = Person(Answer.KEEP)
    for _ in range(2):
        async with open_host(script, person, state) as (host, _):
            session = host.session()
            await session.load("good")
            await session.load("inner")
            assert (await session.read_file("good", "inner/a.md")).content == b"copy"
            assert (await session.read_file("inner", "a.md")).content == b"own"
    assert len(person.loads) == 2


@pytest.mark.rule("H28")
async def test_label_of_another_server_knows_no_archives(state: State) -> None:
    person = Person(Answer.KEEP)
    async with open_host(only_archive(), person, state) as (host, _):
        await host.session().load("good")
    state.bind("upstream", "https://another.example/mcp")
    assert state.approvals.unpacked("upstream") == {}


OLD_TABLES = """
CREATE TABLE labels (
        label TEXT PRIMARY KEY,
        identity TEXT NOT NULL);
CREATE TABLE approvals (
        label TEXT NOT NULL REFERENCES labels ON DELETE CASCADE,
        uri BLOB NOT NULL,
        content TEXT NOT NULL,
        entry TEXT NOT NULL,
        standing TEXT NOT NULL CHECK (standing IN ('approved', 'changed', 'revoked')),
        approved_at REAL NOT NULL CHECK (approved_at BETWEEN 0 AND 99999999999),
        revocations INTEGER NOT NULL CHECK (revocations >= 0),
        PRIMARY KEY (label, uri));
CREATE TABLE grants (
        label TEXT NOT NULL,
        uri BLOB NOT NULL,
        tool TEXT NOT NULL,
        PRIMARY KEY (label, uri, tool),
        FOREIGN KEY (label, uri) REFERENCES approvals ON DELETE CASCADE);
CREATE TABLE cached (
        label TEXT NOT NULL REFERENCES labels ON DELETE CASCADE,
        uri BLOB NOT NULL,
        digest TEXT NOT NULL,
        size INTEGER NOT NULL CHECK (size >= 0),
        PRIMARY KEY (label, uri));
PRAGMA application_id = 0x736B7772;
PRAGMA user_version = 1;
"""


@pytest.mark.rule("H17")
async def test_state_of_an_older_version_keeps_its_approvals(tmp_path: Path) -> None:
    """The rows were written before archives could be approved; the file is made here, byte by byte."""
    folder = tmp_path / "old-state"
    folder.mkdir(mode=0o700)
    claim = skill_claim()
    files = [[file.uri, file.digest.text, file.size] for file in claim.files or ()]
    entry = {"uri": claim.uri, "frontmatter": dict(claim.frontmatter), "files": files, "dialect": "final"}
    content = hashlib.sha256(
        json.dumps(sorted([uri, digest] for uri, digest, _ in files)).encode()
    ).hexdigest()
    identity = hashlib.sha256(NOWHERE.identity.encode()).hexdigest()
    connection = sqlite3.connect(folder / "state.db")
    connection.executescript(OLD_TABLES)
    connection.execute("INSERT INTO labels VALUES ('upstream', ?)", (identity,))
    row = (claim.uri.encode(), content, json.dumps(entry))
    connection.execute("INSERT INTO approvals VALUES ('upstream', ?, ?, ?, 'approved', 1.0, 0)", row)
    connection.commit()
    connection.close()
    with State.open(folder) as state:
        assert state.damaged is None
        assert state.bind("upstream", NOWHERE.identity) is False
        assert state.approvals.approval_status("upstream", claim) is ApprovalStatus.APPROVED
        assert state.approvals.approved("upstream", claim.uri) == claim
        person = Person(Answer.KEEP)
        async with open_host(only_archive(), person, state) as (host, _):
            await host.session().load("good")
    with State.open(folder) as state:
        state.bind("upstream", NOWHERE.identity)
        assert {each.uri for each in state.approvals.all()} == {claim.uri, MAIN}
        assert state.approvals.approval_status("upstream", claim) is ApprovalStatus.APPROVED


@pytest.mark.rule("H17")
async def test_server_that_moves_from_archive_to_files_keeps_its_approval(state: State) -> None:
    person = Person(Answer.KEEP)
    async with open_host(only_archive(), person, state) as (host, _):
        await host.session().load("good")
    async with open_host(ScriptedServer([entry_of("good", FILES)], FILES), person, state) as (host, _):
        assert status(host) is ApprovalStatus.APPROVED  # exactly the same files, under the same URIs
        await host.session().load("good")
    assert len(person.loads) == 1

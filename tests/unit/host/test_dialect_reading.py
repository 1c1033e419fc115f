"""What a draft lists can be read, from wherever its dialect keeps it, and is held to what it promises."""

import base64
import io
import tarfile
import zipfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client

from skillwire import ServeOptions
from skillwire.errors import VerificationError
from skillwire.host import DraftsClient, Outcome, Report, SkillsClient, verify_server
from skillwire.protocol.claims import Dialect, Integrity
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.packing import pack
from skillwire.server import skills_server
from skillwire.sources import Limits, Rule
from tests.support.clients import ERAS, library_of, skill
from tests.support.draft_servers import (
    FILES,
    INDEX,
    MAIN,
    ROOT,
    archive_a,
    archive_b,
    draft_c,
    entry_a,
    entry_b,
    index_of,
    indexed,
    manifest,
    packed,
    resource,
    scanned,
    with_manifests,
)
from tests.support.scripted import ScriptedServer, block_of

pytestmark = pytest.mark.anyio
NOTES = f"{ROOT}/references/a%20b.md"
LOGO = f"{ROOT}/logo.png"


def archived(form: ArchiveFormat, content: bytes | None = None, **changed: Any) -> ScriptedServer:
    """Return a server of draft B that has one archive, and no file beside it."""
    made = packed(form) if content is None else content
    entry = entry_b(url=None, digest=None, archives=[archive_b(form, made, **changed)])
    return ScriptedServer(files={INDEX: index_of(entry), f"{ROOT}{form.suffix}": made}, declared=None)


@asynccontextmanager
async def asking(script: ScriptedServer, mode: Any = "auto", **more: Any) -> AsyncGenerator[DraftsClient]:
    async with Client(script.server(), mode=mode) as client:
        asked = DraftsClient(SkillsClient(client, **more))
        await asked.list()
        yield asked


async def verified(script: ScriptedServer, **more: Any) -> Report:
    async with Client(script.server()) as client:
        return await verify_server(SkillsClient(client, **more), drafts=True)


async def refused(asked: DraftsClient, uri: str) -> Rule:
    with pytest.raises(VerificationError) as caught:
        await asked.read(uri)
    return caught.value.problems[0].rule


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("form", list(ArchiveFormat))
async def test_archived_files_are_read_by_their_skill_uris(mode: Any, form: ArchiveFormat) -> None:
    script = archived(form)
    async with asking(script, mode) as asked:
        for uri, content in FILES.items():
            assert await asked.read(uri) == content
        assert await refused(asked, f"{ROOT}/none.md") is Rule.READ_FAILED
        assert await refused(asked, f"{ROOT}/%2e%2e/other.md") is Rule.READ_FAILED
        assert await asked.get(MAIN) == (await asked.list()).skills[0]
    reads = [params["uri"] for method, params in script.asked if method == "resources/read"]
    assert reads.count(f"{ROOT}{form.suffix}") == 1  # what is bound to a digest is fetched once


async def test_archive_is_not_fetched_before_a_file_is_read() -> None:
    script = archived(ArchiveFormat.ZIP)
    async with asking(script) as asked:
        await asked.get(MAIN)
    assert {params["uri"] for method, params in script.asked if method == "resources/read"} == {INDEX}


async def test_an_archive_without_a_digest_is_fetched_each_time() -> None:
    script = indexed(entry_a(type="archive", url=f"{ROOT}.zip"))
    async with asking(script) as asked:
        await asked.read(MAIN)
        script.files = {**script.files, f"{ROOT}.zip": packed(ArchiveFormat.ZIP, {**FILES, LOGO: b"new"})}
        assert await asked.read(LOGO) == b"new"


async def test_archive_is_not_fetched_for_a_separately_listed_document() -> None:
    script = indexed(entry_b(archives=[archive_b(ArchiveFormat.TAR_GZ)]), files={MAIN: FILES[MAIN]})
    async with asking(script) as asked:
        assert await asked.read(MAIN) == FILES[MAIN]
        assert ("resources/read", {"uri": f"{ROOT}.tar.gz"}) not in script.asked
        assert await asked.read(LOGO) == FILES[LOGO]


async def test_entries_of_one_path_are_one_skill_with_several_deliveries() -> None:
    script = indexed(entry_a(), archive_a(ArchiveFormat.ZIP), archive_a(ArchiveFormat.TAR_GZ))
    async with asking(script) as asked:
        listing = await asked.list()
        (found,) = listing.skills
        assert [each.uri for each in found.deliveries] == [MAIN, f"{ROOT}.zip", f"{ROOT}.tar.gz"]
        assert listing.findings.rules == {Rule.OLD_DRAFT}
        assert await asked.read(NOTES) == b"a"


OTHER = b"---\nname: other\ndescription: Does good.\n---\n"
MORE = FILES[MAIN].replace(b"---\n#", b"allowed-tools: Bash\n---\n#")
HOSTILE: dict[str, tuple[ScriptedServer, Rule]] = {
    "other-bytes": (archived(ArchiveFormat.ZIP, digest="sha256:" + "0" * 64), Rule.DIGEST),
    "not-an-archive": (archived(ArchiveFormat.ZIP, b"PK no"), Rule.ARCHIVE),
    "other-form": (archived(ArchiveFormat.TAR_GZ, packed(ArchiveFormat.ZIP)), Rule.ARCHIVE),
    "no-document": (archived(ArchiveFormat.ZIP, pack({"a.md": b"a"}, ArchiveFormat.ZIP)), Rule.ARCHIVE),
    "in-a-folder": (archived(ArchiveFormat.ZIP, pack({"x/SKILL.md": b""}, ArchiveFormat.ZIP)), Rule.ARCHIVE),
    "climbs-out": (
        archived(ArchiveFormat.TAR_GZ, pack({"SKILL.md": FILES[MAIN], "../x": b""}, ArchiveFormat.TAR_GZ)),
        Rule.ARCHIVE,
    ),
    "too-many": (
        archived(
            ArchiveFormat.ZIP,
            pack({"SKILL.md": FILES[MAIN], **{f"{n}.md": b"" for n in range(512)}}, ArchiveFormat.ZIP),
        ),
        Rule.ARCHIVE,
    ),
    "other-name": (
        archived(ArchiveFormat.ZIP, pack({"SKILL.md": OTHER}, ArchiveFormat.ZIP)),
        Rule.FRONTMATTER,
    ),
    "hidden-field": (
        archived(ArchiveFormat.ZIP, pack({"SKILL.md": MORE}, ArchiveFormat.ZIP)),
        Rule.FRONTMATTER,
    ),
}


@pytest.mark.rule("H13")
@pytest.mark.parametrize(("script", "fault"), HOSTILE.values(), ids=HOSTILE)
async def test_invalid_archive_yields_no_file(script: ScriptedServer, fault: Rule) -> None:
    async with asking(script) as asked:
        assert await refused(asked, MAIN) is fault
        assert await refused(asked, LOGO) is fault
    report = await verified(script)
    assert fault in report.found.rules
    assert (report.skills[0].files, report.skills[0].good) == (0, False)


def bomb(form: ArchiveFormat) -> bytes:
    """Return an archive that is small, and large once it is unpacked."""
    packing = io.BytesIO()
    content = {"SKILL.md": FILES[MAIN], "zeros": bytes(1024 * 1024)}
    if form is ArchiveFormat.ZIP:
        with zipfile.ZipFile(packing, "w", zipfile.ZIP_DEFLATED) as into:
            for path, each in content.items():
                into.writestr(path, each)
    else:
        with tarfile.open(fileobj=packing, mode="w:gz") as into:
            for path, each in content.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(each)
                into.addfile(entry, io.BytesIO(each))
    return packing.getvalue()


@pytest.mark.rule("H8", "H25")
@pytest.mark.parametrize("form", list(ArchiveFormat))
async def test_unpacking_limit_counts_actual_bytes(form: ArchiveFormat) -> None:
    made, whole = bomb(form), 1024 * 1024 + len(FILES[MAIN])
    assert len(made) < 10_000
    async with asking(archived(form, made), limits=Limits(bytes=whole - 1)) as asked:
        assert await refused(asked, MAIN) is Rule.ARCHIVE
    async with asking(archived(form, made), limits=Limits(bytes=whole)) as asked:
        assert len(await asked.read(f"{ROOT}/zeros")) == 1024 * 1024


async def test_archive_with_a_different_document_is_refused() -> None:
    longer = {**FILES, MAIN: FILES[MAIN] + b"More.\n"}
    script = indexed(entry_b(archives=[archive_b(ArchiveFormat.ZIP, packed(ArchiveFormat.ZIP, longer))]))
    script.files = {**script.files, f"{ROOT}.zip": packed(ArchiveFormat.ZIP, longer)}
    async with asking(script) as asked:
        assert await asked.read(MAIN) == FILES[MAIN]
        assert await refused(asked, LOGO) is Rule.DIGEST


@pytest.mark.rule("H15")
@pytest.mark.parametrize("entry", [entry_b(), entry_a(digest=entry_b()["digest"])], ids=["b", "a"])
async def test_changed_document_is_refused_if_a_digest_was_listed(entry: dict[str, Any]) -> None:
    script = indexed(entry)
    async with asking(script) as asked:
        assert await asked.read(MAIN) == FILES[MAIN]
        script.files = {**script.files, MAIN: FILES[MAIN] + b"!"}
        assert await refused(asked, MAIN) is Rule.DIGEST


@pytest.mark.rule("H8")
async def test_files_without_listed_size_count_towards_limits_when_read() -> None:
    limit = sum(map(len, FILES.values()))
    for short, fault in ((0, None), (1, Rule.ENTRY_LIMITS)):
        report = await verified(draft_c(), limits=Limits(bytes=limit - short))
        assert report.found.rules - {Rule.OLD_DRAFT} == ({fault} if fault else set())
    async with asking(scanned(), limits=Limits(files=2)) as asked:
        await asked.read(MAIN)
        await asked.read(MAIN)  # again, which counts once
        await asked.read(LOGO)
        assert await refused(asked, NOTES) is Rule.ENTRY_LIMITS


async def test_skill_and_files_are_read_from_old_uris() -> None:
    script = scanned([resource("skill://good", "Does good."), resource("skill://good/")])
    blocks = [block_of(uri, content) for uri, content in FILES.items() if uri != MAIN]
    script.files = {"skill://good": FILES[MAIN]}
    script.read = {"skill://good/": {"contents": blocks}}
    async with asking(script) as asked:
        assert asked.dialect is Dialect.OLD_URIS
        assert await asked.read(MAIN) == FILES[MAIN]
        assert await asked.read(NOTES) == b"a"
        assert await refused(asked, f"{ROOT}/none.md") is Rule.READ_FAILED
        for answer in (blocks[:1] * 2, [{"uri": "x"}], [{"text": "x"}], blocks[:1] * 600):
            script.read = {"skill://good/": {"contents": answer}}
            assert await refused(asked, NOTES) is Rule.READ_SHAPE


@pytest.mark.parametrize("mode", ERAS)
async def test_own_legacy_uris_are_readable(mode: Any) -> None:
    library = await library_of(skill("acme/one", files={"a.md": b"a", "b.bin": bytes(range(256))}))
    server = skills_server(library, options=ServeOptions(legacy_uris=True))
    async with Client(server, mode=mode) as client:
        every = await SkillsClient(client).read_all("skill://one/")
    assert set(every) == {f"skill://acme/one/{path}" for path in ("SKILL.md", "a.md", "b.bin")}
    assert every["skill://acme/one/b.bin"] == bytes(range(256))


@pytest.mark.parametrize(
    ("script", "dialect", "integrity", "files"),
    [
        (draft_c(), Dialect.DRAFT_C, Integrity.FULL, 3),
        (
            indexed(entry_b(archives=[archive_b(form) for form in ArchiveFormat])),
            Dialect.DRAFT_B,
            Integrity.PART,
            7,
        ),
        (indexed(entry_a()), Dialect.DRAFT_A, Integrity.NONE, 1),
        (scanned(), Dialect.SCAN, Integrity.NONE, 1),
    ],
    ids=str,
)
async def test_draft_server_with_good_files_is_still_nonconformant(
    script: ScriptedServer, dialect: Dialect, integrity: Integrity, files: int
) -> None:
    report = await verified(script)
    (found,) = report.skills
    assert (report.dialect, found.integrity, found.files, found.good) == (dialect, integrity, files, True)
    assert report.outcome() is Outcome.NONCONFORMANT
    assert Rule.OLD_DRAFT in report.found.rules


async def test_manifests_are_verified_file_by_file() -> None:
    script = with_manifests()
    report = await verified(script)
    assert (report.skills[0].files, report.skills[0].good) == (3, True)
    script.files = {**script.files, LOGO: b"longer"}
    assert {Rule.DIGEST, Rule.SIZE} < (await verified(script)).found.rules
    script.files = {**script.files, LOGO: FILES[LOGO], f"{ROOT}/_manifest": manifest()}
    script.resources = [resource(MAIN, "Harmless."), resource(f"{ROOT}/_manifest")]
    assert Rule.FRONTMATTER in (await verified(script)).found.rules  # it was told otherwise


async def test_skill_removed_from_the_index_cannot_be_fetched() -> None:
    script = indexed(entry_b())
    async with asking(script) as asked:
        assert (await asked.get(MAIN)).name == "good"
        script.files = {}
        with pytest.raises(VerificationError, match="does not list it"):
            await asked.get(MAIN)


@pytest.mark.rule("H3")
async def test_unlisted_draft_c_skill_can_be_fetched_by_uri() -> None:
    for made, dialect in ((draft_c(), Dialect.DRAFT_C), (draft_c(), Dialect.FINAL)):
        async with asking(made) as asked:
            made.pages = [{"skills": []}]
            asked.dialect = dialect
            if dialect is Dialect.DRAFT_C:
                assert (await asked.get(MAIN)).dialect is dialect
            else:
                with pytest.raises(VerificationError, match="size"):
                    await asked.get(MAIN)


@pytest.mark.rule("H25")
async def test_a_large_archive_is_refused_before_it_is_decoded() -> None:
    script = archived(ArchiveFormat.ZIP)
    blob = base64.b64encode(b"0" * 3).decode() * (6 * 1024 * 1024)
    uri = f"{ROOT}.zip"
    script.read = {uri: {"contents": [{"uri": uri, "blob": blob}]}}
    async with asking(script) as asked:
        assert await refused(asked, MAIN) is Rule.READ_BUDGET

"""Servers of earlier drafts are understood: the newest dialect that yields a skill counts, and is named."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import ServeOptions
from skillwire.errors import VerificationError
from skillwire.host import DraftsClient, SkillsClient
from skillwire.host.dialects.client import Listing
from skillwire.host.dialects.drafts import discover
from skillwire.protocol.claims import Dialect, Integrity
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.server import skills_server
from skillwire.sources import Rule, Severity
from tests.support.clients import ERAS, library_of, skill
from tests.support.draft_servers import (
    FILES,
    INDEX,
    MAIN,
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
from tests.support.peers import skillwire
from tests.support.scripted import ScriptedServer, entry_of, files_of

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)


async def discovered(script: ScriptedServer, mode: Any = "auto", **more: Any) -> Listing:
    async with Client(script.server(), mode=mode) as client:
        return await discover(SkillsClient(client), **more)


def final() -> ScriptedServer:
    return ScriptedServer([entry_of("good", FILES)], FILES)


def of_old_uris() -> ScriptedServer:
    script = scanned([resource("skill://good", "Does good."), resource("skill://good/")])
    script.files = {"skill://good": FILES[MAIN]}
    return script


SPEAKERS: list[tuple[Callable[[], ScriptedServer], Dialect, Integrity, bool]] = [
    (final, Dialect.FINAL, Integrity.FULL, True),
    (draft_c, Dialect.DRAFT_C, Integrity.FULL, True),
    (lambda: indexed(entry_b()), Dialect.DRAFT_B, Integrity.PART, False),
    (
        lambda: indexed(entry_b(url=None, digest=None, archives=[archive_b(ArchiveFormat.ZIP)])),
        Dialect.DRAFT_B,
        Integrity.PART,
        True,
    ),
    (lambda: indexed(entry_a()), Dialect.DRAFT_A, Integrity.NONE, False),
    (lambda: indexed(archive_a(ArchiveFormat.TAR_GZ)), Dialect.DRAFT_A, Integrity.PART, True),
    (with_manifests, Dialect.MANIFEST, Integrity.FULL, True),
    (scanned, Dialect.SCAN, Integrity.NONE, False),
    (of_old_uris, Dialect.OLD_URIS, Integrity.NONE, False),
]
every_speaker = pytest.mark.parametrize(
    ("made", "dialect", "integrity", "lasting"), SPEAKERS, ids=[f"{each[1]}-{each[2]}" for each in SPEAKERS]
)


@every_era
@every_speaker
@pytest.mark.rule("H17")
async def test_each_dialect_is_recognised_with_its_integrity(
    mode: Any, made: Any, dialect: Dialect, integrity: Integrity, lasting: Any
) -> None:
    listing = await discovered(made(), mode)
    (found,) = listing.skills
    assert (listing.dialect, found.dialect) == (dialect, dialect)
    assert (found.uri, found.name, found.description) == (MAIN, "good", "Does good.")
    assert (found.integrity, found.lasting) == (integrity, lasting)
    assert listing.complete is True
    expected = set[Rule]() if dialect is Dialect.FINAL else {Rule.OLD_DRAFT}
    assert listing.findings.rules == expected


@every_speaker
async def test_without_drafts_only_the_extension_is_asked(
    made: Any, dialect: Dialect, integrity: Integrity, lasting: Any
) -> None:
    script = made()
    listing = await discovered(script, drafts=False)
    assert bool(listing.skills) == (dialect is Dialect.FINAL)
    assert {method for method, _ in script.asked} <= {"skills/list"}
    if dialect is not Dialect.FINAL:
        assert listing.findings.kept


@pytest.mark.rule("H1")
async def test_skills_methods_are_called_only_if_extension_is_declared() -> None:
    script = indexed(entry_b())
    await discovered(script)
    assert [method for method, _ in script.asked] == ["resources/read"]


async def test_newest_dialect_wins_and_dialects_are_not_merged() -> None:
    """One server that speaks everything: what one dialect hides, the next has not."""
    other = files_of("other")
    script = with_manifests()
    script.declared = {}
    script.entries = [entry_of("other", other)]
    script.files = {**script.files, **other, INDEX: index_of(entry_b())}
    seen: list[Any] = []
    for silence in (
        lambda: None,
        lambda: setattr(script, "declared", None),
        lambda: setattr(script, "files", {**script.files, INDEX: index_of(entry_a())}),
        lambda: setattr(script, "files", {**script.files, INDEX: index_of()}),
        lambda: setattr(script, "files", {**script.files, "skill://good/_manifest": b"{}"}),
    ):
        silence()
        listing = await discovered(script)
        seen.append((listing.dialect, [each.name for each in listing.skills]))
    assert seen == [
        (Dialect.FINAL, ["other"]),
        (Dialect.DRAFT_B, ["good"]),
        (Dialect.DRAFT_A, ["good"]),
        (Dialect.MANIFEST, ["good"]),
        (Dialect.SCAN, ["good"]),
    ]


async def test_resources_are_listed_only_once() -> None:
    script = of_old_uris()
    await discovered(script)
    methods = [method for method, _ in script.asked]
    assert (methods.count("resources/list"), methods.count("resources/read")) == (1, 1)


@pytest.mark.rule("H5")
@pytest.mark.parametrize("bad", [7, {}, {"uri": MAIN}, entry_of("x", {}), {**entry_of("y", {}), "uri": 3}])
async def test_bad_entry_in_draft_c_does_not_hide_others(bad: Any) -> None:
    listing = await discovered(draft_c(bad))
    assert [each.uri for each in listing.skills] == [MAIN]
    assert len(listing.findings.kept) > 1


async def test_in_draft_c_an_entry_without_resources_is_dynamic() -> None:
    listing = await discovered(ScriptedServer([entry_b(uri=MAIN, url=None, digest=None)], FILES))
    (found,) = listing.skills
    assert (found.files, found.lasting, found.sized) == (None, False, False)


@pytest.mark.rule("H6")
async def test_draft_c_entry_among_final_entries_is_a_finding() -> None:
    old = draft_c().entries[0]
    listing = await discovered(ScriptedServer([old, entry_of("new", files_of("new"))], FILES))
    assert (listing.dialect, [each.name for each in listing.skills]) == (Dialect.FINAL, ["new"])
    assert Rule.ENTRY_RESOURCES in listing.findings.rules


async def test_no_skills_in_any_dialect_gives_empty_listing() -> None:
    declared = await discovered(ScriptedServer())
    assert (declared.dialect, declared.skills, declared.findings.kept) == (Dialect.FINAL, [], [])
    undeclared = await discovered(ScriptedServer(declared=None))
    assert (undeclared.dialect, undeclared.skills, undeclared.findings.kept) == (None, [], [])


async def test_failed_listing_is_reported_alongside_skills_of_older_dialect() -> None:
    script = indexed(entry_b())
    script.declared = {}
    script.pages = [{"skills": [], "nextCursor": "1"}]  # and there is no such page
    listing = await discovered(script)
    assert listing.dialect is Dialect.DRAFT_B
    assert listing.complete is False
    assert {Rule.READ_FAILED, Rule.OLD_DRAFT} == listing.findings.rules
    script.files = {}
    async with Client(script.server()) as client:
        with pytest.raises(MCPError):
            await discover(SkillsClient(client))


async def test_missing_method_beside_a_draft_index_is_only_a_warning() -> None:
    script = indexed(entry_b())
    script.declared, script.methods = {}, False
    listing = await discovered(script)
    assert (listing.dialect, listing.complete) == (Dialect.DRAFT_B, True)
    assert {each.severity for each in listing.findings.kept} == {Severity.WARNING}
    assert any("has no `skills/list`" in each.message for each in listing.findings.kept)
    script.files = {}
    async with Client(script.server()) as client:
        with pytest.raises(MCPError):  # it declares the extension, and answers in no dialect
            await discover(SkillsClient(client))


@pytest.mark.rule("H2")
@pytest.mark.parametrize("cursor", ["0", "x" * 70_000])
async def test_endless_resource_list_is_cut_and_its_skills_kept(cursor: str) -> None:
    script = scanned()
    script.resources = {"resources": script.resources, "nextCursor": cursor}
    listing = await discovered(script)
    assert ([each.name for each in listing.skills], listing.complete) == (["good"], False)
    assert listing.findings.rules == {Rule.LIST_ENDLESS, Rule.OLD_DRAFT}


@every_era
async def test_scan_finds_the_skills_of_every_page(mode: Any) -> None:
    library = await library_of(*(skill(f"s{number:03}") for number in range(250)))
    async with Client(skills_server(library, options=ServeOptions(drafts=False)), mode=mode) as client:
        assert (await client.list_resources()).next_cursor is not None
        listing = await discover(OlderClient(client))
    assert (listing.dialect, listing.complete) == (Dialect.SCAN, True)
    assert [each.name for each in listing.skills] == [f"s{number:03}" for number in range(250)]


async def test_number_of_manifests_read_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.host.dialects.drafts.MAX_MANIFESTS", 2)
    script = with_manifests(None, *(f"skill://m{number}/_manifest" for number in range(5)))
    listing = await discovered(script)
    reads = [params["uri"] for method, params in script.asked if method == "resources/read"]
    assert reads == [INDEX, "skill://good/_manifest", "skill://m0/_manifest"]
    assert (listing.complete, [each.name for each in listing.skills]) == (False, ["good"])
    assert {Rule.LIST_ENDLESS, Rule.READ_FAILED, Rule.OLD_DRAFT} == listing.findings.rules


@every_era
async def test_legacy_flags_are_read_only_when_enabled(mode: Any) -> None:
    settings = {"config": {"directoryRead": True}}
    script = final()
    script.declared, script.experimental = None, {"io.modelcontextprotocol/skills": settings}
    async with Client(script.server(), mode=mode) as client:
        strict, lenient = SkillsClient(client), SkillsClient(client, legacy_flags=True)
        assert (strict.declared, strict.reads_directories) == (None, False)
        assert (lenient.declared, lenient.reads_directories) == (settings, True)
        assert (await discover(strict)).skills == []
        listing = await discover(lenient)
        assert (listing.dialect, listing.findings.rules) == (Dialect.FINAL, {Rule.OLD_DRAFT})


@pytest.mark.rule("H1")
@pytest.mark.parametrize("value", [False, "true", 1, None, {"directoryRead": True}])
async def test_only_literal_true_enables_a_legacy_setting(value: Any) -> None:
    script = final()
    script.declared = {"config": {"directoryRead": value}}
    async with Client(script.server()) as client:
        assert SkillsClient(client, legacy_flags=True).reads_directories is False


class OlderClient(SkillsClient):
    """A client that was built before there were methods: it does not see that they are declared."""

    @property
    def declared(self) -> None:
        return None


@every_era
@pytest.mark.parametrize("archives", [False, True])
async def test_own_index_is_read_as_draft_b_without_faults(mode: Any, archives: Any) -> None:
    library = await library_of(skill("one"), skill("team/two", files={"a.md": b"a"}))
    async with Client(skills_server(library, options=ServeOptions(archives=archives)), mode=mode) as client:
        listing = await discover(OlderClient(client))
    assert listing.dialect is Dialect.DRAFT_B
    assert [each.uri for each in listing.skills] == ["skill://one/SKILL.md", "skill://team/two/SKILL.md"]
    assert listing.findings.rules == {Rule.OLD_DRAFT}
    assert [len(each.deliveries) for each in listing.skills] == [3 if archives else 1] * 2


OLDER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("older")
@server.resource("skill://old/SKILL.md", description="Is old.")
def old() -> str:
    return "---\\nname: old\\ndescription: Is old.\\n---\\n"
server.run()
"""


def test_verify_reads_drafts_and_reports_the_dialect() -> None:
    command = skillwire("verify", "--json", "--", sys.executable, "-c", OLDER)
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    told = json.loads(done.stdout)
    assert (done.returncode, told["dialect"], told["outcome"]) == (7, "scan", "nonconformant")
    assert [(skill["uri"], skill["integrity"], skill["dynamic"]) for skill in told["skills"]] == [
        ("skill://old/SKILL.md", "none", False)
    ]
    assert [finding["fault"] for finding in told["findings"]] == ["list-shape", "old-draft"]


NONSENSE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.sampled_from(
        [MAIN, "skill://good", "skill://good/_manifest", "skill://good.zip", "archive", "skill-md"]
    ),
    lambda each: (
        st.lists(each, max_size=4)
        | st.dictionaries(
            st.sampled_from(["uri", "url", "type", "name", "frontmatter", "resources", "archives", "files"]),
            each,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.lists(NONSENSE, max_size=4), st.sampled_from(ERAS), st.booleans())
def test_discovery_ends_with_a_listing_for_any_server_answers(
    said: list[Any], mode: Any, declared: Any
) -> None:
    documents = {uri: json.dumps(said).encode() for uri in ("skill://good/_manifest", MAIN, "skill://good")}
    script = ScriptedServer(
        entries=said,
        files={**documents, INDEX: index_of(*said)},
        resources=[resource(uri) for uri in documents],  # the SDK sends no others, and takes none
        declared={} if declared else None,
    )

    async def search() -> Listing:
        async with Client(script.server(), mode=mode) as client:
            asked = DraftsClient(SkillsClient(client))
            listing = await asked.list()
            for each in listing.skills:
                with suppress(VerificationError, MCPError):
                    await asked.read(each.uri)
            return listing

    listing = anyio.run(search)
    assert all(each.dialect is listing.dialect for each in listing.skills)
    assert len(script.asked) < 40


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_server_without_skills_has_no_findings(mode: Any) -> None:
    async with Client(skills_server(await library_of()), mode=mode) as client:
        listing = await discover(SkillsClient(client))
    assert listing.skills == []
    assert listing.findings.kept == []

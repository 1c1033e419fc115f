"""Each draft's words become values, entry by entry; nothing that a server writes makes a parser stumble."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.protocol.claims import Dialect, SkillClaim, parse_entry
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.draft_index import MAX_INDEXED, DraftIndex, read_draft_index
from skillwire.protocol.legacy import ListedResources, read_manifest
from skillwire.protocol.messages import find_declared_settings, reads_directories
from skillwire.sources import Limits, Rule
from tests.support.draft_servers import MAIN, ROOT, archive_a, archive_b, entry_a, entry_b, index_of, manifest
from tests.support.scripted import entry_of, files_of

ZIP = ArchiveFormat.ZIP


def read(*entries: Any) -> DraftIndex:
    return read_draft_index(index_of(*entries))


BAD_ENTRIES_OF_B: list[tuple[Any, Rule]] = [
    (7, Rule.ENTRY_SHAPE),
    (entry_b(url=7), Rule.ENTRY_URI),
    (entry_b(url="file:///good/SKILL.md"), Rule.ENTRY_URI),
    (entry_b(url="skill://good"), Rule.ENTRY_URI),
    (entry_b(url="good/SKILL.md"), Rule.ENTRY_URI),
    (entry_b(url=f"skill://{'x' * 5000}/SKILL.md"), Rule.ENTRY_URI),
    (entry_b(digest=None), Rule.ENTRY_RESOURCES),
    (entry_b(digest="md5:0"), Rule.ENTRY_RESOURCES),
    (entry_b(url=None, digest=None), Rule.ENTRY_URI),
    (entry_b(url=None, digest=None, archives=[]), Rule.ENTRY_URI),
    (entry_b(url=None, archives=[archive_b(ZIP, url="skill://good.rar", mimeType="x/y")]), Rule.ENTRY_URI),
    (entry_b(archives={}), Rule.ENTRY_SHAPE),
    (entry_b(archives=[archive_b(ZIP)] * 20), Rule.ENTRY_SHAPE),
    (entry_b(archives=[7]), Rule.ENTRY_URI),
    (entry_b(archives=[archive_b(ZIP, digest=None)]), Rule.ENTRY_RESOURCES),
    (entry_b(archives=[archive_b(ZIP, url="file:///good.zip")]), Rule.ENTRY_URI),
    (entry_b(archives=[archive_b(ZIP, url="skill://other.zip")]), Rule.ENTRY_URI),
    (entry_b(frontmatter=7), Rule.ENTRY_SHAPE),
    (entry_b(frontmatter={"name": "other", "description": "x"}), Rule.ENTRY_NAME),
    (entry_b(frontmatter={"name": "Good", "description": "x"}), Rule.ENTRY_NAME),
    (entry_b(frontmatter={"name": "good"}), Rule.ENTRY_DESCRIPTION),
]
BAD_ENTRIES_OF_A: list[tuple[Any, Rule]] = [
    (7, Rule.ENTRY_SHAPE),
    (entry_a(type=7), Rule.ENTRY_SHAPE),
    (entry_a(url=None), Rule.ENTRY_URI),
    (entry_a(digest="sha256:0"), Rule.ENTRY_RESOURCES),
    (entry_a(name=None), Rule.ENTRY_NAME),
    (entry_a(name="other"), Rule.ENTRY_NAME),
    (entry_a(description=None), Rule.ENTRY_DESCRIPTION),
    (archive_a(ZIP, name="other"), Rule.ENTRY_NAME),
    (entry_a(type="archive", url="skill://good.rar"), Rule.ARCHIVE),
    (entry_a(type="archive", url="file:///good.zip"), Rule.ENTRY_URI),
]


@pytest.mark.rule("H4", "H5", "H7")
@pytest.mark.parametrize(("bad", "fault"), BAD_ENTRIES_OF_B)
def test_one_bad_entry_of_draft_b_hides_no_other(bad: Any, fault: Rule) -> None:
    other = entry_b(url="skill://a/other/SKILL.md", frontmatter={"name": "other", "description": "x"})
    index = read(bad, other)
    assert (index.dialect, list(index.skills)) == (Dialect.DRAFT_B, ["skill://a/other/SKILL.md"])
    assert fault in index.findings.rules


@pytest.mark.rule("H4", "H5", "H7")
@pytest.mark.parametrize(("bad", "fault"), BAD_ENTRIES_OF_A)
def test_one_bad_entry_of_draft_a_hides_no_other(bad: Any, fault: Rule) -> None:
    index = read(bad, entry_a(name="other", url="skill://a/other/SKILL.md"))
    assert (index.dialect, list(index.skills)) == (Dialect.DRAFT_A, ["skill://a/other/SKILL.md"])
    assert fault in index.findings.rules


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b'{"skills": 7}', b"[" * 100_000])
def test_invalid_index_is_one_finding(content: bytes) -> None:
    index = read_draft_index(content)
    assert (index.skills, index.findings.rules) == ({}, {Rule.LIST_SHAPE})


def test_unknown_types_are_ignored() -> None:
    template = {"type": "mcp-resource-template", "description": "x", "url": "skill://docs/{product}/SKILL.md"}
    for entries in ([template, entry_a()], [{"type": "hologram"}, entry_a()], [template, entry_b()]):
        index = read(*entries)
        assert (list(index.skills), index.findings.kept) == ([MAIN], [])


def test_unknown_fields_of_an_entry_are_ignored() -> None:
    for entry in (entry_a(), entry_b()):
        plain, more = read(entry), read({**entry, "signature": {"alg": "none"}, "size": 7})
        assert (more.skills, more.findings.kept) == (plain.skills, [])
    final = entry_of("good", files_of("good"))
    files = [{**each, "signature": None} for each in final["resources"]]
    found = parse_entry({**final, "resources": files, "signature": "x"})
    assert isinstance(found, SkillClaim)
    assert found == parse_entry(final)


def test_unknown_archive_format_is_ignored_beside_another_delivery() -> None:
    index = read(entry_b(archives=[archive_b(ZIP, url="skill://good.rar", mimeType="application/x-rar")]))
    assert index.skills == {}  # it does not even stand beside the skill
    index = read(entry_b(archives=[archive_b(ZIP, url="skill://good", mimeType="application/x-rar")]))
    assert [len(each.deliveries) for each in index.skills.values()] == [1]


def test_the_mime_type_decides_the_archive_format_then_the_suffix() -> None:
    zipped = archive_b(ZIP, url="skill://good", mimeType="application/zip; x=y")
    (found,) = read(entry_b(url=None, digest=None, archives=[zipped])).skills.values()
    assert (found.uri, found.archives[0].form) == (MAIN, ZIP)
    (found,) = read(
        entry_b(archives=[archive_b(ZIP, url="skill://good.TGZ", mimeType="x/y")])
    ).skills.values()
    assert found.archives[0].form is ArchiveFormat.TAR_GZ


def test_one_path_listed_twice_counts_once() -> None:
    index = read(entry_a(), entry_a())
    assert (len(index.skills), index.findings.rules) == (1, {Rule.ENTRY_TWICE})
    index = read(entry_b(), entry_b(frontmatter={"name": "good", "description": "Other."}))
    (found,) = index.skills.values()
    assert (found.description, index.findings.rules) == ("Does good.", {Rule.ENTRY_TWICE})


def test_draft_a_entry_in_draft_b_index_is_reported() -> None:
    index = read(entry_b(), entry_a(name="lost", url="skill://lost/SKILL.md"))
    assert (list(index.skills), index.findings.rules) == ([MAIN], {Rule.ENTRY_SHAPE})


@pytest.mark.rule("H2")
def test_an_index_is_read_up_to_a_bound() -> None:
    index = read(*[entry_a()] * (MAX_INDEXED + 1))
    assert (index.complete, len(index.skills)) == (False, 1)
    assert Rule.LIST_ENDLESS in index.findings.rules
    assert read(*[entry_a()] * MAX_INDEXED).complete is True


def manifest_of(content: bytes, limits: Limits | None = None) -> Any:
    return read_manifest(f"{ROOT}/_manifest", content, {"description": "x"}, limits or Limits())


def file(**fields: Any) -> dict[str, Any]:
    return {"path": "x", "size": 1, "hash": "sha256:" + "0" * 64, **fields}


BAD_FILES: list[tuple[Any, Rule]] = [
    (7, Rule.ENTRY_RESOURCES),
    (file(path=7), Rule.ENTRY_RESOURCES),
    (file(path="../x"), Rule.ENTRY_RESOURCES),
    (file(path="/x"), Rule.ENTRY_RESOURCES),
    (file(path="a\\b"), Rule.ENTRY_RESOURCES),
    (file(path="%2e%2e/x"), Rule.ENTRY_RESOURCES),
    (file(path="SKILL.MD"), Rule.ENTRY_RESOURCES),
    (file(size=-1), Rule.ENTRY_RESOURCES),
    (file(hash="0"), Rule.ENTRY_RESOURCES),
    (file(size=16 * 1024 * 1024), Rule.ENTRY_LIMITS),
]


@pytest.mark.rule("H7", "H8")
@pytest.mark.parametrize(("bad", "fault"), BAD_FILES)
def test_a_manifest_with_a_bad_file_is_no_skill(bad: Any, fault: Rule) -> None:
    document = json.loads(manifest())
    document["files"].append(bad)
    found = manifest_of(json.dumps(document).encode())
    assert {each.rule for each in found} == {fault}


def test_manifest_belongs_to_the_skill_of_its_folder() -> None:
    found = manifest_of(manifest())
    assert (found.uri, found.frontmatter) == (MAIN, {"name": "good", "description": "x"})
    assert [file.uri for file in found.files] == [MAIN, f"{ROOT}/references/a%20b.md", f"{ROOT}/logo.png"]
    assert {each.rule for each in manifest_of(manifest("other"))} == {Rule.ENTRY_NAME}
    assert {each.rule for each in manifest_of(manifest(files={}))} == {Rule.ENTRY_RESOURCES}
    assert {each.rule for each in manifest_of(manifest(), Limits(files=2))} == {Rule.ENTRY_LIMITS}
    for content in (b"", b"[]", b"{}", b'{"files": 7}'):
        assert {each.rule for each in manifest_of(content)} == {Rule.ENTRY_SHAPE}


@pytest.mark.rule("H4")
def test_only_documents_with_a_skill_uri_and_name_are_skills() -> None:
    listed = ListedResources()
    for uri in (
        MAIN,
        "docs://good/SKILL.md",
        "file:///good/SKILL.md",
        "skill://good/a.md",
        "skill://a/Bad/SKILL.md",
    ):
        listed.add({"uri": uri})
    for odd in (7, {}, {"uri": 7}, {"uri": "skill://" + "x" * 5000 + "/SKILL.md"}):
        listed.add(odd)
    good, bad = listed.iter_scanned_skills()
    assert isinstance(good, SkillClaim)
    assert isinstance(bad, list)
    assert (good.uri, bad[0].rule) == (MAIN, Rule.ENTRY_NAME)
    assert list(listed.iter_old_uri_skills()) == []


def test_old_addresses_are_those_with_a_name_and_nothing_else() -> None:
    listed = ListedResources()
    for uri in (
        "skill://good",
        "skill://good/",
        "skill://Bad%20Name",
        "skill://a/b",
        "other://good",
        "skill://",
    ):
        listed.add({"uri": uri})
    good, bad = listed.iter_old_uri_skills()
    assert isinstance(good, SkillClaim)
    assert isinstance(bad, list)
    assert (good.uri, good.deliveries[0].uri) == (MAIN, "skill://good")


def test_final_flags_take_precedence_over_old_ones() -> None:
    extension = "io.modelcontextprotocol/skills"
    assert find_declared_settings(None, {extension: {"a": 1}}) == {"a": 1}
    assert find_declared_settings({extension: {}}, {extension: {"a": 1}}) == {}
    assert find_declared_settings({extension: True}) is None
    nested = {"config": {"directoryRead": True}}
    assert reads_directories(nested, legacy_flags=True) is True
    assert reads_directories(nested) is False
    assert reads_directories({"directoryRead": False, **nested}, legacy_flags=True) is False


KEYS = [
    *("skills", "url", "uri", "digest", "frontmatter", "archives", "mimeType", "name", "type", "description"),
    *("resources", "size", "path", "hash", "files", "skill"),
]
TEXTS = [
    MAIN,
    f"{ROOT}.zip",
    f"{ROOT}/_manifest",
    "skill-md",
    "archive",
    "good",
    "SKILL.md",
    "\ud800",
    "%",
    "",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(TEXTS),
    lambda each: st.lists(each) | st.dictionaries(st.sampled_from(KEYS), each),
    max_leaves=40,
)


@given(VALUES)
def test_parsers_never_raise_for_any_value(value: Any) -> None:
    parsed = parse_entry(value, dialect=Dialect.DRAFT_C)
    assert isinstance(parsed, SkillClaim) or parsed
    listed = ListedResources()
    listed.add(value)
    listed.add({"uri": value, "description": value})
    assert all((*listed.iter_scanned_skills(), *listed.iter_old_uri_skills()))
    for content in (json.dumps({"skills": [value]}), json.dumps({"skills": value}), json.dumps(value)):
        index = read_draft_index(content.encode())
        assert all(each.dialect is index.dialect for each in index.skills.values())
    for content in (json.dumps({"skill": "good", "files": [value]}), json.dumps(value)):
        assert manifest_of(content.encode())


@given(st.binary(), st.sampled_from([b"", b"{", b'{"skills":[', b'{"files":[{"path":"']))
def test_parsers_never_raise_for_any_bytes(content: bytes, start: bytes) -> None:
    assert read_draft_index(start + content).skills == {}
    assert manifest_of(start + content)

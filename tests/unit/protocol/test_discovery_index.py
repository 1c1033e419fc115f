"""The index of a publisher: what is good in it is used, and what is not is told with its place."""

import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.protocol.delivery import SCHEMA, Delivery
from skillwire.protocol.discovery import (
    MAX_SKILLS,
    Artifact,
    DiscoveryError,
    FileListSkill,
    Index,
    PublishedSkill,
    read_index,
    render_index,
)
from skillwire.sources import Digest

DIGEST = Digest.of(b"content")
GOOD: dict[str, Any] = {
    "name": "refunds",
    "type": "archive",
    "description": "Refunds. Use when money goes back.",
    "url": "refunds.tar.gz",
    "digest": DIGEST.text,
}
OLDER: dict[str, Any] = {
    "name": "returns",
    "description": "Returns.",
    "files": ["SKILL.md", "references/x.md"],
}
REFUNDS = Artifact("refunds", Delivery.ARCHIVE, GOOD["description"], "refunds.tar.gz", DIGEST)
RETURNS = FileListSkill("returns", "Returns.", ("SKILL.md", "references/x.md"))


def index(*skills: Any, **more: Any) -> Index:
    return read_index(orjson.dumps({"$schema": SCHEMA, "skills": skills, **more}))


def without(entry: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != key}


def test_entries_of_both_versions_are_read() -> None:
    assert index(GOOD, OLDER).skills == (REFUNDS, RETURNS)
    assert read_index(orjson.dumps({"skills": [OLDER]})) == Index((RETURNS,))


def test_unknown_fields_are_ignored() -> None:
    assert index({**GOOD, "license": ["MIT"]}, version="0.2.0", more=1) == Index((REFUNDS,))


def test_a_byte_order_mark_changes_nothing() -> None:
    assert read_index(b"\xef\xbb\xbf" + render_index([REFUNDS])) == Index((REFUNDS,))


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ("text", "skills[1]"),
        (None, "skills[1]"),
        ([], "skills[1]"),
        ({}, "skills[1].name"),
        ({**GOOD, "name": 7}, "skills[1].name"),
        ({**GOOD, "name": ""}, "skills[1].name"),
        ({**GOOD, "name": "Re Funds"}, "skills[1].name"),
        ({**GOOD, "name": "../x"}, "skills[1].name"),
        ({**GOOD, "name": "a/b"}, "skills[1].name"),
        ({**GOOD, "name": "a\\b"}, "skills[1].name"),
        ({**GOOD, "name": "a" * 65}, "skills[1].name"),
        (without(GOOD, "type"), "skills[1].type"),
        ({**GOOD, "type": "mcp-resource-template"}, "skills[1].type"),
        ({**GOOD, "type": ["archive"]}, "skills[1].type"),
        (without(GOOD, "description"), "skills[1].description"),
        ({**GOOD, "description": " "}, "skills[1].description"),
        ({**GOOD, "description": "x" * 100_000}, "skills[1].description"),
        (without(GOOD, "url"), "skills[1].url"),
        ({**GOOD, "url": {"href": "x"}}, "skills[1].url"),
        ({**GOOD, "url": "x" * 5_000}, "skills[1].url"),
        (without(GOOD, "digest"), "skills[1].digest"),
        ({**GOOD, "digest": DIGEST.text.upper()}, "skills[1].digest"),
        ({**GOOD, "digest": "sha256:abc"}, "skills[1].digest"),
        ({**GOOD, "digest": "md5:" + "0" * 64}, "skills[1].digest"),
        ({**OLDER, "files": "SKILL.md"}, "skills[1].files"),
        ({**OLDER, "files": []}, "skills[1].files"),
        ({**OLDER, "files": ["readme.md"]}, "skills[1].files"),
        ({**OLDER, "files": ["SKILL.md"] * 600}, "skills[1].files"),
        ({**OLDER, "files": ["SKILL.md", 3]}, "skills[1].files[1]"),
        ({**OLDER, "files": ["SKILL.md", "../../x"]}, "skills[1].files[1]"),
        ({**OLDER, "files": ["SKILL.md", "/etc/passwd"]}, "skills[1].files[1]"),
        ({**OLDER, "files": ["SKILL.md", "a\\b"]}, "skills[1].files[1]"),
        ({**OLDER, "files": ["SKILL.md", "C:x"]}, "skills[1].files[1]"),
        ({**OLDER, "files": ["SKILL.md", "a\0b"]}, "skills[1].files[1]"),
        ({**OLDER, "files": ["SKILL.md", "skill.md"]}, "skills[1].files[1]"),
        ({**OLDER, "files": ["SKILL.md", "a", "a/b"]}, "skills[1].files"),
    ],
)
def test_bad_entry_is_reported_and_hides_no_other(bad: Any, place: str) -> None:
    first, last = {**GOOD, "name": "first"}, {**GOOD, "name": "last"}
    found = index(first, bad, last)
    assert [skill.name for skill in found.skills] == ["first", "last"]
    assert [problem.field for problem in found.problems] == [place]
    assert all(problem.message and problem.hint for problem in found.problems)


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_deliveries_of_a_skill_the_archive_is_taken(order: int) -> None:
    plain = {**GOOD, "type": "skill-md", "url": "refunds/SKILL.md", "digest": Digest.of(b"other").text}
    assert index(*[GOOD, plain][::order]) == Index((REFUNDS,))


def test_one_skill_packed_in_two_ways_is_one_skill() -> None:
    zipped = {**GOOD, "url": "refunds.zip", "digest": Digest.of(b"other").text}
    assert index(GOOD, zipped, GOOD) == Index((REFUNDS,))


def test_two_skills_with_one_name_are_reported() -> None:
    found = index(GOOD, {**GOOD, "digest": Digest.of(b"other").text}, {**OLDER, "name": "refunds"})
    assert found.skills == (REFUNDS,)
    assert [problem.field for problem in found.problems] == ["skills[1].name", "skills[2].name"]


def test_index_is_read_up_to_the_limit() -> None:
    found = index(*({**GOOD, "name": f"skill-{number}"} for number in range(MAX_SKILLS + 5)))
    assert len(found.skills) == MAX_SKILLS
    assert [problem.field for problem in found.problems] == ["skills"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not JSON"),
        (b"<!doctype html>", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is not an index of skills"),
        (b"{}", "is not an index of skills"),
        (b'{"skills": {}}', "is not an index of skills"),
        (b'{"$schema": "https://schemas.agentskills.io/discovery/9/schema.json", "skills": []}', "version"),
        (b'{"$schema": 7, "skills": []}', "version"),
    ],
)
def test_invalid_index_error_gives_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(DiscoveryError, match=reason):
        read_index(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(["name", "type", "description", "url", "digest", "files"])
PLAUSIBLE = st.sampled_from(["refunds", "archive", "skill-md", DIGEST.text, "SKILL.md", "../x", ["SKILL.md"]])


@given(st.lists(st.dictionaries(KEYS, PLAUSIBLE | JSON) | JSON, max_size=6))
def test_every_entry_is_used_or_reported(entries: list[Any]) -> None:
    found = index(*entries)
    names = [skill.name for skill in found.skills]
    assert len(names) == len(set(names))
    assert len(found.skills) + len(found.problems) <= len(entries)
    assert entries == [] or found != Index()


@given(JSON)
def test_any_json_is_an_index_or_a_discovery_error(value: Any) -> None:
    for document in (value, {"skills": value}):
        try:
            read_index(orjson.dumps(document))
        except DiscoveryError:
            continue


@given(st.binary())
def test_any_bytes_are_an_index_or_a_discovery_error(content: bytes) -> None:
    try:
        read_index(content)
    except DiscoveryError:
        return


NAMES = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True)
TEXTS = st.text(min_size=1, max_size=100).filter(lambda text: bool(text.strip()))
ARTIFACTS = st.builds(Artifact, NAMES, st.sampled_from(Delivery), TEXTS, TEXTS, st.binary().map(Digest.of))
FILES = NAMES.filter(lambda name: not DEVICE.fullmatch(name))
DEVICE = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")
"""No file on Windows has these names, so they are refused."""
LOOSE = st.builds(
    FileListSkill, NAMES, TEXTS, st.lists(FILES, unique=True).map(lambda names: ("SKILL.md", *names))
)


@given(st.lists(ARTIFACTS | LOOSE, unique_by=lambda skill: skill.name))
def test_a_rendered_index_reads_back_unchanged(skills: list[PublishedSkill]) -> None:
    assert read_index(render_index(skills)) == Index(tuple(skills))

"""What is listed by default is what strict clients accept: their own checks are asked."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fastmcp.skills.models import ListSkillsResult
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skillwire import SkillRecord
from skillwire.core.json_text import json_bytes
from skillwire.core.names import collision_key, path_fault, root_uri
from skillwire.core.record import Json
from skillwire.host import Trust
from skillwire.protocol.translate import skill_entry
from skillwire.sources import Digest, LiveFile, Origin, SkillFile
from tests.support.foreign_servers import typescript_entries
from tests.support.peers import StdioPeer

FIELDS = ("description", "license", "compatibility", "metadata", "allowed-tools", "__proto__", "other")
TEXTS = [
    *("x", "\n", " x", "null", "\\", "\x00", "\x7f", "é\u0301", "\u200b", "\U0010ffff"),
    *("x" * 500, "x" * 501, "😀" * 500, "😀" * 501, "x" * 1024, "x" * 1025, "😀" * 1024, "😀" * 1025),
]
BLANK = ["", " ", "\u00a0", "\u2028", "\x1c"]
OTHERS: list[Json] = [None, True, False, 0, -1, 1.5, 2**53 + 1, -(2**63), 1e300, 5e-324]
NESTED: list[Json] = [[], {}, ["x"], {"a": "b"}, {"a": ""}, {"a": 1}, {"a": None}, {"a": {"b": "c"}}]
VALUES: list[Json] = [*TEXTS, *BLANK, *OTHERS, *NESTED, {"__proto__": "x"}, {"constructor": "x", "": "y"}]

NAMES = [
    *("aux", "AUX", "Con", "nul", "com1", "COM9", "lpt1", "com0", "com10", "CONIN$", "com¹", "auxiliary"),
    *("x y", " lead", "trail ", "dot.", "dot..", "..a", ".hidden", "_manifest", ".skill-source.json"),
    *("a%2fb", "a%5Cb", "%2e%2e", "%00", "%", "a#b", "a?b", "a:b", "a*b", 'a"b', "a|b", "<a>", "[x]", "{x}"),
    *(
        "^",
        "`",
        "a@b",
        "~",
        "$&+;=,'()!",
        "ü",
        "e\u0301",
        "日本",
        "\u200b",
        "\u202e",
        "\ufeff",
        "\u00a0",
        "😀",
    ),
]
SUFFIXES = ("", ".md", ".tar.gz", "/inside.md", ".", " ")
SKILL_NAMES = ("a", "x" * 64, "1", "0x1", "null", "a-b", "aux", "com0", "con")


def entry_of(
    name: str, fields: Mapping[str, Json], paths: Sequence[str] = (), groups: Sequence[str] = ()
) -> SkillRecord:
    frontmatter: dict[str, Json] = {"name": name, "description": "Does one thing.", **fields}
    files = tuple(SkillFile(path, "text/plain", Digest.of(b""), 0) for path in ("SKILL.md", *paths))
    return SkillRecord(
        f"{root_uri([*groups, name])}/SKILL.md",
        frontmatter,
        files,
        (),
        Origin("s", "l", "p"),
        trust=Trust.OWN,
    )


def every_kind() -> Iterator[SkillRecord]:
    """Yield a skill for each value of each field, each name of a file, a folder and a skill."""
    number = 0

    def group() -> list[str]:
        nonlocal number
        number += 1
        return [f"g{number}"]

    for field in FIELDS:
        for value in VALUES:
            yield entry_of("odd", {field: value}, groups=group())
    for name in NAMES:
        for suffix in SUFFIXES:
            if path_fault(path := name + suffix) is None:
                yield entry_of("odd", {}, [path], group())
        yield entry_of("odd", {}, ["a.md"], [name, *group()])
    for length in (1023, 1024, 1025):
        yield entry_of("odd", {}, ["d" * 200 + "/" + "f" * (length - 201)], group())
    for name in SKILL_NAMES:
        yield entry_of(name, {}, ["a.md"])


def accepted_by_fastmcp(entry: SkillRecord) -> bool:
    page = {"ttlMs": 0, "cacheScope": "public", "skills": [skill_entry(entry)]}
    try:
        ListSkillsResult.model_validate_json(json_bytes(page))
    except ValidationError:
        return False
    return True


def accepted_by_typescript(entries: Sequence[SkillRecord], folder: Path) -> set[str]:
    """Return the URIs of those that the SDK's server passes on. Its client makes the same checks."""
    listed = folder / "entries.json"
    listed.write_bytes(json_bytes([skill_entry(entry) for entry in entries]))
    with StdioPeer("2025-11-25", typescript_entries(listed)) as server:
        return {entry["uri"] for entry in server.result("skills/list")["skills"]}


def refused_here(entry: SkillRecord) -> bool:
    """Whether one of the two clients refuses the skill.

    fast-agent alone refuses names of skills and files; it needs another Python. The TypeScript SDK refuses
    `__proto__` with the older of the versions of zod that it allows.
    """
    return any(reason.field not in {"", "name", "__proto__"} for reason in entry.nonconformities)


def test_conformance_rules_match_strict_clients(tmp_path: Path) -> None:
    entries = list(every_kind())
    typescript = accepted_by_typescript(entries, tmp_path)
    for entry in entries:
        accepted = accepted_by_fastmcp(entry) and entry.uri in typescript
        if not entry.nonconformities:
            assert accepted, entry
        elif refused_here(entry):
            assert not accepted, entry
    assert {bool(entry.nonconformities) for entry in entries} == {True, False}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ODD = st.sampled_from(VALUES) | JSON
PATHS = st.lists(
    st.lists(st.sampled_from(NAMES) | st.text(max_size=6), min_size=1, max_size=3).map("/".join), max_size=3
).map(lambda paths: [path for path in paths if path_fault(path) is None])


@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(min_size=1), ODD, max_size=3), PATHS, st.data())
def test_fastmcp_accepts_what_is_listed_and_refuses_what_is_not(
    fields: dict[str, Json], paths: list[str], data: st.DataObject
) -> None:
    fields.pop("name", None)
    unique = {collision_key(path): path for path in paths}
    unique.pop("skill.md", None)
    entry = entry_of(
        "odd", fields, list(unique.values()), data.draw(st.sampled_from([[], ["a"], ["a b", "%"]]))
    )
    if not entry.nonconformities:
        assert accepted_by_fastmcp(entry)
    elif refused_here(entry):
        assert not accepted_by_fastmcp(entry)


def test_the_files_of_a_dynamic_skill_are_in_no_entry() -> None:
    files = (LiveFile("SKILL.md", "text/markdown"), LiveFile("aux.md", "text/markdown"))
    frontmatter: dict[str, Json] = {"name": "live", "description": "Does one thing."}
    entry = SkillRecord(
        "skill://live/SKILL.md", frontmatter, files, (), Origin("s", "l", "p"), trust=Trust.OWN
    )
    assert accepted_by_fastmcp(entry)
    assert not entry.nonconformities

"""A URI names at most one file: the one of the innermost skill that has this URI."""

from hypothesis import given
from hypothesis import strategies as st

from skillwire.core.names import SKILL_FILE, root_uri
from skillwire.core.record import Digest, Origin, SkillFile, SkillRecord, Trust
from skillwire.library.compose import LabelledScan, compose
from skillwire.sources.base import Scan

DIGEST = Digest.of(b"")
SEGMENTS = st.sampled_from(["a", "b", "a b", "ä", "a%20b", "a+b", "SKILL.md", "x.md", "c;d", "%"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)
FOLDERS = st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=3).map(tuple)


def record(folder: tuple[str, ...], paths: set[str]) -> SkillRecord:
    uri = f"{root_uri(folder)}/{SKILL_FILE}"
    files = tuple(
        SkillFile(path, "text/plain", DIGEST, 0) for path in (SKILL_FILE, *sorted(paths - {SKILL_FILE}))
    )
    matter = {"name": folder[-1], "description": "x"}
    origin = Origin("source", "/".join(folder), f"{'/'.join(folder)}/{SKILL_FILE}")
    return SkillRecord(uri, matter, files, (), origin, trust=Trust.OWN)


@given(paths=st.sets(PATHS, max_size=8), others=st.lists(PATHS | st.text(max_size=12), max_size=8))
def test_file_is_found_only_at_its_own_uri(paths: set[str], others: list[str]) -> None:
    skill = record(("a", "b"), paths)
    by_uri = {skill.uri_of(file.path): file for file in skill.files}
    assert len(by_uri) == len(skill.files)
    asked = [*by_uri, *others, *(f"{skill.root}/{each}" for each in (*paths, *others)), skill.root, ""]
    for uri in asked:
        assert skill.file_at(uri) is by_uri.get(uri)


@given(skills=st.dictionaries(FOLDERS, st.sets(PATHS, max_size=4), min_size=1, max_size=5))
def test_innermost_skill_has_the_file(skills: dict[tuple[str, ...], set[str]]) -> None:
    records = [record(folder, paths) for folder, paths in skills.items()]
    catalog = compose([LabelledScan("source", Scan(tuple(records)))], movable=False)
    asked = {each.uri_of(file.path) for each in records for file in each.files} | {"skill://a", "skill://a/b"}
    for uri in asked:
        owners = [each for each in catalog.entries.values() if each.file_at(uri) is not None]
        innermost = max(owners, key=lambda each: len(each.root), default=None)
        served = catalog.files.get(uri)
        assert (None if served is None else served.entry) is innermost

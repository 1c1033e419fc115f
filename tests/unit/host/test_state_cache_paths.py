"""Names of cached files: readable, unique, and fit for every file system."""

import os
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skillwire.core.names import collision_key, portable_fault
from skillwire.host.store.cache import cache_path, file_name, label_folder

pytestmark = pytest.mark.rule("H24")

LABELS = st.one_of(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True), st.text(max_size=80))
URIS = st.one_of(
    st.from_regex(r"skill://[A-Za-z0-9._%~-]{1,30}(/[A-Za-z0-9._%~-]{1,30}){0,3}", fullmatch=True),
    st.text(st.characters(), max_size=300),
    st.integers(1, 4096).map(lambda length: "skill://" + "a" * length + "/SKILL.md"),
)
CACHE = Path("cache")


@given(LABELS, URIS, LABELS, URIS)
@example("docs", "skill://a/B", "docs", "skill://a/b")
@example("Docs", "skill://a/b", "docs", "skill://a/b")
@example("a", "b/c", "a/b", "c")
@example("docs", "skill://a/é", "docs", "skill://a/e\u0301")
@example("docs", "skill://a/%2e%2e/b", "docs", "skill://a/../b")
@example("con", "skill://x", "CON", "skill://x")
@example("docs", "skill://" + "a" * 4000, "docs", "skill://" + "a" * 4001)
def test_cache_paths_are_unique_even_when_case_is_ignored(
    label: str, uri: str, other_label: str, other_uri: str
) -> None:
    one = collision_key(cache_path(CACHE, label, uri).as_posix())
    other = collision_key(cache_path(CACHE, other_label, other_uri).as_posix())
    assert (one == other) == ((label, uri) == (other_label, other_uri))


@given(LABELS, URIS)
@example("..", "skill://../../etc/passwd")
@example(".staging", "..")
@example("", "")
@example("zero.txt", "skill://x/con.md")
@example("a.", "skill://x/a.")
@example("x\0y", "\ud800/\0")
def test_cache_path_is_portable_and_inside_the_cache_folder(label: str, uri: str) -> None:
    path = PurePosixPath(cache_path(CACHE, label, uri).as_posix())
    assert path.parts[0] == "cache"
    assert len(path.parts) == 3
    assert portable_fault("/".join(path.parts[1:])) is None
    assert all(len(part) <= 128 and not part.startswith(".") for part in path.parts)


@settings(max_examples=40)
@given(LABELS, URIS)
def test_file_system_accepts_every_cache_path(label: str, uri: str) -> None:
    with TemporaryDirectory() as folder:
        path = cache_path(Path(folder), label, uri)
        path.parent.mkdir()
        path.write_bytes(b"x")
        assert os.listdir(folder) == [path.parent.name]  # noqa: PTH208 - what the system says, not what pathlib makes of it


@given(URIS)
def test_no_cached_file_has_the_name_of_a_skills_document(uri: str) -> None:
    assert collision_key(file_name(uri)) != "skill.md"


def test_cache_names_are_readable() -> None:
    assert label_folder("example.com-mcp") == "example.com-mcp"
    assert label_folder("My-Docs").startswith("My-Docs~")
    assert file_name("skill://acme/refunds/SKILL.md").startswith("acme-refunds-SKILL.md~")

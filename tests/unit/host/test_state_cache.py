"""Files that are kept on disk: only what was promised comes out, and only so much is kept."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from skillwire import FolderSource, State
from skillwire.errors import VerificationError
from tests.support.skill_claims import file_claim

pytestmark = [pytest.mark.rule("H24"), pytest.mark.anyio]

URI = "skill://refunds/references/policy.md"
CONTENT = b"30 days\n"
FILE = file_claim(URI, CONTENT)


def path_of(state: State) -> Path:
    (cached,) = state.cache.list_files()
    return cached.path


def test_unfetched_file_is_not_in_the_cache(state: State) -> None:
    assert state.cache.get("shop", FILE) is None
    assert state.cache.list_files() == []


def test_cached_file_survives_a_restart(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.bind("shop", "https://shop.example/mcp")
        assert state.cache.put("shop", FILE, CONTENT)
    with State.open(tmp_path) as state:
        state.bind("shop", "https://shop.example/mcp")
        assert state.cache.get("shop", FILE) == CONTENT
        (cached,) = state.cache.list_files()
        assert (cached.label, cached.uri, cached.digest, cached.size) == ("shop", URI, FILE.digest, FILE.size)


def test_each_server_has_its_own_cached_file(state: State) -> None:
    other = file_claim(URI, b"60 days\n")
    assert state.cache.put("shop", FILE, CONTENT)
    assert state.cache.put("desk", other, b"60 days\n")
    desk, shop = (cached.path for cached in state.cache.list_files())
    assert (desk.parent.name, shop.parent.name) == ("desk", "shop")
    assert "policy.md" in shop.name
    assert state.cache.get("shop", FILE) == CONTENT
    assert state.cache.get("desk", other) == b"60 days\n"
    assert state.cache.get("desk", FILE) is None


@pytest.mark.rule("H15")
def test_corrupt_cached_file_is_detected_and_deleted(state: State) -> None:
    state.cache.put("shop", FILE, CONTENT)
    path = path_of(state)
    flipped = bytearray(path.read_bytes())
    flipped[3] ^= 1
    path.write_bytes(flipped)
    assert state.cache.get("shop", FILE) is None
    assert not path.exists()
    assert state.cache.list_files() == []
    assert state.cache.put("shop", FILE, CONTENT)
    assert state.cache.get("shop", FILE) == CONTENT


@pytest.mark.rule("H15")
@pytest.mark.parametrize("content", [b"", CONTENT[:-1], CONTENT + b"x", CONTENT * 1000])
def test_cached_file_of_wrong_length_is_detected(state: State, content: bytes) -> None:
    state.cache.put("shop", FILE, CONTENT)
    path_of(state).write_bytes(content)
    assert state.cache.get("shop", FILE) is None


@pytest.mark.rule("H15")
def test_file_without_listed_size_is_cached_by_its_digest(state: State) -> None:
    unsized = replace(FILE, size=None)
    assert state.cache.put("shop", unsized, CONTENT)
    assert state.cache.get("shop", unsized) == CONTENT
    assert [cached.size for cached in state.cache.list_files()] == [len(CONTENT)]
    path_of(state).write_bytes(CONTENT + b"x")
    assert state.cache.get("shop", unsized) is None


def test_cached_file_with_outdated_digest_is_not_returned(state: State) -> None:
    state.cache.put("shop", FILE, CONTENT)
    newer = file_claim(URI, b"60 days\n")
    assert state.cache.get("shop", newer) is None
    assert state.cache.put("shop", newer, b"60 days\n")
    assert state.cache.get("shop", newer) == b"60 days\n"
    assert len(state.cache.list_files()) == 1


def test_bytes_with_wrong_digest_are_not_cached(state: State) -> None:
    with pytest.raises(VerificationError):
        state.cache.put("shop", FILE, b"30 days?")
    assert state.cache.list_files() == []
    assert state.cache.get("shop", FILE) is None


def test_deleted_cached_file_is_not_listed_and_can_be_restored(state: State) -> None:
    state.cache.put("shop", FILE, CONTENT)
    path_of(state).unlink()
    assert state.cache.get("shop", FILE) is None
    assert state.cache.list_files() == []
    assert state.cache.put("shop", FILE, CONTENT)
    assert state.cache.get("shop", FILE) == CONTENT


def test_folder_in_place_of_a_cached_file_is_ignored(state: State) -> None:
    state.cache.put("shop", FILE, CONTENT)
    path = path_of(state)
    path.unlink()
    path.mkdir()
    assert state.cache.get("shop", FILE) is None
    assert state.cache.put("shop", FILE, CONTENT) is False


def test_purging_one_server_leaves_the_others(state: State) -> None:
    state.cache.put("shop", FILE, CONTENT)
    state.cache.put("desk", FILE, CONTENT)
    assert state.cache.purge("shop") == 1
    assert state.cache.get("shop", FILE) is None
    assert state.cache.get("desk", FILE) == CONTENT
    assert state.cache.purge("shop") == 0


def test_purging_everything_leaves_no_file_at_all(state: State) -> None:
    state.cache.put("shop", FILE, CONTENT)
    state.cache.put("desk", FILE, CONTENT)
    (state.cache.folder / "desk" / "without a row").write_bytes(b"x")
    (state.cache.folder / "unknown label").mkdir()
    assert state.cache.purge() == 2
    assert [path for path in state.cache.folder.rglob("*") if path.is_file()] == []
    assert state.cache.get("desk", FILE) is None


def small(number: int) -> bytes:
    return b"%04d" % number * 25


def use(state: State, *numbers: int) -> None:
    """Say that files were used, one after the other, without waiting for the clock."""
    for order, number in enumerate(numbers, 1):
        path = next(cached.path for cached in state.cache.list_files() if cached.uri.endswith(f"/{number}"))
        os.utime(path, (order, order))


def put(state: State, *numbers: int) -> None:
    for number in numbers:
        content = small(number)
        assert state.cache.put("shop", file_claim(f"skill://refunds/{number}", content), content)


def kept(state: State) -> set[int]:
    return {int(cached.uri.rpartition("/")[2]) for cached in state.cache.list_files()}


def test_least_recently_used_files_are_evicted_first(tmp_path: Path) -> None:
    with State.open(tmp_path, cache_bytes=1000) as state:
        state.bind("shop", "https://shop.example/mcp")
        put(state, *range(10))
        assert kept(state) == set(range(10))
        use(state, 3, 7, 0, 1, 2, 4, 5, 6, 8, 9)
        put(state, 10)
        assert kept(state) == set(range(11)) - {3, 7}
        sizes = [path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file()]
        assert sum(sizes) <= 1000


def test_a_read_counts_as_a_use(tmp_path: Path) -> None:
    with State.open(tmp_path, cache_bytes=1000) as state:
        state.bind("shop", "https://shop.example/mcp")
        put(state, *range(10))
        use(state, *range(10))
        assert state.cache.get("shop", file_claim("skill://refunds/0", small(0))) == small(0)
        put(state, 10)
        assert kept(state) == set(range(11)) - {1, 2}


def test_file_missing_from_the_database_is_evicted_first(tmp_path: Path) -> None:
    with State.open(tmp_path, cache_bytes=1000) as state:
        state.bind("shop", "https://shop.example/mcp")
        put(state, *range(10))
        stray = tmp_path / "cache/shop/stray"
        stray.write_bytes(b"x" * 5000)
        (tmp_path / "cache/shop/a folder").mkdir()
        put(state, 10)
        assert not stray.exists()
        assert len(kept(state)) == 9


def test_file_larger_than_the_cache_evicts_nothing(tmp_path: Path) -> None:
    with State.open(tmp_path, cache_bytes=1000) as state:
        state.bind("shop", "https://shop.example/mcp")
        put(state, 1)
        content = b"x" * 1001
        assert state.cache.put("shop", file_claim("skill://refunds/big", content), content) is False
        assert kept(state) == {1}


def test_leftover_staging_files_are_removed_by_the_only_user(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.bind("shop", "https://shop.example/mcp")
        state.cache.put("shop", FILE, CONTENT)
        half = tmp_path / "cache/.staging/half"
        half.write_bytes(b"x")
        with State.open(tmp_path):
            assert half.exists(), "somebody may be about to give it its name"
    with State.open(tmp_path) as state:
        state.bind("shop", "https://shop.example/mcp")
        assert not half.exists()
        assert state.cache.get("shop", FILE) == CONTENT


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_state_files_are_private(state: State) -> None:
    state.cache.put("shop", FILE, CONTENT)
    for path in [state.folder, *state.folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_unwritable_cache_folder_only_disables_the_cache(state: State) -> None:
    (state.folder / "cache").write_bytes(b"")
    assert state.cache.put("shop", FILE, CONTENT) is False
    assert state.cache.get("shop", FILE) is None
    assert state.cache.list_files() == []


async def test_cached_document_is_not_found_as_a_skill(state: State) -> None:
    document = b"---\nname: refunds\ndescription: Does refunds.\n---\n"
    state.cache.put("shop", file_claim("skill://refunds/SKILL.md", document), document)
    assert (await FolderSource(state.cache.folder).scan()).entries == ()

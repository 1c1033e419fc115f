"""The folder of the state: private, apart from skills, and never believed when it is damaged."""

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import State
from skillwire.cli.main import run
from skillwire.config.settings import STATE_DIR, state_folder_from
from skillwire.errors import StateError
from skillwire.host.store.approvals import ApprovalStatus
from skillwire.host.store.database import VERSION
from skillwire.host.store.folder import require_separate
from tests.support.skill_claims import FILES, file_claim, skill_claim

SKILL = skill_claim()
DOCUMENT = file_claim("skill://refunds/SKILL.md", FILES["SKILL.md"])
posix = pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")


def approve(folder: Path, *names: str) -> None:
    with State.open(folder) as state:
        state.bind("shop", "https://shop.example/mcp")
        for name in names or ("refunds",):
            state.approvals.approve("shop", skill_claim(name=name))
        state.cache.put("shop", DOCUMENT, FILES["SKILL.md"])


def approval_status(state: State) -> ApprovalStatus:
    state.bind("shop", "https://shop.example/mcp")
    return state.approvals.approval_status("shop", SKILL)


# Where it is


def test_state_folder_comes_from_the_variable_or_the_system(tmp_path: Path) -> None:
    assert state_folder_from({STATE_DIR: str(tmp_path)}) == tmp_path
    assert state_folder_from({STATE_DIR: ""}) == state_folder_from({})
    assert state_folder_from({}).name == "skillwire"


# Who may enter


@posix
def test_a_new_folder_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        approve(tmp_path / "above/state")
    finally:
        os.umask(before)
    state = tmp_path / "above/state"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in state.rglob("*") if path.is_file()} == {0o600}


@posix
def test_state_readable_by_others_is_made_private(tmp_path: Path) -> None:
    approve(tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / "state.db").chmod(0o644)
    with State.open(tmp_path) as state:
        assert approval_status(state) is ApprovalStatus.APPROVED
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("state.db*")}
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert modes == {0o600}


@posix
def test_folder_with_other_files_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    tmp_path.chmod(0o755)
    with pytest.raises(StateError, match="has other files") as caught:
        State.open(tmp_path)
    assert "SKILLWIRE_STATE_DIR" in caught.value.hint
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@posix
def test_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(StateError, match="belongs to another user"):
        State.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_file_in_place_of_the_state_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(StateError, match="cannot use"):
        State.open(tmp_path / "state")


@pytest.mark.parametrize("name", ["state.db", "lock"])
def test_folder_in_place_of_a_state_file_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / "state" / name).mkdir(parents=True, mode=0o700)
    (tmp_path / "state").chmod(0o700)
    with pytest.raises(StateError, match="cannot use"):
        State.open(tmp_path / "state")


# Apart from skills


@pytest.mark.rule("H24")
@pytest.mark.parametrize(
    ("state", "skills"),
    [
        ("skills/state", "skills"),
        ("state", "state/skills"),
        ("same", "same"),
        ("a/b/../state", "a"),
        ("link", "a"),
    ],
)
def test_a_state_that_overlaps_with_skills_is_refused(tmp_path: Path, state: str, skills: str) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a/b")
    with pytest.raises(StateError, match="overlap") as caught:
        require_separate(tmp_path / state, tmp_path / skills)
    assert "SKILLWIRE_STATE_DIR" in caught.value.hint


@pytest.mark.rule("H24")
@pytest.mark.parametrize(
    ("state", "skills"), [("state", "skills"), ("a/state", "a/skills"), ("state", "state-of-skills")]
)
def test_state_folder_beside_the_skills_is_accepted(tmp_path: Path, state: str, skills: str) -> None:
    require_separate(tmp_path / state, tmp_path / skills)
    (tmp_path / skills).mkdir(parents=True)
    with State.open(tmp_path / state) as opened:
        opened.require_separate(tmp_path / skills)


@pytest.mark.rule("H24")
def test_overlap_is_detected_for_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StateError, match="overlap"):
        require_separate(tmp_path / "state", Path())


# Damage


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database, and it is longer than the header of one would be" * 20)


def overwritten(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))


def last_page_overwritten(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-4096] + b"\xff" * 4096)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def without_a_table(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE approvals")
    connection.close()


def of_no_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 0")
    connection.close()


@pytest.mark.parametrize(
    "damage", [garbage, overwritten, last_page_overwritten, cut, without_a_table, of_no_version]
)
def test_a_damaged_database_is_moved_aside_and_nothing_is_approved(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    approve(tmp_path, "refunds", *(f"skill-{number}" for number in range(40)))
    damage(tmp_path / "state.db")
    left = (tmp_path / "state.db").read_bytes()
    with State.open(tmp_path) as state:
        assert state.damaged is not None
        assert state.damaged.path == tmp_path / "state.db.damaged-1"
        assert state.damaged.path.read_bytes() == left
        assert "all approvals are lost" in str(state.damaged)
        assert "approve your skills again" in state.damaged.hint
        assert approval_status(state) is ApprovalStatus.UNKNOWN
        assert state.cache.get("shop", DOCUMENT) is None
        state.approvals.approve("shop", SKILL)
    with State.open(tmp_path) as state:
        assert state.damaged is None
        assert approval_status(state) is ApprovalStatus.APPROVED


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which five skills are approved, and one of them no longer."""
    folder = tmp_path_factory.mktemp("whole")
    approve(folder, *(f"skill-{number}" for number in range(5)))
    with State.open(folder) as state:
        state.bind("shop", "https://shop.example/mcp")
        state.grants.grant("shop", skill_claim(name="skill-0"), ["Read"])
        state.approvals.revoke("shop", "skill://skill-4/SKILL.md")
    return folder / "state.db"


@pytest.mark.rule("H17")
@settings(max_examples=60, derandomize=True)  # the same damage each time: SQLite promises nothing
@given(at=st.floats(0, 1, exclude_max=True), flips=st.binary(min_size=1, max_size=16))
def test_damaged_bytes_never_add_approvals_or_break_queries(whole: Path, at: float, flips: bytes) -> None:
    damaged = bytearray(whole.read_bytes())
    written = [index for index, byte in enumerate(damaged) if byte]  # most of a database is empty
    start = written[int(at * len(written))]
    for index, flip in enumerate(flips, start):
        damaged[index % len(damaged)] ^= flip
    with TemporaryDirectory() as folder:
        (Path(folder) / "state.db").write_bytes(damaged)
        try:
            opened = State.open(Path(folder))
        except StateError as error:
            if "another program" in str(error) or "newer Skillwire" in str(error):
                return  # the damage is in the numbers of the program and the format
            raise
        with opened as state:
            state.bind("shop", "https://shop.example/mcp")
            never = [skill_claim({"SKILL.md": b"evil"}, name=f"skill-{number}") for number in range(5)]
            for skill in [*never, skill_claim(name="skill-4"), skill_claim(name="other")]:
                assert state.approvals.approval_status("shop", skill) is not ApprovalStatus.APPROVED
                assert state.grants.granted("shop", skill) == frozenset()
            for approval in state.approvals.all():
                state.approvals.approved(approval.label, approval.uri)
            assert state.cache.get("shop", DOCUMENT) is None
            assert state.cache.list_files() == []


def test_a_second_damaged_database_does_not_overwrite_the_first(tmp_path: Path) -> None:
    for _ in range(2):
        approve(tmp_path)
        garbage(tmp_path / "state.db")
    with State.open(tmp_path) as state:
        assert state.damaged is not None
        assert state.damaged.path.name == "state.db.damaged-2"
    assert (tmp_path / "state.db.damaged-1").exists()


@posix
def test_damaged_database_in_use_is_not_moved_aside(tmp_path: Path) -> None:
    approve(tmp_path)
    with State.open(tmp_path):
        garbage(tmp_path / "state.db")
        (tmp_path / "state.db-wal").unlink(missing_ok=True)
        with pytest.raises(StateError, match="another process uses it"):
            State.open(tmp_path)
        assert not (tmp_path / "state.db.damaged-1").exists()
    with State.open(tmp_path) as state:
        assert state.damaged is not None


def test_damage_during_use_raises_an_error(tmp_path: Path) -> None:
    approve(tmp_path, "refunds", *(f"skill-{number}" for number in range(40)))
    with State.open(tmp_path) as state:
        with State.open(tmp_path) as other:
            other.bind("desk", "https://desk.example/mcp")  # so that the first one has to look again
        overwritten(tmp_path / "state.db")
        with pytest.raises(StateError, match="damaged") as caught:
            approval_status(state)
    assert "all approvals are lost" in caught.value.hint


def test_damaged_stored_entry_is_not_returned(tmp_path: Path) -> None:
    approve(tmp_path)
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("UPDATE approvals SET entry = replace(entry, 'sha256:', 'sha256:0')")
    connection.commit()
    connection.close()
    with State.open(tmp_path) as state:
        assert state.approvals.approved("shop", SKILL.uri) is None
        assert approval_status(state) is ApprovalStatus.APPROVED, (
            "its files are still those that were approved"
        )


# Other versions


def change(folder: Path, pragma: str) -> None:
    connection = sqlite3.connect(folder / "state.db")
    connection.execute(f"PRAGMA {pragma}")
    connection.close()


def test_newer_database_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    approve(tmp_path)
    change(tmp_path, f"user_version = {VERSION + 1}")
    with pytest.raises(StateError, match="written by a newer Skillwire") as caught:
        State.open(tmp_path)
    assert caught.value.hint.startswith("update Skillwire, or name another folder")
    change(tmp_path, f"user_version = {VERSION}")
    with State.open(tmp_path) as state:
        assert approval_status(state) is ApprovalStatus.APPROVED


def test_database_of_another_program_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    connection = sqlite3.connect(folder / "state.db")
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    with pytest.raises(StateError, match="database of another program"):
        State.open(folder)
    assert b"bookmarks" in (folder / "state.db").read_bytes()


def test_command_line_prints_the_hint_of_a_state_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> int:
        raise StateError("it is damaged", hint="mend it")

    monkeypatch.setattr("skillwire.cli.main._run", refuse)
    assert run(["list"]) == 1
    assert capsys.readouterr().err == "error: it is damaged\nhint: mend it\n"

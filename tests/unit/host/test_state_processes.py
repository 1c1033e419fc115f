"""Several processes at once, and processes that end in the middle of it."""

import random
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest

from skillwire import State
from skillwire.host.store.approvals import ApprovalStatus
from skillwire.sources import Digest
from tests.support.paths import ROOT
from tests.support.skill_claims import skill_claim
from tests.support.state_writer import content_number, file_number, skill_number

ROUNDS = 8


def writer(folder: Path, label: str, first: int, end: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.state_writer", str(folder), label, str(first), str(end)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def check(folder: Path, label: str, approved: Iterable[int], kept: Iterable[int]) -> None:
    """Everything that was acknowledged is there, and all that is there is whole."""
    with State.open(folder) as state:
        assert state.damaged is None
        assert state.bind(label, f"https://{label}.example/mcp") is False
        for number in approved:
            assert state.approvals.approval_status(label, skill_number(number)) is ApprovalStatus.APPROVED
        for number in kept:
            assert state.cache.get(label, file_number(number)) == content_number(number)
        for approval in state.approvals.all():
            assert state.approvals.approved(approval.label, approval.uri) is not None
        for cached in state.cache.list_files():
            content = cached.path.read_bytes()
            assert (Digest.of(content), len(content)) == (cached.digest, cached.size)


@pytest.mark.rule("H17", "H24")
def test_concurrent_processes_lose_no_writes(tmp_path: Path) -> None:
    processes = [writer(tmp_path, label, 0, 40) for label in ("shop", "desk", "shop")]
    said = [process.communicate(timeout=120)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert [lines[-1] for lines in said] == ["kept 39"] * 3
    for label in ("shop", "desk"):
        check(tmp_path, label, range(40), range(40))


@pytest.mark.rule("H17", "H24")
def test_killed_process_loses_no_acknowledged_writes(
    tmp_path: Path,
) -> None:
    moments = random.Random(2640)
    said: dict[str, set[int]] = {"approving": set(), "approved": set(), "kept": set()}
    for _ in range(ROUNDS):
        process = writer(tmp_path, "shop", len(said["approved"]), 1_000_000)
        assert process.stdout is not None
        for line in islice(process.stdout, moments.randrange(1, 40)):
            word, number = line.split()
            said[word].add(int(number))
        process.kill()  # it has gone on meanwhile, and may be anywhere
        process.communicate(timeout=60)
        check(tmp_path, "shop", said["approved"], said["kept"])
    assert len(said["kept"]) > ROUNDS


def test_many_threads_share_one_state(state: State) -> None:
    def approve(number: int) -> ApprovalStatus:
        skill = skill_claim({"SKILL.md": b"%d" % number}, name=f"skill-{number}")
        state.approvals.approve("shop", skill)
        return state.approvals.approval_status("shop", skill)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(approve, range(60))) == {ApprovalStatus.APPROVED}
    assert len(state.approvals.all()) == 60


def test_concurrent_first_opens_create_one_state(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        states = list(pool.map(State.open, [tmp_path / "state"] * 6))
    for number, state in enumerate(states):
        assert state.damaged is None
        state.bind(f"label-{number}", "x")
    assert len(states[0].labels()) == 6
    for state in states:
        state.close()


def test_concurrent_opens_move_a_damaged_database_aside_once(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state/state.db").write_bytes(b"damaged" * 1000)
    with ThreadPoolExecutor(6) as pool:
        states = list(pool.map(State.open, [tmp_path / "state"] * 6))
    assert [state.damaged is not None for state in states].count(True) == 1
    assert len(list((tmp_path / "state").glob("*.damaged-?"))) == 1
    for state in states:
        state.close()

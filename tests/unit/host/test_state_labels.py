"""Labels: what is remembered is of one server, and goes when the label means another."""

from pathlib import Path

import pytest

from skillwire import State
from skillwire.errors import StateError
from skillwire.host.store.approvals import ApprovalStatus
from tests.support.skill_claims import FILES, URI, file_claim, skill_claim

SKILL = skill_claim()
CONTENT = FILES["SKILL.md"]
MAIN = file_claim(SKILL.uri, CONTENT)
SHOP = "https://shop.example/mcp"
EVIL = "https://evil.example/mcp"


def remember(state: State, label: str) -> None:
    """Have something of every kind for a label."""
    state.approvals.approve(label, SKILL)
    state.grants.grant(label, SKILL, ["Read"])
    assert state.cache.put(label, MAIN, CONTENT)


def remembered(state: State, label: str) -> tuple[ApprovalStatus, frozenset[str], bytes | None]:
    return (
        state.approvals.approval_status(label, SKILL),
        state.grants.granted(label, SKILL),
        state.cache.get(label, MAIN),
    )


ALL = (ApprovalStatus.APPROVED, frozenset({"Read"}), CONTENT)
NOTHING = (ApprovalStatus.UNKNOWN, frozenset[str](), None)


@pytest.mark.rule("H28")
def test_rebinding_the_same_server_keeps_all_state(state: State) -> None:
    remember(state, "shop")
    assert state.bind("shop", SHOP) is False
    assert remembered(state, "shop") == ALL


@pytest.mark.rule("H28")
def test_rebinding_a_label_deletes_only_its_own_state(state: State) -> None:
    remember(state, "shop")
    remember(state, "desk")
    assert state.bind("shop", EVIL) is True
    assert remembered(state, "shop") == NOTHING
    assert state.approvals.approved("shop", URI) is None
    assert [cached.label for cached in state.cache.list_files()] == ["desk"]
    assert not (state.cache.folder / "shop").exists()
    assert remembered(state, "desk") == ALL


@pytest.mark.rule("H28")
def test_rebinding_to_the_first_server_does_not_restore_state(state: State) -> None:
    remember(state, "shop")
    state.bind("shop", EVIL)
    assert state.bind("shop", SHOP) is True
    assert remembered(state, "shop") == NOTHING


@pytest.mark.rule("H28")
def test_server_change_between_runs_is_detected(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        assert state.bind("shop", SHOP) is False, "it was never bound before"
        remember(state, "shop")
    with State.open(tmp_path) as state:
        assert state.bind("shop", EVIL) is True
        assert remembered(state, "shop") == NOTHING


@pytest.mark.rule("H28")
def test_process_bound_to_the_old_server_cannot_write_state(tmp_path: Path) -> None:
    with State.open(tmp_path) as old, State.open(tmp_path) as new:
        old.bind("shop", SHOP)
        remember(old, "shop")
        assert new.bind("shop", EVIL) is True
        assert remembered(old, "shop") == NOTHING
        for act in (
            lambda: old.approvals.approve("shop", SKILL),
            lambda: old.grants.grant("shop", SKILL, ["Read"]),
            lambda: old.cache.put("shop", MAIN, CONTENT),
        ):
            with pytest.raises(StateError, match="another process has bound the label"):
                act()
        assert remembered(new, "shop") == NOTHING


@pytest.mark.rule("H28")
def test_unbound_label_is_refused(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.bind("shop", SHOP)
        remember(state, "shop")
    with State.open(tmp_path) as state, pytest.raises(StateError, match="not bound to a server"):
        state.approvals.approval_status("shop", SKILL)


@pytest.mark.rule("H24")
def test_forgetting_a_server_deletes_its_state_and_files(state: State) -> None:
    remember(state, "shop")
    remember(state, "desk")
    assert state.labels() == ["desk", "shop"]
    state.forget("shop")
    assert state.labels() == ["desk"]
    assert not (state.cache.folder / "shop").exists()
    assert [approval.label for approval in state.approvals.all()] == ["desk"]
    state.bind("shop", SHOP)
    assert remembered(state, "shop") == NOTHING
    assert remembered(state, "desk") == ALL


@pytest.mark.rule("H24")
def test_files_unknown_to_the_database_are_not_reused(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.bind("shop", SHOP)
        remember(state, "shop")
    (tmp_path / "state.db").unlink()
    with State.open(tmp_path) as state:
        state.bind("shop", EVIL)
        assert remembered(state, "shop") == NOTHING


def test_secrets_in_a_server_url_are_not_stored(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.bind("shop", f"{SHOP}?key=hunter2")
        remember(state, "shop")
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"refunds" in content for content in written)
    assert not any(b"hunter2" in content for content in written)


@pytest.mark.rule("H28")
def test_approval_for_a_rebound_label_is_invisible_to_old_process(tmp_path: Path) -> None:
    with State.open(tmp_path) as mine, State.open(tmp_path) as theirs:
        mine.bind("shop", SHOP)
        remember(mine, "shop")
        theirs.bind("shop", EVIL)
        theirs.approvals.approve("shop", SKILL)
        assert theirs.approvals.approved("shop", URI) == SKILL
        assert remembered(mine, "shop") == NOTHING
        assert mine.approvals.approved("shop", URI) is None

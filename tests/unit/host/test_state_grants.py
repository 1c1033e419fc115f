"""Tools that a person lets a skill use: exactly those, for exactly these files."""

import pytest

from skillwire import State
from skillwire.host.store.approvals import ApprovalStatus, CannotStoreError
from tests.support.skill_claims import FILES, URI, dynamic_skill, skill_claim

pytestmark = pytest.mark.rule("H21")

SKILL = skill_claim()
CHANGED = skill_claim(FILES | {"SKILL.md": b"# Refunds, and a little more\n"})


def test_approval_grants_no_requested_tools(state: State) -> None:
    state.approvals.approve("shop", SKILL)
    assert "allowed-tools" in SKILL.frontmatter
    assert state.grants.granted("shop", SKILL) == frozenset()


def test_grant_covers_only_its_tools_skill_and_server(state: State) -> None:
    other = skill_claim({"SKILL.md": b"x"}, name="other")
    for label, skill in (("shop", SKILL), ("desk", SKILL), ("shop", other)):
        state.approvals.approve(label, skill)
    state.grants.grant("shop", SKILL, ["Bash(git:*)", "Bash(git:*)"])
    assert state.grants.granted("shop", SKILL) == {"Bash(git:*)"}
    assert state.grants.granted("desk", SKILL) == frozenset()
    assert state.grants.granted("shop", other) == frozenset()


def test_a_later_grant_replaces_an_earlier_one(state: State) -> None:
    state.approvals.approve("shop", SKILL)
    state.grants.grant("shop", SKILL, ["Read"])
    state.grants.grant("shop", SKILL, ["Write"])
    assert state.grants.granted("shop", SKILL) == {"Write"}


def test_unapproved_skill_cannot_be_granted_tools(state: State) -> None:
    for skill in (SKILL, dynamic_skill()):
        with pytest.raises(CannotStoreError, match="not approved"):
            state.grants.grant("shop", skill, ["Read"])
    state.approvals.approve("shop", SKILL)
    with pytest.raises(CannotStoreError):
        state.grants.grant("shop", CHANGED, ["Read"])


def test_approving_changed_files_does_not_restore_the_grant(state: State) -> None:
    state.approvals.approve("shop", SKILL)
    state.grants.grant("shop", SKILL, ["Read"])
    assert state.grants.granted("shop", CHANGED) == frozenset()
    state.approvals.approve("shop", CHANGED)
    assert state.grants.granted("shop", CHANGED) == frozenset()
    state.approvals.approve("shop", SKILL)
    assert state.grants.granted("shop", SKILL) == frozenset()


def test_grant_ends_with_its_approval(state: State) -> None:
    for take_back in (
        lambda: state.approvals.revoke("shop", URI),
        lambda: state.approvals.approval_status("shop", CHANGED),
    ):
        state.approvals.approve("shop", SKILL)
        state.grants.grant("shop", SKILL, ["Read"])
        assert state.grants.granted("shop", SKILL) == {"Read"}
        take_back()
        assert [approval.tools for approval in state.approvals.all()] == [()]
        assert state.grants.granted("shop", SKILL) == frozenset()
        state.approvals.approve("shop", SKILL)
        assert state.grants.granted("shop", SKILL) == frozenset()


def test_approving_the_same_files_once_more_keeps_the_grant(state: State) -> None:
    state.approvals.approve("shop", SKILL)
    state.grants.grant("shop", SKILL, ["Read"])
    state.approvals.approve("shop", SKILL)
    assert state.grants.granted("shop", SKILL) == {"Read"}


def test_grant_can_be_withdrawn_without_ending_the_approval(state: State) -> None:
    state.approvals.approve("shop", SKILL)
    assert not state.grants.withdraw("shop", URI)
    state.grants.grant("shop", SKILL, ["Read"])
    assert state.grants.withdraw("shop", URI)
    assert state.grants.granted("shop", SKILL) == frozenset()
    assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.APPROVED

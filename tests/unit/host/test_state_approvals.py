"""Approvals that are kept: bound to the set of files, and gone for good with the first difference."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import State
from skillwire.errors import StateError
from skillwire.host.store.approvals import ApprovalStatus, CannotStoreError, content_key
from skillwire.protocol.claims import DeliveryClaim, Dialect, FileClaim, SkillClaim
from skillwire.sources import Digest
from tests.support.skill_claims import FILES, URI, dynamic_skill, file_claim, skill_claim

SKILL = skill_claim()


def with_files(*files: FileClaim) -> SkillClaim:
    return replace(SKILL, files=files)


def rotated() -> SkillClaim:
    return skill_claim(FILES | {"references/policy.md": b"60 days\n"})


def added() -> SkillClaim:
    return skill_claim(FILES | {"scripts/run.sh": b"rm -rf /\n"})


def removed() -> SkillClaim:
    return skill_claim({path: content for path, content in FILES.items() if path != "logo.png"})


def renamed() -> SkillClaim:
    return skill_claim({path.replace("logo", "icon"): content for path, content in FILES.items()})


any_change = pytest.mark.parametrize("change", [rotated, added, removed, renamed, dynamic_skill])


def test_skill_never_asked_about_is_unknown(state: State) -> None:
    assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.UNKNOWN
    assert state.approvals.approved("shop", URI) is None
    assert state.approvals.all() == []


@pytest.mark.rule("H17")
def test_approval_survives_a_restart(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.bind("shop", "https://shop.example/mcp")
        state.approvals.approve("shop", SKILL)
        assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.APPROVED
    with State.open(tmp_path) as state:
        state.bind("shop", "https://shop.example/mcp")
        assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.APPROVED


@pytest.mark.rule("H17")
def test_file_order_does_not_affect_an_approval(state: State) -> None:
    state.approvals.approve("shop", SKILL)
    shuffled = with_files(*reversed(SKILL.files or ()))
    assert shuffled != SKILL
    assert state.approvals.approval_status("shop", shuffled) is ApprovalStatus.APPROVED
    assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.APPROVED


@pytest.mark.rule("H15", "H17")
@any_change
def test_changed_files_revoke_and_reverting_does_not_restore(
    state: State, change: Callable[[], SkillClaim]
) -> None:
    state.approvals.approve("shop", SKILL)
    assert state.approvals.approval_status("shop", change()) is ApprovalStatus.CHANGED
    assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.CHANGED
    assert [approval.approval_status for approval in state.approvals.all()] == [ApprovalStatus.CHANGED]


@pytest.mark.rule("H15", "H17")
def test_seen_change_is_remembered_after_a_restart(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.bind("shop", "https://shop.example/mcp")
        state.approvals.approve("shop", SKILL)
        state.approvals.approval_status("shop", rotated())
    with State.open(tmp_path) as state:
        state.bind("shop", "https://shop.example/mcp")
        assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.CHANGED


@pytest.mark.rule("H15")
def test_approving_a_changed_skill_replaces_the_old_approval(
    state: State,
) -> None:
    state.approvals.approve("shop", SKILL)
    state.approvals.approval_status("shop", rotated())
    state.approvals.approve("shop", rotated())
    assert state.approvals.approval_status("shop", rotated()) is ApprovalStatus.APPROVED
    assert state.approvals.approved("shop", URI) == rotated()
    assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.CHANGED


@pytest.mark.rule("H15")
def test_approved_entry_is_kept_for_comparison(state: State) -> None:
    state.approvals.approve("shop", SKILL)
    assert state.approvals.approved("shop", URI) == SKILL
    state.approvals.approval_status("shop", added())
    assert state.approvals.approved("shop", URI) == SKILL
    state.approvals.revoke("shop", URI)
    assert state.approvals.approved("shop", URI) == SKILL


@pytest.mark.rule("H17")
def test_dynamic_skill_cannot_be_approved_permanently(state: State) -> None:
    with pytest.raises(CannotStoreError, match="cannot be stored") as caught:
        state.approvals.approve("shop", dynamic_skill())
    assert caught.value.hint == "approve it each time you use it"
    assert state.approvals.approval_status("shop", dynamic_skill()) is ApprovalStatus.UNKNOWN
    assert state.approvals.all() == []


@pytest.mark.rule("H17")
def test_skill_without_its_document_cannot_be_approved_permanently(state: State) -> None:
    with pytest.raises(CannotStoreError):
        state.approvals.approve("shop", with_files(file_claim("skill://refunds/logo.png", b"x")))


@pytest.mark.rule("H17")
@pytest.mark.parametrize("dialect", [dialect for dialect in Dialect if dialect is not Dialect.FINAL])
def test_draft_with_unlisted_files_cannot_be_approved_permanently(state: State, dialect: Dialect) -> None:
    part = (DeliveryClaim(URI, Digest.of(b"# Refunds\n")),)
    with pytest.raises(CannotStoreError, match="not all its files have digests"):
        state.approvals.approve("shop", replace(SKILL, files=None, dialect=dialect, deliveries=part))


@pytest.mark.rule("H17")
def test_draft_with_digests_but_no_sizes_can_be_approved(state: State) -> None:
    files = tuple(replace(file, size=None) for file in SKILL.files or ())
    draft = replace(SKILL, files=files, dialect=Dialect.DRAFT_C)
    state.approvals.approve("shop", draft)
    assert state.approvals.approval_status("shop", draft) is ApprovalStatus.APPROVED
    assert state.approvals.approved("shop", URI) == draft


def test_approval_can_be_revoked_and_given_again(state: State) -> None:
    assert not state.approvals.revoke("shop", URI)
    state.approvals.approve("shop", SKILL)
    assert state.approvals.revoke("shop", URI)
    assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.REVOKED
    assert not state.approvals.revoke("shop", URI)
    state.approvals.approve("shop", SKILL)
    assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.APPROVED


@pytest.mark.rule("H9")
def test_approval_does_not_cover_same_uri_on_another_server(state: State) -> None:
    state.approvals.approve("shop", SKILL)
    assert state.approvals.approval_status("desk", SKILL) is ApprovalStatus.UNKNOWN
    state.approvals.revoke("desk", URI)
    assert state.approvals.approval_status("shop", SKILL) is ApprovalStatus.APPROVED


@pytest.mark.rule("H18")
def test_approving_a_skill_does_not_approve_nested_skills(state: State) -> None:
    inner = skill_claim({"SKILL.md": b"# Inner\n"}, name="refunds/inner")
    around = skill_claim(FILES | {"inner/SKILL.md": b"# Inner\n"})
    state.approvals.approve("shop", around)
    assert state.approvals.approval_status("shop", around) is ApprovalStatus.APPROVED
    assert state.approvals.approval_status("shop", inner) is ApprovalStatus.UNKNOWN


def test_approvals_are_listed_with_time_and_tools(state: State) -> None:
    before = datetime.now(UTC)
    state.approvals.approve("shop", SKILL)
    state.approvals.approve("desk", skill_claim({"SKILL.md": b"x"}, name="other"))
    state.grants.grant("shop", SKILL, ["Read", "Bash(git:*)"])
    first, second = state.approvals.all()
    assert (first.label, first.uri, first.tools) == ("desk", "skill://other/SKILL.md", ())
    assert (second.label, second.uri, second.tools) == ("shop", URI, ("Bash(git:*)", "Read"))
    assert before <= second.when <= datetime.now(UTC)


def test_entry_with_unusual_text_is_stored_unchanged(state: State) -> None:
    odd = SkillClaim(
        "skill://\ud800/\0/odd/SKILL.md",
        {"name": "odd", "description": "\x1b[31m\u202e", "big": 10**30, "nested": {"a": [None, 1.5]}},
        (file_claim("skill://\ud800/\0/odd/SKILL.md", b"x"),),
    )
    state.approvals.approve("shop", odd)
    assert state.approvals.approved("shop", odd.uri) == odd
    assert state.approvals.approval_status("shop", odd) is ApprovalStatus.APPROVED
    assert state.approvals.all()[0].uri == odd.uri


def test_closed_state_refuses_approvals(tmp_path: Path) -> None:
    state = State.open(tmp_path)
    state.bind("shop", "https://shop.example/mcp")
    state.close()
    with pytest.raises(StateError):
        state.approvals.approve("shop", SKILL)


# Whatever the files are

NAMES = st.text("abcxyz/-.é", min_size=1, max_size=12).map(lambda text: f"skill://refunds/{text}")
CONTENTS = st.binary(max_size=4)
MAIN = "skill://refunds/SKILL.md"
MANIFESTS = st.dictionaries(NAMES, CONTENTS, max_size=8).map(
    lambda files: [file_claim(uri, content) for uri, content in {**files, MAIN: b"# Refunds\n"}.items()]
)


@pytest.mark.rule("H17")
@given(MANIFESTS, st.randoms(use_true_random=False))
def test_content_key_is_independent_of_file_order(files: list[FileClaim], order: random.Random) -> None:
    shuffled = list(files)
    order.shuffle(shuffled)
    assert content_key(with_files(*files)) == content_key(with_files(*shuffled)) is not None


@pytest.mark.rule("H17")
@settings(max_examples=40)
@given(MANIFESTS, st.data())
def test_any_single_file_difference_revokes_the_approval(files: list[FileClaim], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(files) - 1))
    known = {file.uri for file in files}
    how = data.draw(st.sampled_from(["rotate", "remove", "add", "rename"]))
    changed = list(files)
    if how == "rotate":
        changed[index] = file_claim(files[index].uri, b"something else")
    elif how == "remove":
        del changed[index]
    else:
        new = data.draw(NAMES.filter(lambda uri: uri not in known))
        changed[index:index] = [replace(files[index], uri=new)]
        if how == "rename":
            del changed[index + 1]
    with TemporaryDirectory() as folder, State.open(Path(folder)) as state:
        state.bind("shop", "https://shop.example/mcp")
        state.approvals.approve("shop", with_files(*files))
        assert state.approvals.approval_status("shop", with_files(*files)) is ApprovalStatus.APPROVED
        assert state.approvals.approval_status("shop", with_files(*changed)) is ApprovalStatus.CHANGED
        assert state.approvals.approval_status("shop", with_files(*files)) is ApprovalStatus.CHANGED

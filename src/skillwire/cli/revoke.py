"""`skillwire revoke`: revoke the approval of a skill. Does not contact the server."""

from typing import Annotated
from urllib.parse import unquote

from cyclopts import Parameter

from skillwire.cli.state import open_existing_state
from skillwire.core.names import SKILL_FILE
from skillwire.errors import UsageError
from skillwire.host.store.approvals import Approval, ApprovalStatus
from skillwire.safe_text import quoted
from skillwire.terminal.output import print_error, stderr_console


def revoke(
    skill: Annotated[str, Parameter(name="SKILL", help="Approved skill: `LABEL:NAME` or `LABEL:URI`.")], /
) -> int:
    """Revoke the approval of a skill.

    Other programs that use the same state notice the change when they next read the approvals.

    For example:

    ```
    skillwire revoke github:review
    skillwire revoke github:skill://team/review/SKILL.md
    ```
    """
    with open_existing_state() as state:
        matching = [] if state is None else [each for each in state.approvals.all() if skill in _names(each)]
        found = [each for each in matching if _is_active(each)] or matching
        if len(found) > 1:
            listed = ", ".join(quoted(f"{each.label}:{each.uri}") for each in found)
            raise UsageError(f"{quoted(skill)} is the name of several skills", hint=f"choose one of {listed}")
        if state is None or not found:
            hint = "`skillwire approve` lists all approvals"
            print_error(f"no skill {quoted(skill)} is approved", hint=hint)
            return 1
        was_approved = state.approvals.revoke(found[0].label, found[0].uri)
    message = (
        "revoked"
        if was_approved
        else "ended its grants for running sessions; its approval was already revoked:"
    )
    stderr_console().print(f"{message} {quoted(f'{found[0].label}:{found[0].uri}')}")
    return 0


def _is_active(approval: Approval) -> bool:
    return approval.approval_status is not ApprovalStatus.REVOKED


def _names(approval: Approval) -> set[str]:
    """Return every name by which users can refer to the approved skill."""
    root = approval.uri.removesuffix(f"/{SKILL_FILE}")
    path = unquote(root.partition("://")[2])
    bare = {approval.uri, root, path, path.rpartition("/")[2]}
    return {*bare, *(f"{approval.label}:{each}" for each in bare)}

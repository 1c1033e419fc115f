"""`skillwire revoke`: revoke the approvals of skills. Does not contact the servers."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import unquote

from cyclopts import Parameter
from rich.text import Text

from skillwire.cli.state import open_existing_state
from skillwire.core.names import SKILL_FILE
from skillwire.core.patterns import is_pattern, matches
from skillwire.errors import UsageError
from skillwire.host.store.approvals import Approval, ApprovalStatus
from skillwire.host.store.state import State
from skillwire.safe_text import quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import Yes
from skillwire.terminal.output import ask, is_interactive, print_error, stderr_console, stdout_console


def revoke(
    skills: Annotated[
        list[str],
        Parameter(
            name="SKILL", help="Approved skill: `LABEL:NAME`, `LABEL:URI`, or a pattern such as `LABEL:*`."
        ),
    ],
    /,
    *,
    yes: Yes = False,
) -> int:
    """Revoke the approvals of skills.

    Before several approvals are revoked, they are listed and you are asked. Other programs that use the same
    state notice the change when they next read the approvals.

    Exit code 1: a name or pattern means no approval, or you refused.

    For example:

    ```
    skillwire revoke github:review
    skillwire revoke github:skill://team/review/SKILL.md
    skillwire revoke 'acme:*'
    ```
    """
    with open_existing_state() as state:
        every = [] if state is None else state.approvals.all()
        found: dict[tuple[str, str], Approval] = {}
        unknown: list[str] = []
        for each in skills:
            meant = _matching(every, each)
            found |= {(one.label, one.uri): one for one in meant}
            if not meant:
                unknown.append(each)
        for each in unknown:
            what = "no active approval matches" if is_pattern(each) else "no skill"
            end = "" if is_pattern(each) else " is approved"
            print_error(f"{what} {quoted(each)}{end}", hint="`skillwire approve` lists all approvals")
        if state is None or not found:
            return 1
        several = len(skills) > 1 or any(map(is_pattern, skills))
        if several and not yes and not _confirmed(list(found.values())):
            return 1
        for each in found.values():
            _revoke(state, each)
    return 1 if unknown else 0


def _confirmed(approvals: Sequence[Approval]) -> bool:
    """Show the approvals that would be revoked, and return whether the user agrees."""
    for each in approvals:
        stdout_console().print(Text(quoted(f"{each.label}:{each.uri}", None)))
    if not is_interactive():
        raise UsageError(
            f"cannot ask whether to revoke {pluralize(len(approvals), 'approval')}: stdin or stderr is not a "
            "terminal",
            hint="add `--yes` to revoke them without asking",
        )
    these = "this approval" if len(approvals) == 1 else f"these {len(approvals):,} approvals"
    if ask(f"revoke {these}?") == "y":
        return True
    stderr_console().print("nothing was revoked")
    return False


def _revoke(state: State, approval: Approval) -> None:
    was_approved = state.approvals.revoke(approval.label, approval.uri)
    message = (
        "revoked"
        if was_approved
        else "ended its grants for running sessions; its approval was already revoked:"
    )
    stderr_console().print(f"{message} {quoted(f'{approval.label}:{approval.uri}')}")


def _matching(every: Sequence[Approval], skill: str) -> list[Approval]:
    """Return the approvals that a pattern matches and that are not revoked, or the one with a name.

    Raises `UsageError` if a name means several.
    """
    if is_pattern(skill):
        return [each for each in every if _is_active(each) and _matches(each, skill)]
    matching = [each for each in every if skill in _names(each)]
    found = [each for each in matching if _is_active(each)] or matching
    if len(found) > 1:
        listed = ", ".join(quoted(f"{each.label}:{each.uri}") for each in found)
        raise UsageError(f"{quoted(skill)} is the name of several skills", hint=f"choose one of {listed}")
    return found


def _matches(approval: Approval, pattern: str) -> bool:
    """Return whether `LABEL:PATTERN` or `PATTERN` matches an approved skill."""
    path = _path(approval)
    name = path.rpartition("/")[2]
    label, colon, rest = pattern.partition(":")
    in_label = bool(colon) and label == approval.label and matches(rest, name, path)
    return in_label or (not colon and matches(pattern, name, path))


def _is_active(approval: Approval) -> bool:
    return approval.approval_status is not ApprovalStatus.REVOKED


def _path(approval: Approval) -> str:
    return unquote(approval.uri.removesuffix(f"/{SKILL_FILE}").partition("://")[2])


def _names(approval: Approval) -> set[str]:
    """Return every name by which users can refer to the approved skill."""
    path = _path(approval)
    bare = {approval.uri, approval.uri.removesuffix(f"/{SKILL_FILE}"), path, path.rpartition("/")[2]}
    return {*bare, *(f"{approval.label}:{each}" for each in bare)}

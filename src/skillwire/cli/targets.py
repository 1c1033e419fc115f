"""Resolve the servers to search for a skill that the user named."""

from collections.abc import Sequence

from skillwire.cli.find import label_of
from skillwire.config.server_targets import resolve_targets
from skillwire.errors import UsageError
from skillwire.host.connections.target import Target
from skillwire.safe_text import quoted


def skill_targets(
    skill: str, servers: Sequence[str] | None, allow: Sequence[str] | None, token_env: str | None
) -> list[Target]:
    """Return the targets of the servers to search for a skill: `servers`, or the label in `skill`.

    Raises `UsageError`.
    """
    if servers:
        return resolve_targets(servers, allow, token_env)
    if (label := label_of(skill)) is None:
        raise UsageError(
            f"cannot look for {quoted(skill)}: no server is named",
            hint="write `LABEL:NAME`, or add `--from SERVER`; `skillwire servers` lists the servers",
        )
    return resolve_targets([f"{label}:"], allow, token_env)

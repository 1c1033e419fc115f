"""`skillwire registry`: create a registry, or show what was published in it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal, TypeAlias

import anyio
from cyclopts import Parameter

from skillwire.errors import UsageError
from skillwire.registry.address import DEFAULT
from skillwire.registry.commands.options import parse_address
from skillwire.registry.open import open_store
from skillwire.registry.store import LogEntry, Store
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import json_of
from skillwire.terminal.output import print_json, print_line, stderr_console

Action: TypeAlias = Literal["init", "log"]
_MAX_REVISIONS = 10_000


def registry(
    action: Annotated[
        Action,
        Parameter(
            name="ACTION",
            show_default=True,
            help="`init` creates a registry without skills, `log` lists what was published.",
        ),
    ] = "log",
    address: Annotated[
        str, Parameter(name="REGISTRY", show_default=True, help="Registry to create or to read.")
    ] = DEFAULT,
    /,
    *,
    limit: Annotated[int, Parameter(metavar="N", show_default=True, help="List the last N revisions.")] = 20,
    json: Annotated[bool, json_of("[{revision, at, by, channel, path, before, after}]")] = False,
) -> int:
    """Create a registry, or list what was published in it, newest first.

    Each push that changes something is one revision. For each skill, the log shows the version that the
    channel had before and has now.

    For example:

    ```
    skillwire push ./skills
    skillwire registry log
    skillwire registry init registry+sqlite:///srv/skills.db
    ```
    """
    opened = parse_address(address)
    store = open_store(opened)
    if action == "init":
        if json:
            raise UsageError("`registry init` prints no JSON", hint="remove `--json`")
        created = anyio.run(_init, store)
        shown = f"the registry {quoted(str(opened.path), None)}"
        stderr_console().print(f"created {shown}" if created else f"{shown} is there already")
        return 0
    if not 0 < limit <= _MAX_REVISIONS:
        raise UsageError(f"`--limit` is {limit}", hint=f"use a number from 1 to {_MAX_REVISIONS:,}")
    entries = anyio.run(store.log, limit)
    if json:
        print_json([asdict(each) for each in entries])
    else:
        _print_log(entries)
    return 0


async def _init(store: Store) -> bool:
    """Create a registry, or check that there is one. Return whether it was created."""
    created = await store.create()
    await store.head()
    return created


def _print_log(entries: Sequence[LogEntry]) -> None:
    for each in entries:
        moved = f"{each.before or '-'}\t{each.after or '-'}"
        row = f"{each.revision}\t{each.at}\t{each.by}\t{each.channel}\t{each.path}\t{moved}"
        print_line(escape_invisible(row, keep="\t"))
    revisions = len({each.revision for each in entries})
    stderr_console().print(f"{pluralize(len(entries), 'change')} in {pluralize(revisions, 'revision')}")

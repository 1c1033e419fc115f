"""`skillwire cache`: list or remove files cached from MCP servers."""

from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from skillwire.cli.state import open_existing_state
from skillwire.errors import UsageError
from skillwire.host.store.cache import CachedFile
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import json_of
from skillwire.terminal.output import print_json, print_line, stderr_console, stdout_console

Action: TypeAlias = Literal["list", "remove"]


def cache(
    action: Annotated[
        Action,
        Parameter(name="ACTION", show_default=True, help="`list` lists cached files, `remove` deletes them."),
    ] = "list",
    label: Annotated[str | None, Parameter(name="LABEL", help="Only files from this server.")] = None,
    /,
    *,
    json: Annotated[bool, json_of("[{origin, uri, digest, size, used_at, path}]")] = False,
) -> int:
    """List or remove files cached from MCP servers. Removed files are fetched again when needed.

    Before a cached file is used, it is checked against its digest. `remove` keeps approvals. To delete
    everything stored about a server, use `skillwire servers --forget`.

    For example:

    ```
    skillwire cache
    skillwire cache remove github
    ```
    """
    if json and action == "remove":
        raise UsageError("`cache remove` prints no JSON", hint="remove `--json`")
    with open_existing_state() as state:
        cached = [] if state is None else state.cache.list_files()
        if (
            label is not None
            and state is not None
            and label not in {*state.labels(), *(e.label for e in cached)}
        ):
            raise UsageError(
                f"nothing is stored for {quoted(label)}", hint="`skillwire cache` lists all files"
            )
        if action == "remove":
            count = 0 if state is None else state.cache.purge(label)
            stderr_console().print(f"{pluralize(count, 'file')} removed")
            return 0
    _print([each for each in cached if label in {None, each.label}], as_json=json)
    return 0


def _print(cached: list[CachedFile], *, as_json: bool) -> None:
    console = stdout_console()
    if as_json:
        print_json([_row(each) for each in cached])
    elif not console.is_terminal:  # one line per file, for `grep` and `cut`
        for each in cached:
            print_line(f"{each.label}\t{escape_invisible(each.uri)}\t{each.size}\t{each.used.isoformat()}")
    elif cached:
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("server", style="cyan")
        table.add_column("uri", overflow="fold")
        table.add_column("bytes", justify="right")
        table.add_column("used")
        for each in cached:
            row = (
                each.label,
                Text(escape_invisible(each.uri)),
                f"{each.size:,}",
                f"{each.used:%Y-%m-%d %H:%M}",
            )
            table.add_row(*row)
        console.print(table, soft_wrap=False)
    if not as_json:
        total = sum(each.size for each in cached)
        stderr_console().print(f"{pluralize(len(cached), 'file')}, {pluralize(total, 'byte')}")


def _row(cached: CachedFile) -> dict[str, object]:
    return {
        "origin": cached.label,
        "uri": cached.uri,
        "digest": cached.digest.text,
        "size": cached.size,
        "used_at": cached.used.isoformat(),
        "path": escape_invisible(str(cached.path)),
    }

"""`skillwire cache`: the files of servers that are kept on this machine."""

from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from skillwire.cli.state import remembered
from skillwire.errors import UsageError
from skillwire.host.store.cache import Cached
from skillwire.safe_text import quoted, visible
from skillwire.terminal.messages import counted
from skillwire.terminal.options import AsJson
from skillwire.terminal.output import data, print_json, print_line, talk

Action: TypeAlias = Literal["ls", "purge"]


def cache(
    action: Annotated[Action, Parameter(name="ACTION", help="`ls` or `purge`.")] = "ls",
    label: Annotated[str | None, Parameter(name="LABEL", help="Only what is kept of this server.")] = None,
    /,
    *,
    json: AsJson = False,
) -> int:
    """List the files of servers that are kept, or throw them away. They are fetched again when needed.

    Each is compared with its digest whenever it is used. Approvals stay: `skillwire servers --forget` takes
    them, too.

    For example:

    ```
    skillwire cache
    skillwire cache purge github
    ```
    """
    with remembered() as state:
        kept = [] if state is None else state.cache.ls()
        if (
            label is not None
            and state is not None
            and label not in {*state.labels(), *(e.label for e in kept)}
        ):
            raise UsageError(f"nothing is kept of {quoted(label)}", hint="`skillwire cache` lists what is")
        if action == "purge":
            count = 0 if state is None else state.cache.purge(label)
            talk().print(f"{counted(count, 'file')} thrown away")
            return 0
    _print([each for each in kept if label in {None, each.label}], as_json=json)
    return 0


def _print(kept: list[Cached], *, as_json: bool) -> None:
    console = data()
    if as_json:
        print_json([_row(each) for each in kept])
    elif not console.is_terminal:  # one line a file, for `grep` and `cut`
        for each in kept:
            print_line(f"{each.label}\t{visible(each.uri)}\t{each.size}\t{each.used.isoformat()}")
    elif kept:
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("server", style="cyan")
        table.add_column("uri", overflow="fold")
        table.add_column("bytes", justify="right")
        table.add_column("used")
        for each in kept:
            row = (each.label, Text(visible(each.uri)), f"{each.size:,}", f"{each.used:%Y-%m-%d %H:%M}")
            table.add_row(*row)
        console.print(table, soft_wrap=False)
    if not as_json:
        total = sum(each.size for each in kept)
        talk().print(f"{counted(len(kept), 'file')}, {counted(total, 'byte')}")


def _row(cached: Cached) -> dict[str, object]:
    return {
        "origin": cached.label,
        "uri": cached.uri,
        "digest": cached.digest.text,
        "size": cached.size,
        "used_at": cached.used.isoformat(),
        "path": visible(str(cached.path)),
    }

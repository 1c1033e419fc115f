"""What was approved, at a glance."""

from rich.table import Table
from rich.text import Text

from skillwire.cli.output import data, print_json, print_line, talk
from skillwire.cli.remote.remembering import remembered
from skillwire.host.state.approvals import Approval
from skillwire.model.display import visible


def print_approvals(*, as_json: bool) -> int:
    """Print everything that was approved and not forgotten."""
    with remembered() as state:
        found = [] if state is None else state.approvals.all()
    console = data()
    if as_json:
        print_json([_row(each) for each in found])
    elif not found:
        talk().print("nothing is approved")
    elif not console.is_terminal:  # one line each, for `grep` and `cut`
        for each in found:
            print_line(f"{each.standing.value}\t{each.label}\t{visible(each.uri)}\t{each.when.isoformat()}")
    else:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in ("state", "server", "uri", "approved"):
            table.add_column(column, style="cyan" if column == "server" else "")
        for each in found:
            table.add_row(
                each.standing.value, each.label, Text(visible(each.uri)), f"{each.when:%Y-%m-%d %H:%M}"
            )
        console.print(table, soft_wrap=False)
    return 0


def _row(approval: Approval) -> dict[str, object]:
    return {
        "origin": approval.label,
        "uri": approval.uri,
        "approval": approval.standing.value,
        "approved_at": approval.when.isoformat(),
        "tools": list(approval.tools),
    }

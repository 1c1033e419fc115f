"""The sources that are served, as a person or a program wants to see them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from skillwire.cli.output import data, print_json, print_line, talk
from skillwire.config.kinds import kind_of
from skillwire.config.wanted import Opened
from skillwire.model.display import visible
from skillwire.sources.base import Source
from skillwire.sources.deferred import DeferredSource
from skillwire.sources.mount import MountedSource
from skillwire.sources.prefix import PrefixedSource
from skillwire.sources.unavailable import UnavailableSource


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    kind: str
    source: str
    given_by: str
    state: str

    @classmethod
    def of(cls, opened: Opened) -> "_Row":
        source = inner_source(opened.source)
        unavailable = isinstance(source, UnavailableSource)
        kind = "" if unavailable else kind_of(opened.wanted.argument).name
        return cls(source.label, kind, source.place, opened.wanted.given_by, state_of(source))

    def to_json(self) -> dict[str, str]:
        return {
            "label": self.label,
            "kind": self.kind,
            "source": visible(self.source),
            "given_by": self.given_by,
            "state": self.state,
        }


def inner_source(source: Source) -> Source:
    """Return the source behind a prefix, or the source itself."""
    return source.source if isinstance(source, PrefixedSource) else source


def state_of(source: Source) -> str:
    """Return whether there is anything to serve of a source, without asking anybody."""
    if isinstance(source, UnavailableSource):
        return f"unavailable: {source.reason}"
    if isinstance(source, MountedSource):
        last = source.last
        version = "" if last is None else last.version.removeprefix("sha256:")[:12]
        return f"fetched, {version}" if version else "not fetched yet"
    if isinstance(source, DeferredSource):
        return "asked when it is served"
    return "there" if Path(source.place).exists() else "missing"


def print_sources(opened: list[Opened], *, as_json: bool) -> int:
    """Print a line for each source."""
    rows = [_Row.of(each) for each in opened]
    if as_json:
        print_json([row.to_json() for row in rows])
    elif not rows:
        talk().print("no sources; `skillwire sources add SOURCE` adds one")
    else:
        _print_rows(rows)
    return 0


def _print_rows(rows: list[_Row]) -> None:
    console = data()
    if not console.is_terminal:  # one line a source, for `grep` and `cut`
        for row in rows:
            print_line("\t".join(row.to_json().values()))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    columns: dict[str, Callable[[_Row], str]] = {
        "label": lambda row: row.label,
        "kind": lambda row: row.kind,
        "source": lambda row: visible(row.source),
        "given by": lambda row: row.given_by,
        "state": lambda row: row.state,
    }
    for name in columns:
        table.add_column(name, style="cyan" if name == "label" else "")
    for row in rows:
        table.add_row(*(Text(column(row)) for column in columns.values()))
    console.print(table)

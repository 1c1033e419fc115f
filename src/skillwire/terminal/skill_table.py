"""The list of skills for people: names and descriptions that fit the terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from skillwire.core.patterns import TextFilter
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize, print_notice
from skillwire.terminal.pager import print_paged

_NARROW = 60
"""Below this number of columns, each description is below the name instead of beside it."""
_NAME_SHARE = 3
"""The column of names takes at most one part in this many of the width."""
_MAX_NAME = 36
_LINES = 2
"""Maximum number of lines of a description."""
_INDENT = 2
_GAP = 2


@dataclass(frozen=True, slots=True)
class ListView:
    """How a list of skills is shown, and which of them."""

    text: TextFilter | None = None
    """Which skills to list; all if it is None."""
    paths: bool = False
    problems: bool = False
    """Whether each problem is printed, also each name that several skills share."""
    pager: bool = True


EVERYTHING = ListView()
"""All skills, without their paths."""


def report_filter(view: ListView, shown: int, every: int) -> None:
    """Print how many of the skills the filter accepts, if there is a filter."""
    if view.text is not None and every:
        verb = "matches" if shown == 1 else "match"
        print_notice(f"{shown:,} of {pluralize(every, 'skill')} {verb} {quoted(view.text.text)}")


@dataclass(frozen=True, slots=True)
class SkillRow:
    """One skill or template in the list."""

    name: str
    """The name to type. It is the path if other skills have the same name."""
    description: str
    path: str = ""
    note: str = ""
    """What is special about it, such as `live` or `template`."""
    has_warnings: bool = False

    @property
    def shown_name(self) -> str:
        return f"{escape_invisible(self.name)}{'!' if self.has_warnings else ''}"


def print_skill_table(
    console: Console, skills: Sequence[SkillRow], *, paths: bool = False, pager: bool = True
) -> None:
    """Print the skills for a person. Uses a pager for a long list.

    A name that is too long for its column has a line of its own. With `paths`, each path is shown.
    """
    with console.capture() as captured:
        for line in table_lines(console, skills, paths=paths):
            console.print(line, soft_wrap=True)
    print_paged(console, captured.get(), pager=pager)


def table_lines(console: Console, skills: Sequence[SkillRow], *, paths: bool = False) -> Iterator[Text]:
    """Yield the lines of the list. None is wider than the terminal."""
    width = max(console.width, 20)
    column = _name_column(skills, width)
    if column:
        yield Text("name".ljust(column) + "description", style="bold")
    for skill in skills:
        for line in _lines(console, skill, column, width, paths=paths):
            line.rstrip()
            yield line


def _name_column(skills: Sequence[SkillRow], width: int) -> int:
    """Return the width of the column of names with its gap; 0 if descriptions go below the names.

    This is the case on a narrow terminal, and if most names are too long for a column.
    """
    if width < _NARROW:
        return 0
    limit = min(max(width // _NAME_SHARE, 20), _MAX_NAME)
    lengths = [Text(skill.shown_name).cell_len for skill in skills]
    fitting = [length for length in lengths if length <= limit]
    return max(fitting) + _GAP if 2 * len(fitting) >= len(lengths) > 0 else 0


def _lines(console: Console, skill: SkillRow, column: int, width: int, *, paths: bool) -> Iterator[Text]:
    name = Text(skill.shown_name, style="cyan", overflow="fold")
    indent = column or _INDENT
    below = list(_details(console, skill, width - indent, paths=paths))
    if column and name.cell_len <= column - _GAP:
        first = below.pop(0) if below else Text()
        yield Text.assemble(name, " " * (column - name.cell_len), first)
    else:
        yield from name.wrap(console, width)
    for line in below:
        yield Text.assemble(" " * indent, line)


def _details(console: Console, skill: SkillRow, width: int, *, paths: bool) -> Iterator[Text]:
    """Yield the path if it is wanted and differs from the name, then the description, cut if it is long."""
    if paths and skill.path and skill.path != skill.name:
        yield from Text(escape_invisible(skill.path), style="dim", overflow="fold").wrap(console, width)
    note = f"({skill.note}) " if skill.note else ""
    description = Text.assemble((note, "yellow"), escape_invisible(skill.description))
    lines = list(description.wrap(console, width, overflow="fold"))
    yield from lines[: _LINES - 1]
    if rest := lines[_LINES - 1 :]:
        last = rest[0].copy()
        if len(rest) > 1:
            last.append(" …")
            last.truncate(width, overflow="ellipsis")
        yield last


def fact_lines(console: Console, rows: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Text]:
    """Yield rows of a name and facts about it. Each fact has a line of its own. No line is too wide."""
    width = max(console.width, 20)
    listed = [SkillRow(name, "") for name, _ in rows]
    column = _name_column(listed, width)
    indent = column or _INDENT
    for skill, (_, facts) in zip(listed, rows, strict=True):
        name = Text(skill.shown_name, style="cyan", overflow="fold")
        below = [
            line
            for fact in facts
            for line in Text(escape_invisible(fact)).wrap(console, width - indent, overflow="fold")
        ]
        if column and name.cell_len <= column - _GAP and below:
            yield Text.assemble(name, " " * (column - name.cell_len), below.pop(0))
        else:
            yield from name.wrap(console, width)
        for line in below:
            yield Text.assemble(" " * indent, line)

"""Draw bars on a logarithmic scale as SVG, without a library."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _LABELS, _ROW, _HEAD, _LEGEND = 760, 200, 22, 34, 20
_OURS, _OTHERS, _FLOORS = "#1f6feb", "#8b949e", "#d0d7de"
_PALE = 0.45
"""Opacity of the bars for each file once."""


@dataclass(frozen=True, slots=True)
class Row:
    """One bar."""

    name: str
    figure: float
    shown: str
    """The figure as text."""
    is_once: bool = False
    """Whether the bar is pale, because it shows what happens when nothing is cached."""


@dataclass(frozen=True, slots=True)
class Series:
    """A group of bars."""

    title: str
    rows: Sequence[Row]


def chart(title: str, groups: Sequence[Series], ours: str, floors: frozenset[str]) -> str:
    """Return the SVG of a legend and all groups, one below the other."""
    height = _HEAD + _LEGEND + sum(_HEAD + _ROW * len(group.rows) for group in groups) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/><g font-size="12">',
        f'<text x="10" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
        *_legend(ours),
    ]
    top = _HEAD + _LEGEND
    for group in groups:
        parts.append(f'<text x="10" y="{top + 22}" fill="#57606a">{escape(group.title)}</text>')
        top += _HEAD
        figures = [row.figure for row in group.rows if math.isfinite(row.figure) and row.figure > 0]
        low, high = min(figures, default=1.0) / 2, max(figures, default=1.0)
        for row in group.rows:
            length = _length(row.figure, low, high)
            colour = _OURS if row.name == ours else _FLOORS if row.name in floors else _OTHERS
            name = f"{row.name}, once" if row.is_once else row.name
            parts.append(f'<text x="{_LABELS - 8}" y="{top + 15}" text-anchor="end">{escape(name)}</text>')
            parts.append(_bar(_LABELS, top + 3, length, colour, _PALE if row.is_once else 1.0))
            parts.append(f'<text x="{_LABELS + length + 6:.0f}" y="{top + 15}">{escape(row.shown)}</text>')
            top += _ROW
    return "\n".join([*parts, "</g></svg>"]) + "\n"


def _legend(ours: str) -> list[str]:
    drawn: list[str] = []
    left = 10
    for colour, opacity, text in (
        (_OURS, 1.0, ours),
        (_OTHERS, 1.0, "other servers"),
        (_FLOORS, 1.0, "floors"),
        (_OURS, _PALE, "pale, “once”: each file once, nothing cached; full: repeated"),
    ):
        drawn.append(_bar(left, _HEAD + 2, 14, colour, opacity))
        drawn.append(f'<text x="{left + 20}" y="{_HEAD + 15}">{escape(text)}</text>')
        left += 44 + 7 * len(text)
    return drawn


def _bar(left: int, top: int, length: float, colour: str, opacity: float) -> str:
    shape = f'x="{left}" y="{top}" width="{length:.0f}" height="16"'
    return f'<rect {shape} fill="{colour}" fill-opacity="{opacity:g}"/>'


def _length(figure: float, low: float, high: float) -> float:
    room = _WIDTH - _LABELS - 110
    if not math.isfinite(figure):
        return room
    if figure <= 0 or high <= low:
        return 1
    return max(1.0, room * math.log(figure / low) / math.log(high / low))

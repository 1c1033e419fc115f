"""Draw bars on a logarithmic scale as SVG, without a library."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _LABELS, _ROW, _HEAD = 760, 190, 22, 34
_OURS, _OTHERS, _FLOORS = "#1f6feb", "#8b949e", "#d0d7de"


@dataclass(frozen=True, slots=True)
class Series:
    """A group of bars."""

    title: str
    rows: Sequence[tuple[str, float, str]]
    """For each bar: its name, its figure, and the figure as text."""


def chart(title: str, groups: Sequence[Series], ours: str, floors: frozenset[str]) -> str:
    """Return the SVG of all groups, one below the other."""
    height = _HEAD + sum(_HEAD + _ROW * len(group.rows) for group in groups) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/><g font-size="12">',
        f'<text x="10" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]
    top = _HEAD
    for group in groups:
        parts.append(f'<text x="10" y="{top + 22}" fill="#57606a">{escape(group.title)}</text>')
        top += _HEAD
        figures = [figure for _, figure, _ in group.rows if math.isfinite(figure) and figure > 0]
        low, high = min(figures, default=1.0) / 2, max(figures, default=1.0)
        for name, figure, shown in group.rows:
            length = _length(figure, low, high)
            colour = _OURS if name == ours else _FLOORS if name in floors else _OTHERS
            parts.append(f'<text x="{_LABELS - 8}" y="{top + 15}" text-anchor="end">{escape(name)}</text>')
            parts.append(
                f'<rect x="{_LABELS}" y="{top + 3}" width="{length:.0f}" height="16" fill="{colour}"/>'
            )
            parts.append(f'<text x="{_LABELS + length + 6:.0f}" y="{top + 15}">{escape(shown)}</text>')
            top += _ROW
    return "\n".join([*parts, "</g></svg>"]) + "\n"


def _length(figure: float, low: float, high: float) -> float:
    room = _WIDTH - _LABELS - 110
    if not math.isfinite(figure):
        return room
    if figure <= 0 or high <= low:
        return 1
    return max(1.0, room * math.log(figure / low) / math.log(high / low))

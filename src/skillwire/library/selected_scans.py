"""The scans of sources without the skills and templates that are not served."""

from dataclasses import dataclass, replace
from urllib.parse import unquote

from skillwire.core.patterns import Selection
from skillwire.core.record import SkillRecord
from skillwire.core.sorted_items import SortedItems
from skillwire.sources.base import Scan


@dataclass(frozen=True, slots=True)
class _Selected:
    whole: Scan
    selected: Scan


class SelectedScans:
    """Applies a selection to scans. Of a sorted scan, only the skills that changed are examined again."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._last: dict[str, _Selected] = {}

    @property
    def left_out(self) -> int:
        """The number of skills and templates that the selection leaves out of the last scans."""
        return sum(_size(each.whole) - _size(each.selected) for each in self._last.values())

    def forget(self, label: str) -> None:
        """Forget the last scan of a source."""
        self._last.pop(label, None)

    def select(self, label: str, scan: Scan) -> Scan:
        """Return a scan of the source `label` without the skills and templates that are not served."""
        if not self._selection:
            return scan
        accepts = self._selection.accepts
        templates = tuple(
            each for each in scan.templates if accepts(each.path.rpartition("/")[2], each.path, each.fields)
        )
        selected = replace(scan, entries=self._entries(label, scan), templates=templates)
        self._last[label] = _Selected(scan, selected)
        return selected

    def _entries(self, label: str, scan: Scan) -> SortedItems[SkillRecord] | tuple[SkillRecord, ...]:
        last = self._last.get(label)
        if last is None or not isinstance(before := last.selected.entries, SortedItems):
            accepted = (each for each in scan.entries if self._accepts(each))
            return SortedItems(accepted, _root) if isinstance(scan.entries, SortedItems) else tuple(accepted)
        if not isinstance(scan.entries, SortedItems):
            return tuple(each for each in scan.entries if self._accepts(each))
        delta = scan.delta_since(last.whole)
        gone = [each for each in delta.gone if before.position_of(each) is not None]
        return before.replaced(gone, [each for each in delta.new if self._accepts(each)])

    def _accepts(self, entry: SkillRecord) -> bool:
        return self._selection.accepts(entry.name, unquote(entry.path), entry.frontmatter)


def _root(entry: SkillRecord) -> str:
    return entry.root


def _size(scan: Scan) -> int:
    return len(scan.entries) + len(scan.templates)

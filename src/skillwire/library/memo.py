"""`CatalogMemo`: a value that is computed from a catalog, and follows its changes."""

from collections.abc import Callable
from typing import Generic, TypeVar

from skillwire.library.catalog import Catalog
from skillwire.library.change import Change

Value = TypeVar("Value")
_FEW = 64
"""A change with at most this number of edits is always followed."""


class CatalogMemo(Generic[Value]):
    """Caches the value that was computed from the last catalog. Keeps that catalog, and no earlier one."""

    def __init__(
        self, make: Callable[[Catalog], Value], update: Callable[[Value, Change], Value] | None = None
    ) -> None:
        """Compute values with `make`. With `update`, a value follows changes instead of being made anew.

        `update` takes the last value, and the change from its catalog. It may modify that value.
        """
        self._make, self._update = make, update
        self._last: tuple[Catalog, Value] | None = None

    def of(self, catalog: Catalog) -> Value:
        """Return the value for `catalog`. Compute it only if `catalog` differs from the last one."""
        if self._last is not None and self._last[0] is catalog:
            return self._last[1]
        last, self._last = self._last, None  # if an update fails, it may have modified the last value
        value = self._make(catalog) if last is None else self._follow(*last, catalog)
        self._last = catalog, value
        return value

    def _follow(self, before: Catalog, value: Value, after: Catalog) -> Value:
        if self._update is None:
            return self._make(after)
        change = Change.between(before, after)
        is_large = len(change.edits) > max(_FEW, len(after.entries) // 4)
        return self._make(after) if is_large else self._update(value, change)

"""Values that follow from the catalogue, made once for each catalogue and not for each request."""

from collections.abc import Callable
from typing import Generic, TypeVar

from skillwire.catalog.snapshot import Catalog

Value = TypeVar("Value")


class Derived(Generic[Value]):
    """Remembers what was made from the last catalogue."""

    def __init__(self, make: Callable[[Catalog], Value]) -> None:
        self._make = make
        self._last: tuple[Catalog, Value] | None = None

    def of(self, catalog: Catalog) -> Value:
        """Return the value for `catalog`."""
        if self._last is None or self._last[0] is not catalog:
            self._last = (catalog, self._make(catalog))
        return self._last[1]

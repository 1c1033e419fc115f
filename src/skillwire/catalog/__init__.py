"""What is served: an immutable catalogue, and the library that replaces it when something changes."""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.catalog.change import Change, Edit
    from skillwire.catalog.library import Library, Reading
    from skillwire.catalog.snapshot import Catalog

__all__ = ["Catalog", "Change", "Edit", "Library", "Reading"]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(
        __name__,
        {
            "Catalog": "skillwire.catalog.snapshot",
            "Change": "skillwire.catalog.change",
            "Edit": "skillwire.catalog.change",
            "Library": "skillwire.catalog.library",
            "Reading": "skillwire.catalog.library",
        },
    )

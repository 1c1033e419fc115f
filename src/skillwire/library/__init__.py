"""The skills that are served: the immutable catalog, the library that replaces it, and their changes."""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.library.catalog import Catalog
    from skillwire.library.change import Change, Edit
    from skillwire.library.library import Library, Reading

__all__ = ["Catalog", "Change", "Edit", "Library", "Reading"]

if not TYPE_CHECKING:  # type checkers use the imports above
    __getattr__, __dir__ = exports(
        __name__,
        {
            "Catalog": "skillwire.library.catalog",
            "Change": "skillwire.library.change",
            "Edit": "skillwire.library.change",
            "Library": "skillwire.library.library",
            "Reading": "skillwire.library.library",
        },
    )

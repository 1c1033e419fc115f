"""The skills that are served: the immutable catalog, the library that replaces it, and their changes."""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.library.catalog import Catalog
    from skillwire.library.change import Change, Edit
    from skillwire.library.library import Library, Reading
    from skillwire.library.search import Audience, SearchResult, SearchResults

__all__ = ["Audience", "Catalog", "Change", "Edit", "Library", "Reading", "SearchResult", "SearchResults"]

if not TYPE_CHECKING:  # type checkers use the imports above
    __getattr__, __dir__ = exports(
        __name__,
        {
            "Audience": "skillwire.library.search",
            "Catalog": "skillwire.library.catalog",
            "Change": "skillwire.library.change",
            "Edit": "skillwire.library.change",
            "Library": "skillwire.library.library",
            "Reading": "skillwire.library.library",
            "SearchResult": "skillwire.library.search",
            "SearchResults": "skillwire.library.search",
        },
    )

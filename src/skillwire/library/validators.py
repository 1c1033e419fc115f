"""Validators for responses that are made from a library."""

from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, TypeAlias

from skillwire.sources.base import Validator

if TYPE_CHECKING:
    from skillwire.library.library import Library

LookUp: TypeAlias = Callable[[], tuple[object, ...]]
"""A function that returns the objects from which a response is made now; none if it cannot be made."""


class CatalogValidator(Validator):
    """A validator that is current while the library's revision and the file, if any, are unchanged."""

    __slots__ = ("_library", "_of_file", "_revision")

    def __init__(self, library: "Library", of_file: Validator | None = None) -> None:
        self._library = library
        self._revision = library.revision
        self._of_file = of_file

    def is_current(self) -> bool:
        return self._library.revision == self._revision and (
            self._of_file is None or self._of_file.is_current()
        )


class PartValidator(Validator):
    """A validator that is current while a response would be made from the same objects of the catalog.

    As long as the library's revision is unchanged, nothing is looked up. Until the first successful check,
    every new revision counts as a change, because the response may have been made from an earlier or a later
    catalog than the objects. So check a new response once before storing it.
    """

    __slots__ = ("_is_used", "_library", "_look_up", "_of_file", "_parts", "_revision")

    def __init__(self, library: "Library", look_up: LookUp, of_file: Validator | None = None) -> None:
        self._library = library
        self._revision = library.revision
        self._look_up = look_up
        self._parts = look_up()
        self._of_file = of_file
        self._is_used = False

    def is_current(self) -> bool:
        if self._library.revision != self._revision and not self._is_unaffected():
            return False
        self._is_used = bool(self._parts)
        return self._is_used and (self._of_file is None or self._of_file.is_current())

    def _is_unaffected(self) -> bool:
        """Return whether the objects are the same in the current catalog. If so, adopt its revision."""
        revision, parts = self._library.revision, self._look_up()
        if not self._is_used or len(parts) != len(self._parts) or not all(map(is_, parts, self._parts)):
            return False
        self._revision = revision
        return True

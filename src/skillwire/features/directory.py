"""`resources/directory/read`: list a folder in a skill, or a folder above skills (S15)."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from skillwire.core.record import Json
from skillwire.features.base import Answer, Call, Feature, Method, page
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.protocol.messages import DIRECTORY_READ, EXTENSION
from skillwire.protocol.translate import directory_resource, file_resource


class DirectoryFeature(Feature):
    """Lets clients browse skills, and the folders above skills, folder by folder."""

    name = "directory"

    def __init__(self, library: Library) -> None:
        self._library = library

    def methods(self) -> Mapping[str, Method]:
        return {DIRECTORY_READ: self.read}

    def extensions(self) -> Mapping[str, Mapping[str, Json]]:
        return {EXTENSION: {"directoryRead": True}}

    async def read(self, call: Call) -> Answer:
        catalog, uri = self._library.catalog, call.text("uri")
        children = catalog.children(uri)
        shown = page(
            children,
            lambda last: _position(children, last),
            of=f"{DIRECTORY_READ} {uri}",
            cursor=call.cursor(),
        )
        return Answer(shown.result("resources", [_resource(catalog, child) for child in shown.keys]))


def _position(children: Sequence[str], last: str) -> int | None:
    """Return the index of `last` in the sorted children, or None if it is not one of them.

    Uses binary search, because a folder may have very many children.
    """
    found = bisect_left(children, last)
    return found if found < len(children) and children[found] == last else None


def _resource(catalog: Catalog, uri: str) -> dict[str, Json]:
    served = catalog.files.get(uri)
    if served is None and uri in catalog.children_by_folder:
        return directory_resource(uri)
    served = served or catalog.file(uri)  # the `SKILL.md` of a skill that a template describes
    return file_resource(uri, served.entry, served.file)

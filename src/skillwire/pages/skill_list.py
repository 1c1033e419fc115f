"""The list of all skills of one catalog, from which the pages show a part at a time."""

from collections import Counter
from collections.abc import Iterable, Sequence

from anyio.lowlevel import checkpoint

from skillwire.core.record import SkillRecord
from skillwire.errors import BadParamsError
from skillwire.library.catalog import Catalog

MAX_WORDS = 32
"""Maximum number of different words in a search. Each word is searched for in every skill."""
_BATCH = 500
"""Number of skills that are searched before other requests are answered."""


class SkillList:
    """The skills of one catalog in listing order, with counts per source and the names that several have."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._uris = tuple(catalog.entries)
        self._repeated = frozenset(
            catalog.entries[uri].name for uri in catalog.shared_names if uri in catalog.entries
        )
        self.served = _count_by_source(catalog.entries.values())
        """Number of skills by the label of their source."""
        self.withheld = _count_by_source(catalog.withheld)
        """Number of withheld skills by the label of their source."""
        self._words: tuple[str, ...] | None = None
        self._found: Sequence[SkillRecord] = ()

    def is_repeated(self, entry: SkillRecord) -> bool:
        """Return whether several skills have the name of this one."""
        return entry.name in self._repeated

    def part(self, offset: int, limit: int) -> list[SkillRecord]:
        """Return at most `limit` skills, from `offset` on."""
        return [self._catalog.entries[uri] for uri in self._uris[offset : offset + limit]]

    def offset_of(self, uri: str, size: int) -> int | None:
        """Return the offset of the part with this skill, or None. Each part has `size` skills."""
        if uri not in self._catalog.entries or not size:
            return None
        # The listing leaves out skills, but does not reorder them: the skill cannot come before its position.
        at = self._uris.index(uri, self._catalog.positions.get(uri, 0))
        return at - at % size

    async def find(self, words: Sequence[str]) -> Sequence[SkillRecord]:
        """Return the skills that contain every word. Remembers the last result, for its further parts."""
        if self._words != (searched := tuple(words)):
            found = await find_words(self._catalog.entries.values(), searched)
            self._words, self._found = searched, found
        return self._found


def query_words(query: str) -> list[str]:
    """Return the different words of a query. Raises `BadParamsError` for too many."""
    words = list(dict.fromkeys(query.casefold().split()))
    if len(words) > MAX_WORDS:
        raise BadParamsError(f"a query may have {MAX_WORDS} different words; search for fewer")
    return words


async def find_words(entries: Iterable[SkillRecord], words: Sequence[str]) -> list[SkillRecord]:
    """Return the skills whose path, name, description or source label contains each of `words`.

    Other tasks run in between.
    """
    found: list[SkillRecord] = []
    for number, entry in enumerate(entries, 1):
        if number % _BATCH == 0:
            await checkpoint()
        text = f"{entry.path} {entry.name} {entry.shown_description} {entry.origin.source}".casefold()
        if all(word in text for word in words):
            found.append(entry)
    return found


def _count_by_source(entries: Iterable[SkillRecord]) -> Counter[str]:
    return Counter(entry.origin.source for entry in entries)

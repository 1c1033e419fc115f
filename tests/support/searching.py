"""Searches in tests: libraries with an index, words that often meet, and answers without their order."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st

from skillwire import Library, MemorySource
from skillwire.core.record import SkillRecord, Trust, Withheld
from skillwire.library.search import MAX_LIMIT, Audience, SearchResults
from skillwire.library.visibility import Override, VisibilityPolicy
from skillwire.search.service import LibrarySearch
from skillwire.sources import MemorySkill, Scan, Source
from skillwire.sources.base import Progress, ignore_progress

__all__ = [
    "TYPED",
    "WORDS",
    "Audience",
    "SearchResults",
    "WithheldSource",
    "all_pages",
    "leftovers",
    "library_with_index",
    "queries",
    "searchable",
    "stored_files",
    "texts",
]

_LATIN = "refund refunds invoice invoices kubernetes deploy deployment deploying pdf form make the one"
_OTHER = "spreadsheet naïve ünïcode c++ 日本語 日本 ไทย हिन्दी עברית 🙂 e2e v2 release-notes"
_WRONG = "kuberntes kubernets refnud invocie deplyo spreadhseet kub dep inv rel r"
_SYNTAX = '* NEAR( " : -'
WORDS = [*_LATIN.split(), *_OTHER.split()]
"""Words of skills: stems that meet, light words and stop words, and scripts with and without spaces."""
TYPED = [*WORDS, *_WRONG.split(), *_SYNTAX.split()]
"""Words of queries: also misspelled, unfinished, and the syntax of other engines."""

queries = st.lists(st.sampled_from(TYPED), min_size=1, max_size=5).map(" ".join)
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


class WithheldSource(MemorySource):
    """A source of skills that no one may use."""

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        found = await super().scan(progress)
        return replace(found, entries=tuple(map(_withheld, found.entries)))


def _withheld(entry: SkillRecord) -> SkillRecord:
    return replace(entry, trust=Trust.WITHHELD, withheld=Withheld("it is not approved", "approve it"))


def searchable(name: str, description: str = "", body: str = "", more: str = "") -> MemorySkill:
    """Return a skill with these words."""
    text = f"---\nname: {name}\ndescription: 'About {description}.'\n{more}---\n\n{body}\n"
    return MemorySkill(name, {"SKILL.md": text.encode()})


def library_with_index(
    *sources: Source,
    folder: Path | None = None,
    overrides: Mapping[str, Override] | None = None,
) -> Library:
    """Return a library that is not loaded, whose index is stored in `folder`."""
    library = Library(sources, visibility=VisibilityPolicy(overrides or {}))
    library.use_index(LibrarySearch(library, folder))
    return library


async def all_pages(
    library: Library, query: str, audience: Audience, limit: int = MAX_LIMIT
) -> SearchResults:
    """Return the results of all pages as one answer."""
    found = page = await library.search(query, limit=limit, audience=audience)
    while page.next_cursor is not None:
        page = await library.search(query, limit=limit, audience=audience, cursor=page.next_cursor)
        assert (page.total, page.weak, page.corrections) == (found.total, found.weak, found.corrections)
        found = replace(found, results=(*found.results, *page.results))
    return replace(found, next_cursor=None)


def stored_files(folder: Path) -> list[Path]:
    """Return the index files in a folder."""
    return sorted(folder.glob("*.db"))


def leftovers(folder: Path) -> list[str]:
    """Return the names of everything in a folder that is neither an index nor a lock."""
    with suppress(FileNotFoundError):
        return sorted(each.name for each in folder.iterdir() if each.suffix not in {".db", ".lock"})
    return []

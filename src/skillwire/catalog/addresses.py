"""What each URI of a catalogue means, told from the skills: nothing is kept for each of their files.

A file belongs to the innermost skill that lists it (S16). To find it, one goes down from the first segment of
its URI for as long as there are skills further down: as many steps as the nearest skill is deep, however many
skills there are and however long the URI is.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from skillwire.model.entry import LiveFile, SkillFile, SkillRecord
from skillwire.model.uri import SCHEME, SKILL_FILE

Entries: TypeAlias = Mapping[str, SkillRecord]
"""Skills by the URI of their `SKILL.md`."""


@dataclass(frozen=True, slots=True)
class Served:
    """A file, and the skill that it is served for: its own, where skills are nested (S16)."""

    entry: SkillRecord
    file: SkillFile | LiveFile


def entry_in(entries: Entries, folder: str) -> SkillRecord | None:
    """Return the skill whose folder has this URI."""
    return entries.get(f"{folder}/{SKILL_FILE}")


def around(entries: Entries, above: Container[str], uri: str) -> list[SkillRecord]:
    """Return the skills in whose folders `uri` stands, innermost first.

    `above` are the URIs of all folders on the way to a skill.
    """
    found: list[SkillRecord] = []
    end = uri.find("/", len(SCHEME))
    while end >= 0:
        folder = uri[:end]
        if (entry := entry_in(entries, folder)) is not None:
            found.append(entry)
        if folder not in above:
            break
        end = uri.find("/", end + 1)
    found.reverse()
    return found


def concerned(entries: Entries, above: Mapping[str, tuple[str, ...]], uri: str) -> Iterator[SkillRecord]:
    """Yield the skills in whose folders `uri` stands, the one whose folder it is, and those below it."""
    yield from around(entries, above, uri)
    pending = [uri]
    while pending:
        folder = pending.pop()
        if (entry := entry_in(entries, folder)) is not None:
            yield entry
        pending.extend(above.get(folder, ()))


class Files(Mapping[str, Served]):
    """Every file of every skill."""

    __slots__ = ("_above", "_entries")

    def __init__(self, entries: Entries, above: Container[str]) -> None:
        """`above` are the URIs of all folders on the way to a skill."""
        self._entries = entries
        self._above = above

    def __getitem__(self, uri: str) -> Served:
        for entry in around(self._entries, self._above, uri):
            if (file := entry.file_at(uri)) is not None:
                return Served(entry, file)
        raise KeyError(uri)

    def __iter__(self) -> Iterator[str]:
        entries = self._entries.values()
        return iter({entry.uri_of(file.path): None for entry in entries for file in entry.files})

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Folders(Mapping[str, tuple[str, ...]]):
    """The URIs of what stands in each folder, of a skill or of the namespace above skills, sorted (S15)."""

    __slots__ = ("_above", "_entries")

    def __init__(self, entries: Entries, above: Mapping[str, tuple[str, ...]]) -> None:
        """`above` are the children of each folder on the way to a skill, for the sake of the skills."""
        self._entries = entries
        self._above = above

    def __getitem__(self, uri: str) -> tuple[str, ...]:
        skills = (entry_in(self._entries, uri), *around(self._entries, self._above, uri))
        told = (self._above.get(uri), *(entry.children_at(uri) for entry in skills if entry is not None))
        parts = [part for part in told if part is not None]
        if not parts:
            raise KeyError(uri)
        return parts[0] if len(parts) == 1 else tuple(sorted({child for part in parts for child in part}))

    def __iter__(self) -> Iterator[str]:
        inside = (
            uri
            for entry in self._entries.values()
            for uri in (entry.root, *map(entry.uri_of, entry.directories))
        )
        return iter(dict.fromkeys((*self._above, *inside)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

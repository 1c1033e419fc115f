"""The paths that skills take, which must not conflict: assign them, and update them after a change."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from skillwire.core.names import parent_uri, parents
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.core.shared_mapping import SharedMapping
from skillwire.library.catalog import Entries, enclosing_skills, entry_in


class Namespace:
    """The skills whose URIs have been assigned so far, and the folders above them."""

    def __init__(self) -> None:
        self.entries: dict[str, SkillRecord] = {}
        self._above: defaultdict[str, set[str]] = defaultdict(set)
        self._files: dict[str, dict[str, SkillFile | LiveFile]] = {}
        """Cached files of skills that may contain other skills, by skill URI and file URI."""

    def claim(self, entry: SkillRecord) -> SkillRecord | None:
        """Assign the URIs of `entry`. If another skill conflicts, return that skill and change nothing."""
        if (other := self._in_the_way(entry)) is not None:
            return other
        self.entries[entry.uri] = entry
        child = entry.root
        for folder in parents(child):
            children = self._above[folder]
            if child in children:  # the folders above it are already registered
                break
            children.add(child)
            child = folder
        return None

    def above(self) -> SharedMapping[str, tuple[str, ...]]:
        """Return the sorted children of each folder above skills, by URI."""
        return SharedMapping({uri: tuple(sorted(children)) for uri, children in self._above.items()})

    def _in_the_way(self, entry: SkillRecord) -> SkillRecord | None:
        """Return a skill that conflicts with `entry`, or None."""
        if entry.uri in self.entries:
            return self.entries[entry.uri]
        # Only a skill that contains this skill or is inside it can have a file with the same URI.
        for outer in enclosing_skills(self.entries, self._above, entry.root):
            if self._contradict(outer, entry):
                return outer
        if entry.root not in self._above:
            return None
        return next((inner for inner in self._inside(entry.root) if self._contradict(entry, inner)), None)

    def _inside(self, folder: str) -> Iterator[SkillRecord]:
        """Yield the skills below a folder."""
        for child in self._above.get(folder, ()):
            if (entry := entry_in(self.entries, child)) is not None:
                yield entry
            yield from self._inside(child)

    def _contradict(self, outer: SkillRecord, inner: SkillRecord) -> bool:
        """Return whether `inner` has a file that contradicts the file list of `outer`.

        The file list is complete (S8), so it must contain all files of `inner`, with the same bytes. A
        dynamic skill lists no digests (S9), so it contradicts only files that it has itself.
        """
        known = self._files.setdefault(outer.uri, {})
        if not known:
            known.update({outer.uri_of(file.path): file for file in outer.files})
        for file in inner.files:
            there = known.get(inner.uri_of(file.path))
            if not (outer.dynamic if there is None else _same_bytes(there, file)):
                return True
        return False


def _same_bytes(one: SkillFile | LiveFile, other: SkillFile | LiveFile) -> bool:
    if isinstance(one, LiveFile) or isinstance(other, LiveFile):
        return False
    return one.digest == other.digest


class PathUpdate:
    """The paths of a catalog while skills are removed and added. The catalog itself stays unchanged."""

    def __init__(self, entries: Entries, above: SharedMapping[str, tuple[str, ...]]) -> None:
        self._entries = entries
        self._known = above
        self._gone: set[str] = set()
        self._changed: dict[str, tuple[str, ...]] = {}
        """The folders above skills that differ now. A folder that is no longer above a skill is empty."""

    def above(self) -> SharedMapping[str, tuple[str, ...]]:
        """Return the children of each folder above skills, after the update."""
        gone = [uri for uri, children in self._changed.items() if not children]
        return self._known.updated(gone, {uri: each for uri, each in self._changed.items() if each})

    def _children(self, folder: str) -> tuple[str, ...]:
        known = self._changed.get(folder)
        return self._known.get(folder, ()) if known is None else known

    def release(self, gone: Sequence[SkillRecord]) -> bool:
        """Remove skills. Return False if one is unknown, or contains or is inside a skill that stays."""
        self._gone = {entry.uri for entry in gone}
        if any(self._entries.get(entry.uri) is not entry or self._in_another(entry) for entry in gone):
            return False
        for entry in sorted(gone, key=lambda entry: -len(entry.root)):  # inner skills before outer skills
            if self._children(entry.root):
                return False
            self._detach(entry.root)
        return True

    def claim(self, new: Sequence[SkillRecord]) -> bool:
        """Add skills. Return False if two conflict, or if one is at, above or below a skill that stays."""
        among_themselves = Namespace()
        if any(among_themselves.claim(entry) is not None for entry in new):
            return False
        for entry in new:
            if self._children(entry.root) or self._stays(entry) or self._in_another(entry):
                return False
        for entry in new:
            self._attach(entry.root)
        return True

    def _stays(self, entry: SkillRecord) -> bool:
        return entry.uri in self._entries and entry.uri not in self._gone

    def _in_another(self, entry: SkillRecord) -> bool:
        """Return whether this skill is inside a skill that stays."""
        return any(
            outer.uri not in self._gone for outer in enclosing_skills(self._entries, self._known, entry.root)
        )

    def _detach(self, uri: str) -> None:
        """Remove a folder from its parent. If the parent becomes empty, remove it as well."""
        while (above := parent_uri(uri)) is not None:
            children = self._children(above)
            at = bisect_left(children, uri)
            self._changed[above] = children = children[:at] + children[at + 1 :]
            if children:
                return
            if entry_in(self._entries, above) is not None:
                return  # a skill that is also removed; `release` handles it
            uri = above

    def _attach(self, uri: str) -> None:
        """Add a folder to its parent. Add missing parents as well."""
        while (above := parent_uri(uri)) is not None:
            children = self._children(above)
            at = bisect_left(children, uri)
            if at < len(children) and children[at] == uri:
                return
            self._changed[above] = (*children[:at], uri, *children[at:])
            uri = above

"""The next catalogue after a small change, at a cost that follows the change and not the catalogue."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

from skillwire.catalog.compose import Labelled, Namespace, all_templates, found_problems, listed, shared_names
from skillwire.catalog.snapshot import Catalog
from skillwire.model.entry import Entry
from skillwire.model.uri import SKILL_FILE, parent_uri, parents
from skillwire.sources.base import Scan


def amended(catalog: Catalog, before: Scan, after: Scan, scans: Sequence[Labelled]) -> Catalog | None:
    """Return the catalogue of `scans`, made from the one before; None if that could go wrong.

    `before` became `after`, which is part of `scans` already. It goes well as long as nobody had to give way
    to anybody, and nobody has to now: then a skill that comes, goes or changes concerns no other.
    """
    if catalog.crowded:
        return None
    kept = {id(entry) for entry in after.entries}
    known = {id(entry) for entry in before.entries}
    gone = [entry for entry in before.entries if id(entry) not in kept]
    new = [entry for entry in after.entries if id(entry) not in known]
    space = _Space(catalog)
    if not space.release(gone) or not space.claim(new):
        return None
    entries = {entry.uri: entry for labelled in scans for entry in labelled.scan.entries}
    same_skills = [(each.uri, each.listed) for each in gone] == [(each.uri, each.listed) for each in new]
    shared = catalog.shared_names if same_skills else shared_names(entries.values(), scans)
    listing = catalog.listing if same_skills else listed(entries.values())
    return replace(
        catalog,
        entries=entries,
        files=space.files,
        directories=space.directories,
        listing=listing,
        positions=catalog.positions if same_skills else {uri: at for at, uri in enumerate(listing)},
        problems=(*found_problems(scans), *shared.values()),
        shared_names=shared,
        templates=all_templates(scans),
    )


class _Space:
    """The URIs of a catalogue, while skills are taken out and put in."""

    def __init__(self, catalog: Catalog) -> None:
        self._entries = catalog.entries
        self._gone: set[str] = set()
        self.files = dict(catalog.files)
        self.directories = dict(catalog.directories)

    def release(self, gone: Sequence[Entry]) -> bool:
        """Take skills out; False if one shares files or folders with a skill that stays."""
        self._gone = {entry.uri for entry in gone}
        if any(self._entries.get(entry.uri) is not entry or self._shared(entry) for entry in gone):
            return False
        for entry in gone:
            for uri in _file_uris(entry):
                self.files.pop(uri, None)
        for entry in gone:
            for uri in _directory_uris(entry):
                self.directories.pop(uri, None)
        for entry in gone:
            self._detach(entry.root)
        return True

    def claim(self, new: Sequence[Entry]) -> bool:
        """Put skills in; False if one would meet another that is there."""
        among_themselves = Namespace()
        if any(among_themselves.claim(entry) is not None for entry in new):
            return False
        for entry in new:
            around = (f"{uri}/{SKILL_FILE}" for uri in parents(entry.root))
            if entry.root in self.directories or any(self._stays(uri) for uri in around):
                return False
            if any(uri in self.files or uri in self.directories for uri in _file_uris(entry)):
                return False
        self.files |= among_themselves.files
        inside = {uri for entry in new for uri in _directory_uris(entry)}
        self.directories |= {uri: tuple(sorted(among_themselves.children[uri])) for uri in inside}
        for entry in new:
            self._attach(entry.root)
        return True

    def _stays(self, uri: str) -> bool:
        return uri in self._entries and uri not in self._gone

    def _shared(self, entry: Entry) -> bool:
        """Whether a skill around this one, or inside it, stays as it was."""
        if any(self._stays(f"{uri}/{SKILL_FILE}") for uri in parents(entry.root)):
            return True
        return any(self.files[uri].entry.uri not in self._gone for uri in _file_uris(entry))

    def _detach(self, uri: str) -> None:
        """Take a folder out of the one above, and that one too if it was there for this alone."""
        while uri not in self.directories and (above := parent_uri(uri)) is not None:
            children = self.directories.get(above)
            if children is None:
                return  # gone with the skill that it belonged to
            at = bisect_left(children, uri)
            if at < len(children) and children[at] == uri:
                children = children[:at] + children[at + 1 :]
            if children:
                self.directories[above] = children
                return
            del self.directories[above]
            uri = above

    def _attach(self, uri: str) -> None:
        """Put a folder into the one above, and that one into its own, up to one that is there."""
        while (above := parent_uri(uri)) is not None:
            children = self.directories.get(above, ())
            at = bisect_left(children, uri)
            if at < len(children) and children[at] == uri:
                return
            self.directories[above] = (*children[:at], uri, *children[at:])
            uri = above


def _file_uris(entry: Entry) -> Iterable[str]:
    return (entry.uri_of(file.path) for file in entry.files)


def _directory_uris(entry: Entry) -> Iterable[str]:
    return (entry.root, *(entry.uri_of(path) for path in entry.directories))

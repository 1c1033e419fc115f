"""The next catalogue after a small change, at a cost that follows the change and not the catalogue."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from skillwire.catalog.addresses import around, entry_in
from skillwire.catalog.compose import (
    Labelled,
    Namespace,
    all_templates,
    found_problems,
    listed,
    nonconforming,
    shared_names,
)
from skillwire.catalog.snapshot import Catalog
from skillwire.model.entry import SkillRecord
from skillwire.model.uri import parent_uri
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
    same_skills = list(map(_listed_as, gone)) == list(map(_listed_as, new))
    shared = catalog.shared_names if same_skills else shared_names(entries.values(), scans)
    refused = catalog.nonconforming if same_skills else nonconforming(entries.values(), scans)
    listing = catalog.listing if same_skills else listed(entries.values())
    return replace(
        catalog,
        entries=entries,
        above=space.above,
        listing=listing,
        positions=catalog.positions if same_skills else {uri: at for at, uri in enumerate(listing)},
        problems=(*found_problems(scans), *shared.values(), *refused.values()),
        shared_names=shared,
        nonconforming=refused,
        templates=all_templates(scans),
    )


def _listed_as(entry: SkillRecord) -> tuple[str, bool, object]:
    """Return what decides whether and where a skill is listed."""
    return entry.uri, entry.listed, entry.nonconformities


class _Space:
    """The URIs of a catalogue, while skills are taken out and put in."""

    def __init__(self, catalog: Catalog) -> None:
        self._entries = catalog.entries
        self._known = catalog.above
        self._gone: set[str] = set()
        self.above = dict(catalog.above)

    def release(self, gone: Sequence[SkillRecord]) -> bool:
        """Take skills out; False if one stands around a skill that stays, or inside it."""
        self._gone = {entry.uri for entry in gone}
        if any(self._entries.get(entry.uri) is not entry or self._in_another(entry) for entry in gone):
            return False
        for entry in sorted(gone, key=lambda entry: -len(entry.root)):  # inner ones before those around them
            if entry.root in self.above:
                return False
            self._detach(entry.root)
        return True

    def claim(self, new: Sequence[SkillRecord]) -> bool:
        """Put skills in; False if one would stand around a skill that is there, or inside it."""
        among_themselves = Namespace()
        if any(among_themselves.claim(entry) is not None for entry in new):
            return False
        for entry in new:
            if entry.root in self.above or self._stays(entry) or self._in_another(entry):
                return False
        for entry in new:
            self._attach(entry.root)
        return True

    def _stays(self, entry: SkillRecord) -> bool:
        return entry.uri in self._entries and entry.uri not in self._gone

    def _in_another(self, entry: SkillRecord) -> bool:
        """Whether a skill around this one stays as it was."""
        return any(outer.uri not in self._gone for outer in around(self._entries, self._known, entry.root))

    def _detach(self, uri: str) -> None:
        """Take a folder out of the one above, and that one too if it was there for this alone."""
        while (above := parent_uri(uri)) is not None:
            children = self.above[above]
            at = bisect_left(children, uri)
            children = children[:at] + children[at + 1 :]
            if children:
                self.above[above] = children
                return
            del self.above[above]
            if entry_in(self._entries, above) is not None:
                return  # a skill that goes, too: its own turn comes
            uri = above

    def _attach(self, uri: str) -> None:
        """Put a folder into the one above, and that one into its own, up to one that is there."""
        while (above := parent_uri(uri)) is not None:
            children = self.above.get(above, ())
            at = bisect_left(children, uri)
            if at < len(children) and children[at] == uri:
                return
            self.above[above] = (*children[:at], uri, *children[at:])
            uri = above

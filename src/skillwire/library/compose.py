"""Build one catalog from the scans of all sources, or update the last catalog after a change."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from skillwire.core.names import parent_uri, parents
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.library.catalog import Catalog, enclosing_skills, entry_in
from skillwire.library.names import bare_name_owner, full_name
from skillwire.library.template_overlaps import template_overlaps
from skillwire.safe_text import quoted
from skillwire.sources.base import Scan

_SHOWN_NAMES = 10
"""Maximum number of skills with the same name that a problem lists."""


@dataclass(frozen=True, slots=True)
class LabelledScan:
    """A scan, and the label of its source."""

    label: str
    scan: Scan


def compose(scans: Sequence[LabelledScan], *, movable: bool = True) -> Catalog:
    """Build a catalog from all scans.

    Skills conflict if they have the same path, or if one contains the other and does not list its files. The
    earlier skill keeps its path. The other skill is published below its source's label. It is left out with a
    problem if it comes from the first source, if it conflicts there as well, or with `movable=False`.
    """
    namespace = Namespace()
    taken: list[Problem] = []
    has_path_conflicts = False
    for place, labelled in enumerate(scans):
        for entry in labelled.scan.entries:
            other = namespace.claim(entry)
            has_path_conflicts = has_path_conflicts or other is not None
            if other is not None and place > 0 and movable:
                other = namespace.claim(entry.below(labelled.label))
            if other is not None:
                taken.append(_uri_taken(entry, other, scans))
    entries = namespace.entries
    shared = shared_names(entries.values(), scans)
    refused = nonconforming(entries.values(), scans)
    overlaps = template_overlaps([labelled.scan.templates for labelled in scans])
    return Catalog(
        entries=entries,
        above=namespace.above(),
        listing=(listing := listed(entries.values())),
        positions={uri: position for position, uri in enumerate(listing)},
        problems=(*collect_problems(scans), *taken, *overlaps, *_each_once(shared), *refused.values()),
        shared_names=shared,
        nonconforming=refused,
        templates=merge_templates(scans),
        template_overlaps=overlaps,
        has_several_sources=len(scans) > 1,
        has_path_conflicts=has_path_conflicts,
    )


def listed(entries: Iterable[SkillRecord]) -> tuple[str, ...]:
    """Return the URIs of the skills that have frontmatter."""
    return tuple(entry.uri for entry in entries if entry.listed)


def merge_templates(scans: Sequence[LabelledScan]) -> tuple[SkillTemplate, ...]:
    """Return the templates of all sources in order. If two match a URI, the catalog uses the first one."""
    return tuple(template for labelled in scans for template in labelled.scan.templates)


def collect_problems(scans: Sequence[LabelledScan]) -> Iterator[Problem]:
    """Yield the problems of sources and skills. If there are several sources, add the label to each path."""
    for labelled in scans:
        own = (problem for entry in labelled.scan.entries for problem in entry.problems)
        for problem in chain(labelled.scan.problems, own):
            yield replace(problem, path=_shown_path(labelled.label, problem.path, scans))


def _place(entry: SkillRecord, scans: Sequence[LabelledScan]) -> str:
    return _shown_path(entry.origin.source, entry.origin.path, scans)


def _shown_path(label: str, path: str, scans: Sequence[LabelledScan]) -> str:
    return f"{label}/{path}" if len(scans) > 1 else path


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

    def above(self) -> dict[str, tuple[str, ...]]:
        """Return the sorted children of each folder above skills, by URI."""
        return {uri: tuple(sorted(children)) for uri, children in self._above.items()}

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


def _uri_taken(entry: SkillRecord, taken: SkillRecord, scans: Sequence[LabelledScan]) -> Problem:
    return Problem(
        _place(entry, scans),
        Rule.URI_TAKEN,
        Severity.ERROR,
        f"its address {quoted(entry.uri)} belongs to {quoted(_place(taken, scans))}",
        hint="rename the folder of one of the two, so that neither is inside the other",
    )


def shared_names(entries: Iterable[SkillRecord], scans: Sequence[LabelledScan]) -> dict[str, Problem]:
    """Return the problem of each skill that is not called by its bare name, by URI (S17).

    If the bare name belongs to one skill, all other skills with this name share one problem. Otherwise, no
    skill is called by the bare name, and each of them has its own problem.
    """
    by_name: defaultdict[str, list[SkillRecord]] = defaultdict(list)
    for entry in entries:
        by_name[entry.name].append(entry)
    shared: dict[str, Problem] = {}
    for sharing in by_name.values():
        if len(sharing) > 1:
            owner = bare_name_owner(sharing)
            called = [entry for entry in sharing if entry is not owner]
            together = None if owner is None else _name_shared(called[0], called, owner, scans)
            shared |= {each.uri: together or _name_shared(each, called, None, scans) for each in called}
    return shared


def _each_once(shared: Mapping[str, Problem]) -> Iterable[Problem]:
    """Return the problems of shared names, each once."""
    return {id(problem): problem for problem in shared.values()}.values()


def nonconforming(entries: Iterable[SkillRecord], scans: Sequence[LabelledScan]) -> dict[str, Problem]:
    """Return the problem of each skill that makes strict clients refuse the whole list, by URI."""
    return {entry.uri: _not_listed(entry, scans) for entry in entries if entry.nonconformities}


def _not_listed(entry: SkillRecord, scans: Sequence[LabelledScan]) -> Problem:
    reasons = entry.nonconformities
    what = "; ".join(reason.message for reason in reasons)
    fixes = "; ".join(dict.fromkeys(reason.fix for reason in reasons))
    listed_with = "so it is listed only with `--list-nonconforming`"
    return Problem(
        _place(entry, scans),
        Rule.NOT_LISTED,
        Severity.WARNING,
        f"strict clients refuse every list with this skill, {listed_with}: {what}",
        hint="ask the operator of its server to fix it" if entry.origin.foreign else fixes,
        field=reasons[0].field,
    )


def _name_shared(
    entry: SkillRecord,
    called: Sequence[SkillRecord],
    owner: SkillRecord | None,
    scans: Sequence[LabelledScan],
) -> Problem:
    """Return the problem of `entry`. `called` has all skills with its name, except `owner`."""
    name = quoted(called[0].name)
    full = [quoted(full_name(entry)) for entry in called[:_SHOWN_NAMES]]
    if len(called) > _SHOWN_NAMES:
        full.append(f"{len(called) - _SHOWN_NAMES:,} more")
    names = " and ".join([*([", ".join(full[:-1])] if full[1:] else []), full[-1]])
    meaning = f"{len(called)} skills have the name {name}; they are called {names}"
    if owner is not None:
        others = "another skill" if len(called) == 1 else f"{len(called)} other skills"
        meaning = f"{name} means {quoted(_place(owner, scans))}; {others} with this name: {names}"
    return Problem(
        _place(entry, scans),
        Rule.NAME_SHARED,
        Severity.WARNING,
        meaning,
        hint="give each its own name, so that people and models can tell them apart",
        field="name",
    )


def update_catalog(
    catalog: Catalog, before: Scan, after: Scan, scans: Sequence[LabelledScan]
) -> Catalog | None:
    """Update a catalog to `scans`. Return None if the catalog must be built from scratch.

    The scan `before` was replaced by `after`, which is already in `scans`. An update is possible only if no
    paths conflict before or after it, and if no added, removed or changed skill contains, or is inside, an
    unchanged skill. Otherwise, the change may affect other skills.
    """
    if catalog.has_path_conflicts:
        return None
    remaining = {id(entry) for entry in after.entries}
    known = {id(entry) for entry in before.entries}
    gone = [entry for entry in before.entries if id(entry) not in remaining]
    new = [entry for entry in after.entries if id(entry) not in known]
    space = _Space(catalog)
    if not space.release(gone) or not space.claim(new):
        return None
    entries = {entry.uri: entry for labelled in scans for entry in labelled.scan.entries}
    same_skills = list(map(_listed_as, gone)) == list(map(_listed_as, new))
    shared = catalog.shared_names if same_skills else shared_names(entries.values(), scans)
    refused = catalog.nonconforming if same_skills else nonconforming(entries.values(), scans)
    listing = catalog.listing if same_skills else listed(entries.values())
    overlaps = catalog.template_overlaps
    if before.templates != after.templates:
        overlaps = template_overlaps([labelled.scan.templates for labelled in scans])
    return replace(
        catalog,
        entries=entries,
        above=space.above,
        listing=listing,
        positions=catalog.positions if same_skills else {uri: at for at, uri in enumerate(listing)},
        problems=(*collect_problems(scans), *overlaps, *_each_once(shared), *refused.values()),
        shared_names=shared,
        nonconforming=refused,
        templates=merge_templates(scans),
        template_overlaps=overlaps,
    )


def _listed_as(entry: SkillRecord) -> tuple[str, bool, object]:
    """Return the properties that determine whether a skill is listed, and at which URI."""
    return entry.uri, entry.listed, entry.nonconformities


class _Space:
    """The URIs of a catalog while skills are removed and added. The catalog itself stays unchanged."""

    def __init__(self, catalog: Catalog) -> None:
        self._entries = catalog.entries
        self._known = catalog.above
        self._gone: set[str] = set()
        self.above = dict(catalog.above)

    def release(self, gone: Sequence[SkillRecord]) -> bool:
        """Remove skills. Return False if one is unknown, or contains or is inside a skill that stays."""
        self._gone = {entry.uri for entry in gone}
        if any(self._entries.get(entry.uri) is not entry or self._in_another(entry) for entry in gone):
            return False
        for entry in sorted(gone, key=lambda entry: -len(entry.root)):  # inner skills before outer skills
            if entry.root in self.above:
                return False
            self._detach(entry.root)
        return True

    def claim(self, new: Sequence[SkillRecord]) -> bool:
        """Add skills. Return False if two conflict, or if one is at, above or below a skill that stays."""
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
        """Return whether this skill is inside a skill that stays."""
        return any(
            outer.uri not in self._gone for outer in enclosing_skills(self._entries, self._known, entry.root)
        )

    def _detach(self, uri: str) -> None:
        """Remove a folder from its parent. If the parent becomes empty, remove it as well."""
        while (above := parent_uri(uri)) is not None:
            children = self.above[above]
            at = bisect_left(children, uri)
            children = children[:at] + children[at + 1 :]
            if children:
                self.above[above] = children
                return
            del self.above[above]
            if entry_in(self._entries, above) is not None:
                return  # a skill that is also removed; `release` handles it
            uri = above

    def _attach(self, uri: str) -> None:
        """Add a folder to its parent. Add missing parents as well."""
        while (above := parent_uri(uri)) is not None:
            children = self.above.get(above, ())
            at = bisect_left(children, uri)
            if at < len(children) and children[at] == uri:
                return
            self.above[above] = (*children[:at], uri, *children[at:])
            uri = above

"""From the scans of all sources to one catalogue, in which every URI means one thing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from skillwire.catalog.snapshot import Catalog, Served
from skillwire.model.display import quoted
from skillwire.model.entry import Entry, LiveFile, SkillFile
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.model.template import SkillTemplate
from skillwire.model.uri import parent_uri, parents
from skillwire.sources.base import Scan


@dataclass(frozen=True, slots=True)
class Labelled:
    """A scan, and the label of the source that it came from."""

    label: str
    scan: Scan


def compose(scans: Sequence[Labelled], *, movable: bool = True) -> Catalog:
    """Return the catalogue of all scans. The first source keeps its paths; later ones give way.

    They go below the label of their source if they are `movable`, else they are left out.
    """
    namespace = Namespace()
    taken: list[Problem] = []
    crowded = False
    for place, labelled in enumerate(scans):
        for entry in labelled.scan.entries:
            other = namespace.claim(entry)
            crowded = crowded or other is not None
            if other is not None and place > 0 and movable:
                other = namespace.claim(entry.below(labelled.label))
            if other is not None:
                taken.append(_uri_taken(entry, other, scans))
    entries = namespace.entries
    shared = shared_names(entries.values(), scans)
    return Catalog(
        entries=entries,
        files=namespace.files,
        directories={uri: tuple(sorted(children)) for uri, children in namespace.children.items()},
        listing=(listing := listed(entries.values())),
        positions={uri: position for position, uri in enumerate(listing)},
        problems=(*found_problems(scans), *taken, *shared.values()),
        shared_names=shared,
        templates=all_templates(scans),
        several=len(scans) > 1,
        crowded=crowded,
    )


def listed(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the URIs of the skills that the extension lists."""
    return tuple(entry.uri for entry in entries if entry.listed)


def all_templates(scans: Sequence[Labelled]) -> tuple[SkillTemplate, ...]:
    """Return the templates of all sources. Of two at one path, the first is meant."""
    return tuple(template for labelled in scans for template in labelled.scan.templates)


def found_problems(scans: Sequence[Labelled]) -> Iterator[Problem]:
    """Yield what the sources found wrong, with the label of the source where there are several."""
    for labelled in scans:
        own = (problem for entry in labelled.scan.entries for problem in entry.problems)
        for problem in chain(labelled.scan.problems, own):
            yield replace(problem, path=_shown_path(labelled.label, problem.path, scans))


def _place(entry: Entry, scans: Sequence[Labelled]) -> str:
    return _shown_path(entry.origin.source, entry.origin.path, scans)


def _shown_path(label: str, path: str, scans: Sequence[Labelled]) -> str:
    return f"{label}/{path}" if len(scans) > 1 else path


class Namespace:
    """What each URI stands for so far."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.files: dict[str, Served] = {}
        self.children: defaultdict[str, set[str]] = defaultdict(set)
        self._roots: dict[str, Entry] = {}
        self._below: defaultdict[str, list[Entry]] = defaultdict(list)

    def claim(self, entry: Entry) -> Entry | None:
        """Give `entry` its URIs, or return the skill that is in the way and change nothing."""
        files = {entry.uri_of(file.path): file for file in entry.files}
        if (other := self._in_the_way(entry, files)) is not None:
            return other
        self.entries[entry.uri] = self._roots[entry.root] = entry
        for directory in (entry.root, *(entry.uri_of(path) for path in entry.directories)):
            self.children[directory]  # an empty directory is one too (S15)
            self._add_child(directory)
        for uri, file in files.items():
            # A nested skill's files are its own, whether it or the skill around it came first (S16).
            holder = self.files.get(uri)
            if holder is None or len(holder.entry.root) < len(entry.root):
                self.files[uri] = Served(entry, file)
            self._add_child(uri)
        for above in parents(entry.root):
            self._add_child(above)
            self._below[above].append(entry)
        return None

    def _add_child(self, uri: str) -> None:
        if (parent := parent_uri(uri)) is not None:
            self.children[parent].add(uri)
        else:
            self.children[uri]

    def _in_the_way(self, entry: Entry, files: Mapping[str, SkillFile | LiveFile]) -> Entry | None:
        if entry.root in self._roots:
            return self._roots[entry.root]
        for uri, file in files.items():
            if (holder := self.files.get(uri)) is not None and not _same_bytes(holder.file, file):
                return holder.entry
        # A skill's list of files is complete (S8): all that lives in its folder must be on it. A dynamic
        # skill has no such list (S9), so nothing can be missing from it.
        for above in parents(entry.root):
            outer = self._roots.get(above)
            if outer is not None and not outer.dynamic and not files.keys() <= _uris(outer):
                return outer
        if entry.dynamic:
            return None
        return next((inner for inner in self._below[entry.root] if not _uris(inner) <= files.keys()), None)


def _uris(entry: Entry) -> set[str]:
    return {entry.uri_of(file.path) for file in entry.files}


def _same_bytes(one: SkillFile | LiveFile, other: SkillFile | LiveFile) -> bool:
    if isinstance(one, LiveFile) or isinstance(other, LiveFile):
        return False
    return one.digest == other.digest


def _uri_taken(entry: Entry, taken: Entry, scans: Sequence[Labelled]) -> Problem:
    return Problem(
        _place(entry, scans),
        Rule.URI_TAKEN,
        Severity.ERROR,
        f"its address {quoted(entry.uri)} belongs to {quoted(_place(taken, scans))}",
        hint="rename the folder of one of the two, so that neither stands in the other's",
    )


def shared_names(entries: Iterable[Entry], scans: Sequence[Labelled]) -> dict[str, Problem]:
    """Return, for each skill whose name is not its own alone, the problem that says so (S17)."""
    by_name: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_name[entry.name].append(entry)
    shared: dict[str, Problem] = {}
    for name, sharing in by_name.items():
        if len(sharing) > 1:
            # Thousands may share one: what is told of the first, and of all others, is made once.
            first, *others = sharing
            told = [_name_shared(name, other, len(sharing), scans) for other in (others[0], first)]
            shared[first.uri] = replace(told[0], path=_place(first, scans))
            shared |= {each.uri: replace(told[1], path=_place(each, scans)) for each in others}
    return shared


def _name_shared(name: str, other: Entry, number: int, scans: Sequence[Labelled]) -> Problem:
    also = quoted(_place(other, scans)) + (f" and {number - 2} more" if number > 2 else "")
    return Problem(
        "",
        Rule.NAME_SHARED,
        Severity.WARNING,
        f"the name `{name}` is also that of {also}; all of them are served",
        hint="give each its own name, so that people and models can tell them apart",
        field="name",
    )

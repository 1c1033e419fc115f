"""The immutable catalog of all skills at one moment, which resolves URIs to skills, files and folders."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import unquote

from skillwire.core.names import SCHEME, SKILL_FILE, root_uri
from skillwire.core.problem import Problem
from skillwire.core.record import LiveFile, SkillFile, SkillRecord, Trust
from skillwire.core.shared_mapping import SharedMapping
from skillwire.core.template import SkillTemplate, TemplateIndex
from skillwire.core.template_mismatch import explain_mismatch
from skillwire.errors import NotServedError
from skillwire.library.catalog_problems import (
    LabelledScan,
    collect_problems,
    in_order_of_names,
    labelled_problem,
)
from skillwire.library.skill_table import Positions, SkillTable
from skillwire.library.visibility import VisibilityPolicy, withheld_report

Entries: TypeAlias = Mapping[str, SkillRecord]
"""Skills by the URI of their `SKILL.md`."""


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file and its skill. If several nested skills contain the file, `entry` is the innermost one (S16)."""

    entry: SkillRecord
    file: SkillFile | LiveFile


def entry_in(entries: Entries, folder: str) -> SkillRecord | None:
    """Return the skill whose folder has this URI, or None if there is none."""
    return entries.get(f"{folder}/{SKILL_FILE}")


def enclosing_skills(entries: Entries, above: Container[str], uri: str) -> list[SkillRecord]:
    """Return the skills whose folders contain `uri`, innermost first. A skill at `uri` itself is left out.

    `above` contains the URIs of all folders above skills.
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


def affected_skills(
    entries: Entries, above: Mapping[str, tuple[str, ...]], uri: str
) -> Iterator[SkillRecord]:
    """Yield the skills whose folders contain `uri`, the skill with that folder, and the skills below it."""
    yield from enclosing_skills(entries, above, uri)
    pending = [uri]
    while pending:
        folder = pending.pop()
        if (entry := entry_in(entries, folder)) is not None:
            yield entry
        pending.extend(above.get(folder, ()))


class Files(Mapping[str, ServedFile]):
    """All files of all skills, by URI."""

    __slots__ = ("_above", "_entries")

    def __init__(self, entries: Entries, above: Container[str]) -> None:
        """Look up files in `entries`. `above` contains the URIs of all folders above skills."""
        self._entries = entries
        self._above = above

    def __getitem__(self, uri: str) -> ServedFile:
        if (entry := self._entries.get(uri)) is not None:  # the URI of a skill is that of its first file
            return ServedFile(entry, entry.files[0])
        for entry in enclosing_skills(self._entries, self._above, uri):
            if (file := entry.file_at(uri)) is not None:
                return ServedFile(entry, file)
        raise KeyError(uri)

    def __iter__(self) -> Iterator[str]:
        entries = self._entries.values()
        return iter({entry.uri_of(file.path): None for entry in entries for file in entry.files})

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Folders(Mapping[str, tuple[str, ...]]):
    """The sorted URIs of the children of each folder, inside skills and above them (S15)."""

    __slots__ = ("_above", "_entries")

    def __init__(self, entries: Entries, above: Mapping[str, tuple[str, ...]]) -> None:
        """Look up folders in `entries`.

        `above` maps each folder above skills to its children that lead to a skill.
        """
        self._entries = entries
        self._above = above

    def __getitem__(self, uri: str) -> tuple[str, ...]:
        skills = (entry_in(self._entries, uri), *enclosing_skills(self._entries, self._above, uri))
        candidates = (
            self._above.get(uri),
            *(entry.children_at(uri) for entry in skills if entry is not None),
        )
        parts = [part for part in candidates if part is not None]
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


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Catalog:
    """All skills at one moment.

    Requested URIs are only looked up here. They are never used to build a file system path. A catalog that
    was made by an update shares all unchanged parts with the catalog before.
    """

    entries: SkillTable
    """Skills by the URI of their `SKILL.md`, in listing order."""
    above: SharedMapping[str, tuple[str, ...]]
    """The folders above skills, by URI, each with the sorted URIs of its children that lead to a skill."""
    scans: tuple[LabelledScan, ...] = field(repr=False, compare=False)
    """The scans that the catalog was made from, in the order of the sources."""
    shared_names: SharedMapping[str, Problem]
    """The problem of each skill that is called by its path because it shares its name, by URI (S17).

    If the bare name belongs to one skill, all other skills with this name share one problem.
    """
    nonconforming: SharedMapping[str, Problem]
    """The problem of each skill that makes strict clients refuse the whole list, by URI."""
    reported: tuple[Problem, ...] = ()
    """The problems of the library itself."""
    taken: tuple[Problem, ...] = ()
    """The problems of skills that are left out because their paths are taken."""
    templates: tuple[SkillTemplate, ...] = ()
    """Templates of skills that are not in `entries`. Skills in `entries` take precedence."""
    template_overlaps: tuple[Problem, ...] = ()
    """The problems of templates that have paths in common with a template of an earlier source."""
    has_path_conflicts: bool = False
    """Whether a skill was moved or left out because another skill had taken its path."""
    visibility: VisibilityPolicy = field(default_factory=VisibilityPolicy)
    """The operator's policy on who may start a skill."""
    _patterns: TemplateIndex = field(init=False, repr=False, compare=False)
    _problems: tuple[Problem, ...] | None = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_patterns", TemplateIndex(self.templates))

    @property
    def has_several_sources(self) -> bool:
        """Whether there are several sources. If so, paths in problems begin with the source's label."""
        return len(self.scans) > 1

    @property
    def positions(self) -> Mapping[str, int]:
        """The index of each skill in `entries`."""
        return Positions(self.entries)

    @property
    def withheld(self) -> tuple[SkillRecord, ...]:
        """The skills whose trust is `WITHHELD`, in listing order. Passes over all skills if there are any."""
        if not self.entries.withheld_count:
            return ()
        return tuple(entry for entry in self.entries.values() if entry.trust is Trust.WITHHELD)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems of sources and skills, including taken paths, shared names and nonconforming skills.

        They are collected on first use, which passes over all skills if any skill has a problem.
        """
        if self._problems is None:
            object.__setattr__(self, "_problems", tuple(self._collect_problems()))
        return self._problems or ()

    @property
    def has_problems(self) -> bool:
        """Whether there are any problems. Does not collect them."""
        found = self.reported or self.taken or self.template_overlaps or self.shared_names
        found = found or self.nonconforming or self.entries.problem_count
        return bool(found) or any(each.scan.problems for each in self.scans)

    def _collect_problems(self) -> Iterator[Problem]:
        of_skills = self.has_path_conflicts or self.entries.problem_count > 0
        yield from self.reported
        yield from collect_problems(self.scans, of_skills=of_skills)
        yield from self.taken
        yield from self.template_overlaps
        names = {self.entries[uri].name for uri in self.shared_names}
        firsts = self.entries.in_order([self.entries.named(name)[0] for name in names])
        yield from in_order_of_names(self.shared_names, [self.entries.named(entry.name) for entry in firsts])
        refused = self.entries.in_order([self.entries[uri] for uri in self.nonconforming])
        yield from (self.nonconforming[entry.uri] for entry in refused)

    @property
    def files(self) -> Mapping[str, ServedFile]:
        """Every file of every skill, by its URI."""
        return Files(self.entries, self.above)

    @property
    def children_by_folder(self) -> Mapping[str, tuple[str, ...]]:
        """Every folder by its URI, with the sorted URIs of its direct children (S15)."""
        return Folders(self.entries, self.above)

    def skill(self, uri: str) -> SkillRecord:
        """Return the skill whose `SKILL.md` has this URI, also from a template.

        Raises `NotServedError` if there is none, or if it has no frontmatter.
        """
        if (entry := self.entries.get(uri) or self._find_templated(uri)) is None or not entry.listed:
            raise NotServedError(uri, "skill", self.explain_mismatch(uri))
        return entry

    def instance(self, uri: str) -> SkillRecord | None:
        """Return the skill that a template describes at this `SKILL.md` URI.

        Return None if no template matches, or if `entries` has a skill at this URI.
        """
        return None if uri in self.entries else self._find_templated(uri)

    def template_of(self, uri: str) -> SkillTemplate | None:
        """Return the template that matches a `SKILL.md` URI; None if there is none or `entries` has it."""
        found = None if uri in self.entries else self._patterns.find(uri)
        return None if found is None else found[0]

    def template_before(self, template: SkillTemplate, uri: str) -> SkillTemplate | None:
        """Return the template that answers at a `SKILL.md` URI in place of `template`, or None."""
        found = self.template_of(uri)
        return None if found == template else found

    def explain_mismatch(self, reference: str) -> str:
        """Return which template parameter is missing or wrong in a path or URI.

        Return an empty string if nothing is wrong, or if the reference does not resemble any template.
        """
        shown = (each for each in self.templates if not each.is_withheld)
        return next((found for each in shown if (found := explain_mismatch(each, reference))), "")

    def file(self, uri: str) -> ServedFile:
        """Return the file with this URI. Raises `NotServedError`.

        Of a skill that a template describes, only the `SKILL.md` is found.
        """
        if (served := self.files.get(uri)) is not None:
            return served
        if (entry := self._find_templated(uri)) is not None:
            return ServedFile(entry, entry.files[0])
        is_directory = uri in self.children_by_folder
        hint = "it is a directory: list it with `resources/directory/read`" if is_directory else ""
        raise NotServedError(uri, "file", hint or self.explain_mismatch(uri))

    def serves(self, uri: str) -> bool:
        """Return whether `uri` is the URI of a served file or folder."""
        return uri in self.files or uri in self.children_by_folder or self._find_templated(uri) is not None

    def children(self, uri: str) -> tuple[str, ...]:
        """Return the sorted URIs of the direct children of a directory. Raises `NotServedError`.

        The directory of a skill that a template describes contains only the `SKILL.md`.
        """
        if (children := self.children_by_folder.get(uri)) is not None:
            return children
        main = f"{uri}/{SKILL_FILE}"
        if self._find_templated(main) is None:
            hint = "it is a file" if uri in self.files else self.explain_mismatch(main)
            raise NotServedError(uri, "directory", hint)
        return (main,)

    def _find_templated(self, uri: str) -> SkillRecord | None:
        """Return the skill that a template describes at `uri`.

        Return None if no template matches, or if the skill is inside another skill whose list of files
        is complete.
        """
        found = self._patterns.find(uri)
        return None if found is None or self._inside_another(found[1]) else found[1]

    def _inside_another(self, entry: SkillRecord) -> bool:
        """Return whether this skill is inside another skill whose list of files is complete (S8)."""
        root = root_uri(unquote(part) for part in entry.path.split("/"))
        return any(not outer.dynamic for outer in enclosing_skills(self.entries, self.above, root))

    def problems_of(self, entry: SkillRecord) -> tuple[Problem, ...]:
        """Return the problems of a served skill, including a shared name and nonconformity."""
        shared = self.shared_names.get(entry.uri)
        own = (self.shown(problem, entry.origin.source) for problem in entry.problems)
        refused = self.nonconforming.get(entry.uri)
        return (*own, *(each for each in (shared, refused) if each is not None))

    def withheld_report(self, entry: SkillRecord) -> dict[str, str | int | None]:
        """Return a report about a withheld skill, with the keys of a problem."""
        origin = entry.origin
        return withheld_report(
            entry, f"{origin.source}/{origin.path}" if self.has_several_sources else origin.path
        )

    def shown(self, problem: Problem, label: str) -> Problem:
        """Return a problem in the source `label`. If there are several sources, add the label to its path."""
        return labelled_problem(problem, label, several=self.has_several_sources)

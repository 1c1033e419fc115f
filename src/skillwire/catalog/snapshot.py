"""The catalogue: what is served at one moment, ready to be looked up. Immutable."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from skillwire.catalog.addresses import Files, Folders, Served, around
from skillwire.catalog.visibility import VisibilityPolicy
from skillwire.model.entry import SkillRecord
from skillwire.model.errors import NotServedError
from skillwire.model.problem import Problem
from skillwire.model.template import SkillTemplate, TemplateIndex
from skillwire.model.uri import root_uri


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything that is served at one moment. A URI is looked up, never joined to a path."""

    entries: Mapping[str, SkillRecord]
    """Skills by the URI of their `SKILL.md`, in listing order."""
    above: Mapping[str, tuple[str, ...]]
    """Folders on the way to skills, by their URIs: of their children, those that lead to one, sorted."""
    listing: tuple[str, ...]
    """The URIs of all skills that the extension lists, in that order."""
    positions: Mapping[str, int]
    """Where each skill stands in the listing."""
    problems: tuple[Problem, ...]
    """Everything that is wrong, in every source."""
    shared_names: Mapping[str, Problem]
    """For each skill whose name is not its own alone, the problem that says so (S17)."""
    nonconforming: Mapping[str, Problem] = field(default_factory=dict[str, Problem])
    """For each skill that makes strict clients refuse a whole list, the problem that says so."""
    templates: tuple[SkillTemplate, ...] = ()
    """Skills that are in no list: one for each way to fill in a path. What is listed comes first."""
    several: bool = False
    """Whether there are several sources: then the paths in problems begin with the label of theirs."""
    crowded: bool = False
    """Whether some skill had to give way to another."""
    visibility: VisibilityPolicy = field(default_factory=VisibilityPolicy)
    """Who may start a skill, as the operator decided."""
    _patterns: TemplateIndex = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_patterns", TemplateIndex(self.templates))

    @property
    def files(self) -> Mapping[str, Served]:
        return Files(self.entries, self.above)

    @property
    def directories(self) -> Mapping[str, tuple[str, ...]]:
        """The URIs of each folder's direct children, sorted (S15)."""
        return Folders(self.entries, self.above)

    def skill(self, uri: str) -> SkillRecord:
        """Return the skill whose `SKILL.md` has this URI. Raises `NotServedError`."""
        if (entry := self.entries.get(uri) or self._filled(uri)) is None or not entry.listed:
            raise NotServedError(uri, "skill")
        return entry

    def file(self, uri: str) -> Served:
        """Return the file with this URI. Raises `NotServedError`."""
        if (served := self.files.get(uri)) is not None:
            return served
        if (entry := self._filled(uri)) is not None:
            return Served(entry, entry.files[0])
        is_directory = uri in self.directories
        hint = "it is a directory: list it with `resources/directory/read`" if is_directory else ""
        raise NotServedError(uri, "file", hint)

    def serves(self, uri: str) -> bool:
        """Whether `uri` is that of a file or a folder."""
        return uri in self.files or uri in self.directories or self._filled(uri) is not None

    def children(self, uri: str) -> tuple[str, ...]:
        """Return the URIs of the direct children of a directory. Raises `NotServedError`."""
        if (children := self.directories.get(uri)) is None:
            raise NotServedError(uri, "directory", "it is a file" if uri in self.files else "")
        return children

    def _filled(self, uri: str) -> SkillRecord | None:
        """Return the skill at `uri` among those that are in no list."""
        entry = self._patterns.entry(uri)
        return None if entry is None or self._inside_another(entry) else entry

    def _inside_another(self, entry: SkillRecord) -> bool:
        """Whether a skill stands in the folder of one whose list of files is complete, without it (S8)."""
        spelled = root_uri(unquote(part) for part in entry.path.split("/"))
        return any(not outer.dynamic for outer in around(self.entries, self.above, spelled))

    def problems_of(self, entry: SkillRecord) -> tuple[Problem, ...]:
        """Return what is wrong with a skill that is served all the same."""
        shared = self.shared_names.get(entry.uri)
        own = (self.shown(problem, entry.origin.source) for problem in entry.problems)
        refused = self.nonconforming.get(entry.uri)
        return (*own, *(each for each in (shared, refused) if each is not None))

    def shown(self, problem: Problem, label: str) -> Problem:
        """Return a problem of the source `label`, as it is told beside those of the others."""
        return replace(problem, path=f"{label}/{problem.path}") if self.several else problem

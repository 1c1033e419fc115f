"""The difference between two catalogs. Features use it to decide which notifications to send."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from skillwire.core.names import parents
from skillwire.core.problem import Problem
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.library.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Edit:
    """One skill before and after a change: `before` is None if it was added, `after` if it was removed."""

    before: SkillRecord | None
    after: SkillRecord | None

    @property
    def entries(self) -> Iterator[SkillRecord]:
        return (entry for entry in (self.before, self.after) if entry is not None)


@dataclass(frozen=True)
class Change:
    """The catalogs before and after a change, and the skills that differ."""

    before: Catalog
    after: Catalog
    edits: tuple[Edit, ...]

    @classmethod
    def between(cls, before: Catalog, after: Catalog) -> "Change":
        """Compare two catalogs. Parts that they share, and records that are the same object, are skipped.

        So if one catalog was made by updates of the other, the cost follows the number of changed skills.
        """
        pairs = after.entries.differences(before.entries)
        return cls(before, after, tuple(Edit(old, new) for old, new in pairs if old != new))

    @cached_property
    def uris(self) -> frozenset[str]:
        """The URIs of all files and folders that were added, removed or changed, and of the folders above.

        Changes that clients cannot see, such as that of the executable bit, do not count.
        """
        return frozenset(_uris(self.edits))

    @cached_property
    def has_problem_changes(self) -> bool:
        """Whether the problems differ. The problems of unchanged skills are not collected for this."""
        before, after = self.before, self.after
        if (
            before.has_path_conflicts
            or after.has_path_conflicts
            or before.has_several_sources != after.has_several_sources
        ):
            return before.problems != after.problems
        gone, new = ([edit.before for edit in self.edits], [edit.after for edit in self.edits])
        return _problem_parts(before) != _problem_parts(after) or _of_skills(gone) != _of_skills(new)

    @property
    def has_template_changes(self) -> bool:
        return self.before.templates != self.after.templates

    @property
    def visibility_changed_uris(self) -> frozenset[str]:
        """The URIs of the skills for which the operator's visibility override changed."""
        before, after = self.before.visibility.overrides, self.after.visibility.overrides
        if before is after:
            return frozenset()
        return frozenset(uri for uri in before.keys() | after.keys() if before.get(uri) != after.get(uri))

    @property
    def is_empty(self) -> bool:
        """Whether skills, problems, templates and visibility overrides are all unchanged."""
        catalog = self.edits or self.has_problem_changes or self.has_template_changes
        return not catalog and not self.visibility_changed_uris

    @property
    def has_added_or_removed_skills(self) -> bool:
        return any(edit.before is None or edit.after is None for edit in self.edits)


def connected_changes(
    changes: Sequence[Change], before: Catalog | None, after: Catalog
) -> Sequence[Change] | None:
    """Return the changes if they lead from one catalog to the other without a gap, else None."""
    catalog = before
    for change in changes:
        if change.before is not catalog:
            return None
        catalog = change.after
    return tuple(changes) if catalog is after else None


def described_uris(changes: Sequence[Change]) -> dict[str, None]:
    """Return the URIs of all skills that were edited, and of all templates that were there before."""
    edited = (edit for change in changes for edit in change.edits)
    uris = dict.fromkeys(each.uri for edit in edited for each in edit.entries)
    return uris | dict.fromkeys(each.uri for change in changes for each in change.before.templates)


def _problem_parts(catalog: Catalog) -> tuple[object, ...]:
    """Return all problems that are not those of one skill."""
    several = catalog.has_several_sources
    of_sources = [(each.label if several else "", each.scan.problems) for each in catalog.scans]
    found = [each for each in of_sources if each[1]]
    others = catalog.reported, catalog.taken, catalog.template_overlaps
    return found, others, catalog.shared_names, catalog.nonconforming


def _of_skills(entries: Iterable[SkillRecord | None]) -> Counter[tuple[str, Problem]]:
    return Counter(
        (entry.origin.source, problem) for entry in entries if entry is not None for problem in entry.problems
    )


def _uris(edits: tuple[Edit, ...]) -> Iterator[str]:
    for edit in edits:
        before, after = _content(edit.before), _content(edit.after)
        for uri in before.keys() | after.keys():
            if _client_view(before.get(uri)) != _client_view(after.get(uri)) or (uri in before) != (
                uri in after
            ):
                yield uri
                yield from parents(uri)


def _client_view(file: SkillFile | LiveFile | None) -> object:
    """Return the properties of a file that clients see. Clients do not see whether it is executable."""
    return (file.mime_type, file.digest, file.size) if isinstance(file, SkillFile) else file


def _content(entry: SkillRecord | None) -> dict[str, SkillFile | LiveFile | None]:
    """Return the files and folders of a skill by URI. The value of a folder is None."""
    if entry is None:
        return {}
    folders = (entry.root, *map(entry.uri_of, entry.directories))
    return {**dict.fromkeys(folders), **{entry.uri_of(file.path): file for file in entry.files}}

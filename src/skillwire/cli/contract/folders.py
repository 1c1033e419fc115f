"""The skills of a library as the contract sees them: also those that cannot be served."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillwire.catalog.contracted import Contracted, contracted, shown_path
from skillwire.catalog.library import Library
from skillwire.config.kinds import is_local
from skillwire.contract.subject import SkillFacts
from skillwire.model.problem import Problem, Severity
from skillwire.model.uri import SKILL_FILE
from skillwire.skillmd.frontmatter import split
from skillwire.skillmd.unreadable import UnreadableError
from skillwire.skillmd.yaml12 import load

_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class SkillFolders:
    """Every skill checked, and the folder of each on this machine, by the path that problems call it."""

    key: str
    contracted: Contracted
    folders: Mapping[str, Path]
    uris: Mapping[str, str]
    """The URI of each that can be served."""
    own: frozenset[str]
    """Those that stand in folders which the operator named, and not in copies of something else."""


def look(library: Library, key: str) -> SkillFolders:
    """Check every skill of a loaded library, also those that it cannot serve."""
    catalog = library.catalog
    served = {shown_path(entry, catalog): entry for entry in catalog.entries.values() if entry.listed}
    found = dict(_files_with_errors(library))
    broken = {path: file.parent for path, file in found.items() if path not in served and file.is_file()}
    more = [facts for path, folder in broken.items() if (facts := _facts(path, folder, catalog.problems))]
    folders = {path: Path(entry.origin.location) for path, entry in served.items()}
    uris = {path: entry.uri for path, entry in served.items()}
    named = {source.label for source in library.sources if is_folder(source.place)}
    own = {path for path, entry in served.items() if entry.origin.source in named} | broken.keys()
    checked = contracted(catalog, key, more=more)
    return SkillFolders(key, checked, {**broken, **folders}, uris, frozenset(own))


def is_folder(place: str) -> bool:
    """Whether a source is a folder of this machine."""
    return is_local(place) and Path(place).is_dir()


def places(library: Library) -> dict[str, str]:
    """Return what the operator calls each source, by what the paths of its problems begin with."""
    several = len(library.sources) > 1
    return {f"{source.label}/" if several else "": source.place for source in library.sources}


def _files_with_errors(library: Library) -> Iterator[tuple[str, Path]]:
    """Yield each `SKILL.md` in a folder of this machine that something is wrong with."""
    roots = {prefix: place for prefix, place in places(library).items() if is_folder(place)}
    for problem in library.catalog.problems:
        if problem.severity is not Severity.ERROR or Path(problem.path).name.upper() != SKILL_FILE.upper():
            continue
        for prefix, place in roots.items():
            if problem.path.startswith(prefix):
                yield problem.path, Path(place) / problem.path.removeprefix(prefix)


def _facts(path: str, folder: Path, problems: tuple[Problem, ...]) -> SkillFacts | None:
    """Return what is known of a skill that cannot be served; None if nothing can be read."""
    try:
        fields = load(split((folder / Path(path).name).read_bytes()).text)
    except (UnreadableError, OSError):  # that is a problem of its own, and told already
        return None
    own = tuple(problem for problem in problems if problem.path == path)
    return SkillFacts(path, folder.resolve().name, fields.values, frozenset(_paths(folder)), own)


def _paths(folder: Path) -> Iterator[str]:
    """Yield the files in a folder. What cannot be served has no list of files, and this is good enough."""
    seen = 0
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            seen += 1
            if seen > _MOST_FILES:
                return
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(here, name), folder).replace(os.sep, "/")  # noqa: PTH118

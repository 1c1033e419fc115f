"""From a library to the files of its projection, one in memory at a time."""

import os
import posixpath
import stat
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from skillwire.catalog.contracted import facts_of, shown_path
from skillwire.catalog.library import Library
from skillwire.cli.contract.folders import is_folder
from skillwire.cli.site_folder import LIST_OF_OURS, SiteFolder
from skillwire.contract.projection import project, projection_problems, restored
from skillwire.contract.repository import check_one, check_together
from skillwire.contract.terms import STANDARD
from skillwire.model.display import quoted
from skillwire.model.entry import SkillRecord
from skillwire.model.errors import UsageError
from skillwire.model.problem import Problem
from skillwire.model.uri import SKILL_FILE


@dataclass(frozen=True, slots=True)
class Projected:
    """A skill in a projection."""

    id: str
    path: str
    """Its folder, below that of the projection."""
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """One file of a projection: where its bytes come from."""

    uri: str
    projected: bool
    executable: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What a projection would write, and what stands in its way."""

    key: str
    skills: tuple[Projected, ...]
    files: Mapping[str, Planned]
    problems: tuple[Problem, ...]


def must_be_apart(library: Library, out: Path) -> None:
    """Raise `UsageError` if a projection would be written to what it is made of."""
    target = os.path.realpath(out)
    for source in library.sources:
        root = os.path.realpath(source.place)
        if is_folder(source.place) and os.path.commonpath([root, target]) in {root, target}:
            raise UsageError(
                f"{quoted(str(out))} and {quoted(source.place)} are in each other's way",
                hint="name a folder beside the skills with `--out`",
            )


def plan_for(library: Library, key: str) -> Plan:
    """Check every skill, and plan the files of the projection. A projection itself is projected as it is."""
    catalog = library.catalog
    entries = {shown_path(entry, catalog): entry for entry in catalog.entries.values()}
    known = [facts_of(entry, catalog) for entry in entries.values()]
    checked = [check_one(replace(each, frontmatter=restored(each.frontmatter, key)), key) for each in known]
    told = {problem for facts in known for problem in facts.problems}
    problems = [problem for problem in catalog.problems if problem not in told]
    skills: list[Projected] = []
    files: dict[str, Planned] = {}
    for skill in check_together(checked, key).skills:
        raw, entry = skill.facts.frontmatter, entries[skill.facts.path]
        problems.extend((*skill.problems, *projection_problems(raw, key, skill.facts.path)))
        folder = posixpath.dirname(entry.origin.path) or entry.name
        skills.append(Projected(skill.id, folder, tuple(sorted(raw.keys() - {*STANDARD, key}))))
        _add(files, entry, folder)
    return Plan(key, tuple(skills), dict(sorted(files.items())), tuple(problems))


async def write(library: Library, plan: Plan, site: SiteFolder) -> None:
    """Write every file that is not there yet, and remove what an earlier projection left."""
    try:
        site.plan(plan.files)
        async for path, content in _contents(library, plan):
            site.write(path, content)
            _set_mode(site.folder / path, executable=plan.files[path].executable)
    except BaseException:
        site.note()
        raise
    site.finish()


async def differences(library: Library, plan: Plan, site: SiteFolder) -> dict[str, list[str]]:
    """Return how the folder differs from the plan: by what is missing, other, or left over."""
    found: dict[str, list[str]] = {"missing": [], "differs": [], "left over": []}
    async for path, content in _contents(library, plan):
        there = site.content(path)
        if there is None:
            found["missing"].append(path)
        elif there != content or _is_executable(site.folder / path) != plan.files[path].executable:
            found["differs"].append(path)
    if not site.has_list:  # without it nobody knows what is left over
        found["missing"].append(LIST_OF_OURS)
    elif site.unfinished:
        found["differs"].append(LIST_OF_OURS)
    others = sorted(site.ours - plan.files.keys())
    found["left over"].extend(path for path in others if site.content(path) is not None)
    return found


def _add(files: dict[str, Planned], entry: SkillRecord, folder: str) -> None:
    for file in entry.files:
        main = file.path == SKILL_FILE
        path = f"{folder}/{file.path}"
        # A nested skill's document is among the files of the one around it, and projected all the same.
        if main or path not in files or not files[path].projected:
            executable = _is_executable(Path(entry.origin.location) / file.path)
            files[path] = Planned(entry.uri_of(file.path), main, executable)


async def _contents(library: Library, plan: Plan) -> AsyncIterator[tuple[str, bytes]]:
    for path, planned in plan.files.items():
        content = (await library.read(planned.uri)).content
        yield path, project(content, plan.key).content if planned.projected else content


def _is_executable(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & stat.S_IXUSR)
    except OSError:
        return False


def _set_mode(file: Path, *, executable: bool) -> None:
    mode = stat.S_IMODE(file.stat().st_mode)
    wanted = mode | 0o111 if executable else mode & ~0o111
    if wanted != mode:
        file.chmod(wanted)

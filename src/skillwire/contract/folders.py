"""Check the skills of a library against the contract, and add line numbers to their problems."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from skillwire.config.report import places
from skillwire.config.source_kinds import is_folder
from skillwire.contract.repository import (
    CheckedCatalog,
    CheckedSkill,
    check_catalog,
    check_one,
    display_path,
)
from skillwire.contract.rules.skill import ContractSkill, SkillFacts, key_of
from skillwire.contract.rules.standard import METADATA_FILE, block_for_metadata_file, metadata_hint
from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import SkillwireError
from skillwire.frontmatter.document import read_document
from skillwire.frontmatter.positions import find_positions, format_field_path
from skillwire.frontmatter.split import UnreadableError, split
from skillwire.frontmatter.yaml12 import load
from skillwire.library.library import Library

_MAX_FILES = 10_000
_READ_OF_A_FILE = 256 * 1024
"""Maximum number of bytes of a `metadata.yaml` that are read."""


def with_lines(problems: Iterable[Problem], text: str) -> Iterator[Problem]:
    """Yield the problems of one `SKILL.md`, with the lines of their fields. `text` is its frontmatter."""
    if not (problems := tuple(problems)):
        return
    lines = {format_field_path(field_path): place.line for field_path, place in find_positions(text).items()}
    for problem in problems:
        line = problem.line or _nearest(lines, problem.field)
        yield problem if line == problem.line else replace(problem, line=line)


def _nearest(lines: dict[str, int], field: str) -> int | None:
    """Return the line of a field or of its nearest parent in `lines`, or None if `lines` has neither."""
    while field:
        if field in lines:
            return lines[field]
        field = field[: max(field.rfind("."), field.rfind("["), 0)]
    return None


@dataclass(frozen=True, slots=True)
class SkillFolders:
    """The checked skills of a library, and their folders and URIs. Keys are the paths used in problems."""

    checked: CheckedCatalog
    folders: Mapping[str, Path]
    uris: Mapping[str, str]
    """The URI of the `SKILL.md` of each skill that can be served."""
    own: frozenset[str]
    """The skills in local folders that the user named. Skills in fetched copies are not included."""
    unreadable: Mapping[str, Path]
    """The folders of the skills in local folders whose frontmatter cannot be read. They are not checked."""


def check_folders(library: Library, key: str | None) -> SkillFolders:
    """Check every skill of a loaded library, including skills in local folders that it cannot serve."""
    catalog = library.catalog
    served = {display_path(entry, catalog): entry for entry in catalog.entries.values() if entry.listed}
    found = dict(_files_with_errors(library))
    broken = {path: file.parent for path, file in found.items() if path not in served and file.is_file()}
    more = [facts for path, folder in broken.items() if (facts := _facts(path, folder, catalog.problems))]
    readable = {facts.path for facts in more}
    unreadable = {path: folder for path, folder in broken.items() if path not in readable}
    folders = {path: Path(entry.origin.location) for path, entry in served.items()}
    uris = {path: entry.uri for path, entry in served.items()}
    named = {source.label for source in library.sources if is_folder(source.place)}
    own = {path for path, entry in served.items() if entry.origin.source in named} | broken.keys()
    checked = check_catalog(catalog, key, more=more)
    return SkillFolders(checked, {**broken, **folders}, uris, frozenset(own), unreadable)


def _files_with_errors(library: Library) -> Iterator[tuple[str, Path]]:
    """Yield the display path and location of each `SKILL.md` in a local folder that has an error."""
    roots = {prefix: place for prefix, place in places(library).items() if is_folder(place)}
    for problem in library.catalog.problems:
        if problem.severity is not Severity.ERROR or Path(problem.path).name.upper() != SKILL_FILE.upper():
            continue
        for prefix, place in roots.items():
            if problem.path.startswith(prefix):
                yield problem.path, Path(place) / problem.path.removeprefix(prefix)


def _facts(path: str, folder: Path, problems: tuple[Problem, ...]) -> SkillFacts | None:
    """Return the facts of a skill that cannot be served, or None if its `SKILL.md` cannot be read."""
    try:
        fields = load(split((folder / Path(path).name).read_bytes()).text)
    except (UnreadableError, OSError):  # already reported as a problem
        return None
    own = tuple(problem for problem in problems if problem.path == path)
    return SkillFacts(path, folder.resolve().name, fields.values, frozenset(_paths(folder)), own)


def check_content(
    path: str, folder: Path, content: bytes, skills: SkillFolders, key: str | None
) -> CheckedSkill | None:
    """Check a skill as if its `SKILL.md` had this content. Return None if the content cannot be read.

    Relations to other skills are not checked.
    """
    name = folder.resolve().name
    document = read_document(content, path, name)
    if document.frontmatter is None:
        return None
    facts = SkillFacts(path, name, document.frontmatter, frozenset(_paths(folder)), document.problems)
    return check_one(facts, key_of(facts.frontmatter, key, skills.checked.new_key))


def _paths(folder: Path) -> Iterator[str]:
    """Yield the relative paths of files in a folder. Examines at most `_MAX_FILES` files.

    Hidden files, and files in hidden folders, are left out.
    """
    count = 0
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            count += 1
            if count > _MAX_FILES:
                return
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(here, name), folder).replace(os.sep, "/")  # noqa: PTH118


async def all_problems(
    library: Library, skills: SkillFolders, selected: Iterable[CheckedSkill]
) -> list[Problem]:
    """Return the problems of the `selected` skills with line numbers, sorted by file and line."""
    found: list[Problem] = []
    for skill in selected:
        content = await _content(library, skills, skill) if skill.problems else None
        if content is None:
            found.extend(skill.problems)
        else:
            found.extend(with_lines(_with_block(skill, skills), split(content).text))
    return sorted(found, key=lambda problem: (problem.path, problem.line or 0))


async def _content(library: Library, skills: SkillFolders, skill: CheckedSkill) -> bytes | None:
    path = skill.facts.path
    try:
        if (uri := skills.uris.get(path)) is not None:
            return (await library.read(uri)).content
        return (skills.folders[path] / Path(path).name).read_bytes()
    except (SkillwireError, OSError):  # removed in the meantime
        return None


def _with_block(skill: CheckedSkill, skills: SkillFolders) -> Iterator[Problem]:
    """Yield the problems of a skill. The hint about a `metadata.yaml` shows the block to write instead."""
    for problem in skill.problems:
        if problem.rule is not Rule.CONTRACT_METADATA_FILE:
            yield problem
            continue
        text = _beginning(skills.folders[skill.facts.path] / METADATA_FILE)
        block = block_for_metadata_file(text, ContractSkill.of(skill.facts, skill.key))
        yield replace(problem, hint=metadata_hint(block))


def _beginning(file: Path) -> str:
    """Return the first `_READ_OF_A_FILE` bytes of a file as text, or `""` if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(_READ_OF_A_FILE).decode(errors="replace")
    except OSError:
        return ""

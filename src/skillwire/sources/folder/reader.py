"""Read one skill folder with everything in it, applying every rule."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from sys import intern
from typing import NamedTuple

from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits, SkillFile
from skillwire.errors import SourceBusyError, SourceError
from skillwire.frontmatter.document import SkillDocument
from skillwire.safe_text import quoted
from skillwire.sources.assemble import clash_problem, clashing_paths, limit_problem
from skillwire.sources.folder.facts import FileFactsCache
from skillwire.sources.folder.files import read_file
from skillwire.sources.folder.ignore import IgnoreRules
from skillwire.sources.folder.listing import File, Folder, FolderListing
from skillwire.sources.folder.skill_folder import (
    EMPTY_MAPPING,
    SkillDraft,
    SkillFolder,
    add_nested_files,
    misplaced_problem,
)
from skillwire.sources.folder.walk import FolderWalk, check_readable

_READABLE = "check its permissions, or remove it"


def read_skill_folder(
    folder_walk: FolderWalk,
    facts: FileFactsCache,
    folder: Folder,
    listed: FolderListing,
    before: SkillFolder | None = None,
    *,
    already: int | None = None,
) -> SkillFolder:
    """Read the skill folder `folder`, whose listing is at hand, and every skill nested in it.

    A `SKILL.md` that was good in the unit `before` and is broken now stays as it was. `already` is what had
    been seen before the listing.
    """
    already = folder_walk.seen if already is None else already
    tree = _walk(folder_walk, folder, listed)
    nodes = tree.all()
    held = _find_held_drafts(folder_walk, facts, tree, before)
    drafts: list[SkillDraft] = []
    problems: list[Problem] = []
    for node in nodes:
        if node.listed.marker is None:
            continue
        found = _read_skill(folder_walk, facts, node, unit=folder, held=held)
        if isinstance(found, SkillDraft) and (problem := misplaced_problem(found)) is not None:
            problems.extend((problem, *found.warnings))
        elif isinstance(found, SkillDraft):
            drafts.append(found)
        else:
            problems.extend(found)
    kept = tuple(
        draft for draft in add_nested_files(drafts) if _is_within_limits(draft, folder_walk.limits, problems)
    )
    open_folders = (node.folder.target for node in nodes if not node.listed.closed)
    outposts = (place for node in nodes for place in node.listed.outposts)
    return SkillFolder(
        folder,
        kept,
        tuple(problems),
        entered_all=all(node.listed.entered_all for node in nodes),
        seen=folder_walk.seen - already,
        locations=tuple(file.location for node in nodes for file in node.listed.files),
        places=tuple(dict.fromkeys((*open_folders, *outposts))),
        held={location: draft.kept for location, draft in held.items() if draft.kept is not None}
        or EMPTY_MAPPING,
    )


class _Node(NamedTuple):
    folder: Folder
    listed: FolderListing
    children: tuple["_Node", ...]
    inner: tuple["_Node", ...]
    """Every folder below, each before those in it."""

    @property
    def main(self) -> File | None:
        """Its `SKILL.md`, if that is a file."""
        return next((file for file in self.listed.files if file.name == self.listed.marker), None)

    def all(self) -> tuple["_Node", ...]:
        return (self, *self.inner)

    def own(self) -> Iterator["_Node"]:
        """Yield this folder and those below it without nested skills, so that one skill tells each fault."""
        yield self
        for child in self.children:
            if child.listed.marker is None:
                yield from child.own()


def _walk(folder_walk: FolderWalk, folder: Folder, listed: FolderListing) -> _Node:
    # At most `limits.depth` deep: `FolderWalk` does not hand out deeper folders.
    children = tuple(
        _walk(folder_walk, child, folder_walk.list_folder(child, inside_skill=True))
        for child in listed.folders
    )
    return _Node(folder, listed, children, tuple(node for child in children for node in child.all()))


def _find_held_drafts(
    folder_walk: FolderWalk, facts: FileFactsCache, tree: _Node, before: SkillFolder | None
) -> dict[str, SkillDraft]:
    """Return the skills whose `SKILL.md` was good before and is broken now, by where that file is."""
    held: dict[str, SkillDraft] = {}
    for node in tree.all() if before is not None else ():
        main = node.main
        draft = before.draft(_relative_path(tree.folder, node.folder.path)) if before is not None else None
        if main is None or draft is None or draft.kept is None:
            continue
        document = _document(folder_walk, facts, main)
        if (isinstance(document, Problem) or not document.is_servable) and draft.kept.is_available():
            held[main.location] = draft
    return held


def _document(folder_walk: FolderWalk, facts: FileFactsCache, main: File) -> SkillDocument | Problem:
    """Return the document in `main`, or why it cannot be read."""
    try:
        document = facts.of(main, limit=folder_walk.limits.bytes).document
    except SourceBusyError:
        raise
    except SourceError as error:
        return Problem(main.path, Rule.SKILL_UNREADABLE, Severity.ERROR, f"it {error}", _READABLE)
    assert document is not None, f"`{main.path}` was not read as a document"
    return document


def _read_skill(
    folder_walk: FolderWalk,
    facts: FileFactsCache,
    node: _Node,
    *,
    unit: Folder,
    held: Mapping[str, SkillDraft],
) -> SkillDraft | list[Problem]:
    where = node.folder.path_of(str(node.listed.marker))
    warnings = [problem for part in node.own() for problem in part.listed.problems]
    if (main := node.main) is None:
        return _without_main(where, warnings)
    files = _collect_files(node, main, warnings)
    # Limits before bytes: what will not be served is not read.
    sizes = [file.stamp.size for file in files.values()]
    if problem := _find_incomplete(where, node) or limit_problem(where, sizes, folder_walk.limits):
        return [problem, *warnings]
    document = _document(folder_walk, facts, main)
    faults = [document] if isinstance(document, Problem) else document.problems
    if (last := held.get(main.location)) is not None:
        warnings.extend(_held_warnings(faults))
        document, kept = last.document, last.kept
    elif isinstance(document, Problem) or not document.is_servable:
        return [*faults, *warnings]
    else:
        kept = facts.of(main, limit=folder_walk.limits.bytes).kept
    return SkillDraft(
        below=_relative_path(unit, node.folder.path),
        location=node.folder.location,
        where=where,
        document=document,
        files=tuple(_read_files(folder_walk, facts, files, held, warnings)),
        directories=tuple(intern(_relative_path(node.folder, part.folder.path)) for part in node.inner),
        warnings=tuple(warnings),
        stored={path: file.location for path, file in files.items() if not file.path.endswith(path)}
        or EMPTY_MAPPING,
        kept=kept,
    )


def _held_warnings(faults: Iterable[Problem]) -> Iterator[Problem]:
    """Yield what broke a skill that is served as it was: its author should still mend it."""
    for fault in faults:
        message = f"{fault.message}; the last good version is served"
        yield replace(fault, severity=Severity.WARNING, message=message)


def _collect_files(node: _Node, main: File, warnings: list[Problem]) -> dict[str, File]:
    """Return every file by the path it is published under, `SKILL.md` first; tell of those left out."""
    files = {SKILL_FILE: main}
    for part in node.all():
        folder = _relative_path(node.folder, part.folder.path_of(""))
        for file in part.listed.files:
            if file is not main:
                # Also a nested `skill.md` is published as its skill publishes it.
                name = SKILL_FILE if file.name == part.listed.marker else file.name
                files[intern(folder + name)] = file  # many skills have files of the same names
    for path, kept in clashing_paths(files).items():
        warnings.append(clash_problem(files.pop(path).path, kept))
    return files


def _read_files(
    folder_walk: FolderWalk,
    facts: FileFactsCache,
    files: dict[str, File],
    held: Mapping[str, SkillDraft],
    warnings: list[Problem],
) -> Iterator[SkillFile]:
    for path, file in files.items():
        if (last := held.get(file.location)) is not None:
            yield replace(last.main, path=path, executable=file.executable)
            continue
        try:
            found = facts.of(file, limit=folder_walk.limits.bytes)
            yield found.as_file(path, executable=file.executable)
        except SourceBusyError:
            raise
        except SourceError as error:
            message = f"it {error}; it is left out"
            warnings.append(Problem(file.path, Rule.FILE_UNREADABLE, Severity.WARNING, message, _READABLE))


def _is_within_limits(draft: SkillDraft, limits: Limits, problems: list[Problem]) -> bool:
    """Whether a skill is within the limits, also if it grew since it was listed; tell if it is not."""
    if problem := limit_problem(draft.where, [file.size for file in draft.files], limits):
        problems.append(problem)
    return problem is None


def _without_main(where: str, warnings: list[Problem]) -> list[Problem]:
    """Return the fault of a `SKILL.md` that is no file: it is what keeps the skill from being served."""
    if any(problem.path == where for problem in warnings):
        return [replace(p, severity=Severity.ERROR) if p.path == where else p for p in warnings]
    hint = "make it a file, or remove it"
    return [Problem(where, Rule.SKILL_UNREADABLE, Severity.ERROR, "it is not a file", hint), *warnings]


def _find_incomplete(where: str, node: _Node) -> Problem | None:
    """Return why a skill was not seen to its end: it could not promise a complete list of its files (S8)."""
    cut = next((part.listed.cut for part in node.all() if part.listed.cut is not None), None)
    if cut is None:
        return None
    message = f"the skill is not served, because not all of it was seen: {quoted(cut.path)}: {cut.message}"
    return Problem(where, cut.rule, Severity.ERROR, message, cut.hint)


def _relative_path(folder: Folder, path: str) -> str:
    return path[len(folder.path) :].removeprefix("/")


@dataclass(frozen=True, slots=True)
class FileContents:
    """A file, with its bytes."""

    mime_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class SkillContents:
    """A skill that was read to its end."""

    name: str
    files: Mapping[str, FileContents]
    """By the path that each is published under, `SKILL.md` first, the others sorted."""
    problems: tuple[Problem, ...]
    """What of the folder was left out. What its `SKILL.md` says wrong, whoever reads that finds."""


class BrokenSkillError(SourceError):
    """A folder whose skill cannot be served, with everything that is wrong."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(str(problem) for problem in problems))


def read_skill_contents(root: Path, limits: Limits | None = None) -> SkillContents:
    """Read the skill in the folder `root`, by the rules of a folder that is served.

    A skill nested in it is among its files, whatever is wrong with it. Raises `BrokenSkillError`, or
    `SourceError` where there is no skill at all.
    """
    check_readable(os.fspath(root))
    ignored = IgnoreRules.at(root)
    folder_walk = FolderWalk(os.fspath(root), limits=limits or Limits(), ignored=ignored, follow_links=False)
    folder = folder_walk.start()
    listed = folder_walk.list_folder(folder)
    if listed.marker is None:
        raise SourceError(f"it holds no `{SKILL_FILE}`")
    unit = read_skill_folder(folder_walk, FileFactsCache(), folder, listed)
    draft = unit.draft("")
    if draft is None:
        raise BrokenSkillError(unit.problems)
    files: dict[str, FileContents] = {}
    for file in sorted(draft.files, key=lambda file: (file.path != SKILL_FILE, file.path)):
        location = draft.stored.get(file.path) or os.path.join(draft.location, file.path)  # noqa: PTH118
        content, _ = read_file(location, file.size)
        files[file.path] = FileContents(file.mime_type, file.verify(content, file.path))
    return SkillContents(draft.name, files, draft.warnings)

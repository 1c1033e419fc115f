"""Read one skill folder with its nested skills, or one skill with its bytes, and apply every rule."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from sys import intern
from typing import NamedTuple

from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import LAST_GOOD_SERVED, Problem, Rule, Severity
from skillwire.core.record import Limits, SkillFile
from skillwire.errors import SourceBusyError, SourceError
from skillwire.frontmatter.document import SkillDocument
from skillwire.safe_text import quoted
from skillwire.sources.assemble import clash_problem, clashing_paths, limit_problem
from skillwire.sources.folder.facts import FileFactsCache
from skillwire.sources.folder.files import read_file
from skillwire.sources.folder.ignore import IgnoreRules
from skillwire.sources.folder.listing import File, Folder, FolderListing
from skillwire.sources.folder.plain_skill import PlainSkill
from skillwire.sources.folder.skill_folder import (
    EMPTY_MAPPING,
    SkillDraft,
    SkillFolder,
    add_nested_files,
    misplaced_problem,
)
from skillwire.sources.folder.walk import FolderWalk, check_readable

_UNREADABLE_HINT = "check its permissions, or remove it"


def read_skill_folder(
    folder_walk: FolderWalk,
    facts: FileFactsCache,
    folder: Folder,
    listed: FolderListing,
    before: SkillFolder | PlainSkill | None = None,
    *,
    count_before: int | None = None,
) -> SkillFolder:
    """Read the skill in `folder` and every skill nested in it. `listed` is the listing of the folder.

    If a `SKILL.md` was good in `before` and is broken now, its last good version stays. `count_before` is the
    entry count of `folder_walk` before `folder` was listed.
    """
    count_before = folder_walk.entry_count if count_before is None else count_before
    tree = _walk(folder_walk, folder, listed)
    nodes = tree.all()
    fallbacks = _find_fallbacks(folder_walk, facts, tree, before)
    drafts: list[SkillDraft] = []
    problems: list[Problem] = []
    for node in nodes:
        if node.listed.marker is None:
            continue
        found = _read_skill(folder_walk, facts, node, top=folder, fallbacks=fallbacks)
        if isinstance(found, SkillDraft) and (problem := misplaced_problem(found)) is not None:
            problems.extend((problem, *found.warnings))
        elif isinstance(found, SkillDraft):
            drafts.append(found)
        else:
            problems.extend(found)
    servable = tuple(
        draft for draft in add_nested_files(drafts) if _is_within_limits(draft, folder_walk.limits, problems)
    )
    open_folders = (node.folder.target for node in nodes if not node.listed.unreadable)
    extra_folders = (location for node in nodes for location in node.listed.extra_folders)
    return SkillFolder(
        folder,
        servable,
        tuple(problems),
        entered_all=all(node.listed.entered_all for node in nodes),
        entry_count=folder_walk.entry_count - count_before,
        locations=tuple(file.location for node in nodes for file in node.listed.files),
        watched_folders=tuple(dict.fromkeys((*open_folders, *extra_folders))),
        fallbacks={
            location: draft.last_good for location, draft in fallbacks.items() if draft.last_good is not None
        }
        or EMPTY_MAPPING,
    )


class _Node(NamedTuple):
    """The skill folder or a folder inside it, with its listing and subfolders."""

    folder: Folder
    listed: FolderListing
    children: tuple["_Node", ...]
    inner: tuple["_Node", ...]
    """Every folder below this one, outer folders first."""
    file_count: int
    """Number of files in this folder and every folder below it."""

    @property
    def main(self) -> File | None:
        """The `SKILL.md` in the folder, if it is a file."""
        return next((file for file in self.listed.files if file.name == self.listed.marker), None)

    def all(self) -> tuple["_Node", ...]:
        """Return this folder and every folder below it."""
        return (self, *self.inner)

    def own(self) -> Iterator["_Node"]:
        """Yield this folder and all folders below it, except nested skills and the folders in them."""
        yield self
        for child in self.children:
            if child.listed.marker is None:
                yield from child.own()


def _walk(folder_walk: FolderWalk, folder: Folder, listed: FolderListing) -> _Node:
    # At most `limits.depth` deep, because `FolderWalk` does not list deeper folders.
    children: list[_Node] = []
    count = listed.file_count
    for child in listed.folders:
        node = _walk(folder_walk, child, folder_walk.list_folder(child, inside_skill=True))
        children.append(node)
        count += node.file_count
        if count > folder_walk.limits.files:
            _forget_files(node)
    if count > folder_walk.limits.files:
        listed.forget_files()
    return _Node(folder, listed, tuple(children), tuple(n for each in children for n in each.all()), count)


def _forget_files(node: _Node) -> None:
    """Free memory: keep only the number of the files, because the skill above `node` has too many."""
    if node.listed.marker is None:  # files of nested skills are still needed
        for part in node.own():
            part.listed.forget_files()


def _find_fallbacks(
    folder_walk: FolderWalk, facts: FileFactsCache, tree: _Node, before: SkillFolder | PlainSkill | None
) -> dict[str, SkillDraft]:
    """Return the previous drafts of skills whose `SKILL.md` is broken now, by that file's location.

    Drafts whose last good content is not available are left out.
    """
    fallbacks: dict[str, SkillDraft] = {}
    for node in tree.all() if before is not None else ():
        main = node.main
        below = _relative_path(tree.folder, node.folder.path)
        draft = None if before is None else before.draft(below, facts.spill_file)
        if main is None or draft is None or draft.last_good is None:
            continue
        document = _document(folder_walk, facts, main)
        if (isinstance(document, Problem) or not document.is_servable) and draft.last_good.is_available():
            fallbacks[main.location] = draft
    return fallbacks


def _document(folder_walk: FolderWalk, facts: FileFactsCache, main: File) -> SkillDocument | Problem:
    """Return the document in `main`, or a problem if it cannot be read. Raises `SourceBusyError`."""
    try:
        document = facts.of(main, limit=folder_walk.limits.bytes).document
    except SourceBusyError:
        raise
    except SourceError as error:
        return Problem(main.path, Rule.SKILL_UNREADABLE, Severity.ERROR, f"it {error}", _UNREADABLE_HINT)
    assert document is not None, f"`{main.path}` was not read as a document"
    return document


def _read_skill(
    folder_walk: FolderWalk,
    facts: FileFactsCache,
    node: _Node,
    *,
    top: Folder,
    fallbacks: Mapping[str, SkillDraft],
) -> SkillDraft | list[Problem]:
    """Return the skill in the folder of `node`, or the problems that keep it from being served."""
    where = node.folder.path_of(str(node.listed.marker))
    warnings = [problem for part in node.own() for problem in part.listed.problems]
    if (main := node.main) is None:
        return _without_main(where, warnings)
    files = _collect_files(node, main, warnings)
    # Check the limits first, because a skill that is not served need not be read.
    left_out = sum(part.listed.left_out for part in node.all())
    sizes = [*(file.stamp.size for file in files.values()), *([0] * left_out)]
    if problem := _find_incomplete(where, node) or limit_problem(where, sizes, folder_walk.limits):
        return [problem, *warnings]
    document = _document(folder_walk, facts, main)
    faults = [document] if isinstance(document, Problem) else document.problems
    if (fallback := fallbacks.get(main.location)) is not None:
        warnings.extend(_fallback_warnings(faults))
        document, last_good = fallback.document, fallback.last_good
    elif isinstance(document, Problem) or not document.is_servable:
        return [*faults, *warnings]
    else:
        last_good = facts.of(main, limit=folder_walk.limits.bytes).last_good
    return SkillDraft(
        below=_relative_path(top, node.folder.path),
        location=node.folder.location,
        where=where,
        document=document,
        files=tuple(_read_files(folder_walk, facts, files, fallbacks, warnings)),
        directories=tuple(intern(_relative_path(node.folder, part.folder.path)) for part in node.inner),
        warnings=tuple(warnings),
        stored={path: file.location for path, file in files.items() if not file.path.endswith(path)}
        or EMPTY_MAPPING,
        last_good=last_good,
    )


def _fallback_warnings(faults: Iterable[Problem]) -> Iterator[Problem]:
    """Yield a warning for each fault of a skill that is served in its last good version."""
    for fault in faults:
        message = f"{fault.message}; {LAST_GOOD_SERVED}"
        yield replace(fault, severity=Severity.WARNING, message=message)


def _collect_files(node: _Node, main: File, warnings: list[Problem]) -> dict[str, File]:
    """Return every file by published path, `SKILL.md` first. Add a warning for each file that is left out."""
    files = {SKILL_FILE: main}
    for part in node.all():
        folder = _relative_path(node.folder, part.folder.path_of(""))
        for file in part.listed.files:
            if file is not main:
                # A nested `skill.md` is also published as `SKILL.md` here.
                name = SKILL_FILE if file.name == part.listed.marker else file.name
                files[intern(folder + name)] = file  # many skills have files with the same names
    for path, other in clashing_paths(files).items():
        warnings.append(clash_problem(files.pop(path).path, other))
    return files


def _read_files(
    folder_walk: FolderWalk,
    facts: FileFactsCache,
    files: dict[str, File],
    fallbacks: Mapping[str, SkillDraft],
    warnings: list[Problem],
) -> Iterator[SkillFile]:
    """Yield every file that can be read. Add a warning for each file that is left out."""
    for path, file in files.items():
        if (fallback := fallbacks.get(file.location)) is not None:
            yield replace(fallback.main, path=path, executable=file.executable)
            continue
        try:
            found = facts.of(file, limit=folder_walk.limits.bytes)
            yield found.as_file(path, executable=file.executable)
        except SourceBusyError:
            raise
        except SourceError as error:
            message = f"it {error}; it is left out"
            warnings.append(
                Problem(file.path, Rule.FILE_UNREADABLE, Severity.WARNING, message, _UNREADABLE_HINT)
            )


def _is_within_limits(draft: SkillDraft, limits: Limits, problems: list[Problem]) -> bool:
    """Return whether a skill that was read is within the limits. It may have grown since it was listed.

    If a limit is exceeded, a problem is added to `problems`.
    """
    if problem := limit_problem(draft.where, [file.size for file in draft.files], limits):
        problems.append(problem)
    return problem is None


def _without_main(where: str, warnings: list[Problem]) -> list[Problem]:
    """Return the problems of a skill whose `SKILL.md` cannot be read as a file. At least one is an error."""
    if any(problem.path == where for problem in warnings):
        return [replace(p, severity=Severity.ERROR) if p.path == where else p for p in warnings]
    hint = "make it a file, or remove it"
    return [Problem(where, Rule.SKILL_UNREADABLE, Severity.ERROR, "it is not a file", hint), *warnings]


def _find_incomplete(where: str, node: _Node) -> Problem | None:
    """Return a problem if a limit cut off part of the skill. Its list of files must be complete (S8)."""
    cut = next((part.listed.cut for part in node.all() if part.listed.cut is not None), None)
    if cut is None:
        return None
    message = (
        f"the skill is not served, because it was not read completely: {quoted(cut.path)}: {cut.message}"
    )
    return Problem(where, cut.rule, Severity.ERROR, message, cut.hint)


def _relative_path(folder: Folder, path: str) -> str:
    return path[len(folder.path) :].removeprefix("/")


@dataclass(frozen=True, slots=True)
class FileContents:
    """The MIME type and the bytes of a file."""

    mime_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class SkillContents:
    """A skill with the bytes of all its files."""

    name: str
    files: Mapping[str, FileContents]
    """Files by published path, `SKILL.md` first, then all other files sorted."""
    problems: tuple[Problem, ...]
    """Problems with files that were left out. Problems with the `SKILL.md` itself are not included."""


class BrokenSkillError(SourceError):
    """The skill in a folder cannot be served. The exception contains every problem."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(str(problem) for problem in problems))


def read_skill_contents(root: Path, limits: Limits | None = None) -> SkillContents:
    """Read the skill in the folder `root`, by the rules that apply to served folders.

    The files of a nested skill are included, even if that skill has errors. Raises `BrokenSkillError` if the
    skill cannot be served, `SourceError` if there is none, and `IntegrityError` if a file changes meanwhile.
    """
    check_readable(os.fspath(root))
    ignored = IgnoreRules.at(root)
    folder_walk = FolderWalk(os.fspath(root), limits=limits or Limits(), ignored=ignored, follow_links=False)
    folder = folder_walk.start()
    listed = folder_walk.list_folder(folder)
    if listed.marker is None:
        raise SourceError(f"it holds no `{SKILL_FILE}`")
    skill_folder = read_skill_folder(folder_walk, FileFactsCache(), folder, listed)
    draft = skill_folder.draft("")
    if draft is None:
        raise BrokenSkillError(skill_folder.problems)
    files: dict[str, FileContents] = {}
    for file in sorted(draft.files, key=lambda file: (file.path != SKILL_FILE, file.path)):
        location = draft.stored.get(file.path) or os.path.join(draft.location, file.path)  # noqa: PTH118
        content, _ = read_file(location, file.size)
        files[file.path] = FileContents(file.mime_type, file.verify(content, file.path))
    return SkillContents(draft.name, files, draft.warnings)

"""Reading one skill folder with everything in it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from skillwire.model.entry import SkillFile
from skillwire.model.errors import CannotLookNowError, SourceError
from skillwire.model.limits import Limits
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.model.uri import SKILL_FILE
from skillwire.sources.assemble import clash_problem, clashing_paths, limit_problem
from skillwire.sources.facts import FactCache
from skillwire.sources.folders import File, Folder, Listed, Look
from skillwire.sources.unit import SkillDraft, Unit, listing_nested_skills, misplaced


def read_unit(look: Look, facts: FactCache, folder: Folder, listed: Listed) -> Unit:
    """Read the skill folder `folder`, whose listing is at hand, and every skill nested in it."""
    tree = _walk(look, folder, listed)
    drafts: list[SkillDraft] = []
    problems: list[Problem] = []
    for node in tree.all():
        if node.listed.marker is None:
            continue
        found = _read_skill(look, facts, node, unit=folder)
        if isinstance(found, SkillDraft) and (problem := misplaced(found)) is not None:
            problems.extend((problem, *found.warnings))
        elif isinstance(found, SkillDraft):
            drafts.append(found)
        else:
            problems.extend(found)
    kept = tuple(draft for draft in listing_nested_skills(drafts) if _fits(draft, look.limits, problems))
    locations = frozenset(file.location for node in tree.all() for file in node.listed.files)
    return Unit(folder, kept, tuple(problems), locations)


@dataclass(frozen=True, slots=True)
class _Node:
    folder: Folder
    listed: Listed
    children: tuple["_Node", ...]

    def all(self) -> Iterator["_Node"]:
        yield self
        for child in self.children:
            yield from child.all()

    def inner(self) -> Iterator["_Node"]:
        for child in self.children:
            yield from child.all()

    def own(self) -> Iterator["_Node"]:
        """Yield this folder and those below it without nested skills, so that one skill tells each fault."""
        yield self
        for child in self.children:
            if child.listed.marker is None:
                yield from child.own()


def _walk(look: Look, folder: Folder, listed: Listed) -> _Node:
    # At most `limits.depth` deep: `Look` does not hand out deeper folders.
    children = [_walk(look, child, look.into(child, inside_skill=True)) for child in listed.folders]
    return _Node(folder, listed, tuple(children))


def _read_skill(look: Look, facts: FactCache, node: _Node, *, unit: Folder) -> SkillDraft | list[Problem]:
    where = node.folder.path_of(str(node.listed.marker))
    warnings = [problem for part in node.own() for problem in part.listed.problems]
    main = next((file for file in node.listed.files if file.name == node.listed.marker), None)
    if main is None:
        return _without_main(where, warnings)
    files = _published(node, main, warnings)
    # Limits before bytes: what will not be served is not read.
    sizes = [file.stamp.size for file in files.values()]
    if problem := _incomplete(where, node) or limit_problem(where, sizes, look.limits):
        return [problem, *warnings]
    try:
        document = facts.of(main, limit=look.limits.bytes).document
    except CannotLookNowError:
        raise
    except SourceError as error:
        return [Problem(where, Rule.SKILL_UNREADABLE, Severity.ERROR, f"it {error}", _READABLE), *warnings]
    assert document is not None, f"`{where}` was not read as a document"
    if not document.servable:
        return [*document.problems, *warnings]
    return SkillDraft(
        below=_below(unit, node.folder.path),
        location=node.folder.location,
        where=where,
        document=document,
        files=tuple(_read_files(look, facts, files, warnings)),
        directories=tuple(_below(node.folder, part.folder.path) for part in node.inner()),
        warnings=tuple(warnings),
        stored={path: file.location for path, file in files.items() if not file.path.endswith(path)},
    )


def _published(node: _Node, main: File, warnings: list[Problem]) -> dict[str, File]:
    """Return every file by the path it is published under, `SKILL.md` first; tell of those left out."""
    files = {SKILL_FILE: main}
    for part in node.all():
        for file in part.listed.files:
            if file is not main:
                # Also a nested `skill.md` is published as its skill publishes it.
                name = SKILL_FILE if file.name == part.listed.marker else file.name
                files[_below(node.folder, part.folder.path_of(name))] = file
    for path, kept in clashing_paths(files).items():
        warnings.append(clash_problem(files.pop(path).path, kept))
    return files


def _read_files(
    look: Look, facts: FactCache, files: dict[str, File], warnings: list[Problem]
) -> Iterator[SkillFile]:
    for path, file in files.items():
        try:
            yield facts.of(file, limit=look.limits.bytes).as_file(path)
        except CannotLookNowError:
            raise
        except SourceError as error:
            message = f"it {error}; it is left out"
            warnings.append(Problem(file.path, Rule.FILE_UNREADABLE, Severity.WARNING, message, _READABLE))


def _fits(draft: SkillDraft, limits: Limits, problems: list[Problem]) -> bool:
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


def _incomplete(where: str, node: _Node) -> Problem | None:
    """Return why a skill was not seen to its end: it could not promise a complete list of its files (S8)."""
    cut = next((part.listed.cut for part in node.all() if part.listed.cut is not None), None)
    if cut is None:
        return None
    message = f"the skill is not served, because not all of it was seen: `{cut.path}`: {cut.message}"
    return Problem(where, cut.rule, Severity.ERROR, message, cut.hint)


def _below(folder: Folder, path: str) -> str:
    return path[len(folder.path) :].removeprefix("/")


_READABLE = "check its permissions, or remove it"

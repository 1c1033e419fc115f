"""Create skill records from documents and files, and find exceeded limits, bad paths and clashes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from skillwire.core.names import SKILL_FILE, collision_key, parent_paths, path_fault, root_uri
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits, LiveFile, Origin, SkillFile, SkillRecord, Trust
from skillwire.frontmatter.document import SkillDocument
from skillwire.safe_text import quoted

_RENAME = "choose another name"


def assemble(
    document: SkillDocument,
    *,
    skill_path: Sequence[str],
    files: Iterable[SkillFile | LiveFile],
    directories: Iterable[str],
    origin: Origin,
    warnings: Iterable[Problem] = (),
) -> SkillRecord:
    """Return the record of a trusted, servable skill. `skill_path` ends in its name (S4)."""
    assert document.frontmatter is not None, "only a servable document becomes a record"
    return SkillRecord(
        uri=f"{root_uri(skill_path)}/{SKILL_FILE}",
        frontmatter=document.frontmatter,
        files=_ordered(files),
        directories=tuple(sorted(directories)),
        origin=origin,
        problems=(*document.problems, *warnings),
        trust=Trust.OWN,
    )


def _ordered(files: Iterable[SkillFile | LiveFile]) -> tuple[SkillFile | LiveFile, ...]:
    """Return the files ordered by path, `SKILL.md` first.

    If they are already in order, return the same tuple.
    """
    known = tuple(files)
    ordered = tuple(sorted(known, key=lambda file: (file.path != SKILL_FILE, file.path)))
    return known if ordered == known else ordered


def limit_problem(path: str, sizes: Sequence[int], limits: Limits) -> Problem | None:
    """Return the problem of a skill whose files exceed a limit, or None (S10)."""
    if len(sizes) > limits.files:
        return Problem(
            path,
            Rule.SKILL_FILES,
            Severity.ERROR,
            f"the skill has {len(sizes):,} files; the limit is {limits.files:,} files per skill",
            hint="exclude what the instructions do not need in `.skillwireignore`, or pack it into one file",
        )
    if (total := sum(sizes)) > limits.bytes:
        return Problem(
            path,
            Rule.SKILL_BYTES,
            Severity.ERROR,
            f"the skill has {total:,} bytes; the limit is {limits.bytes:,} bytes per skill",
            hint="exclude the largest files in `.skillwireignore`, and link to where they can be downloaded",
        )
    return None


def path_problems(skill_path: str, paths: Iterable[str]) -> Iterator[Problem]:
    """Yield an error for each path that is invalid, that is also a folder, or that clashes with another path.

    Used for skills that are not on disk.
    """
    known = list(paths)
    if fault := path_fault(skill_path):
        yield Problem(skill_path, Rule.FILE_NAME, Severity.ERROR, f"the path of the skill {fault}", _RENAME)
    folders = {folder for path in known for folder in parent_paths(path)}
    for path in known:
        where = f"{skill_path}/{path}"
        if fault := path_fault(path):
            yield Problem(where, Rule.FILE_NAME, Severity.ERROR, f"the path {fault}", _RENAME)
        elif path in folders:
            yield Problem(where, Rule.FILE_NAME, Severity.ERROR, "the path is also a folder", _RENAME)
    for path, other in clashing_paths(known).items():
        yield replace(clash_problem(f"{skill_path}/{path}", other), severity=Severity.ERROR)


def clashing_paths(paths: Iterable[str]) -> dict[str, str]:
    """Map each path to an earlier path that differs only in case or Unicode form, if there is one (H7)."""
    first: dict[str, str] = {}
    clashes: dict[str, str] = {}
    for path in paths:
        if (other := first.setdefault(collision_key(path), path)) != path:
            clashes[path] = other
    return clashes


def clash_problem(path: str, other: str) -> Problem:
    """Return the problem for a file that is left out because its path clashes with `other`."""
    return Problem(
        path,
        Rule.FILE_NAME_CLASH,
        Severity.WARNING,
        f"some hosts cannot distinguish it from {quoted(other)}, so it is left out",
        hint="rename one of the two so that they differ in more than case or accents",
    )

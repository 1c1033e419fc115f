"""Which skill a person means: a folder, a URI, or a name."""

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from skillwire.catalog.library import Library
from skillwire.cli.library import load_library
from skillwire.config.kinds import folder_path
from skillwire.config.settings import SKILLS_DIR
from skillwire.model.display import quoted, visible
from skillwire.model.entry import Entry
from skillwire.model.errors import SkillwireError, UsageError
from skillwire.model.problem import Problem, Severity
from skillwire.model.uri import SKILL_FILE


@dataclass(frozen=True, slots=True)
class Found:
    """A skill, and the library that it can be read from."""

    library: Library
    entry: Entry


class NoSuchSkillError(SkillwireError):
    """There is no such skill; perhaps because it is broken."""

    def __init__(self, message: str, *, hint: str = "", problems: Sequence[Problem] = ()) -> None:
        self.hint, self.problems = hint, tuple(problems)
        super().__init__(message)


def find_skill(skill: str, sources: Sequence[str], *, follow_links: bool = False) -> Found:
    """Return the skill that `skill` names. Raises `NoSuchSkillError` or `UsageError`."""
    if skill.startswith((".", "/", "~")):
        return _in_folder(skill, follow_links=follow_links)
    if Path(skill).is_file():
        raise UsageError(
            f"{quoted(skill)} is a file", hint=f"name its folder, {quoted(str(Path(skill).parent))}"
        )
    is_folder = Path(skill).is_dir()
    named = sources or os.environ.get(SKILLS_DIR, "").strip()
    if not is_folder and not named:
        raise UsageError(
            f"it is not said where to look for {quoted(skill)}",
            hint=f"add `--from FOLDER`, or set `{SKILLS_DIR}`; a folder is written `./{visible(skill)}`",
        )
    if is_folder and not named:
        return _in_folder(skill, follow_links=follow_links)
    library = load_library(sources, follow_links=follow_links)
    matching = _matching(library, skill)
    if is_folder and matching:
        raise UsageError(
            f"{quoted(skill)} is both a folder and the name of a skill",
            hint=f"write `./{skill}` for the folder, or {quoted(matching[0].uri)} for the skill",
        )
    if is_folder:
        return _in_folder(skill, follow_links=follow_links)
    if len(matching) > 1:
        listed = ", ".join(quoted(entry.path) for entry in matching)
        raise UsageError(
            f"{quoted(skill)} is the name of {len(matching)} skills", hint=f"choose one of {listed}"
        )
    if not matching:
        raise _none_found(library, skill)
    return Found(library, matching[0])


def _in_folder(folder: str, *, follow_links: bool) -> Found:
    library = load_library([folder], follow_links=follow_links)
    location = str(folder_path(folder).resolve())
    entry = next((e for e in library.catalog.entries.values() if e.origin.location == location), None)
    if entry is None:
        errors = [problem for problem in library.catalog.problems if problem.severity is Severity.ERROR]
        hint = (
            ""
            if errors
            else f"a skill is a folder with a `SKILL.md`; look for skills with `skillwire list {folder}`"
        )
        raise NoSuchSkillError(
            f"the folder {quoted(folder)} is no skill that can be served", hint=hint, problems=errors
        )
    return Found(library, entry)


def _matching(library: Library, skill: str) -> list[Entry]:
    entries = library.catalog.entries
    if "://" in skill:
        entry = entries.get(skill) or entries.get(f"{skill.rstrip('/')}/{SKILL_FILE}")
        return [] if entry is None else [entry]
    exact = [entry for entry in entries.values() if skill in {entry.path, unquote(entry.path)}]
    return exact or [entry for entry in entries.values() if entry.name == skill]


def _none_found(library: Library, skill: str) -> NoSuchSkillError:
    catalog = library.catalog
    if (served := catalog.files.get(skill)) is not None:
        return NoSuchSkillError(
            f"{quoted(skill)} is a file of a skill", hint=f"write `{served.entry.uri} {served.file.path}`"
        )
    errors = (problem for problem in catalog.problems if problem.severity is Severity.ERROR)
    broken = [problem for problem in errors if PurePosixPath(problem.path).parent.name == skill]
    if broken:
        return NoSuchSkillError(f"the skill {quoted(skill)} is there, but cannot be served", problems=broken)
    return NoSuchSkillError(f"there is no skill {quoted(skill)}", hint=_closest(library, skill))


def _closest(library: Library, skill: str) -> str:
    names = {entry.name for entry in library.catalog.entries.values()}
    close = difflib.get_close_matches(skill, names, n=3, cutoff=0.4)
    if close:
        return "did you mean " + " or ".join(quoted(name) for name in close) + "?"
    return f"`skillwire list` shows what there is; say where to look with `--from FOLDER` or `{SKILLS_DIR}`"

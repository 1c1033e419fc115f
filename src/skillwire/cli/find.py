"""Which skill a person means: a folder, a URI, or a name."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skillwire.catalog.library import Library
from skillwire.catalog.names import AmbiguousNameError, Names, UnknownNameError, did_you_mean
from skillwire.cli.library import load_library
from skillwire.cli.missing import NoSuchSkillError
from skillwire.config.configured import Configured
from skillwire.config.file import ConfigFile, default_config
from skillwire.config.kinds import local_path
from skillwire.config.settings import SKILLS_DIR
from skillwire.model.display import quoted, visible
from skillwire.model.entry import SkillRecord
from skillwire.model.errors import UsageError
from skillwire.model.problem import Severity
from skillwire.wire.archive_form import archive_form


@dataclass(frozen=True, slots=True)
class Found:
    """A skill, and the library that it can be read from."""

    library: Library
    entry: SkillRecord


def find_skill(
    skill: str, sources: Sequence[str], *, follow_links: bool = False, config: ConfigFile | None = None
) -> Found:
    """Return the skill that `skill` names. Raises `NoSuchSkillError` or `UsageError`."""
    if local_path(skill).is_file():
        raise UsageError(f"{quoted(skill)} is a file", hint=_instead_of(skill))
    if skill.startswith((".", "/", "~")):
        return _in_folder(skill, follow_links=follow_links)
    is_folder = Path(skill).is_dir()
    named = sources or _anything_served(config)
    if not is_folder and not named:
        raise UsageError(
            f"it is not said where to look for {quoted(skill)}",
            hint=f"add `--from SOURCE`, or set `{SKILLS_DIR}`; a folder is written `./{visible(skill)}`, "
            "a server's skill `LABEL:NAME`",
        )
    if is_folder and not named:
        return _in_folder(skill, follow_links=follow_links)
    library = load_library(sources, follow_links=follow_links, config=config)
    try:
        entry = Names(library.catalog).find(skill)
    except AmbiguousNameError as error:
        listed = ", ".join(quoted(handle) for handle in error.handles)
        hint = f"choose one of {listed}"
        raise UsageError(f"{quoted(skill)} is the name of {len(error.handles)} skills", hint=hint) from error
    except UnknownNameError:
        if is_folder:
            return _in_folder(skill, follow_links=follow_links)
        raise _none_found(library, skill) from None
    if is_folder:
        raise UsageError(
            f"{quoted(skill)} is both a folder and the name of a skill",
            hint=f"write `./{skill}` for the folder, or {quoted(entry.uri)} for the skill",
        )
    return Found(library, entry)


def _instead_of(file: str) -> str:
    """Return how to name a skill instead of a file."""
    if archive_form(file) is not None:
        return f"name a skill in it, and add `--from {file}`"
    return f"name its folder, {quoted(str(local_path(file).parent))}"


def _anything_served(config: ConfigFile | None) -> bool:
    """Whether there is anything to look in that nobody named."""
    if os.environ.get(SKILLS_DIR, "").strip():
        return True
    return bool(Configured.read(config or ConfigFile(default_config())).sources)


def find_served(
    skill: str, sources: Sequence[str], *, follow_links: bool = False, config: ConfigFile | None = None
) -> SkillRecord:
    """Return the skill that `skill` names, with the URI that it has where `sources` are served.

    A folder on its own does not know what stands above it where it is served. Raises as `find_skill`.
    """
    entry = find_skill(skill, sources, follow_links=follow_links, config=config).entry
    if not sources and not _anything_served(config):
        return entry
    library = load_library(sources, follow_links=follow_links, config=config)
    served = _at(library, entry.origin.location)
    if served is None:
        hint = "name the folders that you serve with `--from`"
        raise NoSuchSkillError(f"{quoted(skill)} is in none of the folders to look in", hint=hint)
    return served


def _at(library: Library, location: str) -> SkillRecord | None:
    entries = library.catalog.entries.values()
    return next((entry for entry in entries if entry.origin.location == location), None)


def _in_folder(folder: str, *, follow_links: bool) -> Found:
    library = load_library([folder], follow_links=follow_links)
    entry = _at(library, str(local_path(folder).resolve()))
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


def _none_found(library: Library, skill: str) -> NoSuchSkillError:
    catalog = library.catalog
    if (served := catalog.files.get(skill)) is not None:
        return NoSuchSkillError(
            f"{quoted(skill)} is a file of a skill",
            hint=f"write {quoted(f'{served.entry.uri} {served.file.path}', None)}",
        )
    errors = (problem for problem in catalog.problems if problem.severity is Severity.ERROR)
    broken = [problem for problem in errors if PurePosixPath(problem.path).parent.name == skill]
    if broken:
        return NoSuchSkillError(f"the skill {quoted(skill)} is there, but cannot be served", problems=broken)
    where = f"`skillwire list` shows what there is; say where to look with `--from FOLDER` or `{SKILLS_DIR}`"
    hint = did_you_mean(skill, Names(catalog).handles()) or where
    return NoSuchSkillError(f"there is no skill {quoted(skill)}", hint=hint)

"""Find the skill, source or server that an argument names."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from skillwire.config.choice import ConfigChoice, ConfigFlags, choose_config
from skillwire.config.faults import faults_of_empty_sources
from skillwire.config.file import SourceSettings
from skillwire.config.library import load_library
from skillwire.config.settings import SKILLS_DIR
from skillwire.config.source_kinds import local_path
from skillwire.config.sources_and_servers import PATHS, SourcesAndServers
from skillwire.core.problem import Severity
from skillwire.core.record import SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.errors import UsageError
from skillwire.host.connections.labels import is_label
from skillwire.library.library import Library
from skillwire.library.names import (
    AmbiguousNameError,
    Names,
    TemplateNameError,
    UnknownNameError,
    did_you_mean,
)
from skillwire.protocol.delivery import detect_archive_format
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import NoSuchSkillError, pluralize


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A skill, and the library that it can be read from."""

    library: Library
    entry: SkillRecord
    path: str = ""
    """The path of the file or folder that the argument names in the skill. Empty for the skill itself."""

    def whole(self, argument: str) -> "FoundSkill":
        """Return this skill. Raises `NoSuchSkillError` if the argument names a file or folder in it."""
        if self.path:
            raise NoSuchSkillError(
                f"{quoted(argument)} is a file of a skill", hint=f"name the skill, {quoted(self.entry.uri)}"
            )
        return self


class TemplateFoundError(NoSuchSkillError):
    """The argument names a template. A template stands for many skills."""

    def __init__(self, template: SkillTemplate, message: str, hint: str) -> None:
        self.template = template
        super().__init__(message, hint=hint)


def find_skill(
    skill: str, sources: Sequence[str], config: ConfigChoice, *, follow_links: bool = False
) -> FoundSkill:
    """Return the skill or file that `skill` names.

    `skill` is a folder, or a name, path or URI of a skill or file in `sources` or the default sources.
    Raises `NoSuchSkillError`, which is a `TemplateFoundError` for the name of a template, or `UsageError`.
    """
    if local_path(skill).is_file():
        raise UsageError(f"{quoted(skill)} is a file", hint=_skill_hint(skill))
    is_folder = Path(skill).is_dir()
    named = sources or _has_default_sources(config)
    if _is_path(skill) or (skill.startswith(PATHS) and not named):
        return _in_folder(skill, config, follow_links=follow_links)
    if not is_folder and not named:
        raise UsageError(
            f"cannot look for {quoted(skill)}: no source is named",
            hint=f"add `--from SOURCE`, or set `{SKILLS_DIR}`; "
            f"write `./{escape_invisible(skill)}` for a folder, `LABEL:NAME` for a server's skill",
        )
    if is_folder and not named:
        return _in_folder(skill, config, follow_links=follow_links)
    library = load_library(sources, follow_links=follow_links, config=config)
    if not is_folder:
        return find_in(library, skill)
    try:
        found = find_in(library, skill)
    except NoSuchSkillError:
        return _in_folder(skill, config, follow_links=follow_links)
    if not found.path and found.entry.origin.location == str(local_path(skill).resolve()):
        return _in_folder(skill, config, follow_links=follow_links)  # `skills/refunds` of the source `skills`
    raise UsageError(
        f"{quoted(skill)} is both a folder and the name of a skill",
        hint=f"write `./{skill}` for the folder, or {quoted(found.entry.uri)} for the skill",
    )


def _is_path(skill: str) -> bool:
    """Return whether an argument begins with `.`, `/` or `~`, and exists as a path on this machine.

    An argument may also be a path in the text of a skill, such as `/workspace/review/skill.md`, that does not
    exist on this machine.
    """
    return skill.startswith(PATHS) and local_path(skill).exists()


def find_in(library: Library, skill: str) -> FoundSkill:
    """Return the skill or file in a library that `skill` names.

    Raises `NoSuchSkillError`, which is a `TemplateFoundError` for the name of a template, or `UsageError`.
    """
    try:
        found = Names(library.catalog).resolve(skill)
    except AmbiguousNameError as error:
        listed = ", ".join(quoted(handle) for handle in error.handles)
        hint = f"choose one of {listed}"
        raise UsageError(f"{quoted(skill)} is the name of {len(error.handles)} skills", hint=hint) from error
    except TemplateNameError as error:
        message, _, hint = str(error).partition("; ")
        raise TemplateFoundError(error.template, message, hint) from error
    except UnknownNameError:
        raise _not_found_error(library, skill) from None
    return FoundSkill(library, found.entry, found.path)


def _skill_hint(file: str) -> str:
    """Return a hint for an argument that is a file: how to name a skill in it or around it."""
    if detect_archive_format(file) is not None:
        return f"name a skill in it, and add `--from {file}`"
    return f"name its folder, {quoted(str(local_path(file).parent))}"


def _has_default_sources(config: ConfigChoice) -> bool:
    """Return whether the environment or the configuration file names a source."""
    if os.environ.get(SKILLS_DIR, "").strip():
        return True
    return config.sources and config.file is not None and bool(SourceSettings.read(config.file).sources)


def find_served(
    skill: str, sources: Sequence[str], config: ConfigChoice, *, follow_links: bool = False
) -> SkillRecord:
    """Return the skill that `skill` names, with the URI that it has when `sources` are served.

    The URI of a skill depends on the source from which it is served. So if `skill` is a folder, the skill in
    that folder is looked up in `sources` or the default sources. Without one, the folder is the source.
    Raises the same errors as `find_skill`.
    """
    entry = find_skill(skill, sources, config, follow_links=follow_links).whole(skill).entry
    if not sources and not _has_default_sources(config):
        return entry
    library = load_library(sources, follow_links=follow_links, config=config)
    served = _at(library, entry.origin.location)
    if served is None:
        hint = "name the source that you serve with `--from`"
        raise NoSuchSkillError(f"{quoted(skill)} is not in any source that is served", hint=hint)
    return served


def _at(library: Library, location: str) -> SkillRecord | None:
    entries = library.catalog.entries.values()
    return next((entry for entry in entries if entry.origin.location == location), None)


def _in_folder(folder: str, config: ConfigChoice, *, follow_links: bool) -> FoundSkill:
    alone = replace(config, sources=False)
    library = load_library([folder], follow_links=follow_links, config=alone)
    entry = _at(library, str(local_path(folder).resolve()))
    if entry is None:
        every = [problem for problem in library.catalog.problems if problem.severity is Severity.ERROR]
        errors = [problem for problem in every if "/" not in problem.path]  # not of skills below it
        hint = (
            ""
            if errors
            else f"a skill is a folder with a `SKILL.md`; `skillwire list {folder}` lists skills below it"
        )
        if more := len(every) - len(errors):
            hint = "; ".join(filter(None, [hint, f"{pluralize(more, 'problem')} in skills below it"]))
        raise NoSuchSkillError(
            f"the folder {quoted(folder)} is not a skill that can be served", hint=hint, problems=errors
        )
    return FoundSkill(library, entry)


def _not_found_error(library: Library, skill: str) -> NoSuchSkillError:
    catalog = library.catalog
    errors = (problem for problem in catalog.problems if problem.severity is Severity.ERROR)
    broken = [problem for problem in errors if PurePosixPath(problem.path).parent.name == skill]
    if broken:
        return NoSuchSkillError(f"the skill {quoted(skill)} exists, but cannot be served", problems=broken)
    where = f"`skillwire list` lists the skills; choose where to look with `--from SOURCE` or `{SKILLS_DIR}`"
    failed = faults_of_empty_sources(library)
    if failed and not catalog.entries:
        return NoSuchSkillError(f"there is no skill {quoted(skill)}", problems=failed)
    names = Names(catalog)
    hint = names.explain(skill) or did_you_mean(skill, names.handles()) or where
    return NoSuchSkillError(f"there is no skill {quoted(skill)}", hint=hint)


def find_local_or_servers(
    skill: str,
    arguments: Sequence[str] | None,
    *,
    follow_links: bool = False,
    config: ConfigFlags | None = None,
    with_token: bool = False,
) -> FoundSkill | tuple[str, ...]:
    """Return the skill found in the sources among `arguments`, or the servers to search for it.

    Sources are searched first, so a server's skill never replaces a skill of the user (H10). `label:name`
    is searched only on servers, unless `arguments` names only sources. Raises `UsageError` or
    `NoSuchSkillError`.
    """
    divided = SourcesAndServers.of(arguments, with_token=with_token)
    chosen = choose_config(config, named=bool(arguments))
    if (label := label_of(skill)) is not None:
        if divided.sources and not divided.servers:
            with suppress(NoSuchSkillError):  # `label:name` may also mean a source
                return find_skill(skill, divided.sources, chosen, follow_links=follow_links)
        return divided.servers or (f"{label}:",)
    is_path = _is_path(skill)
    if divided.servers and not divided.sources and not is_path:
        return divided.servers
    try:
        return find_skill(skill, divided.sources, chosen, follow_links=follow_links)
    except TemplateFoundError:
        raise
    except NoSuchSkillError:
        if not divided.servers or is_path:
            raise
        return divided.servers


def label_of(skill: str) -> str | None:
    """Return the label in `label:name` or `label:URI`; None for any other form and for an existing path."""
    label, colon, rest = skill.partition(":")
    has_label = colon and rest and not rest.startswith("//") and is_label(label)
    return label if has_label and not Path(skill).exists() else None

"""Find the skill, source or server that an argument names."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from skillwire.config.clients.known import KnownServers, known_servers, parse_label
from skillwire.config.file import ConfigFile, SourceSettings, default_config
from skillwire.config.library import load_library
from skillwire.config.settings import SKILLS_DIR
from skillwire.config.source_kinds import SCHEME, local_path
from skillwire.core.problem import Severity
from skillwire.core.record import SkillRecord
from skillwire.errors import UsageError
from skillwire.host.connections.labels import is_label
from skillwire.host.connections.target import COMMAND
from skillwire.library.library import Library
from skillwire.library.names import AmbiguousNameError, Names, UnknownNameError, did_you_mean
from skillwire.protocol.delivery import detect_archive_format
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import NoSuchSkillError

_SERVERS = (COMMAND, "mcp+http://", "mcp+https://")


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A skill, and the library that it can be read from."""

    library: Library
    entry: SkillRecord


def find_skill(
    skill: str, sources: Sequence[str], *, follow_links: bool = False, config: ConfigFile | None = None
) -> FoundSkill:
    """Return the skill that `skill` names. Raises `NoSuchSkillError` or `UsageError`."""
    if local_path(skill).is_file():
        raise UsageError(f"{quoted(skill)} is a file", hint=_skill_hint(skill))
    if skill.startswith((".", "/", "~")):
        return _in_folder(skill, follow_links=follow_links)
    is_folder = Path(skill).is_dir()
    named = sources or _has_default_sources(config)
    if not is_folder and not named:
        raise UsageError(
            f"cannot look for {quoted(skill)}: no source is named",
            hint=f"add `--from SOURCE`, or set `{SKILLS_DIR}`; "
            f"write `./{escape_invisible(skill)}` for a folder, `LABEL:NAME` for a server's skill",
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
        raise _not_found_error(library, skill) from None
    if is_folder:
        raise UsageError(
            f"{quoted(skill)} is both a folder and the name of a skill",
            hint=f"write `./{skill}` for the folder, or {quoted(entry.uri)} for the skill",
        )
    return FoundSkill(library, entry)


def _skill_hint(file: str) -> str:
    """Return how to name the skill that a file belongs to."""
    if detect_archive_format(file) is not None:
        return f"name a skill in it, and add `--from {file}`"
    return f"name its folder, {quoted(str(local_path(file).parent))}"


def _has_default_sources(config: ConfigFile | None) -> bool:
    """Whether the environment or the configuration file names a source."""
    if os.environ.get(SKILLS_DIR, "").strip():
        return True
    return bool(SourceSettings.read(config or ConfigFile(default_config())).sources)


def find_served(
    skill: str, sources: Sequence[str], *, follow_links: bool = False, config: ConfigFile | None = None
) -> SkillRecord:
    """Return the skill that `skill` names, with the URI that it has when `sources` are served.

    Its URI depends on the source it is served from, so a folder named alone is looked up in the sources.
    Raises as `find_skill`.
    """
    entry = find_skill(skill, sources, follow_links=follow_links, config=config).entry
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


def _in_folder(folder: str, *, follow_links: bool) -> FoundSkill:
    library = load_library([folder], follow_links=follow_links)
    entry = _at(library, str(local_path(folder).resolve()))
    if entry is None:
        errors = [problem for problem in library.catalog.problems if problem.severity is Severity.ERROR]
        hint = (
            ""
            if errors
            else f"a skill is a folder with a `SKILL.md`; `skillwire list {folder}` lists skills below it"
        )
        raise NoSuchSkillError(
            f"the folder {quoted(folder)} is not a skill that can be served", hint=hint, problems=errors
        )
    return FoundSkill(library, entry)


def _not_found_error(library: Library, skill: str) -> NoSuchSkillError:
    catalog = library.catalog
    if (served := catalog.files.get(skill)) is not None:
        return NoSuchSkillError(
            f"{quoted(skill)} is a file of a skill",
            hint=f"write {quoted(f'{served.entry.uri} {served.file.path}', None)}",
        )
    errors = (problem for problem in catalog.problems if problem.severity is Severity.ERROR)
    broken = [problem for problem in errors if PurePosixPath(problem.path).parent.name == skill]
    if broken:
        return NoSuchSkillError(f"the skill {quoted(skill)} exists, but cannot be served", problems=broken)
    where = f"`skillwire list` lists the skills; choose where to look with `--from SOURCE` or `{SKILLS_DIR}`"
    hint = did_you_mean(skill, Names(catalog).handles()) or where
    return NoSuchSkillError(f"there is no skill {quoted(skill)}", hint=hint)


@dataclass(frozen=True, slots=True)
class Places:
    """Arguments of a command, divided into sources and servers."""

    sources: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()

    @classmethod
    def of(cls, arguments: Sequence[str] | None) -> "Places":
        """Divide the arguments. Raises `UsageError` for one that could be both."""
        known = cache(
            lambda: known_servers(os.environ)
        )  # read the clients' files only if a label is possible
        servers = [argument for argument in arguments or () if _is_server(argument, known)]
        return cls(tuple(each for each in arguments or () if each not in servers), tuple(servers))


def _is_server(argument: str, known: Callable[[], KnownServers]) -> bool:
    """Whether an argument names a server.

    An argument that begins with `.`, `/` or `~`, or that exists as a path, is a source. So is a URL without
    the prefix `mcp+`. Anything else is the label of a server. Raises `UsageError` for one that could be both.
    """
    if argument.startswith(_SERVERS):
        return True
    label, explicit = parse_label(argument), argument.endswith(":")
    if label is None or argument.startswith((".", "/", "~")):
        return False
    if not explicit and SCHEME.match(argument):
        return False
    exists = not explicit and local_path(argument).exists()
    if exists and label in known().labels:
        raise UsageError(
            f"{quoted(argument)} is both a folder and the label of a server",
            hint=f"write `./{argument}` for the folder, or `{argument}:` for the server",
        )
    if exists or detect_archive_format(argument) is not None:
        return False
    if label not in known().labels and not explicit:
        raise UsageError(
            f"the folder {quoted(argument)} does not exist, and no server has this label",
            hint=f"write `./{argument}` for a folder; `skillwire servers` lists the servers",
        )
    return True


def find_local_or_servers(
    skill: str, arguments: Sequence[str] | None, *, follow_links: bool = False
) -> FoundSkill | tuple[str, ...]:
    """Return a skill found in a source, or the servers to search for it.

    A server's skill never replaces one of the person's own (H10). Raises `UsageError` or `NoSuchSkillError`.
    """
    places = Places.of(arguments)
    if (label := label_of(skill)) is not None:
        return places.servers or (f"{label}:",)
    is_path = skill.startswith((".", "/", "~"))
    if places.servers and not places.sources and not is_path:
        return places.servers
    try:
        return find_skill(skill, places.sources, follow_links=follow_links)
    except NoSuchSkillError:
        if not places.servers or is_path:
            raise
        return places.servers


def label_of(skill: str) -> str | None:
    """Return the label in `label:name` or `label:URI`; None for any other form."""
    label, colon, rest = skill.partition(":")
    has_label = colon and rest and not rest.startswith("//") and is_label(label)
    return label if has_label and not Path(skill).exists() else None

"""Collect the sources from the command line, the environment and the configuration file, and open them."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from skillwire.config.file import ConfigFile, ConfiguredSource, SourceSettings
from skillwire.config.settings import SKILLS_DIR, limits_from, token_from
from skillwire.config.source_kinds import (
    SCHEME,
    SourceArgument,
    SourceOptions,
    address_error,
    canonical_place,
    explicit_server,
    is_local,
    is_server_url,
    kind_of,
    local_path,
    open_source,
)
from skillwire.core.names import name_fault, path_fault
from skillwire.errors import InvalidValueError, UsageError
from skillwire.safe_text import escape_invisible, quoted, redact_secrets
from skillwire.sources.base import Source
from skillwire.sources.cache_folder import cache_folder_from
from skillwire.sources.placeholder import UnavailableSource
from skillwire.sources.prefix import PrefixedSource

# A comma that separates two sources. An address may contain commas itself.
_NEXT_SOURCE = re.compile(
    rf",\s*(?=[./~]|{SCHEME.pattern}|(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)/)"
)


class SpecOrigin(StrEnum):
    """Where a source was named: on the command line, in the environment or in the configuration file."""

    COMMAND_LINE = "command line"
    ENVIRONMENT = "environment"
    CONFIGURATION = "configuration"


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source to open, and where it was named."""

    argument: str
    given_by: SpecOrigin
    label: str | None = None
    prefix: str | None = None
    token_env: str | None = None


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """An opened source and its specification."""

    wanted: SourceSpec
    source: Source


def source_specs(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    configured: SourceSettings | None = None,
    prefix: str | None = None,
    *,
    allow_empty: bool = False,
) -> list[SourceSpec]:
    """Return the sources from the command line, else from `SKILLS_DIR`, and the configured sources.

    Each source occurs once. `prefix` applies to all except the configured sources. Raises `UsageError` if
    there are no sources, unless `allow_empty` is set.
    """
    given_by = SpecOrigin.COMMAND_LINE if arguments else SpecOrigin.ENVIRONMENT
    named = list(arguments) or [environment.get(SKILLS_DIR, "")]
    parts = (part for each in named for part in source_parts(each))
    specs = [SourceSpec(part, given_by, prefix=prefix) for part in parts]
    configured = configured or SourceSettings()
    specs.extend(
        SourceSpec(
            absolute(each.source, configured.folder),
            SpecOrigin.CONFIGURATION,
            each.label,
            each.prefix,
            each.token_env,
        )
        for each in configured.sources
    )
    if not specs and not allow_empty:
        raise UsageError(
            "no source of skills is named",
            hint=f"name a folder such as `./skills`, set `{SKILLS_DIR}`, or use `skillwire sources add`; "
            "`skillwire servers` lists the configured servers",
        )
    return list(_deduplicate(specs))


def open_specs(
    wanted: Iterable[SourceSpec],
    options: SourceOptions,
    *,
    to_fetch: bool = True,
    known: Mapping[SourceSpec, OpenedSource] | None = None,
) -> list[OpenedSource]:
    """Open each source under a unique label. Raises `UsageError`.

    Tokens are read only with `to_fetch`. Sources in `known` are already open and are returned unchanged. A
    configured source that cannot be opened becomes an `UnavailableSource`.
    """
    opened: list[OpenedSource] = []
    every, already_open = list(wanted), known or {}
    # A derived label is never equal to an explicit label. A label in use gets a number.
    chosen = {each.label for each in every if each.label is not None}
    labels = {already_open[each].source.label for each in every if each in already_open}
    for each in every:
        if (before := already_open.get(each)) is not None:
            opened.append(before)
            continue
        taken = labels if each.label is not None else labels | chosen
        try:
            label = _unique_label(_label(each), taken)
            source = _open(each, label, options, to_fetch=to_fetch)
        except UsageError as error:
            if each.given_by is not SpecOrigin.CONFIGURATION:
                raise
            # One broken source in the file must not prevent the others from being served.
            label = _unique_label(_label_or(each, "unavailable"), taken)
            source = _unavailable(each, label, error, show_reason=not options.serving)
        labels.add(label)
        opened.append(OpenedSource(each, source))
    return opened


def _open(each: SourceSpec, label: str, options: SourceOptions, *, to_fetch: bool) -> Source:
    token = token_from(each.token_env, options.environment) if to_fetch else None
    return _prefixed(open_source(SourceArgument(each.argument, label, token), options), each.prefix)


def _unavailable(each: SourceSpec, label: str, error: UsageError, *, show_reason: bool) -> Source:
    place = escape_invisible(each.argument)
    # Pages and logs show where the source is, so passwords are removed. A local path contains none.
    shown = place if is_local(each.argument) else redact_secrets(place)
    return UnavailableSource(label, shown, redact_secrets(str(error)), show_reason=show_reason)


def absolute(source: str, folder: Path) -> str:
    """Return a configured source, with a local path made absolute.

    A relative path starts at `folder`.
    """
    try:
        return str(folder / local_path(source)) if is_local(source) else source
    except UsageError:  # reported when this source is opened
        return source


def check_spec_opens(wanted: SourceSpec, options: SourceOptions) -> None:
    """Raise `UsageError` if a source cannot be opened. Reads no token and fetches nothing."""
    _open(wanted, _label(wanted), options, to_fetch=False)


def _label(wanted: SourceSpec) -> str:
    if wanted.label is not None:
        if fault := _label_fault(wanted.label):
            raise UsageError(f"the label {quoted(wanted.label)} {fault}", hint="for example `acme`")
        return wanted.label
    kind = kind_of(wanted.argument)
    try:
        return kind.label(wanted.argument)
    except InvalidValueError as error:
        raise address_error(wanted.argument, error) from error


def _label_or(wanted: SourceSpec, otherwise: str) -> str:
    """Return the label of a source, or `otherwise` if it cannot have one."""
    try:
        return _label(wanted)
    except UsageError:
        return otherwise


def _label_fault(label: str | None) -> str | None:
    return "is not there" if label is None else name_fault(label)


def _prefixed(source: Source, prefix: str | None) -> Source:
    if prefix is None:
        return source
    if fault := path_fault(prefix):
        raise UsageError(f"the prefix `{prefix}` {fault}", hint="for example `team` or `acme/billing`")
    return PrefixedSource(source, prefix)


def _deduplicate(wanted: Iterable[SourceSpec]) -> Iterator[SourceSpec]:
    """Yield each source once. Two spellings of one location with the same prefix count as one source."""
    seen: set[tuple[str, str | None]] = set()
    for each in wanted:
        key = (canonical_place(each.argument), each.prefix)
        if key not in seen:
            seen.add(key)
            yield each


def source_parts(argument: str) -> list[str]:
    """Split an argument into sources at commas.

    An existing path is not split. An address is split only where another source follows the comma.
    """
    if "," not in argument or os.path.exists(os.path.expanduser(argument)):  # noqa: PTH110, PTH111 - `Path` raises
        return [argument] if argument.replace(",", "").strip() else []
    parts = _NEXT_SOURCE.split(argument) if SCHEME.match(argument) else argument.split(",")
    return [part.strip() for part in parts if part.strip()]


def _unique_label(label: str, taken: set[str]) -> str:
    number = 2
    free = label
    while free in taken:
        free, number = f"{label}-{number}", number + 1
    return free


@dataclass(frozen=True, slots=True)
class LibraryOptions:
    """Options for opening and scanning the sources of a library."""

    follow_links: bool = False
    include_evals: bool = False
    """Whether folders serve the eval cases of their skills."""
    prefix: str | None = None
    live: bool = False
    """Whether the sources are watched.

    If so, a source may be missing at first, and if an edit breaks a skill, its last good version stays.
    """
    frozen: bool = False
    """Whether the list of skills is fixed at start."""
    configured_sources: bool = True
    """Whether to include the sources in the configuration file."""
    allow_empty: bool = False
    """Whether a library without sources is allowed."""

    def for_sources(self, configured: SourceSettings) -> SourceOptions:
        """Return the options for every source, with settings from the environment and `configured`."""
        return SourceOptions(
            follow_links=self.follow_links,
            include_evals=self.include_evals,
            limits=limits_from(os.environ, configured.limits),
            live=self.live,
            serving=self.live or self.frozen,
            cache=cache_folder_from(os.environ),
            allowed_origins=configured.allowed_origins,
            environment=os.environ,
        )


def open_sources(
    arguments: Sequence[str],
    options: LibraryOptions,
    config: ConfigFile | SourceSettings | None = None,
    *,
    to_fetch: bool = True,
    known: Mapping[SourceSpec, OpenedSource] | None = None,
) -> list[OpenedSource]:
    """Open the named sources and the sources in `config`, without scanning them. Raises `UsageError`.

    Sources in `known` are already open and are returned unchanged.
    """
    configured = SourceSettings.read(config) if isinstance(config, ConfigFile) else config or SourceSettings()
    also = configured if options.configured_sources else None
    wanted = source_specs(arguments, os.environ, also, options.prefix, allow_empty=options.allow_empty)
    return open_specs(wanted, options.for_sources(configured), to_fetch=to_fetch, known=known)


def spelled(argument: str) -> str:
    """Return a source in the form in which it is written to the configuration file.

    A local path becomes absolute, because a server may be started in any folder. Raises `UsageError` if the
    path does not exist, or if the address of a repository contains a token or user name.
    """
    if is_local(argument):
        path = local_path(argument)
        if not path.exists():
            from skillwire.config.meant_address import github_spelling  # noqa: PLC0415 - rarely needed

            hint = "create it first, or correct its name"
            if repository := github_spelling(argument):
                hint = f"create it first, or write {quoted(repository)} for a repository on GitHub"
            raise UsageError(f"{quoted(argument)} does not exist", hint=hint)
        return str(path.resolve())
    if kind_of(argument).name == "repository":
        from skillwire.sources.git.address import Repository  # noqa: PLC0415 - needed only for a repository

        try:
            repository = Repository.parse(argument)
        except InvalidValueError as error:
            raise address_error(argument, error) from error
        if repository.token or repository.user:  # the user name of a URL may be a token
            raise UsageError(
                "the address contains a token, which must not be stored in the configuration file",
                hint="remove it, put it into an environment variable, and name that with `--token-env`",
            )
        if repository.url.startswith("file://") and not Path(unquote(urlsplit(repository.url).path)).exists():
            raise UsageError(
                f"{quoted(argument)} does not exist", hint="create the repository first, or correct its path"
            )
        return repository.place
    return explicit_server(argument) if is_server_url(argument) else argument


def check_source_opens(source: ConfiguredSource) -> None:
    """Raise `UsageError` if a server cannot open the source. Reads no token and fetches nothing."""
    wanted = SourceSpec(
        source.source, SpecOrigin.CONFIGURATION, source.label, source.prefix, source.token_env
    )
    check_spec_opens(wanted, LibraryOptions(live=True).for_sources(SourceSettings()))

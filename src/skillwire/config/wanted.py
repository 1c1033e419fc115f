"""Which sources are wanted: those on the command line, else in the environment, and those configured."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from skillwire.config.configured import Configured
from skillwire.config.kinds import (
    SCHEME,
    Address,
    SourceOptions,
    is_local,
    kind_of,
    local_path,
    open_source,
    real_place,
)
from skillwire.config.settings import SKILLS_DIR, token_from
from skillwire.model.display import quoted, visible, without_secrets
from skillwire.model.errors import InvalidValueError, UsageError
from skillwire.model.path import name_fault, path_fault
from skillwire.sources.base import Source
from skillwire.sources.prefix import PrefixedSource
from skillwire.sources.unavailable import UnavailableSource

# Behind a comma that begins another source. An address may hold a comma itself.
_NEXT_SOURCE = re.compile(rf",\s*(?=[./~]|{SCHEME.pattern}|(?:www\.)?github\.com/)")


class GivenBy(StrEnum):
    """Who wants a source."""

    COMMAND_LINE = "command line"
    ENVIRONMENT = "environment"
    CONFIGURATION = "configuration"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A source that somebody wants, not opened yet."""

    argument: str
    given_by: GivenBy
    label: str | None = None
    prefix: str | None = None
    token_env: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A source, and who wanted it."""

    wanted: Wanted
    source: Source


def wanted_sources(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    configured: Configured | None = None,
    prefix: str | None = None,
    *,
    may_be_none: bool = False,
) -> list[Wanted]:
    """Return the sources named on the command line, else in `SKILLS_DIR`, and then those configured.

    Raises `UsageError` if there is none, unless that may be.
    """
    given_by = GivenBy.COMMAND_LINE if arguments else GivenBy.ENVIRONMENT
    named = list(arguments) or [environment.get(SKILLS_DIR, "")]
    parts = (part for each in named for part in _parts(each))
    wanted = [Wanted(part, given_by, prefix=prefix) for part in parts]
    configured = configured or Configured()
    wanted.extend(
        Wanted(
            absolute(each.source, configured.folder),
            GivenBy.CONFIGURATION,
            each.label,
            each.prefix,
            each.token_env,
        )
        for each in configured.sources
    )
    if not wanted and not may_be_none:
        raise UsageError(
            "no source of skills is named",
            hint=f"name a folder, as in `./skills`, set `{SKILLS_DIR}`, or `skillwire sources add` one; "
            "`skillwire servers` lists the servers that you have",
        )
    return list(_distinct(wanted))


def open_wanted(
    wanted: Iterable[Wanted],
    options: SourceOptions,
    *,
    to_fetch: bool = True,
    known: Mapping[Wanted, Opened] | None = None,
) -> list[Opened]:
    """Return each source, opened under a label of its own. Raises `UsageError`.

    Who will not fetch anything needs no tokens. Those that are `known` are open, and stay as they are.
    """
    opened: list[Opened] = []
    every, kept = list(wanted), known or {}
    # Who was given a label keeps it; others give way.
    chosen = {each.label for each in every if each.label is not None}
    labels = {kept[each].source.label for each in every if each in kept}
    for each in every:
        if (before := kept.get(each)) is not None:
            opened.append(before)
            continue
        taken = labels if each.label is not None else labels | chosen
        try:
            label = _free(_label(each), taken)
            source = _open(each, label, options, to_fetch=to_fetch)
        except UsageError as error:
            if each.given_by is not GivenBy.CONFIGURATION:
                raise
            # Others are configured beside it, and nobody is there who could say it differently.
            label = _free("unavailable" if _label_fault(each.label) else str(each.label), taken)
            source = _unavailable(each, label, error, tell=not options.serving)
        labels.add(label)
        opened.append(Opened(each, source))
    return opened


def _open(each: Wanted, label: str, options: SourceOptions, *, to_fetch: bool) -> Source:
    token = token_from(each.token_env, options.environment) if to_fetch else None
    return _prefixed(open_source(Address(each.argument, label, token), options), each.prefix)


def _unavailable(each: Wanted, label: str, error: UsageError, *, tell: bool) -> Source:
    place = visible(each.argument)
    # It is shown on pages and in logs, and a password belongs on none. No path holds one.
    shown = place if is_local(each.argument) else without_secrets(place)
    return UnavailableSource(label, shown, without_secrets(str(error)), tell=tell)


def absolute(source: str, folder: Path) -> str:
    """Return a configured source as it can be opened from anywhere: a relative path begins at `folder`."""
    try:
        return str(folder / local_path(source)) if is_local(source) else source
    except UsageError:  # told when it is opened, as a fault of this source alone
        return source


def must_open(wanted: Wanted, options: SourceOptions) -> None:
    """Raise `UsageError` if a source can never be served."""
    _open(wanted, _label(wanted), options, to_fetch=False)


def _label(wanted: Wanted) -> str:
    if wanted.label is not None:
        if fault := _label_fault(wanted.label):
            raise UsageError(f"the label {quoted(wanted.label)} {fault}", hint="write it as in `acme`")
        return wanted.label
    kind = kind_of(wanted.argument)
    try:
        return kind.label(wanted.argument)
    except InvalidValueError as error:
        raise UsageError(str(error), hint=f"for example `{kind.example}`") from error


def _label_fault(label: str | None) -> str | None:
    return "is not there" if label is None else name_fault(label)


def _prefixed(source: Source, prefix: str | None) -> Source:
    if prefix is None:
        return source
    if fault := path_fault(prefix):
        raise UsageError(f"the prefix `{prefix}` {fault}", hint="write it as in `team` or `acme/billing`")
    return PrefixedSource(source, prefix)


def _distinct(wanted: Iterable[Wanted]) -> Iterator[Wanted]:
    """Yield each source once; two spellings of one folder are one."""
    seen: set[tuple[str, str | None]] = set()
    for each in wanted:
        key = (real_place(each.argument), each.prefix)
        if key not in seen:
            seen.add(key)
            yield each


def _parts(argument: str) -> list[str]:
    """Several sources may stand in one argument, with commas; a path that exists is taken as it is."""
    if "," not in argument or os.path.exists(os.path.expanduser(argument)):  # noqa: PTH110, PTH111 - `Path` raises
        return [argument] if argument.replace(",", "").strip() else []
    parts = _NEXT_SOURCE.split(argument) if SCHEME.match(argument) else argument.split(",")
    return [part.strip() for part in parts if part.strip()]


def _free(label: str, taken: set[str]) -> str:
    number = 2
    free = label
    while free in taken:
        free, number = f"{label}-{number}", number + 1
    return free

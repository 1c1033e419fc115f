"""The kinds of sources, and how an argument says which it is. One line for each kind."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skillwire.model.display import quoted
from skillwire.model.errors import UsageError
from skillwire.model.limits import Limits
from skillwire.model.path import name_fault
from skillwire.sources.base import Source
from skillwire.sources.directory import DirectorySource

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # two letters or more: `C:/skills` is a folder


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What holds for all sources of a run."""

    follow_links: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of source: which arguments mean it, and how it is opened under a label."""

    name: str
    example: str
    accepts: Callable[[str], bool]
    label: Callable[[str], str]
    open: Callable[[str, str, SourceOptions], Source]


def is_folder(argument: str) -> bool:
    """Whether an argument can only be a folder, or is one."""
    return argument.startswith((".", "/", "~")) or not _SCHEME.match(argument) or Path(argument).is_dir()


def folder_path(argument: str) -> Path:
    return Path(argument).expanduser()


def _folder_label(argument: str) -> str:
    name = folder_path(argument).resolve().name
    return "skills" if name_fault(name) else name


def _open_folder(argument: str, label: str, options: SourceOptions) -> Source:
    path = folder_path(argument)
    if path.is_file():
        raise UsageError(f"{quoted(argument)} is a file", hint=f"name its folder, {quoted(str(path.parent))}")
    if not path.is_dir():
        raise UsageError(
            f"the folder {quoted(argument)} does not exist", hint="name a folder that holds skills"
        )
    return DirectorySource(path, label=label, limits=options.limits, follow_links=options.follow_links)


KINDS: tuple[Kind, ...] = (Kind("folder", "./skills", is_folder, _folder_label, _open_folder),)


def open_sources(arguments: Iterable[str], options: SourceOptions) -> list[Source]:
    """Return a source for each argument. Raises `UsageError` for one that no kind accepts."""
    sources: list[Source] = []
    labels: set[str] = set()
    for argument in _distinct(part for each in arguments for part in _parts(each)):
        kind = next((kind for kind in KINDS if kind.accepts(argument)), None)
        if kind is None:
            known = ", ".join(f"{kind.name} ({kind.example})" for kind in KINDS)
            raise UsageError(
                f"{quoted(argument)} is no kind of source that can be served", hint=f"known kinds: {known}"
            )
        label = _free(kind.label(argument), labels)
        labels.add(label)
        sources.append(kind.open(argument, label, options))
    return sources


def _distinct(arguments: Iterable[str]) -> Iterator[str]:
    """Yield each argument once; two spellings of one folder are one."""
    seen: set[str] = set()
    for argument in arguments:
        key = str(folder_path(argument).resolve()) if is_folder(argument) else argument
        if key not in seen:
            seen.add(key)
            yield argument


def _parts(argument: str) -> list[str]:
    """Several sources may stand in one argument, with commas; a path that exists is taken as it is."""
    if "," not in argument or os.path.exists(folder_path(argument)):  # noqa: PTH110
        return [argument]
    return [part.strip() for part in argument.split(",") if part.strip()]


def _free(label: str, taken: set[str]) -> str:
    number = 2
    free = label
    while free in taken:
        free, number = f"{label}-{number}", number + 1
    return free

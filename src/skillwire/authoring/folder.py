"""Folders that code refers to: where a relative path leads, and what is read there."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import get_args, get_type_hints

from skillwire.authoring.rules import AuthoringError
from skillwire.model.errors import SourceError
from skillwire.sources.folder.whole import BrokenSkillError, WholeSkill, read_whole

_PATHS = frozenset({"Path", "PurePath", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"})


def caller_folder() -> Path:
    """Return the folder of the file whose code called our caller; where there is none, the current one."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame and frame.f_back
    return _folder_of(frame.f_globals if frame else {})


def function_folder(function: Callable[..., object]) -> Path:
    """Return the folder of the file that defines a function."""
    return _folder_of(getattr(function, "__globals__", {}))


def _folder_of(names: dict[str, object]) -> Path:
    file = names.get("__file__")
    return Path(file).absolute().parent if isinstance(file, str) else Path.cwd()


def returns_path(function: Callable[..., object]) -> bool:
    """Whether a function says that it returns a path: then its skill is a folder.

    Raises `AuthoringError` if it says that it returns a path or something else.
    """
    said = _said(function)
    if _is_path(said):
        return True
    if _mentions_path(said):
        name = getattr(function, "__name__", repr(function))
        fix = "write `-> Path` for a folder that is always there, or return a text"
        raise AuthoringError("the function", name, "may return a path, or something else", fix)
    return False


def _said(function: Callable[..., object]) -> object:
    """Return what a function is annotated to return: as text, where that means nothing here."""
    try:
        return get_type_hints(function).get("return")
    except Exception:  # noqa: BLE001 - somebody's names, which may be known to type checkers only
        return getattr(function, "__annotations__", {}).get("return")


def _is_path(said: object) -> bool:
    if isinstance(said, str):
        return said.rpartition(".")[2] in _PATHS
    return isinstance(said, type) and issubclass(said, PurePath)


def _mentions_path(said: object) -> bool:
    if isinstance(said, str):
        return not _PATHS.isdisjoint(re.findall(r"\w+", said))
    return _is_path(said) or any(map(_mentions_path, get_args(said)))


def folder_skill(folder: Path) -> WholeSkill:
    """Read the skill in `folder`. Raises `AuthoringError`."""
    try:
        return read_whole(folder)
    except BrokenSkillError as error:
        told = "; ".join(f"{problem}, {problem.hint}" for problem in error.problems)
        fix = f"`skillwire check {folder}` shows it, too"
        raise AuthoringError(
            "the folder", str(folder), f"is no skill that can be served: {told}", fix
        ) from error
    except SourceError as error:
        fix = "a relative path is relative to the file that names it"
        raise AuthoringError("the folder", str(folder), f"is no skill: {error}", fix) from error

"""The command with which a client starts this program, now and after an upgrade."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from skillwire.errors import SkillwireError, UsageError
from skillwire.safe_text import escape_invisible, quoted, redact_secrets

_NAME = "skillwire"
_UV_FOLDER = re.compile(r"(?:archive|environments|builds)-v\d+")
"""Matches the folders in uv's cache that contain temporary environments."""
_PIPX_CACHES = (".cache/pipx", ".local/pipx/.cache", ".local/share/pipx/.cache", "Library/Caches/pipx")
_INSTALL = "install Skillwire permanently with `uv tool install` or `pipx install`, and try again"
_SECONDS = 60
_WSL_VARIABLE = "WSL_DISTRO_NAME"


class ProgramError(SkillwireError):
    """The command that would be written does not work."""


@dataclass(frozen=True, slots=True)
class Program:
    """The words that start this program."""

    words: tuple[str, ...]
    warning: str = ""
    """Why the program may be gone one day. May be empty."""

    @classmethod
    def current(cls, environment: Mapping[str, str]) -> "Program":
        """Return the running program. Raises `UsageError` if it is in a temporary environment.

        Symbolic links to the program stay, because an upgrade changes what they lead to. If a tool has made
        the environment for this run alone, return a command that runs the tool again.
        """
        prefix = Path(sys.prefix)
        if is_temporary(prefix, environment):
            return cls(_downloading(environment))
        warning = ""
        if (prefix.parent / "pyproject.toml").is_file():
            warning = (
                f"the program is in the environment of a project, {quoted(str(prefix))}; "
                f"the entry stops working if it is removed"
            )
        return cls(_running(), warning)

    def check(self) -> None:
        """Run the program once. Raises `ProgramError` if it fails."""
        command = [*self.words, "--version"]
        shown = escape_invisible(" ".join(command))
        try:
            ran = subprocess.run(  # noqa: S603 - the program that is running now
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ProgramError(f"`{shown}` does not work: {error}", hint=_INSTALL) from error
        if ran.returncode:
            last = ran.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            reason = redact_secrets(escape_invisible(last, 300)) or f"exit code {ran.returncode}"
            raise ProgramError(f"`{shown}` does not work: {reason}", hint=_INSTALL)


def is_temporary(prefix: Path, environment: Mapping[str, str]) -> bool:
    """Return whether an environment is in a cache, so that it may be removed at any time."""
    home = Path(environment.get("HOME") or Path.home())
    caches = [home / each for each in _PIPX_CACHES]
    if uv_cache := environment.get("UV_CACHE_DIR"):
        caches.append(Path(uv_cache))
    if pipx_home := environment.get("PIPX_HOME"):
        caches.append(Path(pipx_home) / ".cache")
    places = {prefix, prefix.resolve()}
    return any(
        place.is_relative_to(cache) or place.is_relative_to(cache.resolve())
        for place in places
        for cache in caches
    ) or any(_UV_FOLDER.fullmatch(part) for place in places for part in place.parts)


def requirement(direct_url: str | None) -> str | None:
    """Return what to install to get this package again, or None if that is not known.

    `direct_url` is the content of the file in which installers store where a package came from.
    """
    try:
        found: Any = json.loads(direct_url or "null")
        url, vcs = str(found["url"]), found.get("vcs_info")
    except (ValueError, TypeError, KeyError):
        return None
    parts = urlsplit(url)
    if parts.password or (parts.username and parts.scheme in {"http", "https"}) or "****" in url:
        return None  # secrets are not stored
    if vcs is not None:
        folder = found.get("subdirectory")
        return f"{vcs['vcs']}+{url}@{vcs['commit_id']}" + (f"#subdirectory={folder}" if folder else "")
    return unquote(parts.path) if parts.scheme == "file" else f"{_NAME} @ {url}"


def wsl_command(words: tuple[str, ...], environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the command with which Windows runs `words` in this WSL system; None outside WSL."""
    distribution_name = environment.get(_WSL_VARIABLE)
    return ("wsl.exe", "-d", distribution_name, "--exec", *words) if distribution_name else None


def _running() -> tuple[str, ...]:
    started = Path(os.path.abspath(sys.argv[0]))  # noqa: PTH100 - links must stay
    if started.name == _NAME and os.access(started, os.X_OK) and started.is_file():
        return (str(started),)
    python = Path(os.path.abspath(sys.executable))  # noqa: PTH100 - as above
    beside = python.with_name(_NAME)
    if os.access(beside, os.X_OK):
        return (str(beside),)
    return (str(python), "-m", _NAME)


def _downloading(environment: Mapping[str, str]) -> tuple[str, ...]:
    try:
        wanted = requirement(distribution(_NAME).read_text("direct_url.json"))
    except PackageNotFoundError:
        wanted = None
    if wanted is None:
        raise UsageError(
            f"the program is in a temporary environment, {quoted(sys.prefix)}, which may be removed",
            hint=_INSTALL,
        )
    beside_uv = os.path.dirname(environment.get("UV", ""))  # noqa: PTH120 - uv names itself there
    path = os.pathsep.join(filter(None, [environment.get("PATH"), beside_uv]))
    if (uvx := shutil.which("uvx", path=path)) is not None:
        return (str(Path(uvx).absolute()), "--from", wanted, _NAME)
    if (pipx := shutil.which("pipx", path=path)) is not None:
        return (str(Path(pipx).absolute()), "run", "--spec", wanted, _NAME)
    raise UsageError(
        "the program is in a temporary environment, and neither `uvx` nor `pipx` is on the `PATH`",
        hint=_INSTALL,
    )

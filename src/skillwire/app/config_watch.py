"""Notice that the configuration file changes, is created or is deleted."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from skillwire.config.file import ConfigFile, FileSettings
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import SkillwireError
from skillwire.sources.folder.watch import watch
from skillwire.sources.folder.watch_plan import WatchPlan

_SETTLE_SECONDS = 0.2
"""Seconds before a file that is suddenly empty is read again, because an editor may be writing it."""


async def file_changes(path: Path) -> AsyncGenerator[None]:
    """Yield whenever the file may have changed: at first, and after each change of it or its folders."""
    before: object = None
    async with aclosing(watch(partial(WatchPlan.for_file, path))) as events:
        async for _ in events:
            now = await anyio.to_thread.run_sync(_stamp, path)
            if now != before:
                before = now
                yield


async def read_settled(file: ConfigFile) -> FileSettings | None:
    """Return the settings in the file, or None if it does not exist. Raises `UsageError`."""
    if not await anyio.to_thread.run_sync(_size, file.path):
        await anyio.sleep(_SETTLE_SECONDS)
        if await anyio.to_thread.run_sync(_size, file.path) is None:
            return None
    return await anyio.to_thread.run_sync(FileSettings.read, file)


def same_sources(one: FileSettings, other: FileSettings) -> bool:
    """Return whether two contents of the file have the same sources and allowed origins."""
    ours, theirs = one.sources, other.sources
    return (ours.sources, ours.allowed_origins) == (theirs.sources, theirs.allowed_origins)


def same_settings(one: FileSettings, other: FileSettings) -> bool:
    """Return whether two contents of the file differ only in settings that need a restart."""
    return same_sources(one, other) and one.overrides == other.overrides


def config_problem(file: ConfigFile, error: SkillwireError) -> Problem:
    """Return the problem of a file that cannot be used. Clients read it, so it does not show the path."""
    reason = str(error).replace(f" `{file.path}`", "").removeprefix("the configuration file cannot be used: ")
    message = f"the configuration file cannot be used, so its last good content applies: {reason}"
    hint = "correct the file; it is read again as soon as it changes"
    return Problem(".", Rule.CONFIG_FAILED, Severity.ERROR, message, hint=hint)


def _size(path: Path) -> int | None:
    """Return the size of a file in bytes, or None if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return None


def _stamp(path: Path) -> tuple[int, ...]:
    """Return values that change whenever the file is changed or replaced; empty if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev

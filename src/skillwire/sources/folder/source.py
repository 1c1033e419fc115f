"""`FolderSource`: the skills in a local folder."""

import ctypes
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import anyio.to_thread

from skillwire.core.names import name_fault
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.process import is_ours
from skillwire.core.record import Limits, LiveFile, SkillFile, SkillRecord
from skillwire.core.system import require_posix
from skillwire.errors import SourceBusyError, SourceError
from skillwire.sources.base import (
    EVERYWHERE,
    Locations,
    Progress,
    Scan,
    Source,
    Validator,
    WatchFilter,
    ignore_progress,
)
from skillwire.sources.folder.facts import FileFactsCache
from skillwire.sources.folder.files import FileValidator, read_file, read_unchanged
from skillwire.sources.folder.ignore import IGNORE_FILE, IgnoreRules
from skillwire.sources.folder.last_good import LastGood, SpillFile, spill_all
from skillwire.sources.folder.mounts import is_local
from skillwire.sources.folder.place import check_is_path
from skillwire.sources.folder.placement import AnySkillFolder, Placement
from skillwire.sources.folder.scan_cache import ScanCache
from skillwire.sources.folder.skill_folder import SkillFolder
from skillwire.sources.folder.tree import FindCached, Tree
from skillwire.sources.folder.walk import FolderWalk, check_readable
from skillwire.sources.folder.watch import watch
from skillwire.sources.folder.watch_plan import WatchPlan, WatchPlanner

_MIN_THREAD_BYTES = 1024 * 1024
"""Maximum size of a file that is read in the event loop. For such a file, starting a thread takes longer.
"""
_MANY = 1000
"""Minimum number of changed skill folders that are spilled in the background, and after which unused memory
is returned.
"""
_SPILL_PAUSE = 0.005
"""Seconds between two batches that are spilled in the background, so that requests are not delayed."""

_MAX_BYTES_NOW = 256 * 1024
"""Maximum size of a file that is read at once, without a task.

Its digest and its response take half a millisecond, in which the event loop does nothing else. For a small
file, a task or a thread would take longer than all of it.
"""


@cache
def _find_malloc_trim() -> Callable[[int], Any]:
    """Return glibc's `malloc_trim`, or a function that does nothing if it is not available."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            return ctypes.CDLL(None).malloc_trim
    return lambda _: 0


def trim_memory() -> None:
    """Return unused memory to the operating system, if Skillwire owns the process.

    This takes milliseconds, so do not call it in hot paths.
    """
    if is_ours():
        _find_malloc_trim()(0)


class FolderSource(Source):
    """The skills in a folder.

    If the folder is itself a skill, it is served with its nested skills; otherwise, all skills below it are
    served.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        label: str | None = None,
        limits: Limits | None = None,
        follow_links: bool = False,
        include_evals: bool = False,
        keep_good: bool = False,
        digests: Path | None = None,
    ) -> None:
        """Serve the skills below `root`. Nothing is read before the first scan.

        With `follow_links`, links to files and folders outside `root` are followed. With `include_evals`, the
        folder `evals` of each skill is served, too. With `keep_good`, if an edit breaks a skill, its last
        good version is served until the skill is fixed.
        `digests` is a folder for the scan cache, which makes the next start faster. Raises `PlatformError` on
        Windows, and `InvalidValueError` if `root` is the address of another source.
        """
        require_posix("reading a folder of skills")
        check_is_path(root)
        self.root = Path(root)
        name = self.root.resolve().name
        self.label = label or ("skills" if name_fault(name) else name)
        self._limits = limits or Limits()
        self._follow_links = follow_links
        self._include_evals = include_evals
        self._facts = FileFactsCache(SpillFile() if keep_good else None)
        self._scan_cache = (
            None if digests is None else ScanCache(digests, self.root, self._limits, self.label)
        )
        self._tree = Tree(self._facts, self.label)
        self._placement = Placement(self.label)
        self._stored: dict[tuple[str, str], str] = {}
        """Locations of files whose published path differs from the path on disk, by skill location and
        published path.
        """
        self._fallbacks: dict[str, LastGood] = {}
        """The last good content of broken files, by their locations."""
        self._watch_problem: Problem | None = None
        self._is_local = False
        """Whether all files are on local file systems, so that reading a small one does not wait."""
        self._unspilled: dict[str, AnySkillFolder] = {}
        """The skill folders whose last good contents may not be in the spill file yet, by path."""
        self._spilling: threading.Thread | None = None

    @property
    def place(self) -> str:
        return str(self.root)

    @property
    def status(self) -> str:
        return "there" if self.root.exists() else "missing"

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        return await anyio.to_thread.run_sync(self._scan, progress)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        return await anyio.to_thread.run_sync(self._rescan, where)

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        location = self._location(entry, file)
        if isinstance(file, LiveFile) or location in self._fallbacks:
            return None
        return FileValidator.of(location, file.size)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        location = self._location(entry, file)
        if (last_good := self._fallbacks.get(location)) is not None:
            return last_good.content()
        size = file.size if isinstance(file, SkillFile) else self._limits.bytes
        if size > _MIN_THREAD_BYTES or not self._is_local:
            content, _ = await anyio.to_thread.run_sync(read_file, location, size)
        else:
            content, _ = read_file(location, size)
        return content

    def read_now(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes | None:
        if not self._is_local or not isinstance(file, SkillFile) or file.size > _MAX_BYTES_NOW:
            return None
        location = self._location(entry, file)
        return None if location in self._fallbacks else read_unchanged(location, file.size)

    def _location(self, entry: SkillRecord, file: SkillFile | LiveFile) -> str:
        stored = self._stored.get((entry.origin.location, file.path))
        return stored or os.path.join(entry.origin.location, file.path)  # noqa: PTH118 - a hot path

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        planner = WatchPlanner(self.root)

        def plan() -> WatchPlan:
            if watch_filter is None:
                return planner.plan(self._tree)
            return WatchPlan.for_locations(self._tree, watch_filter.locations)

        await self._save_state()
        async with aclosing(watch(plan, watch_filter)) as events:
            async for event in events:
                self._watch_problem = event.problem
                yield event.where
                await self._save_state()

    async def _save_state(self) -> None:
        """Write the scan cache and spill the last good documents. Called after a scan, not during it."""
        await anyio.to_thread.run_sync(self._save_scan_cache)
        if len(self._unspilled) < _MANY:
            await anyio.to_thread.run_sync(self._spill)
        elif self._spilling is None or not self._spilling.is_alive():
            # This takes seconds and only saves memory, so neither the watcher nor the end waits for it.
            self._spilling = threading.Thread(target=self._spill, args=(_SPILL_PAUSE,), daemon=True)
            self._spilling.start()

    def _save_scan_cache(self) -> None:
        if self._scan_cache is not None:  # written once; the next start reads files that changed later
            if self._facts.changed:
                self._scan_cache.save(dict(self._tree.plain), dict(self._facts.known))
            self._scan_cache = None

    def _spill(self, pause: float = 0.0) -> None:
        skill_folders, self._unspilled = self._unspilled, {}
        if self._facts.spill_file is not None:
            items = (item for each in skill_folders.values() for item in each.last_goods)
            spill_all(items, self._facts.spill_file, pause)
        if len(skill_folders) >= _MANY:
            trim_memory()

    def _scan(self, progress: Progress) -> Scan:
        folder_walk = self._start_walk(progress)
        if isinstance(folder_walk, Scan):
            return folder_walk
        tree = Tree(self._facts, self.label)
        tree.walk(folder_walk, folder_walk.start(), before=self._tree, find_cached=self._find_cached())
        self._facts.keep_only(
            {location for each in tree.skill_folders.values() for location in each.locations}
        )
        self._tree = tree
        return self._build_scan()

    def _find_cached(self) -> FindCached | None:
        """Return the function that looks up skills on disk at the first scan; None at later scans.

        At the first scan, also load the cached facts about files.
        """
        scan_cache = self._scan_cache
        if scan_cache is None or self._tree.group_folders or self._tree.skill_folders:
            return None
        scan_cache.load()
        self._facts.known = scan_cache.facts(self._facts.spill_file)
        return scan_cache.find_cached

    def _rescan(self, where: Locations) -> Scan:
        """Rescan the skill folders and group folders at `where`.

        If that is not sufficient, rescan everything.
        """
        real = frozenset(os.path.realpath(location) for location in where) | where
        empty = not self._tree.group_folders and not self._tree.skill_folders
        if not where or empty or self._tree.cut or self._needs_full_scan(real) or self._tree.is_stale(real):
            return self._scan(ignore_progress)
        folder_walk = self._start_walk(ignore_progress, entry_count=self._tree.entry_count)
        if isinstance(folder_walk, Scan):
            return folder_walk
        try:
            self._tree.rescan_locations(folder_walk, real)
        except SourceError:
            self._tree.cut = True  # the tree is half updated, so the next rescan scans everything
            raise
        return self._build_scan()

    def _needs_full_scan(self, where: Locations) -> bool:
        """Return whether a change at one of these locations can affect every skill."""
        named, root = os.path.abspath(self.root), os.path.realpath(self.root)  # noqa: PTH100
        above_root = any(
            f"{named}/".startswith(f"{each}/") or f"{root}/".startswith(f"{each}/") for each in where
        )
        return above_root or os.path.join(root, IGNORE_FILE) in where  # noqa: PTH118

    def _start_walk(self, progress: Progress, entry_count: int = 0) -> FolderWalk | Scan:
        """Return a new walk of the root, or a failed scan if its ignore file cannot be used.

        Raises `SourceError` if the root cannot be read.
        """
        check_readable(os.fspath(self.root))
        try:
            ignored = IgnoreRules.at(self.root, include_evals=self._include_evals)
        except SourceBusyError:  # the ignore file is not the cause, so this must not hide all skills
            raise
        except SourceError as error:
            self._tree = Tree(self._facts, self.label)
            self._build_scan()
            return _failed_scan(error)
        self._facts.begin()
        self._is_local = is_local(os.fspath(self.root), everywhere=self._follow_links)
        return FolderWalk(
            os.fspath(self.root),
            limits=self._limits,
            ignored=ignored,
            follow_links=self._follow_links,
            progress=progress,
            entry_count=entry_count,
        )

    def _build_scan(self) -> Scan:
        """Return the scan for the current tree. After a rescan, the cost follows what changed."""
        skill_folders, changes = self._tree.skill_folders, self._tree.take_changes()
        if changes is None:
            self._stored, self._fallbacks = {}, {}
            self._unspilled = dict(skill_folders)
            self._update_locations((), skill_folders.values())
        else:
            new = {path: each for path in changes if (each := skill_folders.get(path)) is not None}
            self._unspilled |= new
            self._update_locations(changes.values(), new.values())
        self._placement.place(skill_folders, changes)
        watch_problems = () if self._watch_problem is None else (self._watch_problem,)
        problems = (*self._tree.problems(), *watch_problems)
        return Scan(self._placement.entries, problems)

    def _update_locations(self, old: Iterable[AnySkillFolder | None], new: Iterable[AnySkillFolder]) -> None:
        """Replace the locations from `old` skill folders in `_stored` and `_fallbacks`."""
        # A skill may have moved from one skill folder to another one that changed at the same time.
        present = [each for each in new if isinstance(each, SkillFolder)]
        gone = [each for each in old if isinstance(each, SkillFolder)]
        stored = dict(pair for each in present for pair in each.stored)
        fallbacks = {at: last_good for each in present for at, last_good in each.fallbacks.items()}
        self._stored.update(stored)
        self._fallbacks.update(fallbacks)
        for key in {key for each in gone for key, _ in each.stored} - stored.keys():
            self._stored.pop(key, None)
        for location in {location for each in gone for location in each.fallbacks} - fallbacks.keys():
            self._fallbacks.pop(location, None)


def _failed_scan(error: SourceError) -> Scan:
    """Return a scan without skills, because it is unknown which skills should stay hidden."""
    return Scan(
        problems=(
            Problem(
                IGNORE_FILE,
                Rule.IGNORE_FILE,
                Severity.ERROR,
                f"it {error}; nothing in this folder is served, because some of it was meant to stay hidden",
                hint="make it a text file with patterns as in `.gitignore`, or remove it",
            ),
        )
    )

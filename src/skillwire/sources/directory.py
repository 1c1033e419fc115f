"""A folder on this machine, and every skill in it."""

import os
from pathlib import Path

import anyio.to_thread

from skillwire.model.entry import Entry, LiveFile, SkillFile
from skillwire.model.errors import SourceError
from skillwire.model.limits import Limits
from skillwire.model.path import name_fault
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.sources.base import Progress, Scan, Source, unwatched
from skillwire.sources.facts import FactCache
from skillwire.sources.files import read_file
from skillwire.sources.folders import Look, must_be_readable
from skillwire.sources.ignore import IGNORE_FILE, Ignored
from skillwire.sources.placement import Placed, place
from skillwire.sources.skill_folder import read_unit
from skillwire.sources.unit import Unit

_WORTH_A_THREAD = 1024 * 1024
"""Reading a smaller file takes less time than handing the work to a thread."""


class DirectorySource(Source):
    """The folder itself if it is a skill, else all skills below it, at any depth."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        label: str | None = None,
        limits: Limits | None = None,
        follow_links: bool = False,
    ) -> None:
        self.root = Path(root)
        name = self.root.resolve().name
        self.label = label or ("skills" if name_fault(name) else name)
        self._limits = limits or Limits()
        self._follow_links = follow_links
        self._facts = FactCache()
        self._places: dict[str, Placed] = {}
        self._units: dict[str, Unit] = {}
        self._problems: tuple[Problem, ...] = ()
        self._stored: dict[tuple[str, str], str] = {}
        """Where files are that have another path there than they are published under."""

    @property
    def place(self) -> str:
        return str(self.root)

    async def scan(self, progress: Progress = unwatched) -> Scan:
        return await anyio.to_thread.run_sync(self._scan, progress)

    async def rescan(self, entry: Entry) -> Scan:
        return await anyio.to_thread.run_sync(self._rescan, entry)

    async def read(self, entry: Entry, file: SkillFile | LiveFile) -> bytes:
        location = self._stored.get((entry.origin.location, file.path))
        location = location or os.path.join(entry.origin.location, file.path)  # noqa: PTH118 - a hot path
        size = file.size if isinstance(file, SkillFile) else self._limits.bytes
        if size > _WORTH_A_THREAD:
            content, _ = await anyio.to_thread.run_sync(read_file, location, size)
        else:
            content, _ = read_file(location, size)
        return content

    def _scan(self, progress: Progress) -> Scan:
        look = self._look(progress)
        if isinstance(look, Scan):
            return look
        units: dict[str, Unit] = {}
        problems: list[Problem] = []
        pending = [look.start()]
        while pending and not look.exhausted:
            folder = pending.pop()
            listed = look.into(folder)
            if listed.marker is not None:
                units[folder.path] = read_unit(look, self._facts, folder, listed)
            else:
                problems.extend(listed.problems)
                pending.extend(reversed(listed.folders))
        self._units, self._problems = units, tuple(problems)
        self._facts.keep_only({location for unit in units.values() for location in unit.locations})
        self._places = place(units.values(), self.label)
        return self._found()

    def _rescan(self, entry: Entry) -> Scan:
        """Look again at the unit that holds `entry`, and at nothing else."""
        unit = next((placed.unit for placed in self._places.values() if _holds(placed.unit, entry)), None)
        look = self._look(unwatched)
        if isinstance(look, Scan):
            return look
        if unit is None and not os.path.isdir(entry.origin.location):  # noqa: PTH112
            return self._found()  # long gone: asking for it again is no reason to look at everything
        if unit is None:
            return self._scan(unwatched)
        for location in unit.locations:
            self._facts.forget(location)
        listed = look.into(unit.folder)
        if listed.marker is None:  # the skill is gone, and what stands there now is for a whole scan to find
            return self._scan(unwatched)
        changed = read_unit(look, self._facts, unit.folder, listed)
        self._units[unit.folder.path] = changed
        place_now = self._places[unit.folder.path].changed_to(changed, self.label)
        if place_now is None:
            self._places = place(self._units.values(), self.label)
        else:
            self._places[unit.folder.path] = place_now
        return self._found()

    def _look(self, progress: Progress) -> Look | Scan:
        """Return what a look at the root takes, or all that there is to say of a root that is not served."""
        must_be_readable(os.fspath(self.root))
        try:
            ignored = Ignored.at(self.root)
        except SourceError as error:
            return _closed(error)
        self._facts.begin()
        return Look(
            os.fspath(self.root),
            limits=self._limits,
            ignored=ignored,
            follow_links=self._follow_links,
            progress=progress,
        )

    def _found(self) -> Scan:
        drafts = (draft for placed in self._places.values() for draft in placed.unit.drafts if draft.stored)
        self._stored = {
            (draft.location, path): location for draft in drafts for path, location in draft.stored.items()
        }
        entries = [entry for placed in self._places.values() for entry in placed.entries]
        problems = (problem for unit in self._units.values() for problem in unit.problems)
        return Scan(tuple(sorted(entries, key=lambda entry: entry.root)), (*self._problems, *problems))


def _closed(error: SourceError) -> Scan:
    """Return a scan without skills: what should have stayed hidden is not known."""
    return Scan(
        problems=(
            Problem(
                IGNORE_FILE,
                Rule.IGNORE_FILE,
                Severity.ERROR,
                f"it {error}; nothing of this folder is served, because some of it was meant to stay hidden",
                hint="make it a text file of patterns as in `.gitignore`, or remove it",
            ),
        )
    )


def _holds(unit: Unit, entry: Entry) -> bool:
    """Whether the skill stands in this unit, or stood there before it broke."""
    return f"{entry.origin.location}{os.sep}".startswith(f"{unit.folder.location}{os.sep}")

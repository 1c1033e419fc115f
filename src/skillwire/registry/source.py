"""`RegistrySource`: the skills that a channel of a registry has. It follows what others push."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain

import anyio
from anyio.to_thread import run_sync

from skillwire.core.names import SKILL_FILE, parent_paths
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Digest, Limits, LiveFile, SkillFile, SkillRecord
from skillwire.core.sorted_items import SortedItems
from skillwire.core.system import require_posix
from skillwire.errors import (
    InvalidValueError,
    SourceError,
    SourceMissingError,
    SourceUnavailableError,
    StateError,
    UntrustedContentError,
)
from skillwire.registry.address import RegistryAddress
from skillwire.registry.database import RegistryBusyError, RegistryError, RegistryMissingError
from skillwire.registry.manifest import Manifest
from skillwire.registry.open import open_store
from skillwire.registry.store import Head, Pointer
from skillwire.safe_text import quote_if_needed, quoted
from skillwire.sources.assemble import limit_problem
from skillwire.sources.base import (
    EVERYWHERE,
    NEVER_CHANGES,
    Locations,
    Progress,
    Scan,
    Source,
    Validator,
    WatchFilter,
    ignore_progress,
)

POLL_SECONDS = 0.5
"""Seconds between two looks at the revision."""
_HINT = "nothing to do if the failure is temporary: Skillwire retries automatically"


@dataclass(frozen=True, slots=True)
class _Known:
    """What was made of a pointer: a record, or a problem."""

    version: str
    digest: bytes
    made: SkillRecord | Problem

    def is_of(self, pointer: Pointer) -> bool:
        """Return whether this was made of the same version with the same content."""
        return self.version == pointer.version and self.digest == pointer.digest


class RegistrySource(Source):
    """The skills of one channel of a registry.

    Their bytes never change. If the registry cannot be read later, the skills stay as they were.
    """

    def __init__(
        self,
        address: str,
        *,
        label: str = "registry",
        limits: Limits | None = None,
        every: float = POLL_SECONDS,
    ) -> None:
        """Serve the registry at `address`, such as `registry:` or `registry+sqlite:///srv/skills.db#canary`.

        `every` is the number of seconds between two looks at the revision. Raises `InvalidValueError` for a
        wrong address, and `PlatformError` on Windows.
        """
        require_posix("serving a registry")
        self.label = label
        self._address = RegistryAddress.parse(address)
        self._store = open_store(self._address)
        self._limits = limits or Limits()
        self._every = every
        self._known: dict[str, _Known] = {}
        self._problems: dict[str, Problem] = {}
        self._scan: Scan | None = None
        self._state: Head | str | None = None
        """What the last look at the registry found: its revision, or why it could not be read."""
        self._fetched: datetime | None = None

    @property
    def place(self) -> str:
        return str(self._address)

    @property
    def status(self) -> str:
        return "not created yet" if self._address.is_missing else "there"

    @property
    def fetched(self) -> datetime | None:
        return self._fetched

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        try:
            return await self._scan_all(progress)
        except RegistryError as error:
            return self._failed(error)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if self._scan is None or where == EVERYWHERE:
            return await self.scan()
        try:
            return await self._scan_some(
                self._scan, frozenset(chain.from_iterable(map(self._skills_at, where)))
            )
        except RegistryError as error:
            return self._failed(error)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        # In a large skill, looking for the same object first is much faster.
        listed = any(each is file for each in entry.files) or file in entry.files
        if not isinstance(file, SkillFile) or not listed:
            raise SourceError(f"{quote_if_needed(entry.origin.path)} has no file {quoted(file.path)}")
        try:
            content = await self._store.blob(file.digest, file.size)
        except RegistryError as error:
            raise SourceUnavailableError(f"the registry {error.fault}") from error
        if content is None or Digest.of(content) != file.digest:
            what = "is missing" if content is None else "is damaged"
            path = quote_if_needed(f"{entry.origin.location}/{file.path}")
            raise UntrustedContentError(f"{path} {what} in the registry")
        return content

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:  # noqa: ARG002 - as declared
        """Return a validator that is always current, because published bytes never change."""
        return NEVER_CHANGES if isinstance(file, SkillFile) else None

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        if watch_filter is not None:  # with a filter, the listed versions stay the same
            return
        while True:
            where = await self._look()
            if where is not None:
                yield where
            await anyio.sleep(self._every)

    async def _look(self) -> Locations | None:
        """Return where skills changed since the last look, or None if nothing did."""
        before = self._state
        try:
            now: Head | str = await self._store.head()
        except RegistryError as error:
            now = error.fault
        if now == before:
            return None
        self._state = now
        if (
            not isinstance(now, Head)
            or not isinstance(before, Head)
            or now.instance != before.instance
            or now.revision < before.revision
            or self._scan is None
        ):
            return EVERYWHERE
        try:
            paths = await self._store.changed_since(before.revision, self._address.channel)
        except RegistryError as error:
            self._state = error.fault
            return EVERYWHERE
        return EVERYWHERE if paths is None else paths or None

    def _failed(self, error: RegistryError) -> Scan:
        """Return the last scan with a problem. Raises `SourceError` if there was none."""
        self._state = error.fault
        message = f"the registry {error.fault}"
        if self._scan is None:
            if isinstance(error, RegistryMissingError):
                raise SourceMissingError(f"{message}; {error.hint}") from error
            if isinstance(error, RegistryBusyError):
                raise SourceUnavailableError(message) from error
            raise SourceError(message, error.hint) from error
        stale = f"{message}, so its skills are served as they were"
        problem = Problem(".", Rule.SOURCE_STALE, Severity.WARNING, stale, hint=error.hint or _HINT)
        return replace(self._scan, problems=(*self._scan.problems, problem))

    def _skills_at(self, location: str) -> Iterator[str]:
        """Yield the location, which may be a new skill, and the known skills above it."""
        yield location
        yield from (each for each in parent_paths(location) if each in self._known)

    async def _scan_all(self, progress: Progress) -> Scan:
        known: dict[str, _Known] = {}
        head: Head | None = None
        async with aclosing(self._store.pointers(self._address.channel)) as pages:
            async for head, page in pages:  # noqa: B007 - used after the loop
                known |= await run_sync(self._make, page)
                progress(len(known))
        if not known:
            raise self._empty(await self._store.channels(), head)
        self._known, self._state = known, head
        self._problems = {path: each.made for path, each in known.items() if isinstance(each.made, Problem)}
        return self._finish(Scan(SortedItems(_records(known.values()), _key)))

    def _empty(self, channels: Sequence[str], head: Head | None) -> SourceMissingError:
        """Return the error for a channel without skills."""
        self._state = head
        channel = quoted(self._address.channel)
        if channels:
            shown = ", ".join(map(quoted, channels))
            return SourceMissingError(f"the registry has no channel {channel}; it has {shown}")
        return SourceMissingError(
            "the registry has no skills yet; publish some with `skillwire push ./skills`"
        )

    async def _scan_some(self, before: Scan, where: Locations) -> Scan:
        """Read the pointers of some skills again. All other records stay the same objects."""
        pointers = await self._store.pointers_at(self._address.channel, sorted(where))
        found = await run_sync(self._make, pointers)
        old = {path: known for path in where if (known := self._known.get(path)) is not None}
        gone = [each for each in _records(old.values()) if not _holds(found, each)]
        new = [each for each in _records(found.values()) if not _holds(old, each)]
        for path in where:
            self._known.pop(path, None)
            self._problems.pop(path, None)
        self._known |= found
        self._problems |= {path: each.made for path, each in found.items() if isinstance(each.made, Problem)}
        if not gone and not new:
            return self._finish(before)
        assert isinstance(before.entries, SortedItems)
        entries = before.entries.updated(map(_key, gone), new)
        return self._finish(Scan(entries))

    def _finish(self, scan: Scan) -> Scan:
        """Return a scan with the problems of single skills."""
        problems = tuple(problem for _, problem in sorted(self._problems.items()))
        self._fetched = datetime.now(UTC)
        self._scan = scan if scan.problems == problems else replace(scan, problems=problems)
        return self._scan

    def _make(self, pointers: Sequence[Pointer]) -> dict[str, _Known]:
        """Return what is made of pointers, by path. What is known already is kept."""
        made: dict[str, _Known] = {}
        for each in pointers:
            known = self._known.get(each.path)
            if known is None or not known.is_of(each):
                known = _Known(each.version, each.digest, self._record(each))
            made[each.path] = known
        return made

    def _record(self, pointer: Pointer) -> SkillRecord | Problem:
        """Return the record of a skill, or its problem. A damaged skill never hides the others."""
        where = f"{pointer.path}/{SKILL_FILE}"
        try:
            manifest = Manifest.from_bytes(pointer.manifest, pointer.digest)
            record = manifest.record(pointer.path, self.label)
        except (StateError, InvalidValueError) as error:
            hint = "push it again in another version"
            return Problem(where, Rule.SKILL_UNREADABLE, Severity.ERROR, f"{error} in the registry", hint)
        problem = limit_problem(where, [file.size for file in manifest.files], self._limits)
        return problem or record


def _key(record: SkillRecord) -> str:
    """Return the key by which folders sort their skills, too."""
    return record.root


def _records(known: Iterable[_Known]) -> list[SkillRecord]:
    return [each.made for each in known if isinstance(each.made, SkillRecord)]


def _holds(known: dict[str, _Known], record: SkillRecord) -> bool:
    found = known.get(record.origin.location)
    return found is not None and found.made is record

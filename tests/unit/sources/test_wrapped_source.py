"""A wrapped source forwards every method that it does not override."""

import inspect
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import pytest

from skillwire import MemorySource, SkillRecord, Source
from skillwire.sources import (
    EVERYWHERE,
    LiveFile,
    Locations,
    MemorySkill,
    Progress,
    Scan,
    SkillFile,
    WatchFilter,
    ignore_progress,
)
from skillwire.sources.base import Validator, WrappedSource
from skillwire.sources.placeholder import DeferredSource
from skillwire.sources.prefix import PrefixedSource

pytestmark = pytest.mark.anyio


class _Inner(Source):
    label = "inner"

    @property
    def place(self) -> str:
        return "somewhere"

    @property
    def fetched(self) -> datetime | None:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def fetch(self) -> None:
        self.asked.append("fetch")

    async def prepare(self) -> None:
        self.asked.append("prepare")

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        progress(1)
        self.asked.append("scan")
        return Scan()

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        self.asked.append(f"rescan {sorted(where)}")
        return Scan()

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        self.asked.append("read")
        return b"content"

    def read_now(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes | None:
        self.asked.append("now")
        return b"now"

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        self.asked.append("seal")
        return None

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        self.asked.append("changes")
        yield frozenset({"here"})


def test_every_method_of_source_is_forwarded() -> None:
    abilities = {name for name, _ in inspect.getmembers(Source) if not name.startswith("_")}
    assert abilities <= set(vars(WrappedSource))


@pytest.mark.parametrize("kind", ["wrapped", "deferred"])
async def test_calls_to_wrapper_reach_the_source(kind: str, entry: SkillRecord, file: SkillFile) -> None:
    inner = _Inner()
    outer = WrappedSource(inner) if kind == "wrapped" else DeferredSource("inner", "somewhere", lambda: inner)
    await outer.prepare()
    await outer.fetch()
    await outer.scan()
    await outer.rescan(frozenset({"a"}))
    assert await outer.read(entry, file) == b"content"
    assert outer.read_now(entry, file) == b"now"
    outer.validator(entry, file)
    assert [where async for where in outer.changes()] == [frozenset({"here"})]
    assert inner.asked == ["prepare", "fetch", "scan", "rescan ['a']", "read", "now", "seal", "changes"]
    assert (outer.label, outer.place, outer.fetched) == ("inner", "somewhere", inner.fetched)


class _Checking(WrappedSource):
    """A wrapper that changes what it reads."""

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return (await super().read(entry, file)).upper()


async def test_source_with_its_own_read_is_never_bypassed(entry: SkillRecord, file: SkillFile) -> None:
    inner = _Inner()
    for source in (_Checking(inner), WrappedSource(_Checking(inner)), PrefixedSource(_Checking(inner), "p")):
        assert source.read_now(entry, file) is None
        assert await source.read(entry, file) == b"CONTENT"
    assert inner.asked == ["read"] * 3


def test_fetch_time_does_not_create_deferred_source() -> None:
    def make() -> Source:
        raise AssertionError

    assert DeferredSource("late", "there", make).fetched is None


@pytest.fixture
async def entry() -> SkillRecord:
    source = MemorySource(
        [MemorySkill("a", {"SKILL.md": b"---\nname: a\ndescription: d\n---\n"})], label="memory"
    )
    return (await source.scan()).entries[0]


@pytest.fixture
def file(entry: SkillRecord) -> SkillFile:
    return next(each for each in entry.files if isinstance(each, SkillFile))

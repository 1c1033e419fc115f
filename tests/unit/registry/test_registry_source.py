"""`RegistrySource` follows pushes, keeps what it had if the registry fails, and hides no good skill."""

import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from skillwire import Library
from skillwire.errors import SourceError
from skillwire.library import Change
from skillwire.registry.source import RegistrySource
from skillwire.registry.store import MAX_CHANGES
from skillwire.sources import Limits, Locations, Rule, Scan
from tests.support.registries import push, revision, source, sql, write_skills
from tests.support.skills import write

pytestmark = pytest.mark.anyio
PATIENCE = 30.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_skills(tmp_path / "skills", {f"team/skill-{number}": "one" for number in range(5)})


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    return tmp_path / "registry.db"


async def next_of(changes: AsyncGenerator[Locations]) -> Locations:
    with anyio.fail_after(PATIENCE):
        return await anext(changes)


def move(one: Path, other: Path) -> None:
    one.replace(other)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what changes is no event
            await anyio.sleep(0.01)


def served(scan: Scan) -> dict[str, str]:
    return {each.origin.location: each.files[0].digest.text for each in scan.entries}  # pyright: ignore


async def test_push_by_others_is_followed_by_delta(root: Path, registry: Path) -> None:
    await push(root, registry)
    followed = source(registry)
    before = await followed.scan()
    async with aclosing(followed.changes()) as changes:
        write_skills(root, {"team/skill-2": "two", "new": "one"})
        assert (await push(root, registry)).revision == 2
        where = await next_of(changes)
        assert where == {"team/skill-2", "new"}
        after = await followed.rescan(where)
    delta = after.delta_since(before)
    assert [each.path for each in delta.gone] == ["team/skill-2"]
    assert {each.path for each in delta.new} == {"team/skill-2", "new"}
    kept = [each for each in after.entries if each not in delta.new]
    assert all(any(each is old for old in before.entries) for each in kept)
    assert served(after) == served(await source(registry).scan())


async def test_new_skill_inside_a_known_one_is_followed(root: Path, registry: Path) -> None:
    write_skills(root, {"outer": "one"})
    await push(root, registry)
    library = Library([source(registry)])
    await library.load()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        write_skills(root, {"outer/inner": "one"})
        await push(root, registry)
        await until(lambda: "skill://outer/inner/SKILL.md" in library.catalog.entries)
        tasks.cancel_scope.cancel()
    assert library.catalog.problems == ()
    assert "skill://outer/inner/SKILL.md" in {
        library.catalog.skill("skill://outer/SKILL.md").uri_of(file.path)
        for file in library.catalog.skill("skill://outer/SKILL.md").files
    }


async def test_location_below_a_skill_scans_the_skill_again(root: Path, registry: Path) -> None:
    await push(root, registry)
    followed = source(registry)
    before = await followed.scan()
    write_skills(root, {"team/skill-1": "two", "team/skill-2": "two"})
    await push(root, registry)
    after = await followed.rescan(frozenset({"team/skill-1/references/policy.md"}))
    changed = [each.path for each, old in zip(after.entries, before.entries, strict=True) if each is not old]
    assert changed == ["team/skill-1"]


async def test_push_into_another_channel_is_no_change(root: Path, registry: Path) -> None:
    await push(root, registry)
    followed = source(registry)
    before = await followed.scan()
    async with aclosing(followed.changes()) as changes:
        write_skills(root, {"team/skill-1": "two"})
        await push(root, registry, channel="canary")
        write_skills(root, {"team/skill-2": "two"})
        await push(root / "team/skill-2", registry)
        assert await next_of(changes) == {"skill-2"}
    assert served(await source(registry, "canary").scan()) != served(before)


async def test_many_changes_scan_everything_with_the_same_records(tmp_path: Path, registry: Path) -> None:
    names = {f"skill-{number}": "one" for number in range(MAX_CHANGES + 1)}
    root = write_skills(tmp_path / "many", {"first": "one"})
    await push(root, registry)
    followed = source(registry)
    before = await followed.scan()
    async with aclosing(followed.changes()) as changes:
        await push(write_skills(root, names), registry)
        where = await next_of(changes)
        assert where == frozenset()
        after = await followed.rescan(where)
    assert len(after.entries) == MAX_CHANGES + 2
    assert after.entries[0] is before.entries[0]


async def test_library_gets_a_push_of_many_skills_as_one_change(tmp_path: Path, registry: Path) -> None:
    root = write_skills(tmp_path / "many", {"first": "one"})
    await push(root, registry)
    library = Library([source(registry)])
    await library.load()
    changes: list[Change] = []
    changed = anyio.Event()

    def listen(change: Change) -> None:
        changes.append(change)
        changed.set()

    library.listen(listen)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        await push(write_skills(root, {f"skill-{n}": "one" for n in range(1000)}), registry)
        with anyio.fail_after(PATIENCE):
            await changed.wait()
        tasks.cancel_scope.cancel()
    assert (revision(registry), len(changes)) == (2, 1)
    assert len(library.catalog.entries) == 1001


async def test_record_of_an_older_version_can_still_be_read(root: Path, registry: Path) -> None:
    await push(root, registry)
    followed = source(registry)
    old = (await followed.scan()).entries[0]
    before = await followed.read(old, old.files[0])
    write_skills(root, {"team/skill-0": "two"})
    await push(root, registry)
    new = (await followed.rescan()).entries[0]
    assert await followed.read(new, new.files[0]) != before
    assert await followed.read(old, old.files[0]) == before


async def test_missing_registry_is_served_once_it_is_there(root: Path, registry: Path) -> None:
    library = Library([source(registry)])
    catalog = await library.load()
    assert [each.rule for each in catalog.problems] == [Rule.SOURCE_WAITING]
    assert str(registry.parent) not in str(catalog.problems[0])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        await push(root, registry)
        await until(lambda: len(library.catalog.entries) == 5)
        tasks.cancel_scope.cancel()
    assert library.catalog.problems == ()


async def test_channel_without_skills_is_waited_for_by_name(root: Path, registry: Path) -> None:
    await push(root, registry, channel="canary")
    library = Library([source(registry)])
    (problem,) = (await library.load()).problems
    assert (problem.rule, "no channel `stable`; it has `canary`" in problem.message) == (
        Rule.SOURCE_WAITING,
        True,
    )


async def test_registry_that_vanishes_keeps_its_skills_until_it_is_back(root: Path, registry: Path) -> None:
    await push(root, registry)
    library = Library([source(registry)])
    before = await library.load()
    aside = registry.with_name("aside.db")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        move(registry, aside)
        await until(lambda: [each.rule for each in library.catalog.problems] == [Rule.SOURCE_STALE])
        assert list(library.catalog.entries) == list(before.entries)
        with pytest.raises(SourceError, match="does not exist"):
            await library.read("skill://team/skill-1/SKILL.md")
        move(aside, registry)
        await until(lambda: library.catalog.problems == ())
        assert (await library.read("skill://team/skill-1/SKILL.md")).content
        tasks.cancel_scope.cancel()


async def test_replaced_registry_is_read_anew(root: Path, registry: Path, tmp_path: Path) -> None:
    await push(root, registry)
    followed = source(registry)
    await followed.scan()
    other = tmp_path / "other.db"
    await push(write_skills(tmp_path / "others", {"other": "one"}), other)
    async with aclosing(followed.changes()) as changes:
        move(other, registry)
        assert await next_of(changes) == frozenset()
    assert list(served(await followed.rescan())) == ["other"]


async def test_damaged_database_hides_no_other_source(root: Path, registry: Path, tmp_path: Path) -> None:
    await push(root, registry)
    good = tmp_path / "good.db"
    shutil.copy(registry, good)
    write(tmp_path, {"registry.db": b"x" * 8192})
    library = Library([RegistrySource(f"registry+sqlite://{registry}", label="bad"), source(good)])
    catalog = await library.load()
    assert len(catalog.entries) == 5
    (problem,) = catalog.problems
    assert (problem.rule, "is damaged" in problem.message) == (Rule.SOURCE_FAILED, True)
    assert str(tmp_path) not in str(problem)


@pytest.mark.parametrize(
    "damage",
    [
        "manifest = x'7b7d'",
        "manifest = x'00'",
        "manifest = 'text'",
        "manifest = replace(CAST(manifest AS TEXT), 'SKILL.md', 'OTHER.md')",
        "digest = zeroblob(32)",
    ],
)
async def test_damaged_manifest_hides_no_other_skill(root: Path, registry: Path, damage: str) -> None:
    await push(root, registry)
    with sql(registry) as connection:
        connection.execute(f"UPDATE version SET {damage} WHERE skill = (SELECT min(id) FROM skill)")
    scan = await source(registry).scan()
    assert len(scan.entries) == 4
    (problem,) = scan.problems
    assert (problem.path, problem.rule) == ("team/skill-0/SKILL.md", Rule.SKILL_UNREADABLE)


@pytest.mark.parametrize("damage", ["UPDATE blob SET content = zeroblob(size)", "DELETE FROM blob"])
async def test_damaged_bytes_are_never_served(root: Path, registry: Path, damage: str) -> None:
    await push(root, registry)
    library = Library([source(registry)])
    await library.load()
    with sql(registry) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(damage)
    with pytest.raises(Exception, match="in the registry"):
        await library.read("skill://team/skill-1/SKILL.md")


async def test_limits_of_the_server_apply(root: Path, registry: Path) -> None:
    await push(root, registry)
    limited = RegistrySource(f"registry+sqlite://{registry}", limits=Limits(bytes=10))
    scan = await limited.scan()
    assert (len(scan.entries), {each.rule for each in scan.problems}) == (0, {Rule.SKILL_BYTES})


async def test_newer_schema_and_other_database_are_refused(
    root: Path, registry: Path, tmp_path: Path
) -> None:
    await push(root, registry)
    with sql(registry) as connection:
        connection.execute("INSERT INTO schema_version VALUES (1000, 'later')")
    with pytest.raises(SourceError, match="written by a newer Skillwire"):
        await source(registry).scan()
    with pytest.raises(Exception, match="written by a newer Skillwire"):
        await push(root, registry)
    with sql(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE mine (a)")
    with pytest.raises(SourceError, match="belongs to another program"):
        await source(tmp_path / "other.db").scan()

"""A server watches its folders: changes on disk are served, and clients are notified."""

import logging
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from mcp import Client

from skillwire import FolderSource, Library
from skillwire.server import skills_server
from skillwire.sources import Locations, WatchFilter
from tests.support.clients import text_of
from tests.support.listening import NotificationLog, listening
from tests.support.skills import make_fifo, skill_md, write, write_skill

pytestmark = pytest.mark.anyio


@dataclass
class Live:
    """A folder that is served, and a client that listens."""

    root: Path
    library: Library
    client: Client
    heard: NotificationLog

    def names(self) -> list[str]:
        return [entry.path for entry in self.library.catalog.entries.values()]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the catalog is as it should be."""
        changed = anyio.Event()
        self.library.listen(lambda _: changed.set())
        with anyio.fail_after(90):
            while not condition():
                await changed.wait()
                changed = anyio.Event()

    async def until_names(self, *names: str) -> None:
        with anyio.fail_after(90):
            await self.until(lambda: self.names() == sorted(names))


@asynccontextmanager
async def live(root: Path, *uris: str, follow_links: bool = False) -> AsyncGenerator[Live]:
    """Serve `root`, and wait until the watcher runs, because the tests are about changes after that."""
    source = FolderSource(root, follow_links=follow_links, keep_good=True)
    library = Library([source])
    await library.load()
    async with listening(skills_server(library), "auto", uris) as (client, heard):
        at = Live(root, library, client, heard)
        yield at


async def test_skills_can_be_added_removed_and_added_again(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    async with live(tmp_path) as at:
        write_skill(tmp_path, "two", {"refs/a.md": "a"})
        await at.until_names("one", "two")
        shutil.rmtree(tmp_path / "two")
        await at.until_names("one")
        write_skill(tmp_path, "two")
        await at.until_names("one", "two")
        assert (await at.client.read_resource("skill://two/SKILL.md")).contents


async def test_edit_of_skill_added_later_is_noticed(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    async with live(tmp_path) as at:
        write_skill(tmp_path, "deep/er/two")
        await at.until_names("deep/er/two", "one")
        write(tmp_path, {"deep/er/two/SKILL.md": skill_md("two", "Another.")})
        await at.until(lambda: "Another." in {e.description for e in at.library.catalog.entries.values()})


async def test_broken_edit_serves_last_good_version_until_fixed(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    async with live(tmp_path, "skillwire://problems") as at:
        write(tmp_path, {"one/SKILL.md": "---\nname: [\n---\n"})
        await at.heard.until("skillwire://problems")
        assert at.names() == ["one"]
        loaded = await at.client.call_tool("load-skill", {"name": "one"})
        assert text_of(loaded).encode() == skill_md("one")
        write(tmp_path, {"one/SKILL.md": skill_md("one", "Mended.")})
        await at.until(lambda: not at.library.catalog.problems)
        loaded = await at.client.call_tool("load-skill", {"name": "one"})
        assert "Mended." in text_of(loaded)


async def test_renamed_folder_moves_its_skill(tmp_path: Path) -> None:
    write_skill(tmp_path, "team/one", {"refs/a.md": "a"})
    async with live(tmp_path) as at:
        (tmp_path / "team").rename(tmp_path / "crew")
        await at.until_names("crew/one")
        before = at.library.catalog.files
        write(tmp_path, {"crew/one/refs/a.md": "changed"})
        uri = "skill://crew/one/refs/a.md"
        await at.until(lambda: at.library.catalog.file(uri).file != before[uri].file)


async def test_root_created_after_start_is_served(tmp_path: Path) -> None:
    root = tmp_path / "not" / "yet"
    async with live(root) as at:
        assert [problem.rule for problem in at.library.catalog.problems] == ["source-waiting"]
        write_skill(root, "one")
        await at.until_names("one")
        assert at.library.catalog.problems == ()
        shutil.rmtree(tmp_path / "not")
        await at.until_names()
        write_skill(root, "two")
        await at.until_names("two")


async def test_root_link_can_be_pointed_elsewhere(tmp_path: Path) -> None:
    write_skill(tmp_path / "release-1", "one")
    write_skill(tmp_path / "release-2", "two")
    current = tmp_path / "current"
    current.symlink_to("release-1")
    async with live(current) as at:
        (tmp_path / "next").symlink_to("release-2")
        (tmp_path / "next").replace(current)
        await at.until_names("two")
        write_skill(tmp_path / "release-2", "three")
        await at.until_names("three", "two")


async def test_changes_behind_links_are_noticed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    elsewhere = write_skill(tmp_path, "elsewhere/one", {"a.md": "a"})
    root.mkdir()
    (root / "one").symlink_to(elsewhere)
    async with live(root, follow_links=True) as at:
        write(elsewhere, {"SKILL.md": skill_md("one", "Another.")})
        await at.until(lambda: [e.description for e in at.library.catalog.entries.values()] == ["Another."])


async def test_unserved_folders_are_not_watched(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    write(tmp_path, {"node_modules/x/SKILL.md": skill_md("x"), ".hidden/y/SKILL.md": skill_md("y")})
    async with live(tmp_path) as at:
        write(tmp_path, {"node_modules/x/new.md": "x", ".hidden/y/SKILL.md": skill_md("y", "Another.")})
        write_skill(tmp_path, "two")
        await at.until_names("one", "two")


async def test_container_folder_created_later_is_entered(tmp_path: Path) -> None:
    write(tmp_path, {".claude/settings.json": "{}"})
    async with live(tmp_path) as at:
        write_skill(tmp_path / ".claude/skills", "one")
        await at.until_names("one")


async def test_ignore_file_added_later_hides_skills(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    write_skill(tmp_path, "two")
    async with live(tmp_path) as at:
        write(tmp_path, {".skillwireignore": "two\n"})
        await at.until_names("one")
        write(tmp_path, {".skillwireignore": ""})
        await at.until_names("one", "two")


async def test_traps_added_later_do_no_harm(tmp_path: Path) -> None:
    secret = write(tmp_path / "outside", {"SKILL.md": skill_md("secret"), "secret.md": "SECRET"})
    root = tmp_path / "root"
    write_skill(root, "one")
    async with live(root) as at:
        make_fifo(root / "one/pipe.md")
        make_fifo(root / "trap/SKILL.md")
        (root / "linked").mkdir()
        (root / "linked/SKILL.md").symlink_to(secret / "SKILL.md")
        (root / "out").symlink_to(secret)
        write(root, {"one/.env": "SECRET", "one/seen.md": "x"})
        await at.until(lambda: "skill://one/seen.md" in at.library.catalog.files)
        write_skill(root, "two")
        await at.until_names("one", "two")
        assert "SECRET" not in str(at.library.catalog.files.keys())
        assert not any(".env" in uri or "pipe" in uri for uri in at.library.catalog.files)


@pytest.mark.parametrize("name", ["skill", "skills", "load-skill", "skill-resource", "prompts"])
async def test_skill_may_have_names_used_internally(tmp_path: Path, name: str) -> None:
    write_skill(tmp_path, "one")
    async with live(tmp_path) as at:
        write_skill(tmp_path / "team", name)
        await at.until_names("one", f"team/{name}")
        loaded = await at.client.call_tool("load-skill", {"name": name})
        assert text_of(loaded).encode() == skill_md(name)
        prompts = {prompt.name for prompt in (await at.client.list_prompts()).prompts}
        assert {"one", "skill"} < prompts
        assert name in prompts or f"skill://team/{name}" in prompts


async def test_edit_before_watcher_starts_is_noticed(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    library = Library([FolderSource(tmp_path)])
    await library.load()
    write_skill(tmp_path, "two")  # after the scan, before the watcher starts
    async with listening(skills_server(library), "auto") as (client, heard):
        await Live(tmp_path, library, client, heard).until_names("one", "two")


async def test_ten_thousand_new_files_are_announced_in_few_rounds(tmp_path: Path) -> None:
    write_skill(tmp_path, "first")
    async with live(tmp_path) as at:
        rounds = 0

        def count(_: object) -> None:
            nonlocal rounds
            rounds += 1

        at.library.listen(count)
        for number in range(1000):
            write_skill(tmp_path, f"many/s{number}", {f"{each}.md": "x" for each in range(9)})
        await at.until(lambda: len(at.library.catalog.files) == 10_001)
        assert rounds < 200, "changes were not taken together"


async def test_two_roots_with_same_name_are_both_watched(tmp_path: Path) -> None:
    first, second = tmp_path / "a/skills", tmp_path / "b/skills"
    write_skill(first, "one")
    write_skill(second, "one")
    library = Library([FolderSource(first, label="skills"), FolderSource(second, label="skills-2")])
    await library.load()
    async with listening(skills_server(library), "auto") as (client, heard):
        at = Live(tmp_path, library, client, heard)
        write_skill(second, "two")
        await at.until(lambda: at.names() == ["one", "skills-2/one", "two"])
        shutil.rmtree(first / "one")
        await at.until(lambda: at.names() == ["one", "two"])  # its path is free now


async def test_source_that_fails_while_watched_does_not_stop_server(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")

    class Fragile(FolderSource):
        async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
            async for where in super().changes(watch_filter):
                yield where
                raise RuntimeError("no more")

    good = tmp_path / "good"
    library = Library([Fragile(tmp_path, label="fragile"), FolderSource(good)])
    await library.load()
    async with listening(skills_server(library), "auto") as (client, heard):
        write_skill(good, "two")
        await Live(tmp_path, library, client, heard).until(
            lambda: "skill://two/SKILL.md" in library.catalog.entries
        )
        assert (await client.read_resource("skill://one/SKILL.md")).contents


@pytest.mark.parametrize("beside", ["", "node_modules", ".venv", ".claude"])
async def test_replaced_folder_is_watched_again(tmp_path: Path, beside: str) -> None:
    root = tmp_path / "root"
    write_skill(root, "a")
    if beside:
        write(root, {f"{beside}/x/": b""})
    async with live(root) as at:
        shutil.rmtree(root / "a")
        await at.until_names()
        write_skill(root, "a")
        await at.until_names("a")
        write_skill(root / "a", "inner")
        await at.until_names("a", "a/inner")
        shutil.copytree(root, tmp_path / "next")
        root.rename(tmp_path / "old")
        (tmp_path / "next").rename(root)
        write_skill(root, "b")
        await at.until_names("a", "a/inner", "b")
        write_skill(root, "c")
        await at.until_names("a", "a/inner", "b", "c")


async def test_removing_many_folders_does_not_cause_polling(tmp_path: Path) -> None:
    write(tmp_path, {"node_modules/x/": b""})
    for number in range(20):
        write_skill(tmp_path, f"s{number:02}")
    async with live(tmp_path) as at:
        for number in range(20):
            shutil.rmtree(tmp_path / f"s{number:02}")
            await anyio.sleep(0.01)  # so that it falls between two plans, now and then
        await at.until_names()
        assert at.library.catalog.problems == ()


async def test_link_above_root_can_be_pointed_elsewhere(tmp_path: Path) -> None:
    write_skill(tmp_path / "release-1/skills", "one")
    write_skill(tmp_path / "release-2/skills", "two")
    (tmp_path / "current").symlink_to("release-1")
    async with live(tmp_path / "current/skills") as at:
        (tmp_path / "next").symlink_to("release-2")
        (tmp_path / "next").replace(tmp_path / "current")
        await at.until_names("two")
        write_skill(tmp_path / "release-2/skills", "three")
        await at.until_names("three", "two")


async def test_folder_far_above_root_can_vanish_and_return(tmp_path: Path) -> None:
    root = tmp_path / "p/q/skills"
    write_skill(root, "one")
    async with live(root) as at:
        (tmp_path / "p").rename(tmp_path / "away")
        await at.until_names()
        write_skill(root, "two")
        await at.until_names("two")


async def test_source_that_could_not_be_watched_is_watched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.library.library._PAUSE", 0.01)
    write_skill(tmp_path, "one")
    failures = iter([True, False])

    class Moody(FolderSource):
        async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
            if next(failures, False):
                raise RuntimeError("not today")
            async for where in super().changes(watch_filter):
                yield where

    library = Library([Moody(tmp_path)])
    await library.load()
    async with listening(skills_server(library), "auto") as (client, heard):
        at = Live(tmp_path, library, client, heard)
        await at.until(lambda: library.catalog.problems != ())
        write_skill(tmp_path, "two")
        await at.until_names("one", "two")
        assert library.catalog.problems == ()


async def test_changes_add_no_lines_of_watchfiles_to_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill(tmp_path, "refunds")
    with caplog.at_level(logging.INFO):
        async with live(tmp_path) as at:
            names = ["refunds"]
            for number in range(3):  # the first scan may find the first one
                names.append(f"orders-{number}")
                write_skill(tmp_path, names[-1])
                await at.until_names(*sorted(names))
            logging.getLogger("watchfiles.main").info("a change that other code watches")
    messages = [each.getMessage() for each in caplog.records if each.name.startswith("watchfiles")]
    assert messages == ["a change that other code watches"]


@pytest.mark.parametrize("moved", ["skills", "skills/team", "."])
async def test_moved_folder_is_watched_again_when_it_is_back(moved: str, tmp_path: Path) -> None:
    base = tmp_path / "base"
    root = base / "skills"
    write_skill(root, "team/one")
    async with live(root) as at:
        problems = set[str]()
        at.library.listen(lambda change: problems.update(each.rule for each in change.after.problems))
        shutil.move(base / moved, tmp_path / "away")
        await at.until_names()
        await anyio.sleep(3)  # until a watcher would give up that tries to watch the missing folder
        shutil.move(tmp_path / "away", base / moved)
        await at.until_names("team/one")
        write_skill(root, "team/two")
        await at.until_names("team/one", "team/two")
        assert "watch-polling" not in problems

"""A running server follows its configuration file, keeps the last good one, and applies it in one step."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from skillwire import Catalog
from skillwire.app.gateway import ServedLibrary, open_served_library
from skillwire.config.file import ConfigFile, ConfiguredSource, add_source, decide
from skillwire.config.source_config import LibraryOptions
from skillwire.library.change import Change
from skillwire.sources import Rule
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

TWO = "skill://two/SKILL.md"


class Stage:
    """A server of the folder `one`, whose configuration file is in a folder that need not exist."""

    def __init__(self, tmp_path: Path, *, frozen: bool = False, configured_sources: bool = True) -> None:
        self.one, self.two = tmp_path / "one", tmp_path / "two"
        write_skill(self.one, "one")
        write_skill(self.two, "two")
        self.file = ConfigFile(tmp_path / "new" / "folder" / "config.toml")
        self.options = LibraryOptions(live=True, frozen=frozen, configured_sources=configured_sources)

    def write(self, text: str) -> None:
        self.file.path.parent.mkdir(parents=True, exist_ok=True)
        self.file.path.write_text(text, encoding="utf-8")

    @property
    def source(self) -> str:
        return f"[[sources]]\nsource = '{self.two}'\n"

    async def start(self) -> ServedLibrary:
        served = open_served_library([str(self.one)], self.options, self.file)
        await served.library.load()
        return served


def names(catalog: Catalog) -> set[str]:
    return {entry.name for entry in catalog.entries.values()}


def config_problems(catalog: Catalog) -> list[str]:
    return [problem.message for problem in catalog.problems if problem.rule is Rule.CONFIG_FAILED]


@asynccontextmanager
async def following(
    served: ServedLibrary,
) -> AsyncGenerator[Callable[[Callable[[], object]], Awaitable[None]]]:
    """Follow the file, and yield a function that waits until something holds."""
    changed = anyio.Event()

    def on_change(_change: Change) -> None:
        nonlocal changed
        changed.set()
        changed = anyio.Event()

    async def until(holds: Callable[[], object]) -> None:
        with anyio.fail_after(60):
            while not holds():
                await changed.wait()

    served.library.listen(on_change)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(served.admin.follow)
        yield until
        tasks.cancel_scope.cancel()


async def test_a_source_that_others_add_is_served(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    served = await stage.start()
    async with following(served) as until:
        add_source(stage.file, ConfiguredSource(str(stage.two)))  # its folder does not exist yet
        await until(lambda: names(served.library.catalog) == {"one", "two"})
        assert [facts.given_by for facts in served.admin.sources()] == ["command line", "configuration"]
        stage.write("")
        await until(lambda: names(served.library.catalog) == {"one"})


async def test_sources_and_visibility_change_in_one_step(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    served = await stage.start()
    changes: list[Change] = []
    served.library.listen(changes.append)
    stage.write(f"{stage.source}[visibility.'{TWO}']\nassistant = false\n")
    await served.admin.reload()
    (change,) = changes
    assert names(change.after) == {"one", "two"}
    assert not change.after.visibility.of(change.after.entries[TWO]).assistant


async def test_visibility_applies_to_named_sources_without_configured_ones(tmp_path: Path) -> None:
    stage = Stage(tmp_path, configured_sources=False)
    served = await stage.start()
    async with following(served) as until:
        stage.write(f"{stage.source}")
        decide(stage.file, "skill://one/SKILL.md", {"user": False})
        await until(lambda: served.library.catalog.visibility.overrides)
        assert names(served.library.catalog) == {"one"}


@pytest.mark.parametrize(
    "text", ["[[sources]\n", "sources = 5\n", "[limits]\nfiles = 0\n", "[limit]\n", None], ids=str
)
async def test_an_unusable_file_keeps_what_is_served(
    tmp_path: Path, text: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(tmp_path)
    stage.write(stage.source)
    served = await stage.start()
    async with following(served) as until:
        if text is None:
            stage.file.path.unlink()
        else:
            stage.write(text)
        await until(lambda: config_problems(served.library.catalog))
        (message,) = config_problems(served.library.catalog)
        assert "its last good content applies" in message
        assert str(tmp_path) not in message
        assert names(served.library.catalog) == {"one", "two"}
        stage.write(f"{stage.source}label = 'second'\n")
        await until(lambda: not config_problems(served.library.catalog))
        assert caplog.messages.count("the configuration file can be used again, and is applied") == 1
        assert [facts.label for facts in served.admin.sources()] == ["one", "second"]


async def test_a_changed_skill_keeps_the_problem_of_the_file(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    served = await stage.start()
    stage.write("[[sources]\n")
    await served.admin.reload()
    write_skill(stage.one, "another")
    await served.library.rescan_source(served.library.sources[0])
    assert names(served.library.catalog) == {"one", "another"}
    assert len(config_problems(served.library.catalog)) == 1


async def test_changes_by_the_server_itself_are_not_applied_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    served = open_served_library([str(stage.one)], stage.options, stage.file, editable=True)
    await served.library.load()
    await served.admin.add_source(str(stage.two), None, None)
    await served.admin.set_visibility(TWO, {"user": False})
    before = served.library.revision
    await served.admin.reload()
    assert served.library.revision == before


async def test_limits_of_a_running_server_stay_as_they_are(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    served = await stage.start()
    stage.write(f"[limits]\nbytes = 1\n{stage.source}")
    await served.admin.reload()
    assert names(served.library.catalog) == {"one", "two"}


async def test_a_static_server_follows_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, frozen=True)
    served = await stage.start()
    with anyio.fail_after(60):
        await served.admin.follow()  # returns at once
    stage.write(stage.source)
    await served.admin.reload()
    assert names(served.library.catalog) == {"one"}


async def test_a_server_that_is_no_longer_static_follows_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write("static = true\n")
    served = open_served_library([str(stage.one)], stage.options, stage.file, editable=True)
    await served.library.load()
    stage.write(f"static = true\n{stage.source}")
    await served.admin.reload()
    assert names(served.library.catalog) == {"one"}
    await served.admin.set_static(static=False)
    assert names(served.library.catalog) == {"one", "two"}

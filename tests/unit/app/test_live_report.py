"""The terminal of a running server shows each new problem and each solved problem, once."""

import shutil
from pathlib import Path

import pytest

from skillwire import FolderSource, Library
from skillwire.app.live_report import MAX_LINES, report_changes
from skillwire.features.resources import catalog_problems
from tests.support.skills import skill_md, write_skill

pytestmark = pytest.mark.anyio

BROKEN = "---\nname: [\n---\n"


class Terminal:
    """A library of one folder, and the lines that are printed about it."""

    def __init__(self, *roots: Path, keep_good: bool = True) -> None:
        self.library = Library([FolderSource(root, keep_good=keep_good) for root in roots])
        self.lines: list[str] = []

    async def start(self) -> None:
        await self.library.load()
        report_changes(self.library, catalog_problems, self.lines.append)

    async def look(self) -> list[str]:
        """Scan everything again, and return what was printed meanwhile."""
        for source in self.library.sources:
            await self.library.rescan_source(source)
        printed, self.lines[:] = [*self.lines], []
        return printed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_skill(tmp_path / "skills", "refunds")
    return tmp_path / "skills"


async def test_broken_and_fixed_skill_are_one_line_each_every_time(root: Path) -> None:
    terminal = Terminal(root)
    await terminal.start()
    for _ in range(2):
        good = (root / "refunds/SKILL.md").read_text()
        (root / "refunds/SKILL.md").write_text(BROKEN)
        (line,) = await terminal.look()
        assert line.startswith("warning: refunds/SKILL.md")
        assert "the last good version is served" in line
        assert not await terminal.look()
        (root / "refunds/SKILL.md").write_text(good)
        (line,) = await terminal.look()
        assert line.startswith("solved: refunds/SKILL.md")
        assert not await terminal.look()


async def test_folder_that_disappears_and_returns_is_reported(root: Path, tmp_path: Path) -> None:
    terminal = Terminal(root)
    await terminal.start()
    shutil.move(root, tmp_path / "elsewhere")
    (line,) = await terminal.look()
    assert line.startswith("warning: the source `skills` is missing")
    shutil.move(tmp_path / "elsewhere", root)
    (line,) = await terminal.look()
    assert line.startswith("solved: the source `skills` is missing")


async def test_problem_that_only_moves_to_another_line_is_not_printed(root: Path) -> None:
    path = root / "refunds/SKILL.md"
    path.write_text("---\nname: refunds\ndescription: d\nuser-invocable: 5\n---\n")
    terminal = Terminal(root)
    await terminal.start()
    assert terminal.library.catalog.problems
    path.write_text("---\nname: refunds\nlicense: MIT\ndescription: d\nuser-invocable: 5\n---\n")
    assert not await terminal.look()


async def test_many_problems_at_once_are_few_lines(root: Path) -> None:
    terminal = Terminal(root, keep_good=False)
    await terminal.start()
    for number in range(MAX_LINES + 12):
        write_skill(root, f"broken-{number:02}", {"SKILL.md": BROKEN})
    lines = await terminal.look()
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "and 12 more; `skillwire://problems` has all current problems"
    shutil.rmtree(root)
    write_skill(root, "good")
    assert len(await terminal.look()) == MAX_LINES + 1


async def test_only_what_a_change_affects_is_compared(root: Path) -> None:
    for number in range(20):
        write_skill(root, f"other-{number}", {"SKILL.md": BROKEN})
    terminal = Terminal(root, keep_good=False)
    await terminal.start()
    write_skill(root, "other-7", {"SKILL.md": skill_md("other-7")})
    (line,) = await terminal.look()
    assert line.startswith("solved: other-7/SKILL.md")

"""A library serves only the skills that its selection accepts, also after changes."""

from pathlib import Path

import pytest

from skillwire.core.patterns import Selection
from skillwire.library.library import Library
from skillwire.sources.folder.source import FolderSource
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio


async def test_new_skills_are_selected_too(tmp_path: Path) -> None:
    write_skill(tmp_path, "team/one")
    write_skill(tmp_path, "other/two")
    source = FolderSource(tmp_path, label="skills")
    library = Library([source], selection=Selection(["team/*", "none"], ["three"]))
    await library.load()
    assert (list(library.catalog.entries), library.left_out) == (["skill://team/one/SKILL.md"], 1)
    assert library.selection.unused() == ["none", "three"]
    for name in ("team/three", "team/four", "other/five"):
        write_skill(tmp_path, name)
    await library.rescan_source(source)
    assert [each.name for each in library.catalog.entries.values()] == ["four", "one"]
    assert library.left_out == 3
    assert library.selection.unused() == ["none"]


async def test_a_skill_left_out_takes_no_path_or_name(tmp_path: Path) -> None:
    sources = [FolderSource(tmp_path / label, label=label) for label in ("a", "b")]
    for label in ("a", "b"):
        write_skill(tmp_path / label, f"{label}-team/same")
    library = Library(sources, selection=Selection(exclude=["a-team/*"]))
    await library.load()
    assert not library.catalog.shared_names
    assert [each.path for each in library.catalog.entries.values()] == ["b-team/same"]

"""What is packed is what is served: the same files, digests and executable bits."""

import tempfile
from pathlib import Path

import anyio
from hypothesis import given, settings

from skillwire import FolderSource, Library
from skillwire.core.output_folder import MANIFEST_NAME, SiteFolder
from skillwire.library.visibility import VisibilityPolicy
from skillwire.packing.bundle import write_bundle
from skillwire.packing.identity import Naming, Options
from skillwire.packing.plugin import PluginKind, write_plugin
from skillwire.packing.runtime import Runtime
from skillwire.packing.selection import LeftOutSkill, read_skills, select_for_bundle, select_for_plugin
from tests.support.packed import Tree, contents, trees, unzip, write_tree
from tests.support.scans import catalog
from tests.support.skills import write_skill

MANY = 230
"""Fewer skills than `served_tree` has."""
NO_RUNTIME = Runtime("1", ">=3.11", (), {})


async def _loaded(root: Path) -> Library:
    library = Library([FolderSource(root)])
    await library.load()
    return library


async def bundle_of(root: Path, out: Path) -> Path:
    library, left_out = await _loaded(root), list[LeftOutSkill]()
    selection = select_for_bundle(library.catalog, VisibilityPolicy())
    skills = read_skills(library, selection.skills, left_out)
    await write_bundle(out, skills, Naming(Options(), library.sources), NO_RUNTIME)
    assert (selection.left_out, left_out) == ((), [])
    return out


async def plugin_of(root: Path, out: Path) -> SiteFolder:
    library, left_out = await _loaded(root), list[LeftOutSkill]()
    selection = select_for_plugin(library.catalog, VisibilityPolicy())
    skills = read_skills(library, selection.skills, left_out)
    site = SiteFolder(out, "pack")
    await write_plugin(PluginKind.CODEX, site, skills, Naming(Options(), library.sources))
    assert (selection.left_out, left_out) == ((), [])
    return site


@given(trees())
@settings(max_examples=15)
def test_a_bundle_serves_the_same_files_and_digests(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write_tree(Path(folder) / "source", tree)
        bundle = anyio.run(bundle_of, root, Path(folder) / "a.mcpb")
        unpacked = unzip(bundle, Path(folder) / "unpacked")
        assert contents(catalog(unpacked / "skills")) == contents(catalog(root))
        again = anyio.run(bundle_of, root, Path(folder) / "b.mcpb")
        assert again.read_bytes() == bundle.read_bytes()


def test_a_bundle_serves_every_kind_of_skill_unchanged(served_tree: Path, tmp_path: Path) -> None:
    served = contents(catalog(served_tree))
    bundle = anyio.run(bundle_of, served_tree, tmp_path / "a.mcpb")
    assert len(served) > MANY
    assert contents(catalog(unzip(bundle, tmp_path / "unpacked") / "skills")) == served


def test_skills_keep_their_uris_where_paths_conflict(tmp_path: Path) -> None:
    for path in ("refunds", "skills/refunds", "skills/skills/refunds"):
        write_skill(tmp_path / "source", path)
    served = contents(catalog(tmp_path / "source"))
    bundle = anyio.run(bundle_of, tmp_path / "source", tmp_path / "a.mcpb")
    assert len(served) == 3
    assert contents(catalog(unzip(bundle, tmp_path / "unpacked") / "skills")) == served


@given(trees(), trees())
@settings(max_examples=15)
def test_a_plugin_follows_its_skills_and_keeps_other_files(before: Tree, after: Tree) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, out = Path(folder) / "source", Path(folder) / "plugin"
        anyio.run(plugin_of, write_tree(root, before), out)
        note = out / "skills/refunds/my notes.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text("mine\n")
        anyio.run(plugin_of, write_tree(root, after), out)
        note_text = note.read_text()
        note.unlink()
        assert note_text == "mine\n"
        packed = {entry.name: entry.files for entry in catalog(out / "skills").entries.values()}
        assert packed == {entry.name: entry.files for entry in catalog(root).entries.values()}
        files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
        skill_files = {f"skills/{name}/{file.path}" for name, files in packed.items() for file in files}
        manifests = {".codex-plugin/plugin.json", ".agents/plugins/marketplace.json", MANIFEST_NAME}
        assert files == skill_files | manifests
        assert anyio.run(plugin_of, root, out).written == []

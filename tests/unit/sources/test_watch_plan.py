"""Only served folders are watched: whole trees where that is safe, single folders elsewhere."""

import subprocess
import sys
from pathlib import Path

import anyio

from skillwire import FolderSource
from skillwire.sources import Limits
from skillwire.sources.folder.facts import FileFactsCache
from skillwire.sources.folder.ignore import IgnoreRules
from skillwire.sources.folder.tree import Tree
from skillwire.sources.folder.walk import FolderWalk
from skillwire.sources.folder.watch_plan import WatchPlan
from tests.support.skills import skill_md, write, write_skill


def plan(root: Path, *, follow_links: bool = False) -> WatchPlan:
    folder_walk = FolderWalk(
        str(root), limits=Limits(), ignored=IgnoreRules.at(root), follow_links=follow_links
    )
    tree = Tree(FileFactsCache())
    tree.walk(folder_walk, folder_walk.start())
    return WatchPlan.of(root, tree)


def test_fully_served_tree_is_watched_recursively(tmp_path: Path) -> None:
    write_skill(tmp_path, "a/one", {"refs/a.md": "a"})
    write(tmp_path, {".git/objects/": b"", "notes.txt": "x"})
    found = plan(tmp_path)
    assert found.deep == {str(tmp_path)}
    assert found.flat == set()
    assert found.ancestor_parents == set(map(str, tmp_path.parents))


def test_folder_that_is_not_entered_is_not_watched(tmp_path: Path) -> None:
    write_skill(tmp_path, "a/one")
    write_skill(tmp_path, "two", {"refs/a.md": "a"})
    write(tmp_path, {"node_modules/x/": b"", "a/.cache/": b""})
    found = plan(tmp_path)
    assert found.deep == {str(tmp_path / "a/one"), str(tmp_path / "two")}
    assert found.flat == {str(tmp_path), str(tmp_path / "a")}


def test_links_are_never_watched_recursively(tmp_path: Path) -> None:
    elsewhere = write_skill(tmp_path, "elsewhere/one", {"deep/er/a.md": "a"})
    root = tmp_path / "root"
    write_skill(root, "two")
    (root / "one").symlink_to(elsewhere)
    outside = plan(root)
    assert outside.deep == {str(root / "two")}
    assert outside.flat == {str(root)}
    followed = plan(root, follow_links=True)
    assert followed.deep == {str(root / "two"), str(elsewhere)}
    assert followed.flat == {str(root)}


def test_folder_of_linked_file_is_watched(tmp_path: Path) -> None:
    write(tmp_path, {"shared/policy.md": "x"})
    folder = write_skill(tmp_path / "root", "one")
    (folder / "policy.md").symlink_to(tmp_path / "shared/policy.md")
    assert str(tmp_path / "shared") in plan(tmp_path / "root", follow_links=True).flat


def test_only_root_is_relevant_in_its_parent(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write_skill(root, "one")
    found = plan(root)
    assert found.is_relevant(str(root))
    assert found.is_relevant(str(root / "one/SKILL.md"))
    assert not found.is_relevant(str(tmp_path / "something-else"))


POLLING = """
import anyio, sys
from skillwire import Library
from skillwire import FolderSource

async def main():
    global told
    library = Library([FolderSource(sys.argv[1])])
    await library.load()
    told = anyio.Event()

    def tell(change):
        rules = [problem.rule.value for problem in change.after.problems]
        print(rules, len(change.after.entries), flush=True)
        told.set()

    library.listen(tell)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        await told.wait()
        told = anyio.Event()
        sys.stdin.readline()
        await told.wait()
        tasks.cancel_scope.cancel()

anyio.run(main)
"""


def test_without_watches_the_folder_is_polled_with_a_problem(tmp_path: Path) -> None:
    for name in ("one", "two", "three", "four"):
        write_skill(tmp_path, name)
    limited = 'echo 3 > /proc/sys/user/max_inotify_watches; exec "$@"'
    command = ["unshare", "-Ur", "sh", "-c", limited, "sh", sys.executable, "-c", POLLING, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "['watch-polling'] 4\n"
        write_skill(tmp_path, "five")
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "['watch-polling'] 5\n"
        assert process.wait(timeout=60) == 0


def test_plan_for_some_skills_excludes_others(tmp_path: Path) -> None:
    one = write_skill(tmp_path, "one", {"refs/a.md": "a"})
    write_skill(tmp_path, "two")
    source = FolderSource(tmp_path)
    entry = anyio.run(source.scan).entries[0]
    folder_walk = FolderWalk(str(tmp_path), limits=Limits(), ignored=IgnoreRules(), follow_links=False)
    tree = Tree(FileFactsCache())
    tree.walk(folder_walk, folder_walk.start())
    found = WatchPlan.for_locations(tree, frozenset({entry.origin.location}))
    assert found.flat == {str(one), str(one / "refs")}
    assert found.deep == set()
    assert found.is_relevant(str(one))
    assert not found.is_relevant(str(tmp_path / "two"))
    assert skill_md("one") == (one / "SKILL.md").read_bytes()

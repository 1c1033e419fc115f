"""Limits on the disk space and memory that a repository can use."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from skillwire.sources.git import clone
from skillwire.sources.git import command as settings
from tests.support.git_fetchers import mirror, refused, scanned, skill, skills
from tests.support.git_server import GitServer, Origin

pytestmark = pytest.mark.anyio

_TEXT = b"$Id$ and a line\n" * 500
_ATTRIBUTES = {
    "ident": "* ident",
    "working-tree-encoding": "* text working-tree-encoding=UTF-32",
    "ends of lines": "* text eol=crlf",
    "guessed ends of lines": "* text=auto eol=crlf",
    "old ends of lines": "* crlf eol=crlf",
    "filter": "* filter=lfs -text",
    "a required filter": "* filter=evil",
    "export-subst": "* export-subst",
    "a macro": "[attr]evil ident text working-tree-encoding=UTF-32\n* evil",
    "a macro with a known name": "[attr]binary ident text eol=crlf\n* binary",
    "all": "* text eol=crlf ident filter=x working-tree-encoding=UTF-32LE",
    "a broken encoding": "* text working-tree-encoding=nonsense",
    "an encoding without a name": "* text working-tree-encoding",
}


def _written(cache: Path) -> dict[str, bytes]:
    (root,) = cache.glob("git/*/commit-*")
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def _commit_as_it_is(origin: Origin, files: dict[str, bytes]) -> None:
    """Commit files without the conversions that they ask for."""
    (origin.folder / ".git/info").mkdir(exist_ok=True)
    (origin.folder / ".git/info/attributes").write_text("* !working-tree-encoding\n")
    added: list[str] = []
    for name, content in files.items():
        (origin.folder / ".git/content").write_bytes(content)
        blob = origin.git("hash-object", "-w", "--no-filters", ".git/content")
        added += ["--cacheinfo", f"100644,{blob},{name}"]
    origin.git("update-index", "--add", *added)
    commit = origin.git("commit-tree", origin.git("write-tree"), "-p", "HEAD", "-m", "x")
    origin.git("update-ref", "refs/heads/main", commit)


def _tree(repository: Path, listing: str) -> str:
    command = ["git", "mktree"]
    made = subprocess.run(command, cwd=repository, input=listing, capture_output=True, text=True, check=True)
    return made.stdout.strip()


@pytest.mark.parametrize("attributes", _ATTRIBUTES.values(), ids=_ATTRIBUTES.keys())
@pytest.mark.parametrize("rest", ["", "#first"])
async def test_attributes_never_change_bytes_of_checkout(
    server: GitServer, origin: Origin, tmp_path: Path, attributes: str, rest: str
) -> None:
    lfs = '[lfs]\n\turl = "http://127.0.0.1:9/"\n'
    _commit_as_it_is(
        origin,
        {
            "first/a.txt": _TEXT,
            "first/.lfsconfig": lfs.encode(),
            "first/.gitattributes": f"{attributes.splitlines()[-1]}\n".encode(),
            ".gitattributes": f"{attributes}\n".encode(),
        },
    )
    cache = tmp_path / "cache"
    await scanned(mirror(server, origin, cache, rest))
    written = _written(cache)
    assert written["first/a.txt"] == _TEXT
    assert written["first/.lfsconfig"] == lfs.encode()


async def test_attribute_patterns_are_never_matched(
    server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    bomb = ("*a" * 25 + "*b -diff\n").encode()
    names = [f"first/{'a' * 120}{number}" for number in range(100)]
    files = dict.fromkeys(names, b"x")
    _commit_as_it_is(origin, {**files, ".gitattributes": bomb, "first/.gitattributes": bomb})
    with anyio.fail_after(60):
        assert await skills(mirror(server, origin, tmp_path / "cache")) == ["first"]
    written = _written(tmp_path / "cache")
    assert names[0] in written
    assert not any(name.endswith(".gitattributes") for name in written)


async def test_existing_clone_gets_the_same_protection(
    server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    assert await skills(mirror(server, origin, cache)) == ["first"]
    (repository,) = cache.glob("git/*/clone.git")
    (repository / "info/attributes").write_text("* ident\n")
    origin.commit({"first/a.txt": _TEXT})
    await scanned(mirror(server, origin, cache))
    (written,) = cache.glob("git/*/commit-*/first/a.txt")
    assert written.read_bytes() == _TEXT


async def test_checkout_larger_than_its_commit_is_removed(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clone, "ATTRIBUTES", "* text eol=crlf\n")
    origin.commit({"first/a.txt": _TEXT})
    cache = tmp_path / "cache"
    reason = await refused(mirror(server, origin, cache))
    assert "wrote more than" in reason
    assert not list(cache.rglob("SKILL.md"))


async def test_files_differing_only_in_case_are_within_limit(
    server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    origin.commit({"first/a.txt": "1", "first/A.txt": "2", "FIRST/b.txt": "3"})
    assert await skills(mirror(server, origin, tmp_path / "cache")) == ["first"]


async def test_pack_that_expands_beyond_memory_limit_is_refused(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = random.Random(1).randbytes(100_000)
    origin.commit({f"big/{number}.bin": noise * 60 + bytes([number]) for number in range(2)})
    origin.git("repack", "-adfq", "--depth=5")
    monkeypatch.setattr(settings, "MAX_MEMORY", 3_000_000)
    cache = tmp_path / "cache"
    reason = await refused(mirror(server, origin, cache))
    assert "cannot be fetched: " in reason
    assert not list(cache.rglob("SKILL.md"))


async def test_small_pack_with_large_files_is_measured_before_checkout(
    server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    origin.commit({f"big/{number}.bin": bytes(20_000_000 + number) for number in range(2)})
    cache = tmp_path / "cache"
    assert "40,000,082 bytes" in await refused(mirror(server, origin, cache, max_bytes=1_000_000))
    assert sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) < 1_000_000
    assert await skills(mirror(server, origin, cache, "#first", max_bytes=1_000_000)) == ["first"]


async def test_endlessly_repeating_tree_is_refused(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    origin.commit(skill("first"))
    tree = origin.git("rev-parse", "HEAD^{tree}")
    for _ in range(12):
        tree = _tree(origin.folder, "".join(f"040000 tree {tree}\td{number}\n" for number in range(10)))
    commit = origin.git("commit-tree", tree, "-m", "x")
    origin.git("update-ref", "refs/heads/main", commit)
    reason = await refused(mirror(server, origin, tmp_path / "cache", entries=1000))
    assert "holds more than 4," in reason


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of another process")
def test_git_ends_even_if_its_parent_is_killed(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / ".gitattributes").write_text("*a" * 25 + "*b diff\n")  # it takes git years to compare
    script = (
        "import anyio, pathlib; from skillwire.sources.git.command import Git\n"
        f"asked = 'check-attr', 'diff', {'a' * 120 + '1'!r}\n"
        "anyio.run(lambda: Git.local().run(*asked, folder=pathlib.Path(), seconds=60))"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (found := children.read_text().split()):
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(1)
        process.kill()
    try:
        soft, hard = resource.prlimit(int(found[0]), resource.RLIMIT_CPU)
    finally:
        os.kill(int(found[0]), signal.SIGKILL)
    assert soft == hard == 60 * (os.cpu_count() or 1)

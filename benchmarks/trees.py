"""Generated trees of skills for measurements. The same size has the same bytes on every machine."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SKILL_BYTES = 3 * 1024
"""Size of every `SKILL.md`."""
FILE_BYTES = 1024
"""Size of every other file."""
FILES = ("references/guide.md", "references/limits.md", "scripts/run.py")

_TEAM = "team-"
_GROUP = 100
"""Number of skills in one team's folder."""
_LONG_AGO = 1_700_000_000
_SETTLED_AFTER = 2.1
"""Seconds until a scan caches a new file. Its change time (ctime) cannot be set, so wait."""
_WORDS = (
    "ask",
    "the",
    "owner",
    "of",
    "an",
    "order",
    "before",
    "money",
    "moves",
    "and",
    "write",
    "it",
    "down",
)


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder of `size` skills, numbered from 0."""

    root: Path
    size: int

    def spread(self, count: int) -> list[int]:
        """Return the indexes of `count` skills spread over the tree. A small tree repeats some."""
        return [index * self.size // count % self.size for index in range(count)]

    def folder(self, index: int) -> Path:
        return self.root / _place(index)

    def uri(self, index: int, path: str = "SKILL.md") -> str:
        return f"skill://{_place(index)}/{path}"

    def edit(self, index: int, revision: int) -> bytes:
        """Write a revision of one file of a skill, without changing its size. Return its bytes."""
        content = _filled(f"# Revision {revision}\n", index, FILE_BYTES)
        (self.folder(index) / FILES[0]).write_bytes(content)
        return content

    def describe(self, index: int) -> None:
        """Change the description of a skill."""
        (self.folder(index) / "SKILL.md").write_bytes(_document(index, fresh_revision()))

    def rewrite(self, index: int) -> None:
        """Change the body of a skill, but not its frontmatter."""
        file = self.folder(index) / "SKILL.md"
        head, mark, _ = file.read_text("ascii").rpartition("---\n")
        file.write_bytes(_filled(f"{head}{mark}# Revision {fresh_revision()}\n", index, SKILL_BYTES))

    def plant(self, index: int) -> list[Path]:
        """Write a whole skill. Return its files."""
        files: list[Path] = []
        for path, content in skill_files(index):
            file = self.folder(index) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            files.append(file)
        return files

    def uproot(self, index: int) -> None:
        shutil.rmtree(self.folder(index))

    def trim(self) -> None:
        """Remove every skill beyond the size. The size must be a multiple of the team size."""
        assert self.size % _GROUP == 0
        for team in self.root.iterdir():
            if int(team.name.removeprefix(_TEAM)) >= self.size // _GROUP:
                shutil.rmtree(team)


def grow(root: Path, size: int) -> Tree:
    """Write a tree of skills into the new folder `root`."""
    tree = Tree(root, size)
    for index in range(size):
        for file in tree.plant(index):
            os.utime(file, (_LONG_AGO, _LONG_AGO))
    return tree


def fresh_revision() -> int:
    """Return a new revision number, unique across processes."""
    return time.time_ns() // 1000


def settle() -> None:
    """Wait until all files written so far are old enough for the scan cache."""
    time.sleep(_SETTLED_AFTER)


def _place(index: int) -> str:
    return f"{_TEAM}{index // _GROUP:03}/skill-{index:05}"


def skill_files(index: int, revision: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a skill. Each revision has its own description and its own bytes in every file."""
    yield "SKILL.md", _document(index, revision)
    for path in FILES:
        yield path, _filled(f"# {path}{_mark(revision)}\n", index, FILE_BYTES)


def _document(index: int, revision: int) -> bytes:
    return _filled(_frontmatter(index, revision), index, SKILL_BYTES)


def _mark(revision: int) -> str:
    return f", revision {revision}" if revision else ""


def _frontmatter(index: int, revision: int) -> str:
    which = f"{index}{_mark(revision)}"
    return (
        f"---\nname: skill-{index:05}\n"
        f"description: Settles question {which} of a customer. Use when somebody asks for money back, was\n"
        "  charged twice, or wants to know who decides; also when an order is late and nobody says why.\n"
        'license: MIT\nmetadata:\n  owner: customer-desk\n  version: "1.0"\n---\n'
    )


def _filled(start: str, index: int, size: int) -> bytes:
    lines = [start]
    length, line = len(start), 0
    while length < size:
        # Two numbers in every line make all lines and all files of a tree different.
        words = (_WORDS[(index * 7 + line * 3 + column) % len(_WORDS)] for column in range(12))
        lines.append(f"{index}.{line} {' '.join(words)}\n")
        length, line = length + len(lines[-1]), line + 1
    return "".join(lines).encode("ascii")[: size - 1] + b"\n"

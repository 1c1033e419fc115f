"""Trees of skills to measure on: the same bytes for the same size, on every machine."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SKILL_BYTES = 3 * 1024
"""Every `SKILL.md`."""
FILE_BYTES = 1024
"""Every other file."""
FILES = ("references/guide.md", "references/limits.md", "scripts/run.py")

_TEAM = "team-"
_GROUP = 100
"""Skills that share a folder, as those of one team would."""
_LONG_AGO = 1_700_000_000
_SETTLED_AFTER = 2.1
"""Seconds after which a file counts as settled. Its change time (ctime) cannot be set, only waited for."""
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
    """A folder of `size` skills, with numbers from 0."""

    root: Path
    size: int

    def spread(self, count: int) -> list[int]:
        """Return `count` skills from all over the tree; a small tree gives some of them twice."""
        return [index * self.size // count % self.size for index in range(count)]

    def folder(self, index: int) -> Path:
        return self.root / _place(index)

    def uri(self, index: int, path: str = "SKILL.md") -> str:
        return f"skill://{_place(index)}/{path}"

    def edit(self, index: int, revision: int) -> bytes:
        """Change one file of a skill, as often as wanted, without changing its size; return its bytes."""
        content = _filled(f"# Revision {revision}\n", index, FILE_BYTES)
        (self.folder(index) / FILES[0]).write_bytes(content)
        return content

    def describe(self, index: int) -> None:
        """Give a skill another description."""
        (self.folder(index) / "SKILL.md").write_bytes(_document(index, fresh_revision()))

    def rewrite(self, index: int) -> None:
        """Change what a skill says, and not what is told of it."""
        file = self.folder(index) / "SKILL.md"
        head, mark, _ = file.read_text("ascii").rpartition("---\n")
        file.write_bytes(_filled(f"{head}{mark}# Revision {fresh_revision()}\n", index, SKILL_BYTES))

    def plant(self, index: int) -> list[Path]:
        """Write a whole skill; return its files."""
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
        """Remove every skill beyond the size. Only for trees in which the last team is full."""
        assert self.size % _GROUP == 0
        for team in self.root.iterdir():
            if int(team.name.removeprefix(_TEAM)) >= self.size // _GROUP:
                shutil.rmtree(team)


def grow(root: Path, size: int) -> Tree:
    """Write a tree below the new folder `root`."""
    tree = Tree(root, size)
    for index in range(size):
        for file in tree.plant(index):
            os.utime(file, (_LONG_AGO, _LONG_AGO))
    return tree


def fresh_revision() -> int:
    """Return a revision that no skill has yet, whichever process wrote it."""
    return time.time_ns() // 1000


def settle() -> None:
    """Wait until everything that was written before this call is old enough to be remembered by a scan."""
    time.sleep(_SETTLED_AFTER)


def _place(index: int) -> str:
    return f"{_TEAM}{index // _GROUP:03}/skill-{index:05}"


def skill_files(index: int, revision: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a skill. Another revision has another description, and other bytes in each file."""
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
        # Two numbers in every line: no two files of a tree are alike, and neither are two lines.
        words = (_WORDS[(index * 7 + line * 3 + column) % len(_WORDS)] for column in range(12))
        lines.append(f"{index}.{line} {' '.join(words)}\n")
        length, line = length + len(lines[-1]), line + 1
    return "".join(lines).encode("ascii")[: size - 1] + b"\n"

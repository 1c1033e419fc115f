"""Write many files at once in a separate process, as `git checkout` would.

    python -m benchmarks.writing ROOT SIZE FILES REVISION

prepares everything, waits for a line on stdin, writes the files, and prints the seconds it took.
"""

import math
import select
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from benchmarks.stdio import PATIENCE
from benchmarks.trees import FILES, Tree, fresh_revision, skill_files

_FILES_PER_SKILL = 1 + len(FILES)


@dataclass(frozen=True, slots=True)
class Burst:
    """The files to write: a new revision of some skills, then new skills."""

    tree: Tree
    files: int
    revision: int = field(default_factory=fresh_revision)

    @property
    def rewritten(self) -> range:
        return range(min(self.tree.size, self._skills * 2 // 5))

    @property
    def added(self) -> range:
        return range(self.tree.size, self.tree.size + self._skills - len(self.rewritten))

    @property
    def _skills(self) -> int:
        return self.files // _FILES_PER_SKILL

    def write(self) -> None:
        """Wait for a line on stdin, then write the files."""
        contents = [
            (self.tree.folder(index) / path, content)
            for index in (*self.rewritten, *self.added)
            for path, content in skill_files(index, self.revision)
        ]
        sys.stdin.readline()
        began = time.perf_counter()
        for file, content in contents:
            with suppress(FileNotFoundError):  # like git: remove the old file and create a new one
                file.unlink()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        print(time.perf_counter() - began, flush=True)


class Writer:
    """A handle of the process that writes a burst."""

    def __init__(self, to: IO[bytes], answers: IO[bytes]) -> None:
        self._to = to
        self._answers = answers

    def go(self) -> None:
        self._to.write(b"go\n")
        self._to.flush()

    def seconds(self, patience: float = PATIENCE) -> float:
        """Return the seconds that writing took; infinite if it has not finished within `patience`."""
        over = select.select([self._answers], [], [], patience)[0]
        return float(self._answers.readline()) if over else math.inf


@contextmanager
def writer(burst: Burst) -> Generator[Writer]:
    """Start the process that writes `burst`. It waits for `Writer.go`."""
    arguments = map(str, (burst.tree.root, burst.tree.size, burst.files, burst.revision))
    command = [sys.executable, "-m", "benchmarks.writing", *arguments]
    folder = Path(__file__).parents[1]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Writer(process.stdin, process.stdout)
        finally:
            process.kill()


def main(root: str, size: str, files: str, revision: str) -> None:
    Burst(Tree(Path(root), int(size)), int(files), int(revision)).write()


if __name__ == "__main__":
    main(*sys.argv[1:])

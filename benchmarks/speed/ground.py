"""What the parts of a run share: the names of the quantities, the scale, the trees and the caches."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed.measures import Measures
from benchmarks.talk import say
from benchmarks.trees import SKILL_BYTES, Tree, grow, settle

LARGE_BYTES = 1 << 20
IN_FLIGHT = 16
EDITS_PER_SECOND = 10

COLD, WARM = (
    "start to the first `skills/list`, nothing known",
    "start to the first `skills/list`, digests known",
)
COLD_CPU, WARM_CPU = f"{COLD}: CPU", f"{WARM}: CPU"
MEMORY = "memory (RSS) after every page of `skills/list` and 50 reads"
MEMORY_ALL = f"{MEMORY}, and `server/discover`"
LISTING = "every page of `skills/list`"
NOTICED = "edit of a description to the notification"
READ = f"`resources/read` of {SKILL_BYTES // 1024} KB"
ONCE = f"{READ}, each file once, {IN_FLIGHT} in flight"
"""On a new server, so that no answer is cached."""
TRACED, UNTRACED = f"{READ} with trace context", f"{READ} without trace context"
EDITED, QUIET = f"{READ} with {EDITS_PER_SECOND} edits a second", f"{READ} without edits"
SCAN, RESCAN, FLOOR = "cold scan", "warm scan", "walk, stat, open, read and hash every file, one thread"


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes and repetitions of a run."""

    sizes: tuple[int, ...]
    rounds: int
    large_rounds: int
    """Rounds with trees of more than `often` skills."""
    often: int
    reads: int
    """Rounds of reads. Microseconds need more samples than seconds."""
    turn: float
    """Seconds of each turn of a program."""
    edits: int
    traces: int
    """Number of different trace contexts. More than a turn sends, so that no line is sent twice."""
    busy_turn: float
    """Seconds of each turn while files are edited."""


FULL = Scale(
    (100, 1_000, 5_000, 20_000),
    rounds=5,
    large_rounds=3,
    often=1_000,
    reads=9,
    turn=0.4,
    edits=20,
    traces=60_000,
    busy_turn=2.0,
)
QUICK = Scale(
    (20, 100),
    rounds=1,
    large_rounds=1,
    often=100,
    reads=1,
    turn=0.05,
    edits=2,
    traces=2_000,
    busy_turn=0.5,
)


@dataclass(slots=True)
class Ground:
    """What the parts of a run share: measurements, caches, and trees, which are written on first use."""

    folder: Path
    scale: Scale
    measures: Measures

    @property
    def middle(self) -> int:
        """The tree size that all programs are measured with."""
        return self.scale.sizes[1]

    def tree(self, size: int) -> Tree:
        root = self.folder / f"tree-{size}"
        if not root.exists():
            say(f"writing {size:,} skills")
            tree = grow(root, size)
            large = tree.folder(0) / "large.txt"
            large.write_bytes((b"x" * 99 + b"\n") * (LARGE_BYTES // 100))
            settle()
        return Tree(root, size)

    def rounds(self, size: int) -> int:
        scale = self.scale
        return scale.rounds if size <= scale.often else 1 if size > 10 * scale.often else scale.large_rounds

    def cache(self, name: str) -> dict[str, str]:
        """Return environment variables that put Skillwire's cache into a folder of this name."""
        return {"SKILLWIRE_CACHE_DIR": str(self.folder / f"cache-{name}"), "SKILLWIRE_MAX_ENTRIES": "1000000"}

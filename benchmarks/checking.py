"""Measure the repository contract on many skills: each alone, all together, and every text.

    python -m benchmarks.checking ROOT SIZE

runs one round, in its own process, so that rounds do not affect each other's memory.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

import anyio

from benchmarks.costs import Cost, timed
from benchmarks.floors import read_and_hash, walk_and_stat
from benchmarks.plan import Plan
from benchmarks.results import Growth, Series, Table, Unit, ratio, series_of
from skillwire.config.body_check import body_problems
from skillwire.config.library import load
from skillwire.contract.folders import all_problems, check_folders
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.library.library import Library
from skillwire.sources.folder.source import FolderSource

_FLOOR = "floor: walk, read and hash every file"
_LOAD = "load the library, as `check` does without the contract"
_RULES = "check every skill against the contract, alone and with the others"
_TEXTS = "read every text, and check it"
_PARTS = (_FLOOR, _LOAD, _RULES, _TEXTS)
_PEAK = "peak memory that reading the texts adds / size of the texts"

_TEXT_BYTES = 3_000
_GROUP = 50
_KIB = 1024


def grow(root: Path, size: int) -> Path:
    """Write skills that satisfy the contract, each with a 3 KB text, a reference and dependencies."""
    for index in range(size):
        folder = root / f"team-{index // _GROUP:03}" / _name(index)
        (folder / "references").mkdir(parents=True)
        (folder / "SKILL.md").write_text(_document(index), encoding="ascii")
        (folder / "references/policy.md").write_text(f"# Policy {index}\n", encoding="ascii")
    return root


def measure(trees: dict[int, Path], plan: Plan) -> list[Series]:
    """Measure every tree once a round, so that load on the machine affects all of them equally."""
    tables: dict[str, Table] = {}
    peaks: dict[int, list[float]] = {}
    for turn in range(plan.rounds):
        for size, root in sorted(trees.items(), reverse=turn % 2 == 1):
            found = _round_apart(root, size)
            peaks.setdefault(size, []).append(found.pop(_PEAK)[0])
            for name, (wall, cpu) in found.items():
                tables.setdefault(name, Table()).add(size, Cost(wall, cpu))
    added = {
        size: [a + b for a, b in zip(tables[_RULES].cpu[size], tables[_TEXTS].cpu[size], strict=True)]
        for size in trees
    }
    ratios = {
        "the contract / the library": ratio(added, tables[_LOAD].cpu),
        "the contract / the floor": ratio(added, tables[_FLOOR].cpu),
    }
    return [
        *(series for name, table in tables.items() for series in series_of(name, table, Growth.LINEAR)),
        Series(_PEAK, "", Unit.RATIO, Growth.NONE, peaks),
        *(Series(name, "cpu", Unit.RATIO, Growth.CONSTANT, found) for name, found in ratios.items()),
    ]


def _round_apart(root: Path, size: int) -> dict[str, list[float]]:
    command = [sys.executable, "-m", "benchmarks.checking", str(root), str(size)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1])
    return json.loads(printed.stdout)


async def _round(root: Path, size: int) -> dict[str, list[float]]:
    costs: list[Cost] = []
    with timed(costs):
        read_and_hash(walk_and_stat(root))
    library = Library([FolderSource(root)])
    with timed(costs):
        await load(library)
    with timed(costs):
        skills = check_folders(library, BLOCK_KEY)
    before = _peak()
    with timed(costs):
        problems = await all_problems(library, skills, skills.checked.repository.skills)
        problems += await body_problems(library)
    added = max(_peak() - before, 1)
    assert len(skills.checked.repository.skills) == size, "not every skill was checked"
    assert problems == [], "the skills should satisfy the contract"
    figures = {name: [cost.wall, cost.cpu] for name, cost in zip(_PARTS, costs, strict=True)}
    return {**figures, _PEAK: [added / (size * _TEXT_BYTES)]}


def _peak() -> int:
    """Return the peak memory of this process, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * _KIB


def _name(index: int) -> str:
    return f"skill-{index:05}"


def _document(index: int) -> str:
    name = _name(index)
    needed = ", ".join(_name(other) for other in {index // 2, index // 3} if other < index)
    start = (
        f"---\nname: {name}\ndescription: Settles question {index} of a customer. Use when somebody asks.\n"
        f'license: MIT\nx-skillwire:\n  id: {name}\n  version: "1.{index}.0"\n  tags: [billing, money]\n'
        f"  capabilities:\n    - resource://skills/{name}/document\n"
        f"    - resource://skills/{name}/references/policy\n  depends_on: [{needed}]\n"
        "  references:\n    policy:\n      path: references/policy.md\n      title: The policy\n---\n"
        f"# Question {index}\n\nFollow [the policy](references/policy.md).\n\n"
    )
    line = f"{index}: look into the order, the payment and the parcel, then decide and write it down.\n"
    return start + line * ((_TEXT_BYTES - len(start)) // len(line))


def main(root: str, size: str) -> None:
    print(json.dumps(anyio.run(_round, Path(root), int(size))))


if __name__ == "__main__":
    main(*sys.argv[1:])

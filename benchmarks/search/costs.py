"""Measure building, queries, edits and pruning in one folder of generated skills.

    python -m benchmarks.search.costs ROOT SIZE QUERIES LONG EDITS

prints the costs as JSON. It runs in its own process, so that sizes do not affect each other.
"""

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import anyio

from benchmarks.search.contestants import LinearScan, PlainFts5, Text
from benchmarks.search.quality import FTS5, LINEAR, OURS
from benchmarks.search.texts import Language, write_skill
from skillwire import FolderSource, Library
from skillwire.core.process import freeze_survivors
from skillwire.core.record import Limits
from skillwire.library.search import Audience
from skillwire.search import index as engine
from skillwire.search.tool import SearchOptions

LONG_QUERY = "3,000 characters"
LENGTHS = ("2 words", "8 words", LONG_QUERY)
COLD, BUILD, WARM, EDIT = "cold scan", "build", "warm start", "edit"
FTS5_BUILD, WARM_SCAN = "build FTS5", "load the library"
_UNBOUNDED = 1 << 40
_BY_TENS = 10
"""One of so many queries is also asked of FTS5."""
_LINEAR = 2
"""Number of queries of each length that the linear scan is asked."""
_LARGE = 50_000
"""Number of skills from which a linear scan for a long query takes minutes, and is not measured."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much is measured at one size."""

    queries: int
    """Queries of each length up to 8 words."""
    long: int
    """Queries of 3,000 characters."""
    edits: int


async def measure(root: Path, size: int, load: Load) -> dict[str, list[float]]:
    """Return samples by name: CPU seconds of work, wall seconds of queries, and shares."""
    language = Language()
    limits = Limits(entries=1_000_000)
    found: dict[str, list[float]] = {}
    scanned = FolderSource(root, limits=limits)
    gc.disable()  # as a server does while it loads
    with _cpu(found, COLD):
        scan = await scanned.scan()
    gc.enable()
    assert len(scan.entries) == size, "not every skill was found"
    del scan, scanned
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        options = SearchOptions(Path(folder, "index"))
        library = Library([FolderSource(root, limits=limits)])
        await library.load()
        freeze_survivors()  # as a server does after it has loaded
        options.add_to(library)
        with _cpu(found, BUILD):
            await library.search("warm up")
        again = Library([FolderSource(root, limits=limits)])
        with _cpu(found, WARM_SCAN):
            await again.load()
        options.add_to(again)
        with _cpu(found, WARM):
            await again.search("warm up")
        del again
        files = [(uri, root / uri.removeprefix("skill://")) for uri in library.catalog.entries]
        with _cpu(found, FTS5_BUILD):
            fts5 = PlainFts5(_texts(files), str(Path(folder, "fts5.db")))
        linear = LinearScan(_texts(files))
        gc.freeze()
        for number in range(load.queries):
            for length in LENGTHS:
                if length == LONG_QUERY and number >= load.long:
                    continue
                query = _query(language, length, number)
                with _wall(found, f"{OURS}, {length}"):
                    await library.search(query, audience=Audience.MODELS)
                if number < max(load.queries // _BY_TENS, 3):
                    with _wall(found, f"{FTS5}, {length}"):
                        fts5.search(query)
                if number < _LINEAR and (length != LONG_QUERY or size < _LARGE):
                    with _wall(found, f"{LINEAR}, {length}"):
                        linear.search(query)
        fts5.close()
        await _measure_pruning(library, language, load, found)
        await _measure_edits(root, library, language, load.edits, found)
    return found


async def _measure_pruning(
    library: Library, language: Language, load: Load, found: dict[str, list[float]]
) -> None:
    """Compare the first ten results with those of a search that looks at every posting."""
    for length in LENGTHS:
        for number in range(min(load.queries, load.long)):
            query = _query(language, length, -1 - number)
            pruned = await library.search(query)
            with patch.object(engine, "_MAX_POSTINGS", _UNBOUNDED):
                complete = await library.search(query)
            expected = {each.uri for each in complete.results}
            same = expected.intersection(each.uri for each in pruned.results)
            found.setdefault(f"overlap, {length}", []).append(len(same) / len(expected) if expected else 1.0)


async def _measure_edits(
    root: Path, library: Library, language: Language, edits: int, found: dict[str, list[float]]
) -> None:
    """Measure what a search after an edit costs more than the same search without one."""
    for edit in range(edits):
        number = edit * 37 % len(library.catalog.entries)
        before, changed = language.skill(number), language.skill(number, revision=1)
        text = before.text.replace(before.body, changed.body)
        path = root / before.path / "SKILL.md"
        path.write_text(text, encoding="ascii")
        reading = await library.read(before.uri)
        assert reading.content.decode() == text, "the change was not seen"
        costs: dict[str, list[float]] = {}
        for name in ("first", "second"):
            with _cpu(costs, name):
                await library.search(before.name, audience=Audience.MODELS)
        found.setdefault(EDIT, []).append(costs["first"][0] - costs["second"][0])
        write_skill(root, before)


def _query(language: Language, length: str, number: int) -> str:
    if length == LONG_QUERY:
        return language.long_query(number, 3_000)
    return language.query(number, int(length.split(maxsplit=1)[0]))


def _texts(files: Iterable[tuple[str, Path]]) -> Iterator[Text]:
    """Yield the texts of files, which are read, as every index must."""
    for uri, file in files:
        _, header, body = file.read_text(encoding="ascii").split("---\n", 2)
        name, description = (line.partition(": ")[2] for line in header.splitlines())
        yield Text(uri, name, description, body)


class _Timer:
    def __init__(self, clock: Callable[[], float], samples: list[float]) -> None:
        self._clock, self._samples = clock, samples

    def __enter__(self) -> None:
        self._begin = self._clock()

    def __exit__(self, *_: object) -> None:
        self._samples.append(self._clock() - self._begin)


def _cpu(found: dict[str, list[float]], name: str) -> _Timer:
    return _Timer(time.process_time, found.setdefault(name, []))


def _wall(found: dict[str, list[float]], name: str) -> _Timer:
    return _Timer(time.perf_counter, found.setdefault(name, []))


def measure_apart(root: Path, size: int, load: Load) -> Mapping[str, list[float]]:
    """Measure in a new process."""
    given = (str(each) for each in (root, size, load.queries, load.long, load.edits))
    command = [sys.executable, "-m", "benchmarks.search.costs", *given]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    return json.loads(done.stdout)


def main(root: str, *numbers: str) -> None:
    size, queries, long, edits = map(int, numbers)
    print(json.dumps(anyio.run(measure, Path(root), size, Load(queries, long, edits))))


if __name__ == "__main__":
    main(*sys.argv[1:])

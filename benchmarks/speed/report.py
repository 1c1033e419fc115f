"""The report of the comparison, as Markdown, JSON and SVG. All figures are generated."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from benchmarks.machine import Machine
from benchmarks.results import Unit
from benchmarks.speed.bars import Bar, bars
from benchmarks.speed.chart import Row, Series, chart
from benchmarks.speed.contestants import AGENTSKILLS, BARE, ECHO, FLOORS, HTTP, OURS, STAT, STDIO
from benchmarks.speed.ground import COLD, IN_FLIGHT, LISTING, ONCE, READ, Scale
from benchmarks.speed.loads import PATIENCE
from benchmarks.speed.measures import Measure, Measures
from benchmarks.tables import figure, row

_INTRODUCTION = """\
# Speed compared with other servers

Written by `scripts/bench speed`. Each generated skill has a `SKILL.md` of 3 KB and 3 files of 1 KB in 2
folders. The servers take turns in every round. Figures are medians over the rounds; ratios are computed
within each round. FastMCP, `agentskills-mcp-server` and the bare SDK use the same uvicorn settings as
Skillwire. Anything that did not finish within 60 s is shown as such and measured once.

**Repeated** and **each file once** are two measurements. *Repeated*: 50 files are read in turns, after a
first read of each. Skillwire then answers from its response cache. *Each file once*: every `SKILL.md` is read
once on a new server, so that nothing is cached, as by a client that reads a skill when it needs it. In the
chart, full bars are repeated reads. The pale bar below is the same program with each file once.

- *bare SDK* is a low-level server of the official Python SDK that has every answer in memory and does not
  read the disk. `agentskills-mcp-server` 0.7 also reads all files into memory before it answers, and does not
  notice changes. Neither reads a file when each file is requested once.
- *raw line echo*, *Starlette route* and *raw ASGI* are floors for repeated reads. They send the same bytes
  without parsing the request.
- *Starlette file route* and *stat, open, read, hash, encode* are floors for each file once. The first is one
  route that opens, reads and hashes the file, and encodes the same JSON. The second does this in one process,
  without a request.
- FastMCP and `agentskills-mcp-server` are measured with up to 1,000 skills. For each file once, they are
  started in 3 rounds only.
"""
_NOT_INSTALLED = "`agentskills-mcp-server` was not measured in this run. It needs Python 3.12 or newer.\n"
_STAT = """\
A read on stdio calls `stat` on its file, so that an edit takes effect at once. The echo does not. """
_SCANS = """\
A scan opens each folder by descriptor, checks that the folder is unchanged, opens each file without following
links, and parses and checks each frontmatter. A start with a scan cache compares the stamps of every file and
folder, and reads no files.
"""
_REPEATED = f"{READ}, {IN_FLIGHT} in flight"
_READING = ("requests a second", "CPU a request", "p50", "p99")


@dataclass(frozen=True, slots=True)
class SpeedReport:
    """The results of this run, and of earlier runs of other parts."""

    scale: Scale
    machine: Machine
    seconds: dict[str, float]
    """How long each part took."""
    measures: Measures

    def to_json(self) -> str:
        found = {
            "machine": asdict(self.machine),
            "seconds": {part: round(seconds, 1) for part, seconds in self.seconds.items()},
            "bars": [{**asdict(bar), "found": _finite(bar.found)} for bar in self._bars()],
            "measures": [measure.as_dict() for measure in self.measures],
        }
        return json.dumps(found, indent=1) + "\n"

    def to_markdown(self) -> str:
        took = ", ".join(f"{part} {seconds:.0f} s" for part, seconds in self.seconds.items())
        return "\n".join(
            [
                _INTRODUCTION,
                f"{self.machine} Duration of the parts: {took}.",
                "",
                "![Reads a second, repeated and each file once, and the time to the first answer](speed.svg)",
                "",
                *([] if any(each.contestant == AGENTSKILLS for each in self.measures) else [_NOT_INSTALLED]),
                "## Each file once, and repeated",
                "",
                *self._once_and_repeated(),
                "## Targets",
                "",
                *self._bar_rows(),
                *self._obstacles(),
                "## Start, listing and memory",
                "",
                *self._by_size(("starting", "listing")),
                "## Reads",
                "",
                *self._reads(),
                "## Changes and scans",
                "",
                *self._by_size(("noticing", "scanning")),
            ]
        )

    def to_svg(self) -> str:
        """Return a chart of the most important results."""
        middle = self.scale.sizes[1]
        groups = [
            Series(
                f"reads of 3 KB a second, {IN_FLIGHT} in flight, {transport} (logarithmic)",
                self._with_once(f"{_REPEATED}: requests a second", transport, middle),
            )
            for transport in (STDIO, HTTP)
        ]
        groups.append(
            Series(f"{COLD.replace('`', '')}, {middle:,} skills", self._bars_of(COLD, STDIO, middle))
        )
        groups.append(
            Series(f"{LISTING.replace('`', '')}, {middle:,} skills", self._bars_of(LISTING, STDIO, middle))
        )
        return chart(
            "Skillwire, other servers and the floors", [each for each in groups if each.rows], OURS, FLOORS
        )

    def _bars(self) -> list[Bar]:
        sizes = self.scale.sizes
        return list(bars(self.measures, sizes[1], sizes[min(2, len(sizes) - 1)]))

    def _bar_rows(self) -> Iterator[str]:
        yield row(["", "compared with", "target", "measured", ""])
        yield row(["---", "---", "---", "---:", "---"])
        for bar in self._bars():
            verdict = "" if bar.found is None else "reached" if bar.reached else "**not reached**"
            yield row([bar.what, bar.against, bar.wanted, bar.shown, verdict])
        yield ""

    def _obstacles(self) -> Iterator[str]:
        """Yield why some targets are not reached, with the figures that show it."""
        where = (STDIO, self.scale.sizes[1])
        if any(bar.against == ECHO and not bar.reached for bar in self._bars()):
            echo = f"`resources/read` of 3 KB, {IN_FLIGHT} in flight: CPU a request"
            get = f"`skills/get`, {IN_FLIGHT} in flight: CPU a request"
            stat, without = (
                self.measures.ratio(echo, STAT, ECHO, where),
                self.measures.ratio(get, OURS, ECHO, where),
            )
            if stat is not None and without is not None:
                yield (
                    f"{_STAT}That call alone takes {stat:.2f} times the CPU time of an echo with "
                    f"{IN_FLIGHT} in flight. `skills/get`, which needs no such call, takes {without:.2f} "
                    "times that of its echo."
                )
                yield ""
        yield _SCANS

    def _by_size(self, parts: Sequence[str]) -> Iterator[str]:
        chosen = [each for each in self.measures if each.part in parts]
        sizes = sorted({each.size for each in chosen})
        yield row(["", "server", *(f"{size:,}" for size in sizes)])
        yield row(["---", "---", *["---:"] * len(sizes)])
        for what, name in dict.fromkeys((each.what, each.contestant) for each in chosen):
            of_size = {each.size: each for each in chosen if (each.what, each.contestant) == (what, name)}
            shown = f"{name} with none" if name == BARE and what != LISTING else name
            yield row([what, shown, *(_cell(of_size.get(size)) for size in sizes)])
        yield ""

    def _once_and_repeated(self) -> Iterator[str]:
        """Yield the reads of every program side by side."""
        size = self.scale.sizes[1]
        figures = [f"{what}: {of}" for what in (ONCE, _REPEATED) for of in _READING[:2]]
        yield f"Reads of 3 KB a second and CPU time of each, {size:,} skills, {IN_FLIGHT} in flight:"
        yield ""
        yield row(["transport", "server", "each once", "CPU", "repeated", "CPU"])
        yield row(["---", "---", *["---:"] * 4])
        measured = dict.fromkeys(
            (each.transport, each.contestant)
            for each in self.measures
            if each.what in figures and each.contestant != STAT
        )
        for transport, name in sorted(measured, key=lambda each: each[0] != STDIO):
            found = (self.measures.find(what, name, transport, size) for what in figures)
            yield row([transport, name, *map(_cell, found)])
        yield ""

    def _reads(self) -> Iterator[str]:
        parts = {"reading", "first-reads", "traced", "edited"}
        chosen = [each for each in self.measures if each.part in parts]
        yield row(["", "transport", "server", *_READING])
        yield row(["---", "---", "---", *["---:"] * len(_READING)])
        kinds = dict.fromkeys(
            (each.what.rpartition(": ")[0], each.transport, each.contestant) for each in chosen
        )
        for what, transport, name in sorted(kinds, key=lambda kind: kind[:2]):
            cells = [
                _cell(self.measures.find(f"{what}: {each}", name, transport, self.scale.sizes[1]))
                for each in _READING
            ]
            yield row([what, transport, name, *cells])
        yield ""

    def _with_once(self, what: str, transport: str, size: int) -> list[Row]:
        """Return the bars of repeated reads, each with the bar of the same program with each file once."""
        found: list[Row] = []
        for bar in self._bars_of(what, transport, size):
            once = self.measures.find(f"{ONCE}: requests a second", bar.name, transport, size)
            found.append(bar)
            if once is not None:
                found.append(Row(bar.name, once.median, _cell(once), is_once=True))
        return found

    def _bars_of(self, what: str, transport: str, size: int) -> list[Row]:
        found = [
            each
            for each in self.measures
            if (each.what, each.transport, each.size) == (what, transport, size)
        ]
        best_last = found[0].unit is Unit.SECONDS if found else False
        found.sort(key=lambda each: each.median, reverse=not best_last)
        return [Row(each.contestant, each.median, _cell(each)) for each in found]


def _cell(measure: Measure | None) -> str:
    if measure is None or not measure.samples:
        return ""
    if math.isinf(measure.median):
        return f"> {PATIENCE:.0f} s"
    return figure(measure.median, measure.unit)


def _finite(found: float | None) -> float | None:
    return None if found is None or not math.isfinite(found) else found

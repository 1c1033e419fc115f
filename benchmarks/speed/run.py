"""Run the requested parts, and merge their results with earlier results of the others."""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.machine import Machine
from benchmarks.speed.ground import Ground, Scale
from benchmarks.speed.loads import NoAnswerError
from benchmarks.speed.measures import Measure, Measures
from benchmarks.speed.parts import PARTS
from benchmarks.speed.report import SpeedReport
from benchmarks.talk import say


def run(
    scale: Scale,
    only: Sequence[str] = (),
    known: Path | None = None,
    after_each: Callable[[SpeedReport], None] = lambda _: None,
) -> SpeedReport:
    """Measure the parts in `only`, or all. `known` is a file of earlier results for the other parts."""
    machine = Machine.here()
    requested = list(only or PARTS)
    seconds, measures = _earlier_results(known, requested)
    report = SpeedReport(scale, machine, seconds, measures)
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        ground = Ground(Path(folder), scale, measures)
        for part in requested:
            say(part)
            begin = time.monotonic()
            try:
                PARTS[part](ground)
            except NoAnswerError as error:  # keep earlier results and go on with the other parts
                say(f"{part} was not completed: {error}")
            seconds[part] = time.monotonic() - begin
            after_each(report)
    return report


def _earlier_results(known: Path | None, requested: Sequence[str]) -> tuple[dict[str, float], Measures]:
    """Return the earlier results of the parts that are not measured now."""
    if known is None or not known.exists() or set(requested) == set(PARTS):
        return {}, Measures()
    values = json.loads(known.read_text(encoding="utf-8"))
    seconds = {part: float(took) for part, took in values["seconds"].items() if part not in requested}
    measures = map(Measure.read, values["measures"])
    return seconds, Measures(each for each in measures if each.part not in requested)

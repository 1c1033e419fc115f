"""Run the parts that are wanted, and put what they find beside what is known of the others."""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.machine import Machine
from benchmarks.speed.loads import NoAnswerError
from benchmarks.speed.measures import Measure, Measures
from benchmarks.speed.parts import PARTS, Ground, Scale
from benchmarks.speed.report import SpeedReport
from benchmarks.talk import say


def run(
    scale: Scale,
    only: Sequence[str] = (),
    known: Path | None = None,
    after_each: Callable[[SpeedReport], None] = lambda _: None,
) -> SpeedReport:
    """Measure the parts in `only`, or all. `known` are earlier results, of which the other parts are kept."""
    machine = Machine.here()
    wanted = list(only or PARTS)
    seconds, measures = _kept(known, wanted)
    report = SpeedReport(scale, machine, seconds, measures)
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        ground = Ground(Path(folder), scale, measures)
        for part in wanted:
            say(part)
            begin = time.monotonic()
            try:
                PARTS[part](ground)
            except NoAnswerError as error:  # what was found before is kept, and the other parts go on
                say(f"{part} was not measured to its end: {error}")
            seconds[part] = time.monotonic() - begin
            after_each(report)
    return report


def _kept(known: Path | None, wanted: Sequence[str]) -> tuple[dict[str, float], Measures]:
    """Return what is known of the parts that are not measured anew."""
    if known is None or not known.exists() or set(wanted) == set(PARTS):
        return {}, Measures()
    told = json.loads(known.read_text(encoding="utf-8"))
    seconds = {part: float(took) for part, took in told["seconds"].items() if part not in wanted}
    measures = map(Measure.read, told["measures"])
    return seconds, Measures(each for each in measures if each.part not in wanted)

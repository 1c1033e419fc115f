"""What live reload costs, for people and for programs. No figure in either is written by hand."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.distributions import Distribution, distribution_rows
from benchmarks.machine import Machine
from benchmarks.noticing import Noticing
from benchmarks.results import Series
from benchmarks.stdio import PATIENCE
from benchmarks.tables import per_skill, series_rows, trend

_INTRODUCTION = f"""\
# What live reload costs

Made by `scripts/bench live`: server processes on stdio over trees of generated skills, each with a `SKILL.md`
of 3 KB and 3 files of 1 KB in 2 folders, and a client of protocol 2025-11-25 on bare pipes. What took more
than {PATIENCE:.0f} s is shown as not finished. Columns are the number of skills.
"""
_DELAYS = """\
## From a change on disk to the first notification

From before the first byte is written. A skill is added by writing its files one after the other.
"""
_NOTIFICATIONS = """\
## How many notifications one change causes

The least and the most that one change caused; one number if they are the same.
"""
_IDLE = """\
## What waiting costs
"""
_UPDATES = """\
## What a change costs in the process

Without the wait for the system's word and without telling anybody: from the notice to the new catalogue.
*slope* and *per skill* as in [what serving costs](core.md).
"""


@dataclass(frozen=True, slots=True)
class LiveReport:
    """All that one run has found."""

    machine: Machine
    seconds: float
    burst_files: int
    noticed: Noticing
    bursts: Sequence[Distribution]
    updates: Sequence[Series]

    def to_json(self) -> str:
        found = {
            "machine": asdict(self.machine),
            "seconds": round(self.seconds, 1),
            "burst_files": self.burst_files,
            "delays": [each.as_dict() for each in self.noticed.delays],
            "notifications": [each.as_dict() for each in self.noticed.notifications],
            "idle": [each.as_dict() for each in self.noticed.idle],
            "bursts": [each.as_dict() for each in self.bursts],
            "updates": [each.as_dict() for each in self.updates],
        }
        return json.dumps(found, indent=1, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        return "\n".join(
            [
                _INTRODUCTION,
                f"{self.machine} The run took {self.seconds:.0f} s.",
                "",
                _DELAYS,
                *distribution_rows(self.noticed.delays),
                _NOTIFICATIONS,
                *distribution_rows(self.noticed.notifications),
                _IDLE,
                *distribution_rows(self.noticed.idle),
                self._about_bursts(),
                *distribution_rows(self.bursts),
                _UPDATES,
                *series_rows(self.updates, {"slope": trend, "per skill": per_skill}),
            ]
        )

    def _about_bursts(self) -> str:
        return f"""\
## {self.burst_files:,} files at once

Another process writes them as `git checkout` would: two fifths replace files of skills that are there, the
others are those of new skills. Meanwhile the client pings every 5 ms, whether or not the last ping has been
answered, until one second after `skills/list` has shown everything that was written. *elsewhere*: the same
burst, to a folder that the server does not serve.
"""

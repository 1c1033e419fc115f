"""The report on live reload, as Markdown and JSON. All figures are generated."""

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
# Cost of live reload

Written by `scripts/bench live`. Servers on stdio serve trees of generated skills, each with a `SKILL.md` of
3 KB and 3 files of 1 KB in 2 folders. The client uses protocol 2025-11-25. Anything that took more than
{PATIENCE:.0f} s is shown as not finished. Columns are the number of skills.
"""
_DELAYS = """\
## Time from a change on disk to the first notification

Measured from before the first byte is written. A skill is added by writing its files one after the other.
"""
_NOTIFICATIONS = """\
## Notifications per change

The smallest and the largest number; a single number if they are equal.
"""
_IDLE = """\
## Idle cost
"""
_UPDATES = """\
## Cost of a change inside the process

From the report of the change to the new catalog, without file system events and without notifications.
*slope* and *per skill* are explained in [Cost of serving](core.md).
"""


@dataclass(frozen=True, slots=True)
class LiveReport:
    """The results of one run."""

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

Another process writes them as `git checkout` would. Two fifths replace files of existing skills; the others
belong to new skills. Meanwhile the client sends a ping every 5 ms without waiting for answers, until one
second after `skills/list` has returned everything that was written. *elsewhere*: the same burst in a folder
that the server does not serve.
"""

"""The report on live skills, as Markdown and JSON. All figures are generated."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.distributions import Distribution, distribution_rows
from benchmarks.machine import Machine


@dataclass(frozen=True, slots=True)
class DriveReport:
    """The results of one run."""

    machine: Machine
    seconds: float
    skills_each: int
    times: Sequence[Distribution]
    memory: Distribution

    def to_json(self) -> str:
        found = {
            "machine": asdict(self.machine),
            "seconds": round(self.seconds, 1),
            "skills_each": self.skills_each,
            "times": [each.as_dict() for each in self.times],
            "memory": self.memory.as_dict(),
        }
        return json.dumps(found, indent=1, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        return "\n".join(
            [
                _introduction(self.skills_each),
                f"{self.machine} The run took {self.seconds:.0f} s.",
                "",
                "## Time",
                "",
                *distribution_rows(self.times),
                "## Memory",
                "",
                *distribution_rows([self.memory]),
            ]
        )


def _introduction(skills_each: int) -> str:
    return f"""\
# Cost of live skills

Written by `scripts/bench drive`. One server process serves programs with {skills_each} skills each. Each
program has its own WebSocket. One of them never answers. All programs and the measuring client are in one
other process, so each time includes the server, the answering program and the client. `listPaths` returns
{skills_each} paths for each program, as text and as an object. Columns are the number of programs.
"""

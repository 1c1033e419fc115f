"""What live skills cost, for people and for programs. No figure in either is written by hand."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.distributions import Distribution, distribution_rows
from benchmarks.machine import Machine


@dataclass(frozen=True, slots=True)
class DriveReport:
    """All that one run has found."""

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
                "## How long it takes",
                "",
                *distribution_rows(self.times),
                "## How much memory it takes",
                "",
                *distribution_rows([self.memory]),
            ]
        )


def _introduction(skills_each: int) -> str:
    return f"""\
# What live skills cost

Made by `scripts/bench drive`: a server process, and programs with {skills_each} skills each, every one on a
WebSocket of its own; one of them never answers. All programs live in one other process, together with the
client that measures: a time is that of the server, of the program that answers, and of the client.
`listPaths` returns {skills_each} paths for each program, as text and as an object. Columns are the number of
programs.
"""

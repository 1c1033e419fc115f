"""How much code may be, cost and answer; and the meter that counts it."""

import math
from dataclasses import dataclass
from typing import Any

from approved_code.faults import fault


@dataclass(frozen=True, slots=True)
class Bounds:
    """Every limit of the language. The defaults suit a table of some hundred records."""

    length: int = 2_000
    """Characters of code."""
    depth: int = 40
    """How deep expressions may be nested. It also bounds the recursion of whoever walks them."""
    steps: int = 100_000
    """What a run may cost: one for each expression and item, and one for each character that is handled."""
    integer_bits: int = 63
    result: int = 20_000
    """Values and characters that come in as variables, or go out as a result."""
    nesting: int = 64
    """How deep the values themselves may be nested."""


class Meter:
    """Counts what a run costs, and ends it before it costs too much."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.steps = 0

    def charge(self, steps: int = 1) -> None:
        if self.steps + steps > self.bounds.steps:
            more = "look at fewer records, or nest fewer loops"
            raise fault("steps", f"the code needs more than {self.bounds.steps:,} steps", more)
        self.steps += steps

    def number(self, value: Any) -> Any:
        """Return a number, having seen that it is neither endless nor longer than allowed."""
        if isinstance(value, int) and value.bit_length() > self.bounds.integer_bits:
            raise fault("number", f"a whole number has more than {self.bounds.integer_bits} bits")
        if isinstance(value, float) and not math.isfinite(value):
            raise fault("number", "a number is too large to be written down")
        return value

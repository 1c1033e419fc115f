"""What code is allowed to look at: one table of invented orders, which it cannot change."""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Dataset:
    """Records under a name, and which of their fields tell who somebody is."""

    name: str
    records: tuple[dict[str, Any], ...] = field(repr=False)
    personal: frozenset[str]

    @property
    def fields(self) -> list[str]:
        return list(self.records[0]) if self.records else []


@cache
def orders() -> Dataset:
    """Return the orders of a shop that does not exist, with amounts in whole cents."""
    records = json.loads((Path(__file__).parent / "orders.json").read_text("utf-8"))
    return Dataset("orders", tuple(records), frozenset({"customer", "email"}))

"""Fixtures for hosts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillwire import State


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    """What a host remembers, with nothing in it but two servers."""
    with State.open(tmp_path / "state") as state:
        state.bind("shop", "https://shop.example/mcp")
        state.bind("desk", "https://desk.example/mcp")
        yield state

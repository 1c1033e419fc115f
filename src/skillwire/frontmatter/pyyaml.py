"""Typed access to PyYAML's parsers and scanner."""

from collections.abc import Iterator
from typing import Any

import yaml
from yaml.events import Event
from yaml.tokens import Token

# libyaml is much faster. PyYAML without it reads the same values, but refuses some tabs.
LOADER: Any = getattr(yaml, "CLoader", yaml.Loader)

# The stubs leave these two functions untyped.
_YAML: Any = yaml


def parse(text: str) -> Iterator[Event]:
    """Return the events of `text`."""
    return _YAML.parse(text, Loader=LOADER)


def scan(text: str) -> Iterator[Token]:
    """Return the tokens of `text`."""
    return _YAML.scan(text, Loader=LOADER)


def parse_in_python(text: str) -> Iterator[Event]:
    """Return the events of `text` from PyYAML's Python parser, which clients use through `yaml.safe_load`."""
    return _YAML.parse(text, Loader=yaml.SafeLoader)

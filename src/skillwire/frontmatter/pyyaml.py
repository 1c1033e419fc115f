"""PyYAML's parser, seen through types."""

from collections.abc import Iterator
from typing import Any

import yaml
from yaml.events import Event
from yaml.tokens import Token

# libyaml is many times faster. A PyYAML without it reads the same values, and refuses some tabs.
LOADER: Any = getattr(yaml, "CLoader", yaml.Loader)

# The stubs leave these two functions untyped.
_YAML: Any = yaml


def parse(text: str) -> Iterator[Event]:
    """Return what `text` says, event by event."""
    return _YAML.parse(text, Loader=LOADER)


def scan(text: str) -> Iterator[Token]:
    """Return what `text` is made of, token by token."""
    return _YAML.scan(text, Loader=LOADER)


def parse_in_python(text: str) -> Iterator[Event]:
    """Return the same events by the parser that clients have who call `yaml.safe_load`."""
    return _YAML.parse(text, Loader=yaml.SafeLoader)

"""Import public names when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def exports(module: str, owners: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a public module whose names are defined in other modules.

    `owners` maps each name to the module that defines it, or the name of a submodule to that submodule.
    """

    def load(name: str) -> Any:
        if (owner := owners.get(name)) is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = import_module(owner) if owner == f"{module}.{name}" else getattr(import_module(owner), name)
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted(sys.modules[module].__all__)

    return load, names

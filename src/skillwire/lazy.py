"""Import public names when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_SDK = "mcp"
_OLDEST_SDK = (2, 3)
"""The oldest version of the MCP SDK that Skillwire can use, as in `pyproject.toml`."""


def exports(module: str, owners: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a public module whose names are defined in other modules.

    `owners` maps each name to the module that defines it, or the name of a submodule to that submodule.
    """

    def load(name: str) -> Any:
        if (owner := owners.get(name)) is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            found = import_module(owner)
        except ImportError as error:
            if (error.name or "").startswith(_SDK) and (fault := _sdk_fault()):
                raise ImportError(fault, name=error.name) from error
            raise
        value = found if owner == f"{module}.{name}" else getattr(found, name)
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted(sys.modules[module].__all__)

    return load, names


def _sdk_fault() -> str:
    """Return what is wrong with the installed version of the MCP SDK, and what to do, or an empty text."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and needed for errors only

    try:
        installed = version(_SDK)
    except PackageNotFoundError:
        installed = ""
    numbers = tuple(int(each) if each.isdecimal() else 0 for each in installed.split(".")[:2])
    if installed and numbers >= _OLDEST_SDK:
        return ""
    return (
        f"Skillwire needs {_SDK} {'.'.join(map(str, _OLDEST_SDK))} or newer; "
        f"this environment has {installed or 'none'}; install Skillwire and your server in a new environment"
    )

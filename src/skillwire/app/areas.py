"""The table of product areas. Each has one line here; `skillwire.area` says what it can bring."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, cast

from skillwire.area import Area, Command, ServeFlags, ServePart, ServeRequest


@dataclass(frozen=True, slots=True)
class Registration:
    """The line of an area: the folder's name, and the module with its declaration `AREA`."""

    name: str
    module: str
    always: bool = False
    """Whether it is part of every `serve`. Others are loaded when one of their options is given."""

    def load(self) -> Area:
        return import_module(self.module).AREA


# An area sees what those above it report.
AREAS = (
    Registration("contract", "skillwire.contract.area"),
    Registration("drive", "skillwire.drive.area"),
    Registration("pages", "skillwire.pages.area", always=True),
)


def area_commands() -> dict[str, Command]:
    """Return the commands of all areas, by their names."""
    return {name: command for each in AREAS for name, command in each.load().commands.items()}


def area_options(command: str) -> dict[str, type]:
    """Return the options that areas bring for a command of the core, by the names of the areas."""
    paths = {each.name: _options(each.load(), command) for each in AREAS}
    found: dict[str, type] = {name: _imported(path) for name, path in paths.items() if path}
    return {name: flags for name, flags in found.items() if fields(flags)}


def serve_parts(chosen: Mapping[str, object], request: ServeRequest) -> tuple[ServePart, ...]:
    """Return what the areas add to a server. `chosen` are the options that were given, by area.

    Raises `UsageError`.
    """
    parts = (_flags(each, chosen).part(request) for each in AREAS if each.always or each.name in chosen)
    return tuple(part for part in parts if part is not None)


def _flags(registration: Registration, chosen: Mapping[str, object]) -> ServeFlags:
    given = chosen.get(registration.name)
    return cast("ServeFlags", _imported(registration.load().serve)() if given is None else given)


def _options(area: Area, command: str) -> str:
    return {"serve": area.serve, "check": area.check}.get(command, "")


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)

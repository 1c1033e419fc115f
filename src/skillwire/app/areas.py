"""The table of product areas, one line for each. `skillwire.area` defines what an area can add."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any, cast

from skillwire.area import Area, Command, ServeFlags, ServePart, ServeRequest
from skillwire.config.file import ConfigFile
from skillwire.server.serve_options import ServeOptions


@dataclass(frozen=True, slots=True)
class Registration:
    """One product area: the name of its folder, and the module that declares `AREA`."""

    name: str
    module: str
    always: bool = False
    """Whether every `serve` includes this area.

    Other areas are included only if one of their options is set.
    """

    def load(self) -> Area:
        return import_module(self.module).AREA


# The order matters: an area sees the problems that the areas above it report.
AREAS = (
    Registration("contract", "skillwire.contract.area"),
    Registration("drive", "skillwire.drive.area"),
    Registration("packing", "skillwire.packing.area"),
    Registration("search", "skillwire.search.area", always=True),
    Registration("evals", "skillwire.evals.area"),
    Registration("pages", "skillwire.pages.area", always=True),
    Registration("registry", "skillwire.registry.area"),
)


def area_commands() -> dict[str, Command]:
    """Return the commands of all areas, by name."""
    return {name: command for each in AREAS for name, command in each.load().commands.items()}


def area_options(command: str) -> dict[str, type]:
    """Return the option classes that areas add to a core command, by area name.

    Classes without options are left out.
    """
    paths = {each.name: _options(each.load(), command) for each in AREAS}
    found: dict[str, type] = {name: _imported(path) for name, path in paths.items() if path}
    return {name: flags for name, flags in found.items() if fields(flags)}


def serve_parts(chosen: Mapping[str, object], request: ServeRequest) -> tuple[ServePart, ...]:
    """Return what the areas add to a server. Raises `UsageError` for wrong options.

    `chosen` maps an area's name to its `ServeFlags`, if the user set one of its options.
    """
    parts = (_flags(each, chosen).part(request) for each in AREAS if each.always or each.name in chosen)
    return tuple(part for part in parts if part is not None)


def bridge_parts() -> tuple[ServePart, ...]:
    """Return what the areas add to a bridge over HTTP."""
    request = ServeRequest(over_http=True)
    parts = (_flags(each, {}).part(request) for each in AREAS if each.load().bridge)
    return tuple(part for part in parts if part is not None)


def with_area_additions(options: ServeOptions, config: ConfigFile | None = None) -> ServeOptions:
    """Return the options of a server in Python code, or of a bridge, with what the areas add to it.

    An addition that `options` already has is not added again. With `config`, additions follow this
    configuration file. Raises `UsageError` if it is wrong.
    """
    if not options.every_client:
        return options
    added: list[Any] = []
    for area in (each.load() for each in AREAS):
        if not area.addition or any(isinstance(each, _imported(area.addition)) for each in options.additions):
            continue
        if config is not None and area.configured:
            added.append(_imported(area.configured)(config))
        else:
            added.append(_imported(area.addition)())
    return replace(options, additions=[*options.additions, *added])


def _flags(registration: Registration, chosen: Mapping[str, object]) -> ServeFlags:
    """Return an area's `serve` options: those in `chosen`, else the defaults."""
    flags = chosen.get(registration.name)
    return cast("ServeFlags", _imported(registration.load().serve)() if flags is None else flags)


def _options(area: Area, command: str) -> str:
    """Return the `module:class` of an area's options for a command, or an empty string."""
    return {"serve": area.serve, "check": area.check}.get(command, "")


def _imported(path: str) -> Any:
    """Import the object at `module:name`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)

"""Where skills are in a FastMCP server: its own, and those of every server that is mounted in it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastmcp import FastMCP
from fastmcp.resources.base import Resource
from fastmcp.server.providers.aggregate import AggregateProvider
from fastmcp.server.providers.base import Provider
from fastmcp.server.providers.fastmcp_provider import FastMCPProvider
from fastmcp.server.providers.wrapped_provider import _WrappedProvider  # pyright: ignore[reportPrivateUsage]
from fastmcp.server.transforms import Transform
from pydantic import AnyUrl

from skillwire.authoring.skill import Skill
from skillwire.catalog.library import Library
from skillwire.model.uri import SCHEME
from skillwire.server.fastmcp.selection import Selections
from skillwire.server.serve_options import ServeOptions
from skillwire.surfaces.base import Surface

_PROBE = "probe/SKILL.md"


class SkillHolder(Provider):
    """A provider that has skills, whatever it makes of them."""

    library: Library
    prompts: Mapping[str, Skill]
    options: ServeOptions
    surfaces: Sequence[Surface]
    selections: Selections


@dataclass(frozen=True, slots=True)
class Place:
    """A holder of skills, and the path below which a server publishes what it has; empty for none."""

    holder: SkillHolder
    prefix: str


async def places(server: FastMCP[Any]) -> list[Place]:
    """Return every holder of skills in a server and below it, in the order in which FastMCP asks them."""
    return [place async for place in _below(server.providers, server.transforms)]


async def _below(providers: Sequence[Provider], around: Sequence[Transform]) -> AsyncGenerator[Place]:
    """Yield the holders below `providers`, whose components go through the transforms `around`."""
    for provider in providers:
        transforms = [*provider.transforms, *around]
        match provider:
            case SkillHolder():
                if (prefix := await _prefix(transforms)) is not None:
                    yield Place(provider, prefix)
                continue
            case FastMCPProvider():
                mounted = provider.server
                inner, transforms = mounted.providers, [*mounted.transforms, *transforms]
            case _WrappedProvider():
                inner = [provider._inner]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - it has no other name
            case AggregateProvider():
                inner = provider.providers
            case _:
                continue
        async for place in _below(inner, transforms):
            yield place


async def _prefix(transforms: Sequence[Transform]) -> str | None:
    """Return where transforms put a resource, seen on one; None if that is not below some path."""
    probe: Sequence[Resource] = [Resource(uri=AnyUrl(f"{SCHEME}{_PROBE}"), name="probe")]
    for transform in transforms:
        probe = await transform.list_resources(probe)
    moved = [str(each.uri).removeprefix(SCHEME) for each in probe]
    if len(moved) != 1 or not moved[0].endswith(_PROBE):
        return None
    return moved[0].removesuffix(_PROBE).rstrip("/")

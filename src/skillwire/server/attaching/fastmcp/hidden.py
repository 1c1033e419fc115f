"""The skills that a FastMCP server hides from the requesting client.

FastMCP decides this for whole lists. Listing every resource for each request would cost as much as there are
skills, so the list is only made where something can hide a skill, and again only after that has changed.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.context import Context
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.dereference import DereferenceRefsMiddleware
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware
from fastmcp.server.middleware.logging import LoggingMiddleware, StructuredLoggingMiddleware
from fastmcp.server.middleware.timing import DetailedTimingMiddleware, TimingMiddleware
from fastmcp.server.providers.aggregate import AggregateProvider
from fastmcp.server.providers.base import Provider
from fastmcp.server.providers.fastmcp_provider import FastMCPProvider
from fastmcp.server.providers.local_provider import LocalProvider
from fastmcp.server.providers.wrapped_provider import _WrappedProvider  # pyright: ignore[reportPrivateUsage]
from fastmcp.server.transforms import Namespace, Transform
from fastmcp.server.transforms.visibility import Visibility, get_visibility_rules

from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.server.attaching.fastmcp.holder import SkillHolder

_MAX_KNOWN = 32
"""Maximum number of sets of hidden skills that are remembered."""

_ONLY_OBSERVES: frozenset[type[Middleware]] = frozenset(
    {
        DereferenceRefsMiddleware,
        DetailedTimingMiddleware,
        ErrorHandlingMiddleware,
        LoggingMiddleware,
        StructuredLoggingMiddleware,
        TimingMiddleware,
    }
)
"""FastMCP's middleware that never changes a list of resources."""
_SEES_LISTS = ("__call__", "_dispatch_handler", "on_message", "on_request", "on_list_resources")
"""The methods with which other middleware can change a list of resources."""
_LISTS_RESOURCES = ("list_resources", "_list_resources", "get_resource", "read_resource")
"""The methods with which a subclass of a server or provider can change a list of resources."""


class _UnknownRuleError(Exception):
    """Something can hide skills by rules of its own, so that only FastMCP's list shows what it hides."""


class HiddenSkills:
    """Finds the skills of one library that a server hides. Remembers them until something changes."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._known: OrderedDict[Hashable, tuple[Catalog, tuple[Transform, ...], frozenset[str]]] = (
            OrderedDict()
        )

    async def find(self, server: FastMCP[Any]) -> frozenset[str]:
        """Return the URIs of the skills that `server` does not list for the requesting client.

        The result depends on everything that affects FastMCP's list, including middleware.
        """
        try:
            rules = tuple(_rules(server))
            by_session = await _session_rules(server)
        except _UnknownRuleError:
            return await self._listed(server)
        if not by_session and not any(isinstance(each, Visibility) for each in rules):
            return frozenset()
        key = (tuple(map(id, rules)), tuple(map(repr, rules)), by_session)
        catalog = self._library.catalog
        known = self._known.pop(key, None)
        if known is None or known[0] is not catalog:
            # The transforms are kept, so that no other transform gets the same id.
            known = catalog, rules, await self._listed(server)
        if known[0] is self._library.catalog:
            self._known[key] = known
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)
        return known[2]

    async def _listed(self, server: FastMCP[Any]) -> frozenset[str]:
        """Return the hidden skills by FastMCP's own list. Its cost grows with the number of skills."""
        listed = {str(resource.uri) for resource in await server.list_resources()}
        return frozenset(uri for uri in self._library.catalog.entries if uri not in listed)


def only_dereferences(server: FastMCP[Any]) -> bool:
    """Return whether no middleware of a server, and no method that replaces FastMCP's, can see a read."""
    kinds = set(map(type, server.middleware))
    return kinds <= {DereferenceRefsMiddleware} and _is_unchanged(server, FastMCP)


async def reads_only_here(server: FastMCP[Any], ours: Provider, uri: str) -> bool:
    """Return whether FastMCP would read `uri` from the provider `ours`, and nothing could change the content.

    True only if no middleware, transform or subclass takes part, and if all other providers are the server's
    own, which do not have the resource.
    """
    if server.transforms or ours.transforms or not only_dereferences(server):
        return False
    for provider in server.providers:
        if provider is ours:
            continue
        if type(provider) is not LocalProvider or provider.transforms:
            return False
        with suppress(Exception):
            if await provider.get_resource(uri) is not None:
                return False
    return True


def _rules(server: FastMCP[Any]) -> Iterator[Transform]:
    """Yield the transforms that can hide skills in a server and in everything mounted in it.

    Raises `_UnknownRuleError` if middleware, a transform or a subclass can hide skills by rules of its own.
    """
    if not _is_unchanged(server, FastMCP) or not all(map(_keeps_lists, server.middleware)):
        raise _UnknownRuleError
    yield from _known_transforms(server.transforms)
    yield from _rules_of(server.providers)


def _rules_of(providers: Sequence[Provider]) -> Iterator[Transform]:
    for provider in filter(_has_skills, providers):
        yield from _known_transforms(provider.transforms)
        match provider:
            case SkillHolder():
                # A frozen library can list fewer skills than its catalog has.
                _check(not provider.library.frozen)
            case FastMCPProvider():
                _check(_is_unchanged(provider, FastMCPProvider))
                yield from _rules(provider.server)
            case _:
                kind = _WrappedProvider if isinstance(provider, _WrappedProvider) else AggregateProvider
                _check(_is_unchanged(provider, kind))
                yield from _rules_of(_inside(provider))


def _known_transforms(transforms: Sequence[Transform]) -> Iterator[Transform]:
    for each in transforms:
        _check(type(each) in {Namespace, Visibility})
        yield each


def _check(known: bool) -> None:  # noqa: FBT001 - the only argument
    if not known:
        raise _UnknownRuleError


def _keeps_lists(middleware: Middleware) -> bool:
    kind = type(middleware)
    return kind in _ONLY_OBSERVES or all(
        getattr(kind, name) is getattr(Middleware, name) and name not in vars(middleware)
        for name in _SEES_LISTS
    )


def _is_unchanged(value: object, base: type) -> bool:
    """Return whether an object lists resources as `base` does."""
    return all(
        getattr(type(value), name, None) is getattr(base, name, None) and name not in vars(value)
        for name in _LISTS_RESOURCES
    )


async def _session_rules(server: FastMCP[Any]) -> tuple[str, ...]:
    """Return what the requesting client's session enables and disables, in every server with skills."""
    found: list[str] = []
    for each in _servers(server):
        async with Context(fastmcp=each) as context:
            if rules := await get_visibility_rules(context):
                found.append(repr(rules))
            else:
                found.append("")
    return tuple(found) if any(found) else ()


def _servers(server: FastMCP[Any]) -> Iterator[FastMCP[Any]]:
    """Yield a server, and the servers with skills that are mounted in it."""
    yield server
    pending: list[Provider] = list(server.providers)
    while pending:
        provider = pending.pop()
        if isinstance(provider, FastMCPProvider):
            if _has_skills(provider):
                yield from _servers(provider.server)
        else:
            pending += _inside(provider)


def _has_skills(provider: Provider) -> bool:
    """Return whether a provider, or anything in it, has skills."""
    if isinstance(provider, SkillHolder):
        return True
    return any(map(_has_skills, _inside(provider)))


def _inside(provider: Provider) -> Sequence[Provider]:
    """Return the providers that a provider combines, wraps or mounts."""
    match provider:
        case FastMCPProvider():
            return provider.server.providers
        case _WrappedProvider():
            return [provider._inner]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - there is no public name
        case AggregateProvider():
            return provider.providers
        case _:
            return ()

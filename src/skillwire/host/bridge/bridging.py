"""Many servers as one library: all their verified skills for hosts, and the approved ones for everybody."""

import shlex
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeAlias

from skillwire.catalog.library import Library
from skillwire.catalog.visibility import VisibilityPolicy
from skillwire.host.bridge.gated import GatedSource
from skillwire.host.bridge.source import ServerSource
from skillwire.host.judging.keeping import Keeping
from skillwire.host.reaching.link import ServerLink
from skillwire.host.reaching.target import Target
from skillwire.host.state.state import State
from skillwire.sources.base import Source

_NAMES = VisibilityPolicy(by_path=True)
"""Every skill goes by a path that begins with the label of its server: none poses as another's (H10)."""

Command: TypeAlias = Callable[[Target, str], str]


def approve_command(target: Target, skill: str) -> str:
    """Return the command that approves a skill of a server that a file names."""
    return f"skillwire approve {shlex.quote(f'{target.label}:{skill}')}"


async def bridged(
    links: Sequence[ServerLink],
    state: State | None = None,
    trusted: Collection[str] = (),
    command: Command = approve_command,
) -> Library:
    """Return the library of these servers, not loaded yet. Raises `StateError`.

    Of servers that are not `trusted`, by their labels, models and people are offered what is approved in the
    `state`; `command` says how a person approves the others. Without a state, nothing is.
    """
    keeping = Keeping(state)
    sources: list[Source] = []
    for link in links:
        await keeping.bind(link.label, link.target.identity)
        source = ServerSource(link, cache=None if state is None else state.cache, live=True)
        trust = link.label in trusted
        sources.append(source if trust else GatedSource(source, keeping, partial(command, link.target)))
    return Library(sources, visibility=_NAMES)

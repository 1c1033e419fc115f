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
from skillwire.model.display import quoted
from skillwire.model.entry import LiveFile, SkillFile, SkillRecord
from skillwire.model.errors import SourceError, StateError
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.sources.base import Progress, Scan, Source, unwatched

_NAMES = VisibilityPolicy(by_path=True)
"""Every skill goes by a path that begins with the label of its server: none poses as another's (H10)."""

Command: TypeAlias = Callable[[Target, str], str]


def approve_command(target: Target, skill: str) -> str:
    """Return the command that approves a skill of a server that a file names."""
    return f"skillwire approve {shlex.quote(f'{target.label}:{skill}')}"


class _WithoutState(Source):
    """Has no skills, and says that approvals are not known."""

    label = "state"

    def __init__(self, trouble: StateError) -> None:
        self._problem = Problem(
            ".",
            Rule.STATE_FAILED,
            Severity.WARNING,
            f"approvals and copies of files are not used: {trouble}",
            hint=f"{trouble.hint}, and start the bridge again",
        )

    async def scan(self, progress: Progress = unwatched) -> Scan:
        progress(0)
        return Scan((), (self._problem,))

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        raise SourceError(f"{entry.origin.path} has no file {quoted(file.path)}")


async def bridged(
    links: Sequence[ServerLink],
    state: State | None = None,
    trusted: Collection[str] = (),
    command: Command = approve_command,
    trouble: StateError | None = None,
) -> Library:
    """Return the library of these servers, not loaded yet.

    Of servers that are not `trusted`, by their labels, models and people are offered what is approved in the
    `state`; `command` says how a person approves the others. Without a state, nothing is. `trouble` is why
    there is none. A state that cannot be written is as none.
    """
    keeping = Keeping(state)
    try:
        for link in links:
            await keeping.bind(link.label, link.target.identity)
    except StateError as error:  # and then nothing that is in it can be relied on
        keeping, state, trouble = Keeping(None), None, error
    sources: list[Source] = [] if trouble is None else [_WithoutState(trouble)]
    for link in links:
        source = ServerSource(link, cache=None if state is None else state.cache, live=True)
        trust = link.label in trusted
        sources.append(source if trust else GatedSource(source, keeping, partial(command, link.target)))
    return Library(sources, visibility=_NAMES)

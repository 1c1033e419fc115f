"""A host for one command: the servers that were named, and what is remembered of them."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from skillwire.catalog.names import AmbiguousNameError, UnknownNameError
from skillwire.cli.missing import NoSuchSkillError
from skillwire.cli.output import talk
from skillwire.host.host import Host
from skillwire.host.hosted import HostedSkill
from skillwire.host.reaching.target import Target
from skillwire.host.registry import HostProblem, NoLabelError
from skillwire.host.state.state import State
from skillwire.model.display import quoted, visible
from skillwire.model.errors import UsageError


@asynccontextmanager
async def hosting(targets: Sequence[Target], state: State | None = None) -> AsyncGenerator[Host]:
    """Yield a host of these servers. They may speak early drafts: the person sees which."""
    async with Host(targets, state=state, drafts=True) as host:
        yield host


async def find(host: Host, skill: str) -> HostedSkill:
    """Return the skill that a person means, and tell what else was found. Raises `SkillwireError`."""
    await host.discover()
    tell(host.registry.problems)
    try:
        return await host.find(_with_label(host, skill))
    except AmbiguousNameError as error:
        hint = f"choose one of {', '.join(quoted(handle) for handle in error.handles)}"
        raise UsageError(f"{quoted(skill)} is the name of several skills", hint=hint) from error
    except NoLabelError as error:
        raise UsageError(str(error)) from error
    except UnknownNameError as error:
        labels = ", ".join(quoted(label) for label in host.labels)
        if wanted := next((each for each in host.registry.problems if each.wants_login), None):
            told = f"{quoted(skill)} cannot be looked for: {quoted(wanted.label)} {wanted.message}"
            raise NoSuchSkillError(told) from error
        hint = "`skillwire list SERVER` shows what a server has"
        raise NoSuchSkillError(f"there is no skill {quoted(skill)} on {labels}", hint=hint) from error


def tell(problems: Sequence[HostProblem]) -> None:
    """Say what went wrong, server by server."""
    for problem in problems:
        talk().print(visible(str(problem)), style="yellow")


def _with_label(host: Host, skill: str) -> str:
    """Return a URI alone with the label of the server, where there is only one."""
    label, _, rest = skill.partition(":")
    alone = rest.startswith("//") or (label not in host.labels and "://" in rest)
    return f"{host.labels[0]}:{skill}" if alone and len(host.labels) == 1 else skill

"""Which servers a person means: labels of known servers, URLs, and commands."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from skillwire.config.clients.known import Known, KnownServer, known_servers
from skillwire.host.reaching.inside import leads_inside
from skillwire.host.reaching.label import is_label
from skillwire.host.reaching.slug import free_label
from skillwire.host.reaching.target import COMMAND, Target
from skillwire.model.display import quoted
from skillwire.model.errors import UsageError
from skillwire.model.name import closest

ALLOW = "--allow"
"""The option that says of a server in a project's file what a person would say if asked."""
MayReach = Callable[[KnownServer], bool]
"""Whether a person agrees that what a project's file says is done."""


def nobody(_server: KnownServer) -> bool:
    """There is nobody to ask, so the answer is no."""
    return False


def is_address(argument: str) -> bool:
    """Whether an argument says itself how to reach a server, as a URL or a command."""
    return argument.startswith((COMMAND, "http://", "https://", "mcp+http://", "mcp+https://"))


def label_in(argument: str) -> str | None:
    """Return the label that an argument may be: `acme`, or `acme:` where it could be something else, too."""
    label = argument.removesuffix(":")
    return label if is_label(label) else None


def targets(
    arguments: Iterable[str],
    environment: Mapping[str, str],
    folder: Path | None = None,
    *,
    may_reach: MayReach = nobody,
    sending: frozenset[str] = frozenset(),
    known: Known | None = None,
) -> list[Target]:
    """Return how to reach each server that is named. Raises `UsageError`.

    A server that only a file of the project at `folder` names is reached if `may_reach` says so: it could
    start any program, send a secret of this person to anybody, or reach into a private network. `sending` are
    variables whose values will be sent to a URL beside those that the file names.
    """
    known = known_servers(environment, folder) if known is None else known
    chosen: dict[str, Target] = {}
    for argument in arguments:
        if is_address(argument):
            target = Target.parse(argument)
            same = (each.label for each in chosen.values() if each.identity == target.identity)
            taken = {label.casefold() for label in {*known.labels, *chosen} - set(same)}
            target = replace(target, label=free_label(target.label, taken))
        else:
            target = _known_target(argument, known, may_reach, sending)
        chosen[target.label] = target
    return list(chosen.values())


def _known_target(argument: str, known: Known, may_reach: MayReach, sending: frozenset[str]) -> Target:
    server = known.labels.get(label_in(argument) or "")
    if server is None:
        raise _unknown(argument, known)
    where = quoted(str(server.place.path), None)
    if not server.declared.enabled:
        hint = f"enable it in {server.client.title}, or name its address instead of its label"
        raise UsageError(f"the server {quoted(server.label)} is disabled in {where}", hint=hint)
    target = server.target
    if target is None:
        told = f"the server {quoted(server.label)} in {where} cannot be reached: {server.declared.problem}"
        raise UsageError(told, hint="mend it there, or name its address instead of its label")
    if target.url is not None:
        server = replace(server, declared=replace(server.declared, used=server.declared.used | sending))
    inside = target.url is not None and server.is_plain_in_repository and leads_inside(target.url)
    if inside:
        server = replace(server, inside=True)
        target = replace(target, public_only=False)
    if (server.asks_first or inside) and not may_reach(server):
        raise UsageError(
            f"{where}, which is part of a project, names {quoted(server.label)}, and nobody agreed that it "
            f"may {danger(server)}",
            hint=f"look at it; if you want that, add `{ALLOW} {server.label}`",
        )
    return target


def danger(server: KnownServer) -> str:
    """Return what would happen if a server of a project's file were reached, as the end of a sentence."""
    if server.starts_a_program:
        return f"run {quoted(server.declared.spelled, None)}"
    where = quoted(server.declared.spelled, None)
    secrets = ", ".join(quoted(name) for name in sorted(server.declared.used))
    asked = f"send your {secrets} to {where}" if secrets else f"reach {where}"
    return f"{asked}, which is plain `http` in your own network" if server.inside else asked


def _unknown(argument: str, known: Known) -> UsageError:
    close = closest(argument, known.labels, 1)
    meant = f"did you mean {quoted(close[0])}? " if close else ""
    hint = f"{meant}`skillwire servers` lists them; a URL, or `--` and a command, will do as well"
    return UsageError(f"no file names a server {quoted(label_in(argument) or argument)}", hint=hint)

"""List, show, read and probe skills of servers. Loads the MCP SDK."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError
from rich.table import Table
from rich.text import Text

from skillwire.cli.server_table import Probe
from skillwire.cli.state import open_existing_state
from skillwire.core.json_text import json_bytes
from skillwire.core.mime import is_text, mime_type
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json
from skillwire.errors import SkillwireError, UsageError
from skillwire.host.approvals.questions import Inspection
from skillwire.host.connections.target import Target
from skillwire.host.dialects.client import Listing
from skillwire.host.host import Host
from skillwire.host.hosted_skill import HostedSkill, listed_file, live_uri
from skillwire.host.registry import NoLabelError, Registry
from skillwire.host.servers.link import ServerLink
from skillwire.host.store.approvals import ApprovalStatus
from skillwire.host.store.state import State
from skillwire.library.names import AmbiguousNameError, UnknownNameError
from skillwire.protocol.messages import SERVER_META
from skillwire.protocol.remote import Dialect, Integrity
from skillwire.protocol.translate import contents
from skillwire.safe_text import escape_invisible, quote_if_needed, quoted
from skillwire.terminal.messages import NoSuchSkillError, pluralize
from skillwire.terminal.output import print_content, print_json, print_line, stderr_console, stdout_console

_SHOWN_DIGEST = 19
_INTEGRITY = {
    Integrity.FULL: "a digest for every file",
    Integrity.PART: "digests for some files",
    Integrity.NONE: "no digests",
}
APPROVAL = {
    ApprovalStatus.UNKNOWN: "none",
    ApprovalStatus.APPROVED: "approved",
    ApprovalStatus.CHANGED: "none: it has changed since you approved it",
    ApprovalStatus.REVOKED: "revoked",
}
_AT_ONCE = 8
_TIMEOUT = 60.0
"""Seconds to wait for one server's list."""


@asynccontextmanager
async def open_host(targets: Sequence[Target], state: State | None = None) -> AsyncGenerator[Host]:
    """Yield a host for these servers. It accepts earlier drafts, because commands show the dialect."""
    async with Host(targets, state=state, drafts=True) as host:
        yield host


async def find(host: Host, skill: str) -> HostedSkill:
    """Return the skill that `skill` names, and print the servers' problems. Raises `SkillwireError`."""
    await host.discover()
    print_host_problems(host.registry.problems)
    try:
        return await host.find(_with_label(host, skill))
    except AmbiguousNameError as error:
        hint = f"choose one of {', '.join(quoted(handle) for handle in error.handles)}"
        raise UsageError(f"{quoted(skill)} is the name of several skills", hint=hint) from error
    except NoLabelError as error:
        raise UsageError(str(error)) from error
    except UnknownNameError as error:
        labels = ", ".join(quoted(label) for label in host.labels)
        if login := next((each for each in host.registry.problems if each.rule is Rule.LOGIN_REQUIRED), None):
            message = f"cannot look for {quoted(skill)}: {quoted(login.label)} {login.message}"
            raise NoSuchSkillError(message) from error
        hint = "`skillwire list SERVER` lists the skills of a server"
        raise NoSuchSkillError(f"there is no skill {quoted(skill)} on {labels}", hint=hint) from error


def print_host_problems(problems: Sequence[Problem]) -> None:
    """Print the problems of servers, one per line."""
    for problem in problems:
        stderr_console().print(escape_invisible(str(problem)), style="yellow")


def _with_label(host: Host, skill: str) -> str:
    """Return a bare URI with the label of the server in front, if there is only one server."""
    label, _, rest = skill.partition(":")
    is_bare_uri = rest.startswith("//") or (label not in host.labels and "://" in rest)
    return f"{host.labels[0]}:{skill}" if is_bare_uri and len(host.labels) == 1 else skill


def list_servers(targets: Sequence[Target], rows: list[dict[str, object]] | None = None) -> int:
    """Print the skills that servers list, and return the exit code.

    If `rows` is not None, prints JSON: these rows first, then those of the servers.
    """
    registry = anyio.run(_discover, targets)
    if rows is not None:
        print_json([*rows, *map(_row, registry.skills)])
    elif registry.skills:
        _print_skills(registry.skills)
    else:
        stderr_console().print(f"no skills on {', '.join(quoted(target.label) for target in targets)}")
    print_host_problems(registry.problems)
    return 1 if any(problem.severity is Severity.ERROR for problem in registry.problems) else 0


async def _discover(targets: Sequence[Target]) -> Registry:
    async with open_host(targets) as host:
        return await host.discover()


def _row(skill: HostedSkill) -> dict[str, object]:
    """Return a skill as JSON, with the same keys as a skill from a folder."""
    return {
        "name": skill.name,
        "description": skill.description,
        "type": "dynamic" if skill.files is None else "skill-md",
        "uri": escape_invisible(skill.uri),
        "origin": skill.label,
        "dialect": skill.claimed.dialect.value,
        "problems": [],
    }


def _print_skills(skills: Sequence[HostedSkill]) -> None:
    """Print skills with their labels: a table on a terminal, else one line per skill for `grep` and `cut`."""
    console = stdout_console()
    if not console.is_terminal:
        for each in skills:
            print_line(f"{each.handle}\t{escape_invisible(each.uri)}\t{each.description}")
        return
    drafts = any(each.claimed.dialect is not Dialect.FINAL for each in skills)
    table = Table(box=None, header_style="bold", pad_edge=False, expand=True)
    table.add_column("skill", style="cyan", no_wrap=True, overflow="ellipsis", max_width=40)
    table.add_column("files", justify="right")
    if drafts:
        table.add_column("dialect")
    table.add_column("description", overflow="ellipsis", no_wrap=True, ratio=1)
    for each in skills:
        files = "live" if each.files is None else str(len(each.files))
        dialect = [each.claimed.dialect.value] if drafts else []
        table.add_row(Text(each.handle), files, *dialect, Text(each.description))
    console.print(table, soft_wrap=False)


def read_remote(skill: str, path: str, targets: Sequence[Target], *, as_json: bool, raw: bool) -> int:
    """Print a file of a skill of a server."""
    path = path.replace("\\", "/")
    found, content = anyio.run(_read, skill, path, targets)
    kind = mime_type(path, text=is_text(content))
    if as_json:
        file = None if found.files is None else listed_file(found, path)
        uri = live_uri(found, path) if file is None else file.uri
        print_json({"contents": [contents(uri, kind, content)], "_meta": {SERVER_META: found.label}})
        return 0
    # Also if stdout is a pipe: the person must know whose text they pass on (H20).
    stderr_console().print(
        f"from the server {quoted(found.label)}; no one vouches for this text:", style="yellow"
    )
    return print_content(content, escape_invisible(path), kind, raw=raw)


async def _read(skill: str, path: str, targets: Sequence[Target]) -> tuple[HostedSkill, bytes]:
    async with open_host(targets) as host:
        found = await find(host, skill)
        if found.files is not None and listed_file(found, path) is None:
            hint = f"`skillwire show {found.handle}` lists its files"
            raise NoSuchSkillError(f"{found.quoted} has no file {quoted(path)}", hint=hint)
        return found, await host.read(found, path)


def show_remote(skill: str, targets: Sequence[Target], *, as_json: bool) -> int:
    """Print a skill of a server."""
    anyio.run(_show, skill, targets, as_json)
    return 0


async def _show(skill: str, targets: Sequence[Target], as_json: bool) -> None:  # noqa: FBT001 - `anyio.run` names nothing
    with open_existing_state() as state:
        async with open_host(targets, state) as host:
            found = await find(host, skill)
            inspection = await host.inspect(found)
            declared = host.declared(found.label)
    target = next(each for each in targets if each.label == found.label)
    if as_json:
        print_json(_as_json(found, declared))
    else:
        print_inspection(inspection, declared, target)


def _as_json(found: HostedSkill, declared: Mapping[str, Any] | None) -> dict[str, object]:
    return {
        **_entry(found),
        "origin": found.label,
        "extension": declared,
        "dialect": found.claimed.dialect.value,
        "approval": found.approval_status.value,
        "problems": [],
    }


def _entry(skill: HostedSkill) -> dict[str, object]:
    files = [{"uri": file.uri, "digest": file.digest.text, "size": file.size} for file in skill.files or ()]
    resources: object = "dynamic" if skill.files is None else files
    return {"uri": skill.uri, "frontmatter": dict(skill.frontmatter), "resources": resources}


def print_inspection(inspection: Inspection, declared: Mapping[str, Any] | None, target: Target) -> None:
    """Print what is known about a skill, with invisible characters escaped."""
    console, found = stdout_console(), inspection.skill
    console.print(Text(found.handle, style="bold cyan"))
    console.print(Text(found.description))
    console.print()
    lines = [
        ("uri", found.uri),
        ("server", f"{found.label}, {target.spelled}"),
        ("extension", extension_text(declared)),
        ("dialect", found.claimed.dialect.value),
        ("integrity", _INTEGRITY[found.claimed.integrity]),
        ("approval", APPROVAL[found.approval_status]),
        *_fields(found),
    ]
    for label, value in lines:
        console.print(
            Text.assemble((f"{escape_invisible(label, 100)}: ", "bold"), escape_invisible(value, 2000))
        )
    console.print()
    print_files(inspection)


def extension_text(declared: Mapping[str, Any] | None) -> str:
    """Return in words what a server declares about the extension."""
    if declared is None:
        return "not declared"
    return "declared, with directoryRead" if declared.get("directoryRead") is True else "declared"


def print_files(inspection: Inspection) -> None:
    """Print each file with its size and the beginning of its digest."""
    console = stdout_console()
    if inspection.files is None:
        console.print("files: not listed; they are generated when they are read")
        return
    total = "" if inspection.size is None else f", {inspection.size:,} bytes"
    console.print(Text(f"{pluralize(len(inspection.files), 'file')}{total}", style="bold"))
    sizes = ["?" if file.size is None else f"{file.size:,}" for file in inspection.files]
    width = max(map(len, sizes), default=0)
    for file, size in zip(inspection.files, sizes, strict=True):
        console.print(
            Text(f"  {size:>{width}}  {file.digest[:_SHOWN_DIGEST]}…  {quote_if_needed(file.path)}")
        )


def _fields(skill: HostedSkill) -> list[tuple[str, str]]:
    shown = {"name", "description"}
    return [(key, _plain(value)) for key, value in skill.frontmatter.items() if key not in shown]


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json_bytes(value).decode()


def probe_all(targets: Sequence[Target]) -> dict[str, Probe]:
    """Return the answers of servers by label. Probes several at once."""
    return anyio.run(_probe_all, targets)


async def _probe_all(targets: Sequence[Target]) -> dict[str, Probe]:
    probes: dict[str, Probe] = {}
    free = anyio.CapacityLimiter(_AT_ONCE)

    async def probe(target: Target) -> None:
        async with free:
            probes[target.label] = await _probe(target)

    async with anyio.create_task_group() as tasks:
        for target in targets:
            tasks.start_soon(probe, target)
    return probes


async def _probe(target: Target) -> Probe:
    async with ServerLink(target, drafts=True) as link:
        try:
            with anyio.fail_after(_TIMEOUT):
                return _probe_result(link, await link.list())
        except TimeoutError:
            return Probe(link.declared, error=f"no list of skills within {_TIMEOUT:g} seconds")
        except (SkillwireError, MCPError) as error:
            return Probe(link.declared, error=escape_invisible(str(error), 300))


def _probe_result(link: ServerLink, listing: Listing) -> Probe:
    found = len(listing.findings.kept) + listing.findings.more
    if link.declared is None and not listing.skills:
        return Probe()
    dialect = "" if listing.dialect is None else listing.dialect.value
    return Probe(link.declared, dialect, len(listing.skills), found)

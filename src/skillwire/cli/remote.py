"""Find, list, show and read skills on servers, and probe servers.

Importing this module loads the MCP SDK.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError
from rich.text import Text

from skillwire.cli.server_table import Probe
from skillwire.cli.state import open_existing_state
from skillwire.cli.suggestions import suggest
from skillwire.core.json_text import json_bytes
from skillwire.core.mime import is_text, mime_type
from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json
from skillwire.errors import HostError, SkillwireError, UsageError
from skillwire.host.approvals.questions import Inspection
from skillwire.host.connections.target import Target
from skillwire.host.dialects.client import Listing
from skillwire.host.host import Host
from skillwire.host.hosted_skill import HostedSkill, listed_file, live_uri
from skillwire.host.hosted_template import HostedTemplate
from skillwire.host.own_problems import MANY_SHOWN
from skillwire.host.registry import HostTemplateNameError, NoLabelError, Registry
from skillwire.host.servers.link import ServerLink
from skillwire.host.store.approvals import ApprovalStatus
from skillwire.host.store.state import State
from skillwire.library.names import AmbiguousNameError, UnknownNameError
from skillwire.protocol.claims import DeliveryClaim, Dialect, Integrity
from skillwire.protocol.messages import SERVER_META
from skillwire.protocol.translate import contents
from skillwire.safe_text import escape_invisible, quote_if_needed, quoted
from skillwire.terminal.messages import NoSuchSkillError, pluralize, print_notice
from skillwire.terminal.output import (
    print_content,
    print_error,
    print_json,
    print_line,
    stderr_console,
    stdout_console,
)
from skillwire.terminal.skill_table import ListView, SkillRow, print_skill_table, report_filter

_SHOWN_DIGEST = 19
_SHOWN_NAMES = 3
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
_LISTED_AS = {"skill-md": "", "archive": "archive", "dynamic": "live"}
"""What the list says about a skill, by the way it is delivered."""
_OF_A_SERVER = frozenset(
    {Rule.SOURCE_FAILED, Rule.LOGIN_REQUIRED, Rule.TIMEOUT, Rule.SERVER_CHANGED, Rule.STATE_FAILED}
)
"""Rules about a whole server or the state."""
_AT_ONCE = 8
_TIMEOUT = 60.0
"""Seconds to wait for one server's list."""


@asynccontextmanager
async def open_host(targets: Sequence[Target], state: State | None = None) -> AsyncGenerator["CommandHost"]:
    """Yield a host that uses these servers. It also accepts earlier drafts of the extension."""
    async with CommandHost(targets, state) as host:
        yield host


class CommandHost(Host):
    """The host of one command. It knows how the user named the servers."""

    def __init__(self, targets: Sequence[Target], state: State | None) -> None:
        super().__init__(targets, state=state, drafts=True)
        self.targets = tuple(targets)

    def suggest(self, command: str, handle: str) -> str:
        """Return a command for a skill or template of one of the servers."""
        return suggest(command, handle, self.targets)


class RemoteTemplateError(NoSuchSkillError):
    """The argument names a template on a server. A template stands for many skills."""

    def __init__(self, template: HostedTemplate, message: str, command: str) -> None:
        self.template = template
        what, _, hint = message.partition("; ")
        super().__init__(what, hint=f"{hint}; {quoted(command, None)} shows values")


async def find(host: CommandHost, skill: str) -> HostedSkill:
    """Return the skill that `skill` names. Print the problems with the servers.

    Raises `SkillwireError`; if `skill` names a file of a skill, `NoSuchSkillError`.
    """
    found, path = await find_file(host, skill)
    if path:
        raise NoSuchSkillError(
            f"{quoted(skill)} is a file of a skill", hint=f"name the skill, {found.quoted}"
        )
    return found


async def find_file(host: CommandHost, skill: str) -> tuple[HostedSkill, str]:
    """Return the skill that `skill` names, and the path of the named file, or an empty path.

    Prints the problems of this skill and its server. If there is no such skill, prints the problems that may
    be the cause. Raises `SkillwireError`.
    """
    try:
        found = await _find_named(host, _with_label(host, skill))
    except AmbiguousNameError as error:
        hint = f"choose one of {', '.join(quoted(handle) for handle in error.handles)}"
        raise UsageError(f"{quoted(skill)} is the name of several skills", hint=hint) from error
    except NoLabelError as error:
        print_causes(host.registry.problems)
        raise UsageError(str(error)) from error
    except HostTemplateNameError as error:
        command = host.suggest("show", error.template.handle)
        raise RemoteTemplateError(error.template, str(error), command) from error
    except UnknownNameError as error:
        print_causes(host.registry.problems)
        raise _unknown(host, skill, error) from error
    print_host_problems([each for each in host.registry.problems if concerns(each, found[0])])
    return found


def concerns(problem: Problem, skill: HostedSkill) -> bool:
    """Return whether a problem is about a skill, or about the whole server that lists it."""
    if problem.label != skill.label:
        return problem.rule is Rule.STATE_FAILED
    return (
        problem.rule in _OF_A_SERVER or problem.path == skill.uri or problem.path.startswith(f"{skill.root}/")
    )


def print_causes(problems: Sequence[Problem]) -> None:
    """Print the problems with whole servers, and how many other problems there are."""
    of_servers = [each for each in problems if each.rule in _OF_A_SERVER]
    print_host_problems(of_servers)
    others = sum(each.rule is not Rule.NAME_SHARED for each in problems) - len(of_servers)
    if others > 0:
        message = f"{pluralize(others, 'other problem')} may hide a skill"
        stderr_console().print(f"{message}; `skillwire list` with the same server shows them", style="yellow")


def _unknown(host: Host, skill: str, error: UnknownNameError) -> NoSuchSkillError:
    """Return the error for a name that no skill has."""
    labels = ", ".join(quoted(label) for label in host.labels)
    if login := next((each for each in host.registry.problems if each.rule is Rule.LOGIN_REQUIRED), None):
        return NoSuchSkillError(f"cannot look for {quoted(skill)}: {quoted(login.label)} {login.message}")
    hint = error.hint or error.suggestion or "`skillwire list` with the same server lists its skills"
    return NoSuchSkillError(f"there is no skill {quoted(skill)} on {labels}", hint=hint)


async def find_unpacked(host: CommandHost, skill: str) -> HostedSkill:
    """Return the skill that `skill` names, with its files. If they are in an archive, fetch the archive."""
    return await host.with_files(await find(host, skill))


def print_host_problems(problems: Sequence[Problem]) -> None:
    """Print the problems with servers, one per line."""
    for problem in problems:
        stderr_console().print(escape_invisible(str(problem)), style="yellow")


async def _find_named(host: Host, name: str) -> tuple[HostedSkill, str]:
    """Return the skill and the path that a name refers to.

    If there is only one server, a template's skill is also found without a label.
    """
    try:
        return await host.find_file(name)
    except HostTemplateNameError:
        raise
    except UnknownNameError:
        if len(host.labels) != 1 or name.startswith(f"{host.labels[0]}:"):
            raise
        return await host.find_file(f"{host.labels[0]}:{name}")


def _with_label(host: Host, skill: str) -> str:
    """Return a URI without a label as `LABEL:URI` if there is only one server, else `skill` unchanged."""
    label, _, rest = skill.partition(":")
    is_bare_uri = rest.startswith("//") or (label not in host.labels and "://" in rest)
    return f"{host.labels[0]}:{skill}" if is_bare_uri and len(host.labels) == 1 else skill


def list_servers(
    targets: Sequence[Target], view: ListView, rows: list[dict[str, object]] | None = None
) -> int:
    """Print the skills that servers list, and return the exit code.

    If `rows` is not None, prints JSON: first `rows`, then one row for each skill or template of a server.
    Prints the problems with servers to stderr. The exit code is 1 if one of them is an error.
    """
    registry, own_problems = anyio.run(_discover, targets, view.problems)
    skills, templates = registry.skills, registry.templates
    if (text := view.text) is not None:
        skills = [each for each in skills if text.accepts(each.name, each.path, each.description)]
        templates = [each for each in templates if text.accepts(each.path, each.description)]
    shown, every = len(skills) + len(templates), len(registry.skills) + len(registry.templates)
    if rows is not None:
        print_json([*rows, *map(_row, skills), *map(_template_row, templates)])
    elif shown:
        _print_skills(skills, templates, view)
    elif not every:
        stderr_console().print(f"no skills on {', '.join(quoted(target.label) for target in targets)}")
    for line in own_problems:
        print_notice(line)
    report_filter(view, shown, every)
    shared = [each for each in registry.problems if each.rule is Rule.NAME_SHARED]
    if view.problems or len(shared) == 1:
        print_host_problems(registry.problems)
    else:
        print_host_problems([each for each in registry.problems if each.rule is not Rule.NAME_SHARED])
        _print_shared_names(list(registry.shared_names()))
    return 1 if any(problem.severity is Severity.ERROR for problem in registry.problems) else 0


def _print_shared_names(names: Sequence[str]) -> None:
    """Print one line about names that several skills share. One of them may imitate another (H10)."""
    if names:
        shown = ", ".join(map(quoted, names[:_SHOWN_NAMES])) + ", …" * (len(names) > _SHOWN_NAMES)
        message = f"{len(names):,} names are shared by several skills ({shown}); `--problems` lists them"
        stderr_console().print(message, style="yellow")


async def _discover(targets: Sequence[Target], problems: bool) -> tuple[Registry, list[str]]:  # noqa: FBT001 - called by `anyio.run`
    """Return what the servers list, and the problems that they report.

    These are read if the servers list nothing, and all of them with `problems`.
    """
    async with open_host(targets) as host:
        registry = await host.discover()
        if problems:
            return registry, await host.own_problems(MANY_SHOWN)
        return registry, [] if registry.skills or registry.templates else await host.own_problems()


def _row(skill: HostedSkill) -> dict[str, object]:
    """Return a skill as a JSON object, with the same keys as a skill from a folder."""
    return {
        "name": skill.name,
        "description": skill.description,
        "type": skill.delivery,
        "uri": escape_invisible(skill.uri),
        "origin": skill.label,
        "dialect": skill.claimed.dialect.value,
        "problems": [],
    }


def _template_row(template: HostedTemplate) -> dict[str, object]:
    """Return a template as a JSON object, with the keys of a skill and `parameters`. Sends no request."""
    return {
        "name": template.path,
        "description": template.description,
        "type": "template",
        "uri": escape_invisible(template.uri),
        "origin": template.label,
        "dialect": _dialect(template),
        "problems": [],
        "parameters": {name: [*template.known_values(name)] for name in template.parameters},
    }


def _dialect(each: HostedSkill | HostedTemplate) -> str:
    if isinstance(each, HostedSkill):
        return each.claimed.dialect.value
    return Dialect.FINAL.value if each.claim is None else each.claim.dialect.value


def _print_skills(skills: Sequence[HostedSkill], templates: Sequence[HostedTemplate], view: ListView) -> None:
    """Print skills with their labels: for a person on a terminal, else one per line for `grep` and `cut`."""
    console, every = stdout_console(), (*skills, *templates)
    if not console.is_terminal:
        for each in every:
            print_line(f"{each.handle}\t{escape_invisible(each.uri)}\t{each.description}")
        return
    rows = [SkillRow(each.handle, each.description, each.path, _note(each)) for each in every]
    print_skill_table(console, rows, paths=view.paths, pager=view.pager)


def _note(each: HostedSkill | HostedTemplate) -> str:
    """Return what is special about a skill: how its files are delivered, and an earlier dialect."""
    kind = "template" if isinstance(each, HostedTemplate) else _LISTED_AS[each.delivery]
    dialect = _dialect(each)
    return ", ".join(filter(None, [kind, "" if dialect == Dialect.FINAL.value else dialect]))


def read_remote(skill: str, path: str, targets: Sequence[Target], *, as_json: bool, raw: bool) -> int:
    """Print one file of a skill on a server, and return the exit code.

    An empty `path` means the file that `skill` names, or else the `SKILL.md`.
    """
    found, path, content = anyio.run(_read, skill, path.replace("\\", "/"), targets)
    kind = mime_type(path, text=is_text(content))
    if as_json:
        file = None if found.files is None else listed_file(found, path)
        uri = live_uri(found, path) if file is None else file.uri
        print_json({"contents": [contents(uri, kind, content)], "_meta": {SERVER_META: found.label}})
        return 0
    # Printed also if stdout is a pipe: users must know whose text they pass on (H20).
    stderr_console().print(
        f"from the server {quoted(found.label)}; no one vouches for this text:", style="yellow"
    )
    return print_content(content, escape_invisible(path), kind, raw=raw)


async def _read(skill: str, path: str, targets: Sequence[Target]) -> tuple[HostedSkill, str, bytes]:
    async with open_host(targets) as host:
        found, named = await find_file(host, skill)
        found, path = await host.with_files(found), path or named or SKILL_FILE
        if found.files is not None and listed_file(found, path) is None:
            hint = f"{quoted(host.suggest('show', found.handle), None)} lists its files"
            raise NoSuchSkillError(f"{found.quoted} has no file {quoted(path)}", hint=hint)
        return found, path, await host.read(found, path)


def show_remote(skill: str, targets: Sequence[Target], *, as_json: bool) -> int:
    """Print a skill or template on a server, and return the exit code."""
    anyio.run(_show, skill, targets, as_json)
    return 0


async def _show(skill: str, targets: Sequence[Target], as_json: bool) -> None:  # noqa: FBT001 - `anyio.run` names nothing
    with open_existing_state() as state:
        async with open_host(targets, state) as host:
            try:
                found = await find(host, skill)
            except RemoteTemplateError as error:
                await _show_template(host, error.template, as_json=as_json)
                return
            try:
                found = await host.with_files(found)
            except HostError as error:  # all else is shown
                print_error(escape_invisible(str(error)))
            inspection = await host.inspect(found)
            declared = host.declared(found.label)
    target = next(each for each in targets if each.label == found.label)
    if as_json:
        print_json(_as_json(found, declared))
    else:
        print_inspection(inspection, declared, target)


async def _show_template(host: Host, template: HostedTemplate, *, as_json: bool) -> None:
    """Print a template, with the values that its server suggests for each parameter."""
    values = {name: await _suggested(host, template, name) for name in template.parameters}
    declared = host.declared(template.label)
    if as_json:
        print_json(
            {
                "uriTemplate": template.uri,
                "frontmatter": {"description": template.description},
                "resources": "dynamic",
                "parameters": values,
                "origin": template.label,
                "extension": declared,
                "dialect": _dialect(template),
                "problems": [],
            }
        )
        return
    console = stdout_console()
    console.print(Text(template.handle, style="bold cyan"))
    console.print(Text(template.description))
    console.print()
    lines = [
        ("uri", template.uri),
        ("server", template.label),
        ("extension", extension_text(declared)),
        ("dialect", _dialect(template)),
        ("approval", "none: each of its skills needs its own"),
        *((f"{{{name}}}", ", ".join(suggested) or "any value") for name, suggested in values.items()),
    ]
    for label, value in lines:
        console.print(
            Text.assemble((f"{escape_invisible(label, 100)}: ", "bold"), escape_invisible(value, 20_000))
        )


async def _suggested(host: Host, template: HostedTemplate, parameter: str) -> list[str]:
    try:
        return await host.complete(template, parameter)
    except SkillwireError as error:
        stderr_console().print(escape_invisible(str(error)), style="yellow")
        return []


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
    unlisted = "dynamic" if skill.delivery == "dynamic" else None
    resources: object = unlisted if skill.files is None else files
    return {"uri": skill.uri, "frontmatter": dict(skill.frontmatter), "resources": resources}


def print_inspection(inspection: Inspection, declared: Mapping[str, Any] | None, target: Target) -> None:
    """Print the fields, server, approval and files of a skill, with invisible characters escaped."""
    console, found = stdout_console(), inspection.skill
    console.print(Text(found.handle, style="bold cyan"))
    console.print(Text(found.description))
    console.print()
    archive = [] if found.archive is None else [("archive", _describe_archive(found.archive))]
    lines = [
        ("uri", found.uri),
        ("server", f"{found.label}, {target.as_written}"),
        ("extension", extension_text(declared)),
        ("dialect", found.claimed.dialect.value),
        ("integrity", _INTEGRITY[found.claimed.integrity]),
        *archive,
        ("approval", APPROVAL[found.approval_status]),
        *_fields(found),
    ]
    for label, value in lines:
        console.print(
            Text.assemble((f"{escape_invisible(label, 100)}: ", "bold"), escape_invisible(value, 2000))
        )
    console.print()
    print_files(inspection)


def _describe_archive(archive: DeliveryClaim) -> str:
    return archive.uri if archive.digest is None else f"{archive.uri}, {archive.digest.text}"


def extension_text(declared: Mapping[str, Any] | None) -> str:
    """Return whether a server declares the Skills extension and directory reading, in words."""
    if declared is None:
        return "not declared"
    return "declared, with directoryRead" if declared.get("directoryRead") is True else "declared"


def print_files(inspection: Inspection) -> None:
    """Print each file with its size and the beginning of its digest, or why the files are not listed."""
    console = stdout_console()
    if inspection.files is None:
        console.print(f"files: {_describe_unlisted(inspection.skill)}")
        return
    total = "" if inspection.size is None else f", {inspection.size:,} bytes"
    console.print(Text(f"{pluralize(len(inspection.files), 'file')}{total}", style="bold"))
    sizes = ["?" if file.size is None else f"{file.size:,}" for file in inspection.files]
    width = max(map(len, sizes), default=0)
    for file, size in zip(inspection.files, sizes, strict=True):
        console.print(
            Text(f"  {size:>{width}}  {file.digest[:_SHOWN_DIGEST]}…  {quote_if_needed(file.path)}")
        )


def _describe_unlisted(skill: HostedSkill) -> str:
    """Return why the files of a skill are not listed."""
    if skill.is_packed:
        return "in an archive that cannot be used"
    if any(each.form is not None for each in skill.deliveries):
        return "in an archive without a digest, so they can differ on each read"
    if skill.deliveries:
        return f"not listed; its server uses `{skill.claimed.dialect}`, which lists only the `SKILL.md`"
    return "not listed; they are generated when they are read"


def _fields(skill: HostedSkill) -> list[tuple[str, str]]:
    shown = {"name", "description"}
    return [(key, _plain(value)) for key, value in skill.frontmatter.items() if key not in shown]


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json_bytes(value).decode()


def probe_all(targets: Sequence[Target]) -> dict[str, Probe]:
    """Probe servers concurrently, and return the results by label."""
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
    if link.declared is None and not listing.skills and not listing.templates.claims:
        return Probe()
    dialect = "" if listing.dialect is None else listing.dialect.value
    return Probe(link.declared, dialect, len(listing.skills), found)

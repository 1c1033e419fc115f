"""`skillwire install`: write this server into the configuration files of MCP clients."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import urlsplit

import anyio
from cyclopts import Parameter

from skillwire.cli.client_changes import (
    ClientChanges,
    ClientNames,
    DryRun,
    Scope,
    check_name,
    chosen_clients,
    is_all,
    supports_project,
)
from skillwire.config.choice import ConfigFlags, ConfigOptions
from skillwire.config.clients.base import Client
from skillwire.config.clients.connect import DEFAULT_NAME, connect_choices, generic_entry
from skillwire.config.clients.install import Outcome, client_files, client_writer, plan_install
from skillwire.config.clients.records import InstalledEntry
from skillwire.config.clients.render import json_value, render
from skillwire.config.clients.writer import Connection
from skillwire.config.file import SourceSettings
from skillwire.config.library import check_command, load
from skillwire.config.program import Program, wsl_command
from skillwire.config.source_config import LibraryOptions, open_sources, source_specs, spelled
from skillwire.config.source_kinds import kind_of
from skillwire.config.typed_sources import typed_sources
from skillwire.core.problem import Rule, Severity
from skillwire.errors import SourceError, UsageError
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible, quoted, redact_secrets
from skillwire.terminal.messages import pluralize, print_notice
from skillwire.terminal.options import ENTRY, OUTPUT, Yes
from skillwire.terminal.output import print_line, print_problems, stderr_console

_SHOWN_PROBLEMS = 5
_WEB = "web+"
_PREFIX = re.compile(r"\A[a-z]+\+(?=https?:)")
_SECRET = re.compile(r"(?:token|key|secret|password|auth|sig)[a-z_-]*=", re.IGNORECASE)


def install(
    sources: Annotated[
        list[str] | None,
        Parameter(name="SOURCE", help="Source to serve. Default: `SKILLS_DIR` and the configuration file."),
    ] = None,
    /,
    *,
    client: ClientNames = None,
    scope: Annotated[
        Scope,
        Parameter(
            group=ENTRY,
            metavar="SCOPE",
            show_default=True,
            help="`user` for your own file, `project` for the project's.",
        ),
    ] = "user",
    name: Annotated[
        str, Parameter(group=ENTRY, metavar="NAME", show_default=True, help="Name of the entry.")
    ] = DEFAULT_NAME,
    yes: Yes = False,
    dry_run: DryRun = False,
    print_entry: Annotated[
        bool, Parameter(group=OUTPUT, name="--print", help="Print the entry and links, and change nothing.")
    ] = False,
    replace: Annotated[
        bool,
        Parameter(
            group=ENTRY, name="--replace", help="Replace an entry with the same name and other sources."
        ),
    ] = False,
    config: ConfigOptions = None,
) -> int:
    """Write this server into the configuration files of your MCP clients, so that they start it.

    Shows the difference and asks. Other content of the files stays as it is, and a backup is written beside
    each file. If you run the command again, nothing changes.

    Exit code 1: a file cannot be changed, a source has no skills, or the program does not start.

    For example:

    ```
    skillwire install ./skills --client cursor
    skillwire install github:acme/skills --client vscode,codex --scope project --name acme
    skillwire install ./skills --client all --dry-run
    skillwire install ./skills --print
    ```
    """
    changes = ClientChanges.of_this_machine()
    check_name(name)
    clients = chosen_clients(client, changes.client_env) if client or not print_entry else []
    program = Program.current(os.environ)
    words = (*program.words, "serve", *_arguments(sources or [], config or ConfigFlags()))
    if program.warning:
        print_notice(f"warning: {program.warning}")
    if print_entry:
        return _print(clients, name, words)
    windows = wsl_command(words, os.environ)
    if windows is not None:
        print_notice(
            "this is WSL: programs on Windows do not read these files; "
            "`--print` without `--client` shows the entry for them"
        )
    records = changes.records.read()
    clients = _with_files(clients, scope, skip=is_all(client))
    for each in clients:
        _plan(changes, each, scope, name, words, replace=replace)
    changes.show()
    for plan in changes.plans:
        if plan.changes and (first := client_writer(plan.client).first):
            changes.say(plan.client, first)
    if not dry_run and changes.may_write(yes=yes):
        if any(plan.changes for plan in changes.plans):
            program.check()
            changes.records.prepare()
        _write(changes, records)
    elif dry_run:
        changes.report_dry_run()
    return changes.finish(len(clients))


def _with_files(clients: Sequence[Client], scope: Scope, *, skip: bool) -> list[Client]:
    """Return the clients. With `skip`, leave out those that have no file in this scope."""
    if not skip or scope == "user":
        return list(clients)
    for client in clients:
        if not supports_project(client):
            print_notice(f"{client.title}: skipped, because it has no configuration in projects")
    return [client for client in clients if supports_project(client)]


def _plan(
    changes: ClientChanges, client: Client, scope: Scope, name: str, words: Sequence[str], *, replace: bool
) -> None:
    try:
        files = client_files(client, changes.client_env, in_project=scope == "project")
    except UsageError as error:
        changes.failures.append((client, error))
        return
    for file in files:
        changes.plan(
            client,
            file,
            lambda file=file: plan_install(
                client, file, changes.client_env, name, words, replace_other=replace
            ),
        )


def _write(changes: ClientChanges, records: Sequence[InstalledEntry]) -> None:
    """Make the changes, and record what was written."""
    for plan in changes.plans:
        record = changes.apply(plan, records)
        if record is not None:
            changes.records.add(record)
        if plan.outcome is Outcome.UNCHANGED:
            if plan.is_disabled:
                changes.say(plan.client, "the entry is disabled; enable it in the client")
        elif record is not None:
            writer = client_writer(plan.client)
            changes.say(plan.client, f"next: {writer.next_step}")
            if plan.file.in_project and writer.project_step:
                changes.say(plan.client, writer.project_step)
            if plan.file.in_project:
                print_notice("  the entry contains paths of this machine; others need the same paths")


def _arguments(sources: Sequence[str], flags: ConfigFlags) -> list[str]:
    """Return the arguments of `serve`. Raises `UsageError`, or `SourceError` if a source has no skills."""
    if flags.config is not None and not flags.config.is_file():
        raise UsageError(
            f"the configuration file {quoted(str(flags.config))} does not exist", hint="correct its name"
        )
    named = source_specs(typed_sources(sources), os.environ, allow_empty=True)
    places = [_written(each.argument) for each in named]
    chosen = flags.choose(named=bool(sources))
    configured = SourceSettings() if chosen.file is None else SourceSettings.read(chosen.file)
    with_config = chosen.sources and bool(configured.sources)
    if not places and not with_config:
        raise UsageError(
            "no source of skills is named",
            hint="name a folder such as `./skills`, or add a source with `skillwire sources add`",
        )
    _check_skills(places, configured, with_config=with_config)
    options = ["--no-config"] if flags.no_config else []
    if flags.config is not None:
        options += ["--config", str(flags.config.absolute())]
    if places and with_config:
        options.append("--with-config")
    return [*places, *options]


def _written(argument: str) -> str:
    """Return a source as it is written into the entry. Raises `UsageError` if it contains a secret."""
    place = spelled(argument)
    if kind_of(place).name == "web" and not place.startswith(_WEB):
        place = f"{_WEB}{place}"  # so that `serve` does not ask whether it is a server
    if has_secret(place):
        raise UsageError(
            f"the address {quoted(redact_secrets(place))} contains a secret, which is not written",
            hint="add it with `skillwire sources add --token-env`, and run `skillwire install` without it",
        )
    return place


def has_secret(place: str) -> bool:
    """Return whether an address contains a user, a password or a parameter that is named like a secret."""
    parts = urlsplit(_PREFIX.sub("", place))
    return parts.scheme in {"http", "https"} and ("@" in parts.netloc or bool(_SECRET.search(parts.query)))


def _check_skills(places: Sequence[str], configured: SourceSettings, *, with_config: bool) -> None:
    """Raise `SourceError` if a named source has no skills, or no configured source has any."""
    options = LibraryOptions(configured_sources=with_config and not places)
    opened = open_sources(places, options, configured)
    library = Library([each.source for each in opened], once=True)
    anyio.run(load, library)
    for source in library.sources:
        scan = library.scans[source.label]
        if scan.entries or scan.templates or (not places and library.catalog.entries):
            continue
        errors = [
            each
            for each in scan.problems
            if each.severity is Severity.ERROR or each.rule is Rule.SKILL_FILE_NAME
        ]
        print_problems(stderr_console(), errors[:_SHOWN_PROBLEMS])
        where = quoted(redact_secrets(escape_invisible(source.place or source.label)))
        raise SourceError(
            f"the source {where} has no skill that can be served",
            hint="" if errors else "a skill is a folder with a `SKILL.md` in it; `skillwire new` creates one",
        )
    _report_errors(library)


def _report_errors(library: Library) -> None:
    """Print how many errors keep skills from being served, and the command that shows them."""
    errors = sum(each.severity is Severity.ERROR for each in library.catalog.problems)
    if errors:
        skills = pluralize(len(library.catalog.entries), "skill")
        them = "it" if errors == 1 else "them"
        print_notice(f"{skills}; {pluralize(errors, 'error')}; {check_command(library)} {them}")


def _print(clients: Sequence[Client], name: str, words: Sequence[str]) -> int:
    """Print the entry on stdout, and links and advice on stderr."""
    command = tuple(words)
    windows = wsl_command(command, os.environ)
    if not clients and windows is not None:
        print_notice("this is WSL: the entry is for clients on Windows; for clients in WSL, add `--client`")
        command = windows
    choices = {each.client: each for each in connect_choices(command, name)}
    if not clients:
        print_line(json_value(generic_entry(command, name)))
        _print_links({each.title: each.link for each in choices.values()})
        return 0
    changes = ClientChanges.of_this_machine()
    for client in clients:
        writer = client_writer(client)
        file = writer.user_files(changes.client_env)[0]
        fields = writer.fields(name, Connection(command))
        assert fields is not None
        print_notice(f"{client.title}: in {quoted(str(file.path), None)}")
        print_line(render(file.format, writer.keys, writer.key(name), fields).rstrip("\n"))
        _print_links({client.title: choices[client.name].link})
    return 0


def _print_links(links: Mapping[str, str]) -> None:
    for title, link in links.items():
        if link:
            print_notice(f"link for {title}: {link}")

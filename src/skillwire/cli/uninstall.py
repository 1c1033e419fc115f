"""`skillwire uninstall`: remove this server from the configuration files of MCP clients."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

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
from skillwire.config.clients.base import Client
from skillwire.config.clients.client_file_writer import BACKUP, backups_of, read_document, target_of
from skillwire.config.clients.connect import DEFAULT_NAME
from skillwire.config.clients.files import ClientFile, ClientFileError
from skillwire.config.clients.install import Outcome, Plan, client_files, client_writer, plan_uninstall
from skillwire.config.clients.records import InstalledEntry
from skillwire.safe_text import quoted
from skillwire.terminal.messages import pluralize, print_notice
from skillwire.terminal.options import ENTRY, Yes


def uninstall(
    *,
    client: ClientNames = None,
    name: Annotated[
        str | None,
        Parameter(
            group=ENTRY,
            metavar="NAME",
            help="Remove the entry with this name. Default: all that `install` has written.",
        ),
    ] = None,
    scope: Annotated[
        Scope | None,
        Parameter(
            group=ENTRY,
            metavar="SCOPE",
            help="Only in your own file (`user`) or in this project's (`project`).",
        ),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> int:
    """Remove this server from the configuration files of your MCP clients.

    Shows the difference and asks. Other content of the files stays as it is. Without `--name`, the command
    removes every entry that `skillwire install` has written and that has not changed since.

    Exit code 1: a file cannot be changed.

    For example:

    ```
    skillwire uninstall --client cursor
    skillwire uninstall --client all --name acme --dry-run
    ```
    """
    changes = ClientChanges.of_this_machine()
    records = changes.records.read()
    clients = chosen_clients(client, changes.client_env, everything=True)
    if name is not None:
        check_name(name)
    for each in clients:
        for file, key in _places(changes, each, name, scope, records):
            known = next((one for one in records if one.place == (each.name, str(file.path), key)), None)
            changes.plan(
                each,
                file,
                lambda each=each, file=file, key=key, known=known: plan_uninstall(
                    each, file, key, known, force=name is not None
                ),
            )
    changes.show()
    if dry_run:
        changes.report_dry_run()
    elif changes.may_write(yes=yes):
        _remove(changes, records)
        _report_backups(changes)
    _report_nothing(changes, [] if is_all(client) and (changes.plans or changes.failures) else clients)
    return changes.finish(len(clients))


def _remove(changes: ClientChanges, records: Sequence[InstalledEntry]) -> None:
    """Remove the entries, and forget them."""
    gone: list[tuple[str, str, str]] = []
    for plan in changes.plans:
        failed = len(changes.failures)
        if plan.changes:
            changes.apply(plan, records)
        if len(changes.failures) == failed:
            gone.append((plan.client.name, str(plan.file.path), plan.path[-1]))
    known = {each.place for each in records}
    changes.records.remove(place for place in gone if place in known)


def _report_nothing(changes: ClientChanges, clients: Sequence[Client]) -> None:
    def concerns(plan: Plan, client: Client) -> bool:
        return plan.client is client and plan.outcome is not Outcome.MISSING

    if len(clients) > 1 and not changes.plans and not changes.failures:
        print_notice("nothing to remove")
        return
    failed = {client.name for client, _ in changes.failures}
    for client in clients:
        if client.name not in failed and not any(concerns(plan, client) for plan in changes.plans):
            changes.say(client, "nothing to remove")
            for file in _other_entries(changes, client):
                name = client_writer(client).key(DEFAULT_NAME)
                where = quoted(str(file.path), None)
                print_notice(
                    f"  the entry {quoted(name)} in {where} was not written by `skillwire install`; "
                    f"remove it in {client.title}"
                )


def _other_entries(changes: ClientChanges, client: Client) -> list[ClientFile]:
    """Return the client's own files that have an entry with the default name."""
    writer = client_writer(client)
    path = (*writer.keys, writer.key(DEFAULT_NAME))
    found: list[ClientFile] = []
    for file in client_files(client, changes.client_env, in_project=False):
        with suppress(ClientFileError):  # the file is broken, and nothing was to be changed in it
            if read_document(file).entry(path) is not None:
                found.append(file)
    return found


def _report_backups(changes: ClientChanges) -> None:
    """Print how many copies of earlier contents are beside each changed file. They may contain secrets."""
    for file in {plan.file.path: plan.file for plan in changes.plans if plan.changes}.values():
        with suppress(ClientFileError):
            target = target_of(file)
            if copies := len(backups_of(target)):
                are = "is" if copies == 1 else "are"
                pattern = quoted(f"{target}{BACKUP}.*", None)
                print_notice(f"{pluralize(copies, 'backup')} {are} still there: {pattern}")


def _places(
    changes: ClientChanges,
    client: Client,
    name: str | None,
    scope: Scope | None,
    records: Sequence[InstalledEntry],
) -> list[tuple[ClientFile, str]]:
    """Return the files and keys of the entries to remove."""
    writer = client_writer(client)
    own = client_files(client, changes.client_env, in_project=False)
    project: list[ClientFile] = []
    if supports_project(client):
        project = client_files(client, changes.client_env, in_project=True)
    key = None if name is None else writer.key(name)
    known = [each for each in records if each.client == client.name and key in {None, each.name}]
    found: dict[tuple[str, str], tuple[ClientFile, str]] = {}
    for each in known:
        file = _file(client, Path(each.file), changes, own)
        here = {one.path for one in project}
        if scope is None or (file.path in here if scope == "project" else not file.in_project):
            found[each.file, each.name] = (file, each.name)
    if key is not None:
        for file in (*(own if scope != "project" else []), *(project if scope != "user" else [])):
            found.setdefault((str(file.path), key), (file, key))
    return list(found.values())


def _file(client: Client, path: Path, changes: ClientChanges, own: Sequence[ClientFile]) -> ClientFile:
    """Return the file at the path in a record, as the client's own file or as a project's."""
    files = [*own, *client.files(changes.client_env)]
    found = next((each for each in files if each.path == path and not each.in_project), None)
    inside = client_writer(client).project_file
    if found is not None or inside is None or path.parts[-len(inside.parts) :] != inside.parts:
        return found or ClientFile(path, format=own[0].format)
    return ClientFile(path, path.parents[len(inside.parts) - 1], own[0].format)

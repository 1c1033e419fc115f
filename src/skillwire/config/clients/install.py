"""Plan and make the change of one client's file that `skillwire install` or `uninstall` asks for."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePath
from typing import cast

from skillwire.config.clients.base import Client
from skillwire.config.clients.client_file_writer import read_document, write_document
from skillwire.config.clients.edit import ClientDocument
from skillwire.config.clients.files import ClientEnvironment, ClientFile, ClientFileError, as_object
from skillwire.config.clients.preview import preview
from skillwire.config.clients.records import InstalledEntry, digest_of
from skillwire.config.clients.writer import ClientWriter, Connection
from skillwire.errors import UsageError
from skillwire.safe_text import quoted, redact_secrets

_SERVE = "serve"
_PROGRAM = "skillwire"


class Outcome(StrEnum):
    """What a plan does to a file."""

    ADDED = "added"
    UPDATED = "updated"
    REPLACED = "replaced"
    UNCHANGED = "already installed"
    REMOVED = "removed"
    MISSING = "not there"


Step = Callable[[ClientDocument], tuple[Outcome, ClientDocument | None]]


@dataclass(frozen=True, slots=True)
class Plan:
    """A change of one file. Nothing is written before `apply`."""

    client: Client
    file: ClientFile
    path: tuple[str, ...]
    """The path of the entry in the file."""
    outcome: Outcome
    step: Step
    diff: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    client_env: ClientEnvironment | None = None
    is_disabled: bool = False
    """Whether the entry is there, but the user has disabled it in the client."""

    @property
    def changes(self) -> bool:
        """Whether the plan changes the file."""
        return self.outcome not in {Outcome.UNCHANGED, Outcome.MISSING}

    def apply(self, known: InstalledEntry | None = None) -> "Applied":
        """Make the change. `known` is the earlier record of the entry. Raises `ClientFileError`."""
        missing = 0
        new_entry: object = None

        def edit(document: ClientDocument) -> ClientDocument | None:
            nonlocal missing, new_entry
            missing = document.missing_parents(self.path)
            outcome, after = self.step(document)
            if outcome is not self.outcome:
                raise ClientFileError("another program has changed the entry", hint="try again")
            new_entry = None if after is None else after.entry(self.path)
            return after

        written = write_document(self.file, edit)
        if self.client_env is not None:
            check_command(self.client, read_document(self.file), self.path, self.command, self.client_env)
        record = None
        if new_entry is not None:
            record = InstalledEntry(
                self.client.name,
                str(self.file.path),
                self.path[-1],
                digest_of(new_entry),
                known.created if known is not None and not missing else missing,
                known.new_file if known is not None and not written.created else written.created,
            )
        return Applied(record, "" if written.backup is None else str(written.backup))


@dataclass(frozen=True, slots=True)
class Applied:
    """What was written: the record of the entry, or None after a removal, and the path of the backup."""

    record: InstalledEntry | None
    backup: str = ""


def client_writer(client: Client) -> ClientWriter:
    """Return the client's writer. There is one for every client that can be named."""
    assert client.writer is not None
    return client.writer


def client_files(client: Client, client_env: ClientEnvironment, *, in_project: bool) -> list[ClientFile]:
    """Return the files to write. Raises `UsageError` if the client has no file in a project."""
    writer = client_writer(client)
    if not in_project:
        return list(writer.user_files(client_env))
    if writer.project_file is None:
        raise UsageError(
            f"{client.title} has no configuration in projects",
            hint="leave out `--scope project` to write your own configuration",
        )
    project = client_env.projects[-1]
    form = writer.user_files(client_env)[0].format
    return [ClientFile(project / writer.project_file, project, form)]


def plan_install(
    client: Client,
    file: ClientFile,
    client_env: ClientEnvironment,
    name: str,
    command: Sequence[str],
    *,
    replace_other: bool = False,
) -> Plan:
    """Plan to write an entry. Raises `ClientFileError`, or `UsageError` if the name is taken."""
    writer = client_writer(client)
    words = tuple(command)
    _check_words(client, words)
    fields = writer.fields(name, Connection(words))
    assert fields is not None
    path = (*writer.keys, writer.key(name))

    def step(document: ClientDocument) -> tuple[Outcome, ClientDocument]:
        old = document.entry(path)
        outcome = _compare(old, words)
        match outcome:
            case Outcome.UNCHANGED:
                return outcome, document
            case Outcome.UPDATED:
                after = document
                for key, value in fields.items():
                    is_ours = key in {"command", "cmd", "args"} or key not in as_object(old)
                    if is_ours and after.entry((*path, key)) != value:
                        after = after.with_entry((*path, key), value)
            case Outcome.REPLACED if not replace_other:
                raise _taken(client, file, path[-1], old)
            case _:
                after = document.with_entry(path, fields)
        check_command(client, after, path, words, client_env)
        return outcome, after

    document = read_document(file)
    outcome, after = step(document)
    plan = Plan(client, file, path, outcome, step, command=words, client_env=client_env)
    if not plan.changes:
        return replace(plan, is_disabled=not _is_enabled(client, document, path, client_env))
    old = document.entry(path)
    old_words = _argv(old) or ()
    if outcome is Outcome.UPDATED:
        diff = preview(document, after, path, old_words=old_words, new_words={*old_words, *words})
    else:
        shown = old_words if _starts_skillwire(old) else ()
        public = tuple(word for word in shown if redact_secrets(word) == word)
        diff = preview(document, after, path, old_words=public)
    return replace(plan, diff=tuple(diff))


def plan_uninstall(
    client: Client, file: ClientFile, key: str, known: InstalledEntry | None, *, force: bool
) -> Plan:
    """Plan to remove an entry. Raises `ClientFileError`, or `UsageError` if it may be someone else's.

    `known` is the record of the entry. With `force`, an entry that starts Skillwire is removed although it
    has changed, or has no record.
    """
    path = (*client_writer(client).keys, key)

    def step(document: ClientDocument) -> tuple[Outcome, ClientDocument | None]:
        old = document.entry(path)
        if old is None:
            return Outcome.MISSING, document
        if (known is None or digest_of(old) != known.digest) and not (force and _starts_skillwire(old)):
            raise _not_ours(client, file, key, is_changed=known is not None and not force)
        after = document.without_entry(path, 0 if known is None else known.created)
        is_empty = known is not None and known.new_file and not after.values
        return Outcome.REMOVED, None if is_empty and not _has_comments(after) else after

    document = read_document(file)
    outcome, after = step(document)
    plan = Plan(client, file, path, outcome, step)
    if not plan.changes:
        return plan
    old = document.entry(path)
    is_known = known is not None and digest_of(old) == known.digest
    shown = preview(
        document,
        after or ClientDocument(file, b""),
        path,
        old_words=None if is_known else _argv(old) or (),
    )
    return replace(plan, diff=tuple(shown))


def check_command(
    client: Client,
    document: ClientDocument,
    path: Sequence[str],
    command: Sequence[str],
    client_env: ClientEnvironment,
) -> None:
    """Raise `ClientFileError` unless the client reads exactly this command from the entry."""
    reader = client.servers
    if document.file.in_project and client.project_servers is not None:
        reader = client.project_servers
    declared = [each for each in reader(document.values, document.file, client_env) if each.name == path[-1]]
    target = declared[-1].target if declared else None
    if target is None or target.command != tuple(command):
        reason = declared[-1].problem if declared else ""
        raise ClientFileError(
            f"{client.title} would not start the command as written" + (f": {reason}" if reason else ""),
            hint="use `--print`, and add the entry in the client",
        )


def _is_enabled(
    client: Client, document: ClientDocument, path: Sequence[str], client_env: ClientEnvironment
) -> bool:
    reader = client.servers
    declared = [each for each in reader(document.values, document.file, client_env) if each.name == path[-1]]
    return not declared or declared[-1].enabled


def _check_words(client: Client, words: Sequence[str]) -> None:
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{quoted(word)} is not UTF-8, so {client.title} cannot use it",
                hint="rename the file or folder",
            ) from error
        if client_writer(client).changes.search(word):
            raise UsageError(
                f"{client.title} would replace what looks like a variable in {quoted(word)}",
                hint="rename the folder, or use a link to it with another name",
            )


def _argv(entry: object) -> tuple[str, ...] | None:
    """Return the command in an entry, or None if it has none."""
    fields = as_object(entry)
    program = fields.get("command", fields.get("cmd"))
    args = fields.get("args", [])
    if not isinstance(program, str) or not isinstance(args, list):
        return None
    words = [program, *cast("list[object]", args)]
    return tuple(str(word) for word in words) if all(isinstance(word, str) for word in words) else None


def _split(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]] | None:
    """Return the words that start Skillwire, and the words from `serve` on; None for another program."""
    at = next((at for at, word in enumerate(argv) if word == _SERVE), 0)
    if at == 0 or PurePath(argv[at - 1]).name != _PROGRAM:
        return None
    return argv[:at], argv[at:]


def _starts_skillwire(entry: object) -> bool:
    argv = _argv(entry)
    return argv is not None and _split(argv) is not None


def _compare(entry: object, words: Sequence[str]) -> Outcome:
    """Return what writing `words` would do to an entry."""
    if entry is None:
        return Outcome.ADDED
    argv = _argv(entry)
    if argv == tuple(words):
        return Outcome.UNCHANGED
    there, wanted = _split(argv or ()), _split(words)
    if there is not None and wanted is not None and there[1] == wanted[1]:
        return Outcome.UPDATED
    return Outcome.REPLACED


def _taken(client: Client, file: ClientFile, key: str, entry: object) -> UsageError:
    where = quoted(str(file.path), None)
    if (words := _split(_argv(entry) or ())) is not None:
        return UsageError(
            f"the entry {quoted(key)} in {where} serves other sources: "
            f"{quoted(redact_secrets(shlex.join(words[1][1:]) or 'the configured ones'))}",
            hint="`--replace` changes it; `--name NAME` adds another entry",
        )
    return UsageError(
        f"{where} already has another server {quoted(key)}",
        hint=f"choose another name with `--name NAME`, or replace it in {client.title} with `--replace`",
    )


def _not_ours(client: Client, file: ClientFile, key: str, *, is_changed: bool) -> UsageError:
    where = quoted(str(file.path), None)
    if is_changed:
        return UsageError(
            f"the entry {quoted(key)} in {where} has changed since it was written",
            hint=f"to remove it anyway, add `--name {key}`",
        )
    return UsageError(
        f"the entry {quoted(key)} in {where} does not start `{_PROGRAM} {_SERVE}`",
        hint=f"remove it in {client.title}",
    )


def _has_comments(document: ClientDocument) -> bool:
    """Return whether a document without values contains more than brackets."""
    return bool(document.text.strip(" \t\r\n{}"))


def found_clients(clients: Mapping[str, Client], client_env: ClientEnvironment) -> list[Client]:
    """Return the clients that seem to be installed on this machine."""
    return [client for client in clients.values() if client_writer(client).is_there(client_env)]

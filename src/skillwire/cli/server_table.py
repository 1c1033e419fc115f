"""Print servers, their login states and probe results as tables by file, as lines or as JSON."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.text import Text

from skillwire.config.clients.known import KnownServer, UnreadableFile
from skillwire.errors import StateError
from skillwire.host.connections.target import Target
from skillwire.host.store.login_record import LoginRecord
from skillwire.host.store.logins import Logins
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.output import print_error, print_json, print_line, stderr_console, stdout_console
from skillwire.terminal.skill_table import fact_lines


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of probing a server."""

    extension: Mapping[str, Any] | None = None
    """What the server declares about the Skills extension; None if it does not declare the extension."""
    dialect: str = ""
    skills: int = 0
    findings: int = 0
    error: str = ""
    """Why the server did not answer; empty if it answered."""

    @property
    def directory_read(self) -> bool:
        return self.extension is not None and self.extension.get("directoryRead") is True

    def __str__(self) -> str:
        if self.error:
            return self.error
        declared = "no extension" if self.extension is None else "extension"
        parts = [
            pluralize(self.skills, "skill"),
            f"{declared}{', directoryRead' if self.directory_read else ''}",
        ]
        parts += [self.dialect] if self.dialect else []
        parts += [pluralize(self.findings, "finding")] if self.findings else []
        return ", ".join(parts)

    def to_json(self) -> dict[str, object]:
        return {
            "extension": self.extension,
            "directoryRead": self.directory_read,
            "dialect": self.dialect or None,
            "skills": self.skills,
            "findings": self.findings,
            "error": self.error or None,
        }


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One server in the printed list."""

    label: str
    client: str
    title: str
    file: str
    transport: str
    address: str
    state: str
    needs_consent: bool = False
    note: str = ""
    probe: Probe | None = None
    login: str = ""
    """`logged in`, `login needed` or empty, according to the stored logins."""

    @classmethod
    def of(cls, server: KnownServer) -> "ServerRow":
        target, name = server.target, server.declared.name
        address = server.declared.as_written if target is None else target.as_written
        transport = "" if target is None else ("stdio" if target.url is None else "http")
        note = ""
        if server.taken_by:
            note = f"{quoted(name)} is taken by {server.taken_by}"
        elif name != server.label and not server.same_as:
            note = f"{quoted(name)} in the file"
        return cls(
            server.label,
            server.client.name,
            server.client.title,
            escape_invisible(str(server.file.path)),
            transport,
            escape_invisible(address),
            escape_invisible(server.state),
            server.needs_consent,
            note,
        )

    @classmethod
    def typed(cls, target: Target) -> "ServerRow":
        """Return the row for a server that the user named by URL or command."""
        transport = "stdio" if target.url is None else "http"
        return cls(
            target.label, "", "the command line", "", transport, escape_invisible(target.as_written), "ready"
        )

    @classmethod
    def of_login(cls, record: LoginRecord) -> "ServerRow":
        """Return the row for a stored login whose server no client's file names."""
        login = _login_state(record)
        return cls(
            record.label,
            "",
            "logins by URL",
            "",
            "http",
            escape_invisible(record.server),
            "ready",
            login=login,
        )

    def asked(self, probe: Probe) -> "ServerRow":
        """Return a copy of the row with the result of a probe."""
        return replace(self, probe=probe)

    def was_probed(self, probes: Container[str]) -> bool:
        """Return whether the server is one of the probed servers."""
        return self.state in {"ready", "asks first"} and self.label in probes

    @property
    def status_text(self) -> str:
        state = self.state if self.probe is None else str(self.probe)
        status_text = f"{state}, {self.login}" if self.login else state
        return f"{status_text} ({self.note})" if self.note else status_text

    def to_json(self) -> dict[str, object]:
        return {
            "label": self.label,
            "client": self.client or None,
            "file": self.file or None,
            "transport": self.transport or None,
            "address": self.address,
            "state": self.state,
            "asks_first": self.needs_consent,
            "login": self.login or None,
            "probe": None if self.probe is None else self.probe.to_json(),
        }


def with_logins(rows: Sequence[ServerRow], servers: Sequence[KnownServer], logins: Logins) -> list[ServerRow]:
    """Return the rows with login states, and a row for each stored login whose server is not in `servers`.

    Contacts no server and reads no keyring.
    """
    named = {(each.target.login_label, each.target.login_identity) for each in servers if each.target}
    others = (each for each in logins.all() if (each.label, each.identity) not in named)
    return [
        *(
            replace(row, login=_login(server.target, logins)) if server.target and not server.same_as else row
            for row, server in zip(rows, servers, strict=True)
        ),
        *map(ServerRow.of_login, others),
    ]


def _login(target: Target, logins: Logins) -> str:
    """Return the login state of a server. It is empty if no login is stored or used."""
    if target.url is None or target.has_token:
        return ""
    try:
        record = logins.find(target.login_label, target.login_identity)
    except StateError:  # its file is damaged, or others can read it
        return "login needed"
    return "" if record is None else _login_state(record)


def _login_state(record: LoginRecord) -> str:
    return "login needed" if record.needs_login else "logged in"


def print_servers(
    rows: Sequence[ServerRow],
    unreadable: Sequence[UnreadableFile],
    remembered: Sequence[str],
    *,
    as_json: bool,
) -> int:
    """Print the servers, the labels in `remembered` and the unreadable files.

    Return exit code 1 if a probed server did not answer or a file cannot be read, else 0.
    """
    if as_json:
        files = [
            {
                "client": each.client.name,
                "file": escape_invisible(str(each.file.path)),
                "reason": escape_invisible(each.reason),
            }
            for each in unreadable
        ]
        servers = [row.to_json() for row in rows]
        print_json({"servers": servers, "unreadable": files, "remembered": list(remembered)})
    elif rows:
        _print_rows(rows)
    else:
        stderr_console().print(
            "no client on this machine has a server configured; give a URL, or `--` and a command"
        )
    if remembered and not as_json:
        labels = ", ".join(map(quoted, remembered))
        stderr_console().print(
            f"stored data of servers that no file names: {labels}; "
            "`skillwire servers --forget LABEL` deletes it"
        )
    for each in unreadable:
        print_error(f"cannot read {quoted(str(each.file.path), None)}: {escape_invisible(each.reason, 300)}")
    failed = any(row.probe is not None and row.probe.error for row in rows)
    return 1 if failed or unreadable else 0


def _print_rows(rows: Sequence[ServerRow]) -> None:
    console = stdout_console()
    if not console.is_terminal:  # one line per server, for `grep` and `cut`
        for row in rows:
            print_line("\t".join((row.label, row.client, row.status_text, row.address, row.file)))
        return
    for number, ((title, file), group) in enumerate(groupby(rows, key=lambda row: (row.title, row.file))):
        if number:
            console.print()
        console.print(Text.assemble((title, "bold"), f"  {_short(file)}"))
        for line in fact_lines(console, [(row.label, [row.status_text, row.address]) for row in group]):
            console.print(line)


def _short(file: str) -> str:
    """Return a path with `~` for the home directory."""
    home = f"{Path.home()}/"
    return f"~/{file.removeprefix(home)}" if file.startswith(home) else file

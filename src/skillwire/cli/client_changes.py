"""Choose clients, show how their files change, ask, and change them. `install` and `uninstall` share this."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter
from rich.text import Text

from skillwire.config.clients.base import Client
from skillwire.config.clients.connect import writing_clients
from skillwire.config.clients.files import ClientEnvironment, ClientFile, ClientFileError
from skillwire.config.clients.install import Outcome, Plan, client_writer, found_clients
from skillwire.config.clients.records import InstalledEntries, InstalledEntry
from skillwire.config.settings import state_folder_from
from skillwire.core.names import find_close_matches
from skillwire.errors import SkillwireError, UsageError
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize, print_notice
from skillwire.terminal.options import ENTRY, OUTPUT
from skillwire.terminal.output import confirm, is_interactive, print_error, stderr_console, stdout_console

ALL = "all"
Scope: TypeAlias = Literal["user", "project"]
_SYNONYMS = {"devin": "windsurf", "vs-code": "vscode", "gemini-cli": "gemini"}
_AMBIGUOUS = {"claude": ("claude-code", "claude-desktop"), "code": ("vscode", "claude-code")}
"""Words that may mean several clients."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_FIX = "fix the file, or print the entry with `--print` and add it yourself"
_SENTENCES = {
    Outcome.ADDED: "added {} to {}",
    Outcome.UPDATED: "updated {} in {}",
    Outcome.REPLACED: "replaced {} in {}",
    Outcome.UNCHANGED: "{} is already installed in {}",
    Outcome.REMOVED: "removed {} from {}",
    Outcome.MISSING: "{} is not in {}",
}
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}

ClientNames: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        group=ENTRY,
        name="--client",
        metavar="CLIENT",
        help="`claude-desktop`, `claude-code`, `vscode`, `cursor`, `codex`, `gemini`, `goose` or `windsurf` "
        "(repeatable, or separated by commas), or `all` for the clients on this machine.",
    ),
]
DryRun: TypeAlias = Annotated[
    bool, Parameter(group=OUTPUT, name="--dry-run", help="Show what would change, and change nothing.")
]


@dataclass(slots=True)
class ClientChanges:
    """The changes that one command makes, and the clients for which it failed."""

    client_env: ClientEnvironment
    records: InstalledEntries
    plans: list[Plan] = field(default_factory=list[Plan])
    failures: list[tuple[Client, SkillwireError]] = field(default_factory=list[tuple[Client, SkillwireError]])

    @classmethod
    def of_this_machine(cls) -> "ClientChanges":
        return cls(ClientEnvironment.of(os.environ), InstalledEntries(state_folder_from(os.environ)))

    def plan(self, client: Client, file: ClientFile, make: Callable[[], Plan]) -> None:
        """Add a plan. If it cannot be made, the other clients are not affected."""
        try:
            self.plans.append(make())
        except ClientFileError as error:
            self.failures.append((client, _about(file, error, "; it was not changed")))
        except UsageError as error:
            self.failures.append((client, error))

    def known(self, plan: Plan, records: Iterable[InstalledEntry]) -> InstalledEntry | None:
        """Return the record of the entry that a plan changes."""
        place = plan.client.name, str(plan.file.path), plan.path[-1]
        return next((each for each in records if each.place == place), None)

    def show(self) -> None:
        """Print the differences on stdout."""
        console = stdout_console()
        for plan in self.plans:
            for line in plan.diff:
                style = _COLOURS.get(line[:1], "") if line[:3] not in {"+++", "---"} else "bold"
                console.print(Text(escape_invisible(line, keep="\t"), style=style))

    def may_write(self, *, yes: bool) -> bool:
        """Ask whether to change the files. Raises `UsageError` without a terminal, unless `yes` is set."""
        files = len({plan.file.path for plan in self.plans if plan.changes})
        if yes or not files:
            return True
        if not is_interactive():
            self.report()
            raise UsageError(
                "cannot ask whether to change the files: stdin is not a terminal",
                hint="check the change with `--dry-run`; to make it without a question, add `--yes`",
            )
        if confirm(f"change {pluralize(files, 'file')}?"):
            return True
        print_notice("nothing was changed")
        return False

    def report_dry_run(self) -> None:
        """Print which entries are already installed, and that `--dry-run` changed nothing."""
        for plan in self.plans:
            if plan.outcome is Outcome.UNCHANGED:
                where = quoted(str(plan.file.path), None)
                self.say(plan.client, _SENTENCES[plan.outcome].format(quoted(plan.path[-1]), where))
        if any(plan.changes for plan in self.plans):
            print_notice("nothing was changed, because of `--dry-run`")

    def finish(self, count: int) -> int:
        """Report the clients that failed. Return the exit code: 2 if all of them failed for wrong usage.

        `count` is the number of clients. If there is only one, raises its error.
        """
        if count == 1 and len(self.failures) == 1:
            raise self.failures[0][1]
        self.report()
        if not self.failures:
            return 0
        return 2 if all(isinstance(error, UsageError) for _, error in self.failures) else 1

    def report(self) -> None:
        """Print the error of each client that failed."""
        for client, error in self.failures:
            print_error(f"{client.title}: {error}", hint=error.hint)

    def apply(self, plan: Plan, records: Sequence[InstalledEntry]) -> InstalledEntry | None:
        """Make one change and report it. Return the record of what was written, None if nothing was."""
        try:
            applied = plan.apply(self.known(plan, records))
        except ClientFileError as error:
            self.failures.append((plan.client, _about(plan.file, error)))
            return None
        where = quoted(str(plan.file.path), None)
        self.say(plan.client, _SENTENCES[plan.outcome].format(quoted(plan.path[-1]), where))
        if applied.backup:
            print_notice(f"  the content before is in {quoted(applied.backup, None)}")
        return applied.record

    def say(self, client: Client, text: str) -> None:
        stderr_console().print(Text.assemble((client.title, "bold"), f": {text}"))


def _about(file: ClientFile, error: ClientFileError, also: str = "") -> ClientFileError:
    where = quoted(str(file.path), None)
    return ClientFileError(f"cannot change {where}: {error}{also}", hint=error.hint or _FIX)


def is_all(names: Sequence[str] | None) -> bool:
    """Return whether `all` is among the names."""
    return ALL in _words(names)


def _words(names: Sequence[str] | None) -> list[str]:
    return [word.strip().lower() for each in names or () for word in each.split(",")]


def chosen_clients(
    names: Sequence[str] | None, client_env: ClientEnvironment, *, everything: bool = False
) -> list[Client]:
    """Return the clients that were named. Raises `UsageError`.

    `all` means the clients on this machine, or all known clients if `everything` is set.
    """
    known = writing_clients()
    listed = ", ".join(f"`{each}`" for each in (*known, ALL))
    words = _words(names)
    if not words:
        raise UsageError("`--client` is missing", hint=f"name one of {listed}")
    if "" in words:
        raise UsageError(
            f"`--client {escape_invisible(','.join(words))}` contains an empty name",
            hint="write one comma between two names, and no space",
        )
    if ALL in words:
        if everything:
            return list(known.values())
        if not (found := found_clients(known, client_env)):
            raise UsageError(
                "no client was found on this machine", hint=f"name the client; one of {', '.join(known)}"
            )
        return found
    chosen: dict[str, Client] = {}
    for word in words:
        name = _SYNONYMS.get(word, word)
        if meant := _AMBIGUOUS.get(word):
            one, other = meant
            raise UsageError(
                f"`--client {word}` may mean two clients", hint=f"`{word}` is `{one}` or `{other}`"
            )
        if name not in known:
            close = find_close_matches(name, (*known, *_SYNONYMS), 1)
            hint = f"did you mean `{close[0]}`?" if close else f"name one of {listed}"
            raise UsageError(f"unknown client {quoted(word)}", hint=hint)
        chosen[name] = known[name]
    return list(chosen.values())


def check_name(name: str) -> str:
    """Return the name of an entry. Raises `UsageError` if not every client accepts it."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{quoted(name)} is not a name for an entry",
            hint="use up to 64 letters, digits, `-` and `_`, as in `team-skills`",
        )
    return name


def supports_project(client: Client) -> bool:
    """Return whether a client has a configuration file in projects."""
    return client_writer(client).project_file is not None

"""`skillwire pull`: download one skill or all skills from a server into a folder."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import anyio
from cyclopts import Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from skillwire.cli.remote import find, open_host, print_host_problems
from skillwire.cli.state import open_existing_state
from skillwire.cli.targets import skill_targets
from skillwire.config.file import ConfigFile, SourceSettings, default_config
from skillwire.config.server_targets import Allow, TokenEnv, resolve_targets
from skillwire.config.source_config import source_specs
from skillwire.config.source_kinds import local_path
from skillwire.errors import SkillwireError, UsageError
from skillwire.host.connections.target import Target
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.pull import file_paths
from skillwire.host.pull_all import MAX_PULLED_BYTES, PulledSkill, PullOutcome, PullResult
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import SELECTION, FromServers, json_of
from skillwire.terminal.output import print_json, print_line, stderr_console

_CLIENT_VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""Environment variables that name a client's folder. The client loads skills from `skills` in that folder."""


def pull(
    skill: Annotated[
        str,
        Parameter(
            name="SKILL",
            help="`LABEL:NAME` or `LABEL:URI`. With `--from`, the name or URI alone is enough. With `--all`, "
            "the server.",
        ),
    ],
    dest: Annotated[Path | None, Parameter(name="DEST", help="Folder to write to.")] = None,
    /,
    *,
    every: Annotated[
        bool, Parameter(group=SELECTION, name="--all", help="Download every skill of the server.")
    ] = False,
    only: Annotated[
        str,
        Parameter(
            group=SELECTION,
            metavar="PATTERN",
            help="With `--all`: only skills whose path or name matches, such as `team/*`.",
        ),
    ] = "",
    servers: FromServers = None,
    force: Annotated[bool, Parameter(help="Replace a skill's folder if it has other files.")] = False,
    into_client_folder: Annotated[
        bool, Parameter(help="Also write below a folder that a client loads skills from.")
    ] = False,
    max_bytes: Annotated[
        int, Parameter(metavar="N", show_default=True, help="With `--all`: limit of bytes to download.")
    ] = MAX_PULLED_BYTES,
    allow: Allow = None,
    token_env: TokenEnv = None,
    json: Annotated[
        bool,
        json_of(
            "{folder, uri, origin} or {folder, pulled: [{uri, origin, folder, bytes}],"
            " unchanged: [{uri, origin, folder, bytes}], refused: [{uri, origin, reason}],"
            " problems, complete}"
        ),
    ] = False,
) -> int:
    """Download a skill from a server into a folder. Each file is checked against its digest.

    The skill is written to a folder named after the server's label and the skill's path, such as
    `DEST/github/review`. Either all its files are written or none. An existing folder is replaced only with
    `--force`.

    With `--all`, downloads every skill of a server. A skill whose folder already contains exactly the listed
    files is not downloaded again, so you can repeat the command after an interruption.

    Exit code 1: a skill was refused, or the server or an entry of its list could not be used.

    For example:

    ```
    skillwire pull github:review ./pulled
    skillwire pull review ./pulled --from http://127.0.0.1:8765/mcp
    skillwire pull github ./pulled --all --only 'team/*'
    skillwire pull ./pulled --all -- python server.py
    ```
    """
    if every:
        server, dest = _server_and_folder(skill, dest, servers)
        (target,) = resolve_targets([server], allow, token_env)
        if max_bytes < 0:
            raise UsageError(f"`--max-bytes {max_bytes}` is negative", hint="write a number of bytes")
        options = _Options(dest, force, into_client_folder, only, max_bytes)
        return anyio.run(_pull_all, target, options, json)
    if dest is None:
        raise UsageError("no folder to write to is named", hint="write `skillwire pull SKILL DEST`")
    if only:
        raise UsageError("`--only` chooses among all skills of a server", hint="add `--all`")
    options = _Options(dest, force, into_client_folder)
    found, folder = anyio.run(_pull, skill, skill_targets(skill, servers, allow, token_env), options)
    if json:
        print_json({"folder": escape_invisible(str(folder)), "uri": found.uri, "origin": found.label})
        return 0
    print_line(escape_invisible(str(folder)))
    files = pluralize(len(found.files or ()), "file")
    stderr_console().print(f"{files} of {found.quoted}, as listed; no one vouches for their content")
    return 0


@dataclass(frozen=True, slots=True)
class _Options:
    dest: Path
    force: bool
    into_client_folder: bool
    only: str = ""
    max_bytes: int = 0


def _server_and_folder(first: str, dest: Path | None, servers: Sequence[str] | None) -> tuple[str, Path]:
    """Return the server and the folder of `pull --all`. Raises `UsageError`.

    `first` is the server, or the folder if `--from` or `--` names the server.
    """
    hint = "write `skillwire pull SERVER DEST --all`, or `skillwire pull DEST --all -- COMMAND`"
    if servers and dest is None and len(servers) == 1:
        return servers[0], Path(first)
    if servers or dest is None:
        raise UsageError("`--all` needs one server and one folder", hint=hint)
    return first, dest


async def _pull(skill: str, targets: Sequence[Target], options: _Options) -> tuple[HostedSkill, Path]:
    with open_existing_state() as state:
        async with open_host(targets, state) as host:
            found = await host.with_files(await find(host, skill))
            if found.files is None:  # the command is right, but the skill cannot be pulled
                try:
                    file_paths(found)
                except UsageError as error:
                    raise SkillwireError(str(error), error.hint) from error
            return found, await host.pull(
                found,
                options.dest,
                force=options.force,
                into_client_folder=options.into_client_folder,
                client_folders=_client_folders(),
            )


async def _pull_all(target: Target, options: _Options, as_json: bool) -> int:  # noqa: FBT001 - `anyio.run` names nothing
    with open_existing_state() as state:
        async with open_host([target], state) as host:
            await host.discover()
            print_host_problems(host.registry.problems)
            with _Report(as_json=as_json) as report:
                result = await host.pull_all(
                    target.label,
                    options.dest,
                    only=options.only,
                    force=options.force,
                    max_bytes=options.max_bytes,
                    into_client_folder=options.into_client_folder,
                    client_folders=_client_folders(),
                    on_pulled=report.add,
                )
    if as_json:
        print_json(_as_json(result, options.dest))
    else:
        _print_summary(result, target.label)
    return 0 if result.complete else 1


def _client_folders() -> list[Path]:
    """Return folders from which the user's clients load skills.

    These are the folders that environment variables name, and the local folders among the default sources of
    `skillwire serve`. A skill pulled into one of these folders would look like the user's own.
    """
    named = [Path(value) / "skills" for name in _CLIENT_VARIABLES if (value := os.environ.get(name))]
    with suppress(SkillwireError):  # the file cannot be read; `serve` reports that
        settings = SourceSettings.read(ConfigFile(default_config()))
        specs = source_specs([], os.environ, settings, allow_empty=True)
        named += [path for spec in specs if (path := local_path(spec.argument)).is_dir()]
    return named


class _Report:
    """Shows the progress of `pull --all`: a bar on a terminal, else one line for each unchanged skill.

    Unless the output is JSON, also prints the folders of downloaded skills to stdout: without a bar, each
    immediately; with a bar, all at the end.
    """

    def __init__(self, *, as_json: bool) -> None:
        console = stderr_console()
        self._plain = not console.is_terminal
        self._quiet = as_json
        self._folders: list[str] = []
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,  # stdout may be a file
            redirect_stderr=False,
            disable=self._plain,
        )
        self._task = self._progress.add_task("downloading skills", total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
        for line in self._folders:
            print_line(line)

    def add(self, pulled: PulledSkill, number: int, every: int) -> None:
        self._progress.update(self._task, completed=number, total=every)
        if not self._quiet and pulled.outcome is PullOutcome.PULLED:
            folder = escape_invisible(str(pulled.folder))
            if self._plain:
                print_line(folder)
            else:
                self._folders.append(folder)
        elif self._plain and pulled.outcome is PullOutcome.UNCHANGED:
            stderr_console().print(Text(f"unchanged {escape_invisible(str(pulled.folder))}"))


def _print_summary(result: PullResult, label: str) -> None:
    """Print the refused skills with the reasons, the number of skills by outcome, and the number of bytes."""
    console = stderr_console()
    for each in result.of(PullOutcome.REFUSED):
        console.print(
            Text.assemble(("refused", "bold red"), f" {each.skill.quoted}: {escape_invisible(each.reason)}")
        )
    counts = ", ".join(f"{len(result.of(outcome)):,} {outcome}" for outcome in PullOutcome)
    size = sum(each.size for each in result.skills)
    console.print(f"{pluralize(len(result.skills), 'skill')} of {quoted(label)}: {counts}; {size:,} bytes")
    if result.of(PullOutcome.PULLED):
        console.print("the files are as listed; no one vouches for their content")


def _as_json(result: PullResult, dest: Path) -> dict[str, object]:
    def row(each: PulledSkill) -> dict[str, object]:
        folder = None if each.folder is None else escape_invisible(str(each.folder))
        named = {"uri": escape_invisible(each.skill.uri), "origin": each.skill.label}
        if each.outcome is PullOutcome.REFUSED:
            return {**named, "reason": escape_invisible(each.reason)}
        return {**named, "folder": folder, "bytes": each.size}

    return {
        "folder": escape_invisible(str(dest)),
        **{outcome.value: [row(each) for each in result.of(outcome)] for outcome in PullOutcome},
        "problems": [problem.to_json() for problem in result.problems],
        "complete": result.complete,
    }

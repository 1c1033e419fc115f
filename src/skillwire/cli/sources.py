"""`skillwire sources`: list, add, remove or update configured sources."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import anyio
from cyclopts import Parameter

from skillwire.config.file import (
    ConfigFile,
    ConfiguredSource,
    SourceSettings,
    add_source,
    default_config,
    remove_source,
)
from skillwire.config.source_config import (
    LibraryOptions,
    OpenedSource,
    absolute,
    check_source_opens,
    open_sources,
    spelled,
)
from skillwire.config.source_kinds import canonical_place, is_local, kind_of, local_path
from skillwire.config.typed_sources import check_spaces, typed_source
from skillwire.errors import SourceError, UsageError
from skillwire.safe_text import escape_invisible, quoted
from skillwire.sources.base import Source
from skillwire.sources.fetched import FetchedSource
from skillwire.sources.placeholder import UnavailableSource
from skillwire.sources.prefix import PrefixedSource
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import CONFIGURATION, json_of
from skillwire.terminal.output import print_error, print_json, print_line, stderr_console, stdout_console
from skillwire.terminal.skill_table import fact_lines

Action: TypeAlias = Literal["list", "add", "remove", "update"]


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    kind: str
    source: str
    given_by: str
    state: str

    @classmethod
    def of(cls, opened: OpenedSource) -> "_Row":
        source = inner_source(opened.source)
        unavailable = isinstance(source, UnavailableSource)
        kind = "" if unavailable else kind_of(opened.wanted.argument).name
        return cls(source.label, kind, source.place, opened.wanted.given_by, source.status)

    def to_json(self) -> dict[str, str]:
        return {
            "label": self.label,
            "kind": self.kind,
            "source": escape_invisible(self.source),
            "given_by": self.given_by,
            "state": self.state,
        }


def inner_source(source: Source) -> Source:
    """Return the source inside a `PrefixedSource`, or the source itself."""
    return source.source if isinstance(source, PrefixedSource) else source


def print_sources(opened: list[OpenedSource], *, as_json: bool) -> int:
    """Print the sources, and return the exit code 0."""
    rows = [_Row.of(each) for each in opened]
    if as_json:
        print_json([row.to_json() for row in rows])
    elif not rows:
        stderr_console().print("no sources; `skillwire sources add SOURCE` adds one")
    else:
        _print_rows(rows)
    return 0


def _print_rows(rows: list[_Row]) -> None:
    console = stdout_console()
    if not console.is_terminal:  # one line per source, for `grep` and `cut`
        for row in rows:
            print_line("\t".join(row.to_json().values()))
        return
    states = (", ".join(filter(None, [row.kind, row.given_by, row.state])) for row in rows)
    facts = [(row.label, [state, row.source]) for row, state in zip(rows, states, strict=True)]
    for line in fact_lines(console, facts):
        console.print(line)


def sources(
    action: Annotated[
        Action, Parameter(name="ACTION", show_default=True, help="What to do. `update` fetches sources now.")
    ] = "list",
    names: Annotated[
        list[str] | None,
        Parameter(name="SOURCE", help="A source. To list, remove or update it, its label is enough."),
    ] = None,
    /,
    *,
    label: Annotated[str | None, Parameter(metavar="LABEL", help="Label for the added source.")] = None,
    prefix: Annotated[
        str | None, Parameter(metavar="PATH", help="Add this path before the URI paths of its skills.")
    ] = None,
    token_env: Annotated[
        str | None,
        Parameter(metavar="VARIABLE", help="Environment variable with the token for the added source."),
    ] = None,
    config: Annotated[
        Path | None,
        Parameter(
            group=CONFIGURATION, metavar="FILE", help="Use this configuration file instead of your own."
        ),
    ] = None,
    json: Annotated[
        bool, json_of("[{label, kind, source, given_by, state}] or [{label, state, error}]")
    ] = False,
) -> int:
    """List, add, remove or update the sources in the configuration file.

    Commands use these sources if you name none, or with `--with-config`. A running server follows the file.
    `update` fetches archives, repositories and websites now. Folders are always current. Running
    servers follow within five minutes.

    For example:

    ```
    skillwire sources add ./skills
    skillwire sources add https://github.com/acme/skills/tree/main/finance
    skillwire sources add https://example.com --label example
    skillwire sources
    skillwire sources update
    skillwire sources remove finance
    ```
    """
    file = ConfigFile(config or default_config())
    options = {"--label": label, "--prefix": prefix, "--token-env": token_env}
    if action != "add" and (
        option := next((each for each, value in options.items() if value is not None), None)
    ):
        raise UsageError(f"`{option}` is only for `sources add`", hint=f"remove `{option}`")
    if json and action in {"add", "remove"}:
        raise UsageError(f"`sources {action}` prints no JSON", hint="remove `--json`")
    if action == "add":
        return _add(file, names or [], ConfiguredSource("", label, prefix, token_env))
    if action == "remove":
        return _remove(file, names or [])
    opened = _select_sources(_all(file, to_fetch=action == "update"), names or [])
    return _update(opened, as_json=json) if action == "update" else print_sources(opened, as_json=json)


def _add(file: ConfigFile, names: Sequence[str], options: ConfiguredSource) -> int:
    check_spaces(names)
    if len(names) != 1:
        raise UsageError(
            "`sources add` requires exactly one source", hint="for example `skillwire sources add ./skills`"
        )
    source = typed_source(names[0], with_token=options.token_env is not None)
    check_source_opens(replace(options, source=source))
    added = replace(options, source=spelled(source))
    add_source(file, added)
    stderr_console().print(f"added {quoted(added.source)} to `{escape_invisible(str(file.path))}`")
    return 0


def _remove(file: ConfigFile, names: Sequence[str]) -> int:
    if not names:
        raise UsageError("name the source to remove", hint="`skillwire sources` lists them")
    for name in names:
        at, source = _position(file, name)
        remove_source(file, at)
        stderr_console().print(f"removed {quoted(source.source)} from `{escape_invisible(str(file.path))}`")
    return 0


def _position(file: ConfigFile, name: str) -> tuple[int, ConfiguredSource]:
    """Return the configured source that `name` refers to, and its index in the file. Raises `UsageError`."""
    configured = list(enumerate(SourceSettings.read(file).sources))
    labels = {each.wanted.argument: each.source.label for each in _all(file, to_fetch=False)}
    same = [
        each
        for each in configured
        if name in {each[1].source, each[1].label, labels.get(absolute(each[1].source, file.path.parent))}
    ]
    if not same and not is_local(name):  # another spelling of a stored address
        same = [each for each in configured if canonical_place(each[1].source) == canonical_place(name)]
    if not same and is_local(name):
        path = str(local_path(name).resolve())
        same = [each for each in configured if each[1].source == path]
    if not same:
        raise UsageError(
            f"the configuration file has no source {quoted(name)}",
            hint="`skillwire sources` lists them; sources of the environment are not in the file",
        )
    return same[0]


def _all(file: ConfigFile, *, to_fetch: bool) -> list[OpenedSource]:
    """Return the sources from the environment and the configuration file; none if neither names a source."""
    try:
        return open_sources([], LibraryOptions(live=True), file, to_fetch=to_fetch)
    except UsageError:
        if SourceSettings.read(file).sources:
            raise
        return []


def _select_sources(opened: list[OpenedSource], names: Sequence[str]) -> list[OpenedSource]:
    """Return the named sources, or all sources if none is named. Raises `UsageError`."""
    wanted = {name: {name, str(local_path(name).resolve())} if is_local(name) else {name} for name in names}
    known = {name for each in opened for name in (each.source.label, each.wanted.argument)}
    if unknown := next((name for name, meant in wanted.items() if not meant & known), None):
        raise UsageError(f"there is no source {quoted(unknown)}", hint="`skillwire sources` lists them")
    chosen = {name for meant in wanted.values() for name in meant}
    return [each for each in opened if not names or {each.source.label, each.wanted.argument} & chosen]


def _update(opened: list[OpenedSource], *, as_json: bool) -> int:
    sources = [inner_source(each.source) for each in opened]
    mounted = [source for source in sources if isinstance(source, FetchedSource)]
    failures = {each.label: each.reason for each in sources if isinstance(each, UnavailableSource)}
    failures |= anyio.run(_fetch_all, mounted)
    fetched = [source for source in mounted if source.label not in failures]
    if as_json:
        shown = [source for source in sources if source in mounted or source.label in failures]
        print_json([{"label": s.label, "state": s.status, "error": failures.get(s.label)} for s in shown])
    else:
        for source in fetched:
            print_line(f"{source.label}\t{source.status}")
        for source in sources:
            if source not in mounted and source.label not in failures:
                print_line(f"{source.label}\t{source.status}, nothing to fetch")
    for label, reason in failures.items():
        print_error(f"cannot fetch {quoted(label)}: {reason}")
    follow = "; running servers follow within 5 minutes" if fetched else ""
    stderr_console().print(f"{pluralize(len(fetched), 'source')} fetched{follow}")
    return 1 if failures else 0


async def _fetch_all(mounted: Sequence[FetchedSource]) -> dict[str, str]:
    """Fetch sources concurrently. Return the errors of the sources that failed, by label."""
    failures: dict[str, str] = {}

    async def fetch(source: FetchedSource) -> None:
        try:
            await source.fetch()
        except SourceError as error:
            failures[source.label] = str(error)

    async with anyio.create_task_group() as tasks:
        for source in mounted:
            tasks.start_soon(fetch, source)
    return failures

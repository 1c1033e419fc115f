"""`skillwire doctor`: what each client shows of the skills."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any

import anyio
from cyclopts import Parameter
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from skillwire.config.choice import ConfigOptions, choose_config
from skillwire.config.file import SourceSettings
from skillwire.config.library import check_command, load_library
from skillwire.core.problem import Severity
from skillwire.errors import UsageError
from skillwire.features.catalog_text import DEFAULT_TOKENS
from skillwire.library.library import Library
from skillwire.library.names import did_you_mean
from skillwire.safe_text import escape_invisible, quoted
from skillwire.search.doctor.advice import About, Advice, advise
from skillwire.search.doctor.limits import CLIENTS, TITLES
from skillwire.search.doctor.offer import read_offer
from skillwire.search.doctor.similar import Collision, Duplicate, find_collisions, find_duplicates
from skillwire.search.doctor.verdicts import ClientReport, Verdict, report_clients
from skillwire.server.serve_options import ServeOptions
from skillwire.terminal.messages import NO_SKILLS, pluralize, print_notice
from skillwire.terminal.options import MODELS, SELECTION, FollowLinks, json_of, validate_budget
from skillwire.terminal.output import print_json, stdout_console

_WIDTH = 80
_MAX_LINES = 2
"""Maximum number of lines of names for one reason."""
_MAX_GROUPS = 10
_COLOURS = {Verdict.SHORTENED: "yellow", Verdict.DROPPED: "red", Verdict.REFUSED: "red"}


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the command reports."""

    skills: int
    errors: int
    """The number of errors in skills and sources. A skill with an error is not served to any client."""
    clients: Sequence[ClientReport]
    advice: Sequence[Advice]
    duplicates: Sequence[Duplicate]
    collisions: Sequence[Collision]

    def to_json(self) -> dict[str, Any]:
        return {
            "skills": self.skills,
            "errors": self.errors,
            "clients": [
                {
                    "client": each.client,
                    "way": each.way,
                    **{verdict.value: each.count(verdict) for verdict in Verdict},
                    "findings": [asdict(finding) for finding in each.findings],
                    "limits": [
                        {key: value for key, value in asdict(limit).items() if key != "client"}
                        for limit in each.limits
                    ],
                    "notes": list(each.notes),
                }
                for each in self.clients
            ],
            "advice": [asdict(each) for each in self.advice],
            "duplicates": [asdict(each) for each in self.duplicates],
            "collisions": [asdict(each) for each in self.collisions],
        }


def doctor(
    sources: Annotated[
        list[str] | None,
        Parameter(
            name="SOURCE",
            help="Skills to examine. Default: `SKILLS_DIR` and the configuration file.",
        ),
    ] = None,
    /,
    *,
    client: Annotated[
        list[str] | None,
        Parameter(
            group=SELECTION,
            metavar="NAME",
            help=f"Only this client (repeatable): {', '.join(f'`{each}`' for each in CLIENTS)}.",
        ),
    ] = None,
    context_window: Annotated[
        int | None,
        Parameter(
            group=MODELS,
            metavar="TOKENS",
            help="Size of the model's context window, if it is not the usual one of the client.",
        ),
    ] = None,
    catalog_tokens: Annotated[
        int,
        Parameter(
            group=MODELS,
            metavar="N",
            show_default=True,
            help="Maximum length of the list for models, in tokens, as in `serve`.",
        ),
    ] = DEFAULT_TOKENS,
    json: Annotated[
        bool,
        json_of(
            "{skills, errors, clients: [{client, way, shown, shortened, dropped, refused, "
            "findings: [{name, verdict, reason}], limits: [{what, value, unit, source, checked}], notes}], "
            "advice: [{name, about, message, fix}], duplicates: [{name, of, similarity}], "
            "collisions: [{name, skills}]}"
        ),
    ] = False,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
) -> int:
    """Show what each client would do with your skills, and how to improve their descriptions.

    For each client and each way in which it gets skills, shows how many of them models would see whole, see
    shortened or not see, and how many the client would refuse. Clients have limits for lists, descriptions
    and files. `--json` names the source and the date of each limit.

    Also lists descriptions that do not say when to use the skill or that are nearly the same, and names that
    several skills have.

    Exit code 1: a client would drop or refuse a skill. With `--client`, only these clients count. Shortened
    descriptions and advice do not change the exit code.

    For example:

    ```
    skillwire doctor ./skills
    skillwire doctor ./skills --client codex --context-window 272000
    skillwire doctor ./skills --json | jq -r '.advice[] | "\\(.name): \\(.fix)"'
    ```
    """
    validate_budget(catalog_tokens)
    if context_window is not None and context_window < 1:
        raise UsageError(
            f"`--context-window` is {context_window}", hint="use the number of tokens, such as 200000"
        )
    clients = _chosen(client or [])
    choice = choose_config(config, named=bool(sources))
    library = load_library(sources or [], follow_links=follow_links, config=choice)
    pinned = () if choice.file is None else SourceSettings.read(choice.file).pinned
    options = ServeOptions(catalog_tokens=catalog_tokens, pinned=pinned)
    report = anyio.run(partial(examine, library, clients, window=context_window, options=options))
    if json:
        print_json(report.to_json())
    else:
        _print(report)
    if report.errors:
        print_notice(f"{pluralize(report.errors, 'error')}; {check_command(library)} them")
    return 1 if any(each.fails for each in report.clients) else 0


def _chosen(names: Iterable[str]) -> Sequence[str]:
    """Return the named clients in the order of the table, or all. Raises `UsageError`."""
    chosen = {name.strip() for each in names for name in each.split(",")}
    for name in sorted(chosen - set(CLIENTS)):
        hint = did_you_mean(name, CLIENTS) or f"choose one of {', '.join(f'`{each}`' for each in CLIENTS)}"
        raise UsageError(f"the limits of the client {quoted(name)} are not known", hint=hint)
    return [each for each in CLIENTS if not chosen or each in chosen]


async def examine(
    library: Library,
    clients: Sequence[str] = CLIENTS,
    *,
    window: int | None = None,
    options: ServeOptions | None = None,
) -> Report:
    """Return what the clients do with the skills of a loaded library, served with these options."""
    offer = await read_offer(library, options or ServeOptions())
    duplicates = find_duplicates(offer.every)
    return Report(
        len(offer.every),
        sum(each.severity is Severity.ERROR for each in library.catalog.problems),
        report_clients(offer, clients, window),
        advise(offer.every, duplicates),
        duplicates,
        find_collisions(offer.every),
    )


# For people


def _print(report: Report) -> None:
    if not report.skills:
        print_notice(NO_SKILLS)
        return
    console = stdout_console()
    width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    last = ""
    for each in report.clients:
        if each.client != last:
            _line(console, f"\n{TITLES[each.client]}" if last else TITLES[each.client], "bold")
        last = each.client
        _print_client(console, each, width)
    if report.collisions:
        _line(console, f"\nNames that collide: {len(report.collisions):,}", "bold")
        for each in report.collisions[:_MAX_GROUPS]:
            _wrapped(console, f"{each.name}: {', '.join(each.skills)}", 2, width)
        _more(console, len(report.collisions))
    _print_duplicates(console, report, width)
    advice = [each for each in report.advice if each.about is not About.DUPLICATE]
    if advice:
        about = pluralize(len({each.name for each in advice}), "skill")
        _line(console, f"\nAdvice on the descriptions of {about}", "bold")
        groups: dict[tuple[str, str], list[str]] = {}
        for each in advice:
            groups.setdefault((each.message, each.fix), []).append(each.name)
        for (message, fix), names in islice(groups.items(), _MAX_GROUPS):
            _wrapped(console, f"{message}; {fix}:", 2, width)
            _names(console, names, 4, width)
        _more(console, len(groups))


def _print_duplicates(console: Console, report: Report, width: int) -> None:
    groups: dict[str, list[str]] = {}
    for each in report.duplicates:
        groups.setdefault(each.of, []).append(f"{each.name} ({each.similarity:.0%})")
    if not groups:
        return
    about = pluralize(len(report.duplicates), "skill")
    _line(console, f"\nDescriptions that are nearly those of others: {about}", "bold")
    _wrapped(console, "Say what only this skill does, or merge the two.", 2, width, "dim")
    for of, names in islice(groups.items(), _MAX_GROUPS):
        _wrapped(console, f"like {of}:", 2, width)
        _names(console, names, 4, width)
    _more(console, len(groups))


def _print_client(console: Console, report: ClientReport, width: int) -> None:
    counts = [f"{report.count(Verdict.SHOWN):,} shown"]
    counts += [f"{count:,} {each}" for each in _COLOURS if (count := report.count(each))]
    _wrapped(console, f"{report.way}: {', '.join(counts)}", 2, width, "bold" if report.fails else "")
    for note in report.notes:
        _wrapped(console, note, 4, width, "dim")
    groups: dict[tuple[Verdict, str], list[str]] = {}
    for each in report.findings:
        groups.setdefault((each.verdict, each.reason), []).append(each.name)
    for (verdict, reason), names in groups.items():
        _wrapped(console, f"{len(names):,} {verdict}, {reason}:", 4, width, _COLOURS[verdict])
        _names(console, names, 6, width)


def _names(console: Console, names: Sequence[str], indent: int, width: int) -> None:
    """Print names in at most `_MAX_LINES` lines, and how many more there are."""
    lines = [""]
    shown = 0
    for name in map(escape_invisible, names):
        longer = f"{lines[-1]}, {name}" if lines[-1] else name
        if not lines[-1] or cell_len(longer) <= width - indent - 16:
            lines[-1] = longer
        elif len(lines) < _MAX_LINES:
            lines[-1] += ","
            lines.append(name)
        else:
            break
        shown += 1
    if shown < len(names):
        lines[-1] += f" and {len(names) - shown:,} more"
    for line in lines:
        _wrapped(console, line, indent, width)


def _more(console: Console, number: int) -> None:
    if number > _MAX_GROUPS:
        _line(console, f"  and {number - _MAX_GROUPS:,} more; `--json` lists all", "dim")


def _wrapped(console: Console, text: str, indent: int, width: int, style: str = "") -> None:
    shown = Text(escape_invisible(text), style=style)
    for line in shown.wrap(console, max(width - indent, 20), overflow="fold"):
        line.rstrip()
        console.print(Text.assemble(" " * indent, line))


def _line(console: Console, text: str, style: str) -> None:
    console.print(Text(text, style=style))

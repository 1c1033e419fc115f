"""The table of verbs. A verb's module is loaded when it is called, and not before."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

from skillwire import __version__
from skillwire.cli.collecting import nothing_to_collect
from skillwire.cli.missing import NoSuchSkillError
from skillwire.config.settings import DEFAULT_PORT, NO_ADDRESS
from skillwire.model.display import quoted
from skillwire.model.errors import InvalidValueError, SkillwireError, UsageError
from skillwire.model.name import closest
from skillwire.model.system import require_posix

if TYPE_CHECKING:
    from rich.console import Console

COMMAND = "stdio:"
"""What a command that starts a server begins with, as one word."""
FOUND_SOMETHING_WRONG = 1
WRONG_USAGE = 2
INTERRUPTED = 130

# What `--http` takes for its value. Anything else behind it is an argument of its own, such as a folder.
_ADDRESS = re.compile(r"(?:(?:\[[^\]]*\]|[^\s/\\:\[\]]*):)?[0-9]+", re.ASCII)
_HOST = re.compile(r"localhost|[0-9]+(?:\.[0-9]*)+|\[[0-9A-Fa-f:.]*\]|[0-9A-Fa-f]*::[0-9A-Fa-f:]*", re.ASCII)
_HELP, _VERSION = ("--help", "-h"), ("--version",)


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: where its function is, and what it does in one line."""

    function: str
    help: str
    takes_command: bool = False
    """Whether it takes a server, which may be the command behind `--`."""
    command_option: str = ""
    """The option that such a command is the value of; without one, it is an argument."""
    over_http: bool = False
    """Whether it has `--http`, whose value may be left out."""


VERBS = {
    "serve": Verb(
        "skillwire.cli.serve:serve", "Serve skills to MCP clients, over stdio or HTTP.", over_http=True
    ),
    "check": Verb(
        "skillwire.cli.check:check", "Report every problem of every skill, and what to do about it."
    ),
    "list": Verb(
        "skillwire.cli.list_skills:list_skills",
        "List the skills that would be served, and those of servers.",
        takes_command=True,
    ),
    "show": Verb(
        "skillwire.cli.show:show",
        "Show one skill: frontmatter, files, digests, problems.",
        takes_command=True,
        command_option="--from",
    ),
    "read": Verb(
        "skillwire.cli.read:read",
        "Print a file of a skill, checked against its digest.",
        takes_command=True,
        command_option="--from",
    ),
    "servers": Verb(
        "skillwire.cli.servers:servers",
        "List the servers that files on this machine name.",
        takes_command=True,
    ),
    "login": Verb("skillwire.cli.login:login", "Log in to a server that requires it."),
    "logout": Verb("skillwire.cli.login:logout", "Log out of a server, and revoke its tokens."),
    "verify": Verb(
        "skillwire.cli.verify:verify",
        "Check that a server keeps what it promises of its skills.",
        takes_command=True,
    ),
    "bridge": Verb(
        "skillwire.cli.bridge:bridge",
        "Be one MCP server in front of many, for their skills.",
        takes_command=True,
        over_http=True,
    ),
    "diff": Verb(
        "skillwire.cli.diff:diff",
        "Show in what a skill differs from what was approved.",
        takes_command=True,
        command_option="--from",
    ),
    "approve": Verb(
        "skillwire.cli.approve:approve",
        "Approve a skill of a server, as it is now.",
        takes_command=True,
        command_option="--from",
    ),
    "revoke": Verb("skillwire.cli.revoke:revoke", "Take an approval back."),
    "pull": Verb(
        "skillwire.cli.pull:pull",
        "Write all files of a skill on a server into a folder.",
        takes_command=True,
        command_option="--from",
    ),
    "cache": Verb("skillwire.cli.cache:cache", "List or throw away the files of servers that are kept."),
    "sources": Verb("skillwire.cli.sources:sources", "Add, remove, list or fetch the sources you serve."),
    "publish": Verb("skillwire.cli.publish:publish", "Publish skills on a web site, for others to fetch."),
    "project": Verb(
        "skillwire.cli.project:project", "Write skills for uploaders that take only the standard."
    ),
    "graph": Verb("skillwire.cli.graph:graph", "Show which skill depends on which."),
    "new": Verb("skillwire.cli.new:new", "Make a skill to begin with."),
    "schema": Verb("skillwire.cli.schema:schema", "Print the JSON Schema of a frontmatter."),
    "visibility": Verb("skillwire.cli.visibility:visibility", "Show or decide who may start a skill."),
    "drive": Verb("skillwire.cli.drive:drive", "Show what running programs offer as live skills."),
}


def run(arguments: Sequence[str]) -> int:
    """Run a command line; return its exit code: 0 fine, 1 found something wrong, 2 wrong usage."""
    try:
        code = _run(with_command(with_http(arguments)))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output had enough, and the interpreter must not try again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except (CycloptsError, SkillwireError) as error:
        return _explain(error, arguments)
    return code


def with_http(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with a value for every `--http` that has none: the parser wants one.

    Raises `UsageError` for a host without a port.
    """
    verb = next((VERBS[each] for each in arguments if each in VERBS), None)
    if verb is None or not verb.over_http:
        return list(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    following = [*arguments[1:end], None]
    spelled = (
        f"--http={NO_ADDRESS}" if each == "--http" and not _is_address(after) else each
        for each, after in zip(arguments[:end], following, strict=True)
    )
    return [*spelled, *arguments[end:]]


def _is_address(word: str | None) -> bool:
    """Whether the word behind `--http` is its value: an address, or an empty word, which is refused later."""
    if word is None or os.path.exists(word):  # noqa: PTH110 - `Path` raises
        return word is not None and _ADDRESS.fullmatch(word) is not None
    if _HOST.fullmatch(word):
        hint = f"write `--http {word}:{DEFAULT_PORT}`; if it is a folder, write `./{word}`"
        raise UsageError(f"`--http {word}` has no port", hint=hint)
    return not word or _ADDRESS.fullmatch(word) is not None


def with_command(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the command behind `--` as one of them: the parser would lose the `--`."""
    verb = next((VERBS[each] for each in arguments if each in VERBS), None)
    if verb is None or not verb.takes_command or "--" not in arguments:
        return list(arguments)
    at = list(arguments).index("--")
    command = f"{COMMAND}{shlex.join(arguments[at + 1 :])}"
    return [*arguments[:at], *([verb.command_option] if verb.command_option else []), command]


def _explain(error: CycloptsError | SkillwireError, arguments: Sequence[str]) -> int:
    """Say what went wrong, and return the exit code for it."""
    from skillwire.cli.output import print_error, print_problems, talk  # noqa: PLC0415 - colours are slow to load

    match error:
        case UnusedCliTokensError(unused_tokens=[unexpected, *_]):
            hint = f"write names side by side, before or after all options; {_help_hint(arguments)}"
            print_error(f"{quoted(unexpected)} is not expected here", hint=hint)
            return WRONG_USAGE
        case CycloptsError() | InvalidValueError():
            print_error(str(error), hint=_help_hint(arguments))
            return WRONG_USAGE
        case UsageError():
            print_error(str(error), hint=error.hint)
            return WRONG_USAGE
        case NoSuchSkillError():
            print_error(str(error), hint=error.hint)
            print_problems(talk(), error.problems)
        case _:
            print_error(str(error), hint=str(getattr(error, "hint", "")))
    return FOUND_SOMETHING_WRONG


def _run(arguments: Sequence[str]) -> int:
    verb = next((argument for argument in arguments if not argument.startswith("-")), None)
    if verb is not None and verb not in VERBS:  # the parser would load every verb to say so
        close = closest(verb, VERBS, 1)
        meant = f"did you mean `skillwire {close[0]}`?" if close else "`skillwire --help` lists the verbs"
        raise UsageError(f"there is no verb {quoted(verb)}", hint=meant)
    if verb is not None and {*_HELP, *_VERSION}.isdisjoint(arguments):
        require_posix(f"`skillwire {verb}`")
    app = _app(verb, arguments)
    code = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    return code if isinstance(code, int) else 0


def _app(verb: str | None, arguments: Sequence[str]) -> App:
    """Return the parser. Of the verb that is called it knows everything, of the others one line."""
    app = App(
        name="skillwire",
        help="Serve Agent Skills over the Model Context Protocol, and look after them.",
        version=__version__,
        help_flags=_HELP,
        version_flags=_VERSION,
        console=_manual() if verb is None or not {*_HELP, *_VERSION}.isdisjoint(arguments) else None,
        default_parameter=Parameter(negative=(), show_default=False),
    )
    for name, known in VERBS.items():
        if name == verb:
            module, _, function = known.function.partition(":")
            app.command(getattr(_loaded(module), function), name=name)
        else:
            app.command(known.function, name=name, help=known.help)
    return app


def _loaded(module: str) -> ModuleType:
    """Return the module of a verb. Loading it is most of what a start consists of."""
    if module in sys.modules:
        return sys.modules[module]
    with nothing_to_collect():
        return import_module(module)


def _manual() -> "Console":
    """Return what the parser prints on. Where nobody asks it to, it needs none."""
    from skillwire.cli.output import manual  # noqa: PLC0415 - as above

    return manual()


def _help_hint(arguments: Sequence[str]) -> str:
    verb = next((argument for argument in arguments if argument in VERBS), None)
    return f"`skillwire {verb} --help` shows how it is used" if verb else "`skillwire --help` lists the verbs"

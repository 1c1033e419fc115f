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
from skillwire.config.settings import DEFAULT_ADDRESS, DEFAULT_PORT
from skillwire.core.collector import gc_paused
from skillwire.core.names import closest
from skillwire.core.system import require_posix
from skillwire.errors import InvalidValueError, SkillwireError, UsageError
from skillwire.safe_text import quoted
from skillwire.terminal.messages import NoSuchSkillError

if TYPE_CHECKING:
    from rich.console import Console


COMMAND = "stdio:"
"""What a command that starts a server begins with, as one word."""
EXIT_PROBLEMS = 1
EXIT_USAGE = 2
INTERRUPTED = 130

# What `--http` takes for its value. Anything else behind it is an argument of its own, such as a folder.
_ADDRESS = re.compile(r"(?:(?:\[[^\]]*\]|[^\s/\\:\[\]]*):)?[0-9]+", re.ASCII)
_HOST = re.compile(r"localhost|[0-9]+(?:\.[0-9]*)+|\[[0-9A-Fa-f:.]*\]|[0-9A-Fa-f]*::[0-9A-Fa-f:]*", re.ASCII)
_HELP, _VERSION = ("--help", "-h"), ("--version",)


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A verb: where its function is, and what it does in one line."""

    function: str
    help: str
    takes_command: bool = False
    """Whether it takes a server, which may be the command behind `--`."""
    command_option: str = ""
    """The option that such a command is the value of; without one, it is an argument."""
    over_http: bool = False
    """Whether it has `--http`, whose value may be left out."""


COMMANDS = {
    "serve": CommandSpec(
        "skillwire.cli.serve:serve", "Serve skills to MCP clients, over stdio or HTTP.", over_http=True
    ),
    "check": CommandSpec(
        "skillwire.contract.commands.check:check",
        "Report every problem of every skill, and what to do about it.",
    ),
    "list": CommandSpec(
        "skillwire.cli.list:list_skills",
        "List the skills that would be served, and those of servers.",
        takes_command=True,
    ),
    "show": CommandSpec(
        "skillwire.cli.show:show",
        "Show one skill: frontmatter, files, digests, problems.",
        takes_command=True,
        command_option="--from",
    ),
    "read": CommandSpec(
        "skillwire.cli.read:read",
        "Print a file of a skill, checked against its digest.",
        takes_command=True,
        command_option="--from",
    ),
    "servers": CommandSpec(
        "skillwire.cli.servers:servers",
        "List the servers that files on this machine name.",
        takes_command=True,
    ),
    "login": CommandSpec("skillwire.cli.login:login", "Log in to a server that requires it."),
    "logout": CommandSpec("skillwire.cli.login:logout", "Log out of a server, and revoke its tokens."),
    "verify": CommandSpec(
        "skillwire.cli.verify:verify",
        "Check that a server keeps what it promises of its skills.",
        takes_command=True,
    ),
    "bridge": CommandSpec(
        "skillwire.cli.bridge:bridge",
        "Be one MCP server in front of many, for their skills.",
        takes_command=True,
        over_http=True,
    ),
    "diff": CommandSpec(
        "skillwire.cli.diff:diff",
        "Show in what a skill differs from what was approved.",
        takes_command=True,
        command_option="--from",
    ),
    "approve": CommandSpec(
        "skillwire.cli.approve:approve",
        "Approve a skill of a server, as it is now.",
        takes_command=True,
        command_option="--from",
    ),
    "revoke": CommandSpec("skillwire.cli.revoke:revoke", "Take an approval back."),
    "pull": CommandSpec(
        "skillwire.cli.pull:pull",
        "Write all files of a skill on a server into a folder.",
        takes_command=True,
        command_option="--from",
    ),
    "cache": CommandSpec(
        "skillwire.cli.cache:cache", "List or throw away the files of servers that are kept."
    ),
    "sources": CommandSpec(
        "skillwire.cli.sources:sources", "Add, remove, list or fetch the sources you serve."
    ),
    "publish": CommandSpec(
        "skillwire.cli.publish:publish", "Publish skills on a web site, for others to fetch."
    ),
    "project": CommandSpec(
        "skillwire.contract.commands.project:project",
        "Write skills for uploaders that take only the standard.",
    ),
    "graph": CommandSpec("skillwire.contract.commands.graph:graph", "Show which skill depends on which."),
    "new": CommandSpec("skillwire.contract.commands.new:new", "Make a skill to begin with."),
    "schema": CommandSpec(
        "skillwire.contract.commands.schema:schema", "Print the JSON Schema of a frontmatter."
    ),
    "visibility": CommandSpec("skillwire.cli.visibility:visibility", "Show or decide who may start a skill."),
    "drive": CommandSpec("skillwire.drive.command:drive", "Show what running programs offer as live skills."),
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
    verb = next((COMMANDS[each] for each in arguments if each in COMMANDS), None)
    if verb is None or not verb.over_http:
        return list(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    following = [*arguments[1:end], None]
    spelled = (
        f"--http={DEFAULT_ADDRESS}" if each == "--http" and not _is_address(after) else each
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
    verb = next((COMMANDS[each] for each in arguments if each in COMMANDS), None)
    if verb is None or not verb.takes_command or "--" not in arguments:
        return list(arguments)
    at = list(arguments).index("--")
    command = f"{COMMAND}{shlex.join(arguments[at + 1 :])}"
    return [*arguments[:at], *([verb.command_option] if verb.command_option else []), command]


def _explain(error: CycloptsError | SkillwireError, arguments: Sequence[str]) -> int:
    """Say what went wrong, and return the exit code for it."""
    from skillwire.terminal.output import print_error, print_problems, talk  # noqa: PLC0415 - colours are slow to load

    match error:
        case UnusedCliTokensError(unused_tokens=[unexpected, *_]):
            hint = f"write names side by side, before or after all options; {_help_hint(arguments)}"
            print_error(f"{quoted(unexpected)} is not expected here", hint=hint)
            return EXIT_USAGE
        case CycloptsError() | InvalidValueError():
            print_error(str(error), hint=_help_hint(arguments))
            return EXIT_USAGE
        case UsageError():
            print_error(str(error), hint=error.hint)
            return EXIT_USAGE
        case NoSuchSkillError():
            print_error(str(error), hint=error.hint)
            print_problems(talk(), error.problems)
        case _:
            print_error(str(error), hint=error.hint)
    return EXIT_PROBLEMS


def _run(arguments: Sequence[str]) -> int:
    verb = next((argument for argument in arguments if not argument.startswith("-")), None)
    if verb is not None and verb not in COMMANDS:  # the parser would load every verb to say so
        close = closest(verb, COMMANDS, 1)
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
    for name, known in COMMANDS.items():
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
    with gc_paused():
        return import_module(module)


def _manual() -> "Console":
    """Return what the parser prints on. Where nobody asks it to, it needs none."""
    from skillwire.terminal.output import manual  # noqa: PLC0415 - as above

    return manual()


def _help_hint(arguments: Sequence[str]) -> str:
    verb = next((argument for argument in arguments if argument in COMMANDS), None)
    return f"`skillwire {verb} --help` shows how it is used" if verb else "`skillwire --help` lists the verbs"

"""The table of commands. A command's module is loaded when it is called, and not before."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import Parameter as SignatureParameter
from inspect import signature
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

from skillwire import __version__
from skillwire.app.areas import area_commands, area_options
from skillwire.area import Command
from skillwire.config.settings import DEFAULT_ADDRESS, DEFAULT_PORT
from skillwire.core.names import find_close_matches
from skillwire.core.process import gc_paused, owned
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
_AREA = "area_"
"""What the parameters begin with that hold the options of areas."""
_HELP, _VERSION = ("--help", "-h"), ("--version",)


COMMANDS = {
    "serve": Command(
        "skillwire.cli.serve:serve", "Serve skills to MCP clients, over stdio or HTTP.", over_http=True
    ),
    "check": Command(
        "skillwire.cli.check:check", "Report every problem of every skill, and what to do about it."
    ),
    "list": Command(
        "skillwire.cli.list:list_skills",
        "List the skills that would be served, and those of servers.",
        takes_command=True,
    ),
    "show": Command(
        "skillwire.cli.show:show",
        "Show one skill: frontmatter, files, digests, problems.",
        takes_command=True,
        command_option="--from",
    ),
    "read": Command(
        "skillwire.cli.read:read",
        "Print a file of a skill, checked against its digest.",
        takes_command=True,
        command_option="--from",
    ),
    "servers": Command(
        "skillwire.cli.servers:servers",
        "List the servers that files on this machine name.",
        takes_command=True,
    ),
    "login": Command("skillwire.cli.login:login", "Log in to a server that requires it."),
    "logout": Command("skillwire.cli.login:logout", "Log out of a server, and revoke its tokens."),
    "verify": Command(
        "skillwire.cli.verify:verify",
        "Check that a server keeps what it promises of its skills.",
        takes_command=True,
    ),
    "bridge": Command(
        "skillwire.cli.bridge:bridge",
        "Be one MCP server in front of many, for their skills.",
        takes_command=True,
        over_http=True,
    ),
    "diff": Command(
        "skillwire.cli.diff:diff",
        "Show in what a skill differs from what was approved.",
        takes_command=True,
        command_option="--from",
    ),
    "approve": Command(
        "skillwire.cli.approve:approve",
        "Approve a skill of a server, as it is now.",
        takes_command=True,
        command_option="--from",
    ),
    "revoke": Command("skillwire.cli.revoke:revoke", "Take an approval back."),
    "pull": Command(
        "skillwire.cli.pull:pull",
        "Write all files of a skill on a server into a folder.",
        takes_command=True,
        command_option="--from",
    ),
    "cache": Command("skillwire.cli.cache:cache", "List or throw away the files of servers that are kept."),
    "sources": Command("skillwire.cli.sources:sources", "Add, remove, list or fetch the sources you serve."),
    "publish": Command("skillwire.cli.publish:publish", "Publish skills on a web site, for others to fetch."),
    "visibility": Command("skillwire.cli.visibility:visibility", "Show or decide who may start a skill."),
}
"""The commands of the core. Areas bring more."""


def all_commands() -> dict[str, Command]:
    """Return every command: those of the core, then those of the areas."""
    return {**COMMANDS, **area_commands()}


def command_function(name: str) -> Callable[..., object]:
    """Return the function of a command, with the options of the core and of all areas."""
    return with_area_options(_function_of(all_commands()[name]), area_options(name))


def run(arguments: Sequence[str]) -> int:
    """Run a command line; return its exit code: 0 fine, 1 found something wrong, 2 wrong usage."""
    try:
        with owned():
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
    _, command = _called(arguments)
    if command is None or not command.over_http:
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
    _, command = _called(arguments)
    if command is None or not command.takes_command or "--" not in arguments:
        return list(arguments)
    at = list(arguments).index("--")
    server = f"{COMMAND}{shlex.join(arguments[at + 1 :])}"
    return [*arguments[:at], *([command.command_option] if command.command_option else []), server]


def _explain(error: CycloptsError | SkillwireError, arguments: Sequence[str]) -> int:
    """Say what went wrong, and return the exit code for it."""
    from skillwire.terminal.output import print_error, print_problems, stderr_console  # noqa: PLC0415 - colours are slow to load

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
            print_problems(stderr_console(), error.problems)
        case _:
            print_error(str(error), hint=error.hint)
    return EXIT_PROBLEMS


def _called(arguments: Sequence[str]) -> tuple[str | None, Command | None]:
    """Return the name of the command that is called, and the command if there is one.

    Areas are loaded only for a command that the core does not have.
    """
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    if name is None or name in COMMANDS:
        return name, None if name is None else COMMANDS[name]
    return name, area_commands().get(name)


def _run(arguments: Sequence[str]) -> int:
    name, command = _called(arguments)
    if name is None:
        return _parsed(arguments, all_commands())
    if command is None:  # the parser would load every command to say so
        close = find_close_matches(name, all_commands(), 1)
        meant = f"did you mean `skillwire {close[0]}`?" if close else "`skillwire --help` lists the verbs"
        raise UsageError(f"there is no verb {quoted(name)}", hint=meant)
    if _asks_for_help(arguments):
        return _parsed(arguments, {name: command}, command_function(name))
    require_posix(f"`skillwire {name}`")
    function = _function_of(command)
    try:
        return _parsed(arguments, {name: command}, function)
    except CycloptsError:
        if not (options := area_options(name)):
            raise
    return _parsed(arguments, {name: command}, with_area_options(function, options))


def with_area_options(function: Callable[..., object], options: Mapping[str, type]) -> Callable[..., object]:
    """Return a command of the core with the options of areas, which it gets as its argument `areas`.

    There they are by the name of the area, and only those of which at least one was given.
    """
    if not options:
        return function

    def extended(*arguments: object, **named: object) -> object:
        given = {area: named.pop(_AREA + area, None) for area in options}
        areas = {area: flags for area, flags in given.items() if flags is not None}
        return function(*arguments, **named, areas=areas)

    known = signature(function)
    parameters = [each for each in known.parameters.values() if each.name != "areas"]
    for area, flags in options.items():
        annotation = Annotated[flags | None, Parameter(name="*")]
        more = SignatureParameter(
            _AREA + area, SignatureParameter.KEYWORD_ONLY, default=None, annotation=annotation
        )
        parameters.append(more)
    extended.__signature__ = known.replace(parameters=parameters)  # pyright: ignore[reportFunctionMemberAccess]
    extended.__annotations__ = {each.name: each.annotation for each in parameters}
    extended.__doc__ = function.__doc__
    return extended


def _asks_for_help(arguments: Sequence[str]) -> bool:
    return not {*_HELP, *_VERSION}.isdisjoint(arguments)


def _parsed(
    arguments: Sequence[str], commands: Mapping[str, Command], function: Callable[..., object] | None = None
) -> int:
    """Run one command, whose `function` is given, or describe several. Return the exit code."""
    app = App(
        name="skillwire",
        help="Serve Agent Skills over the Model Context Protocol, and look after them.",
        version=__version__,
        help_flags=_HELP,
        version_flags=_VERSION,
        console=_manual() if function is None or _asks_for_help(arguments) else None,
        default_parameter=Parameter(negative=(), show_default=False),
    )
    for name, command in commands.items():
        if function is None:
            app.command(command.function, name=name, help=command.help)
        else:
            app.command(function, name=name)
    code = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    return code if isinstance(code, int) else 0


def _function_of(command: Command) -> Callable[..., object]:
    module, _, function = command.function.partition(":")
    return getattr(_loaded(module), function)


def _loaded(module: str) -> ModuleType:
    """Return the module of a verb. Loading it is most of what a start consists of."""
    if module in sys.modules:
        return sys.modules[module]
    with gc_paused():
        return import_module(module)


def _manual() -> "Console":
    """Return what the parser prints on. Where nobody asks it to, it needs none."""
    from skillwire.terminal.output import help_console  # noqa: PLC0415 - as above

    return help_console()


def _help_hint(arguments: Sequence[str]) -> str:
    name, command = _called(arguments)
    return (
        f"`skillwire {name} --help` shows how it is used" if command else "`skillwire --help` lists the verbs"
    )

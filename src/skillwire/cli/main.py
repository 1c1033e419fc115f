"""The table of commands, and the code that runs a command line.

A command is imported only when it is called.
"""

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import Parameter as SignatureParameter
from inspect import signature
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, get_args

from cyclopts import App, Argument, CycloptsError, Group, Parameter, UnusedCliTokensError

from skillwire import __version__
from skillwire.app.areas import area_commands, area_options
from skillwire.area import Command
from skillwire.cli.wrong_usage import check_empty_values, explain, unknown_command
from skillwire.config.settings import DEFAULT_ADDRESS, DEFAULT_PORT
from skillwire.core.process import gc_paused, owned
from skillwire.core.system import require_posix
from skillwire.errors import InvalidValueError, SkillwireError, UsageError
from skillwire.safe_text import quoted
from skillwire.terminal.messages import NoSuchSkillError
from skillwire.terminal.options import ARGUMENTS, OPTIONS

if TYPE_CHECKING:
    from rich.console import Console


COMMAND = "stdio:"
"""Prefix of an argument that contains a server's command line."""
EXIT_PROBLEMS = 1
EXIT_USAGE = 2
INTERRUPTED = 130

# Matches a value of `--http`. Any other word after the option is a separate argument, such as a folder.
_ADDRESS = re.compile(r"(?:(?:\[[^\]]*\]|[^\s/\\:\[\]]*):)?[0-9]+", re.ASCII)
_HOST = re.compile(r"localhost|[0-9]+(?:\.[0-9]*)+|\[[0-9A-Fa-f:.]*\]|[0-9A-Fa-f]*::[0-9A-Fa-f:]*", re.ASCII)
_AREA = "area_"
"""Prefix of the parameters that contain the options of areas."""
_ALL = "*"
"""The name of a parameter whose fields are options, such as the options of an area."""
_HELP, _VERSION = ("--help", "-h"), ("--version", "-V")
_PROGRAM = Group("Options", sort_key=100)
"""The options of the program itself, which `skillwire --help` lists last."""
GROUPS = ("Serve", "Find", "Clients", "Trust", "Author", "Operate")
"""The groups of commands, in the order in which `skillwire --help` lists them."""


COMMANDS = {
    "serve": Command(
        "skillwire.cli.serve:serve",
        "Serve skills to MCP clients, over stdio or HTTP.",
        over_http=True,
        group="Serve",
    ),
    "check": Command(
        "skillwire.cli.check:check", "Report every problem in your skills, and how to fix it.", group="Author"
    ),
    "list": Command(
        "skillwire.cli.list:list_skills",
        "List the skills of folders, other sources or MCP servers.",
        takes_command=True,
        group="Find",
    ),
    "show": Command(
        "skillwire.cli.show:show",
        "Show one skill: frontmatter, files, digests and problems.",
        takes_command=True,
        command_option="--from",
        group="Find",
    ),
    "read": Command(
        "skillwire.cli.read:read",
        "Print one file of a skill, after checking its digest.",
        takes_command=True,
        command_option="--from",
        group="Find",
    ),
    "install": Command(
        "skillwire.cli.install:install",
        "Write this server into the configuration of your MCP clients.",
        group="Clients",
    ),
    "uninstall": Command(
        "skillwire.cli.uninstall:uninstall",
        "Remove this server from the configuration of your MCP clients.",
        group="Clients",
    ),
    "servers": Command(
        "skillwire.cli.servers:servers",
        "List the MCP servers that are configured on this machine.",
        takes_command=True,
        group="Clients",
    ),
    "login": Command(
        "skillwire.cli.login:login", "Log in to an MCP server that requires OAuth.", group="Clients"
    ),
    "logout": Command(
        "skillwire.cli.login:logout", "Log out of an MCP server and revoke its tokens.", group="Clients"
    ),
    "completion": Command(
        "skillwire.cli.completion:completion",
        "Print a script that completes command lines in your shell.",
        group="Clients",
    ),
    "verify": Command(
        "skillwire.cli.verify:verify",
        "Check that every file of a server's skills is as listed.",
        takes_command=True,
        group="Trust",
    ),
    "bridge": Command(
        "skillwire.cli.bridge:bridge",
        "Expose the skills of several MCP servers through one.",
        takes_command=True,
        over_http=True,
        group="Serve",
    ),
    "diff": Command(
        "skillwire.cli.diff:diff",
        "Show how a server's skill differs from what you approved.",
        takes_command=True,
        command_option="--from",
        group="Trust",
    ),
    "approve": Command(
        "skillwire.cli.approve:approve",
        "Approve a skill of a server in its current version.",
        takes_command=True,
        command_option="--from",
        group="Trust",
    ),
    "revoke": Command("skillwire.cli.revoke:revoke", "Revoke the approval of a skill.", group="Trust"),
    "pull": Command(
        "skillwire.cli.pull:pull",
        "Download a skill from a server into a folder.",
        takes_command=True,
        command_option="--from",
        group="Trust",
    ),
    "cache": Command(
        "skillwire.cli.cache:cache", "List or remove files cached from MCP servers.", group="Operate"
    ),
    "sources": Command(
        "skillwire.cli.sources:sources", "List, add, remove or update configured sources.", group="Serve"
    ),
    "publish": Command(
        "skillwire.cli.publish:publish",
        "Write a website from which others install your skills.",
        group="Serve",
    ),
    "visibility": Command(
        "skillwire.cli.visibility:visibility",
        "Show or set whether models and people can use a skill.",
        group="Serve",
    ),
}
"""The core commands. Areas add more."""


def all_commands() -> dict[str, Command]:
    """Return every command by name: core commands first, then the commands of areas."""
    return {**COMMANDS, **area_commands()}


def command_function(name: str) -> Callable[..., object]:
    """Return the function of a command.

    It accepts the command's own options and the options that areas add.
    """
    return with_area_options(_function_of(all_commands()[name]), area_options(name))


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code: 0 for success, 1 for problems, 2 for wrong usage.

    Return 130 after Ctrl-C, and 0 if the reader of stdout closed the pipe. A command may return other codes,
    which its help lists. Prints errors to stderr.
    """
    try:
        with owned():
            arguments = with_help(arguments)
            check_empty_values(arguments)
            code = _run(with_command(with_http(arguments)))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe; the interpreter must not flush to it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except (CycloptsError, SkillwireError) as error:
        return _explain(error, arguments)
    return code


def with_help(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with `help COMMAND` written as `COMMAND --help`, and `help` as `--help`."""
    if list(arguments[:1]) != ["help"]:
        return list(arguments)
    command = [each for each in arguments[1:2] if each != "help" and not each.startswith("-")]
    return [*command, "--help"]


def with_http(arguments: Sequence[str]) -> list[str]:
    """Add the default value to every `--http` without a value, because the parser requires one.

    Leave commands that do not serve over HTTP unchanged. Raises `UsageError` for a host without a port.
    """
    _, command = _called(arguments)
    if command is None or not command.over_http:
        return list(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    following = [*arguments[1:end], None]
    completed = (
        f"--http={DEFAULT_ADDRESS}" if each == "--http" and not _is_address(after) else each
        for each, after in zip(arguments[:end], following, strict=True)
    )
    return [*completed, *arguments[end:]]


def _is_address(word: str | None) -> bool:
    """Return whether the word after `--http` is the option's value; False if there is no word.

    An empty word counts as the value, which is rejected later. Raises `UsageError` for a host without a port.
    """
    if word is None or os.path.exists(word):  # noqa: PTH110 - `Path` raises
        return word is not None and _ADDRESS.fullmatch(word) is not None
    if _HOST.fullmatch(word):
        hint = f"write `--http {word}:{DEFAULT_PORT}`; if it is a folder, write `./{word}`"
        raise UsageError(f"`--http {word}` has no port", hint=hint)
    return not word or _ADDRESS.fullmatch(word) is not None


def with_command(arguments: Sequence[str]) -> list[str]:
    """Join the words after `--` into one argument, because the parser drops the `--`.

    The argument has the prefix `stdio:`. If the command takes servers as an option, that option is put before
    the argument. Commands that take no server are unchanged.
    """
    _, command = _called(arguments)
    if command is None or not command.takes_command or "--" not in arguments:
        return list(arguments)
    at = list(arguments).index("--")
    server = f"{COMMAND}{shlex.join(arguments[at + 1 :])}"
    return [*arguments[:at], *([command.command_option] if command.command_option else []), server]


def _explain(error: CycloptsError | SkillwireError, arguments: Sequence[str]) -> int:
    """Print an error with its hint and problems, and return its exit code."""
    from skillwire.terminal.output import print_error, print_problems, stderr_console  # noqa: PLC0415 - colours are slow to load

    match error:
        case CycloptsError():
            name = _called(arguments)[0] or ""
            usage = _wrong_address(error, arguments) or explain(error, name, lambda: known_arguments(name))
            print_error(str(usage), hint=usage.hint)
            return EXIT_USAGE
        case InvalidValueError():
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


def _wrong_address(error: CycloptsError, arguments: Sequence[str]) -> UsageError | None:
    """Return the error for a word after `--http` that is neither an address nor a source."""
    if not isinstance(error, UnusedCliTokensError) or not error.unused_tokens:
        return None
    word = error.unused_tokens[0]
    if ("--http", word) not in pairwise(arguments) or "/" in word or word.endswith(":"):
        return None
    if os.path.exists(word):  # noqa: PTH110 - `Path` raises
        return None
    hint = f"for example `--http {DEFAULT_PORT}` or `--http 127.0.0.1:{DEFAULT_PORT}`"
    return UsageError(f"{quoted(word)} is not a port or `HOST:PORT`", hint=hint)


def _called(arguments: Sequence[str]) -> tuple[str | None, Command | None]:
    """Return the first word without a leading hyphen, which names the command, and the command if it exists.

    Areas are loaded only if there is no core command with this name.
    """
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    if name is None or name in COMMANDS:
        return name, None if name is None else COMMANDS[name]
    return name, area_commands().get(name)


def _run(arguments: Sequence[str]) -> int:
    name, command = _called(arguments)
    if name is None:
        return _parsed(arguments, all_commands())
    if command is None:  # the parser would load every command to report this
        raise unknown_command(name, all_commands(), _exists)
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


def _exists(line: str) -> bool:
    """Return whether a command line to suggest, such as `check --fix`, names a command and its options."""
    name, *words = line.split()
    options = {word for word in words if word.startswith("--")}
    if name == "help" or name in _VERSION:
        return True
    if name not in all_commands():
        return False
    return options <= {each for argument in known_arguments(name) for each in argument.names}


def known_arguments(name: str) -> list[Argument]:
    """Return the arguments and options of a command, including the options that areas add."""
    app = App(name=name, default_parameter=Parameter(negative=()))
    app.default(command_function(name))
    return [each for each in app.assemble_argument_collection() if each.name != _ALL]


def with_area_options(function: Callable[..., object], options: Mapping[str, type]) -> Callable[..., object]:
    """Return the function of a core command, extended with the options of areas.

    `function` receives these options as its argument `areas`, a mapping by area name. The mapping contains an
    area only if at least one of its options was given.
    """
    if not options:
        return function

    def extended(*arguments: object, **named: object) -> object:
        parsed = {area: named.pop(_AREA + area, None) for area in options}
        areas = {area: flags for area, flags in parsed.items() if flags is not None}
        return function(*arguments, **named, areas=areas)

    known = signature(function)
    parameters = [each for each in known.parameters.values() if each.name != "areas"]
    for area, flags in options.items():
        annotation = Annotated[flags | None, Parameter(name=_ALL)]
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
    """Run `function`, or print its help or the version if the arguments ask for that.

    Without `function`, print the list of `commands` or the version. Return the exit code.
    """
    app = App(
        name="skillwire",
        help="Serve Agent Skills to any MCP client, and use other servers' skills safely.",
        help_epilogue="`skillwire COMMAND --help` or `skillwire help COMMAND` explains one command."
        if function is None
        else None,
        version=__version__,
        help_flags=_HELP,
        version_flags=_VERSION,
        console=_manual() if function is None or _asks_for_help(arguments) else None,
        group_arguments=ARGUMENTS,
        group_parameters=OPTIONS,
        default_parameter=Parameter(negative=(), show_default=False),
    )
    groups = {name: Group(name, sort_key=number) for number, name in enumerate(GROUPS)}
    for place, (name, command) in enumerate(commands.items()):
        if function is None:
            group = groups.get(command.group, command.group)
            app.command(command.function, name=name, help=command.help, group=group, sort_key=place)
        else:
            app.command(function, name=name, usage=_usage(name, function))
    if function is None:
        for (flag, _), does in ((_HELP, "Show this help."), (_VERSION, "Show the version.")):
            app[flag].group, app[flag].help = (_PROGRAM,), does
    code = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    return code if isinstance(code, int) else 0


def _function_of(command: Command) -> Callable[..., object]:
    module, _, function = command.function.partition(":")
    return getattr(_loaded(module), function)


def _loaded(module: str) -> ModuleType:
    """Import a command's module.

    The import takes most of the startup time, so garbage collection is paused to shorten it.
    """
    if module in sys.modules:
        return sys.modules[module]
    with gc_paused():
        return import_module(module)


def _manual() -> "Console":
    """Return the console that the parser prints help on."""
    from skillwire.terminal.output import help_console  # noqa: PLC0415 - colours are slow to load

    return help_console()


def _help_hint(arguments: Sequence[str]) -> str:
    name, command = _called(arguments)
    return (
        f"`skillwire {name} --help` shows the usage" if command else "`skillwire --help` lists the commands"
    )


def _usage(name: str, function: Callable[..., object]) -> str:
    """Return the usage line for a command's help. It names the arguments and the required options."""
    required: list[str] = []
    arguments: list[str] = []
    optional = False
    for each in signature(function).parameters.values():
        kind, *extras = get_args(each.annotation)
        shown = next((extra for extra in extras if isinstance(extra, Parameter)), Parameter())
        is_required = each.default is SignatureParameter.empty
        if each.kind is SignatureParameter.KEYWORD_ONLY:
            optional = optional or not is_required
            required += [f"--{each.name} {shown.metavar}"] if is_required else []
            continue
        several = kind == list[str] or list[str] in get_args(kind)
        word = f"{next(iter(shown.name or [each.name]))}{'...' if several else ''}"
        arguments.append(word if is_required else f"[{word}]")
    return f"Usage: skillwire {' '.join([name, *required, *(['[OPTIONS]'] if optional else []), *arguments])}"

"""Explain command lines that the parser rejects, in the words of `--help`."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args, get_origin

from cyclopts import (
    Argument,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from skillwire.cli.synonyms import ACTION_SYNONYMS, COMMAND_SYNONYMS, OPTION_SYNONYMS
from skillwire.config.program_hint import program_hint
from skillwire.core.names import find_close_matches
from skillwire.errors import UsageError
from skillwire.safe_text import escape_invisible, quoted

_ACTION = "ACTION"
_NUMBERS = {int: "a whole number", float: "a number"}
_ALIKE = 0.7
"""The similarity from which a word counts as a misspelled synonym or option."""


def unknown_command(word: str, commands: Iterable[str], exists: Callable[[str], bool]) -> UsageError:
    """Return the error for a command that does not exist.

    `exists` returns whether a suggested command line, such as `check --fix`, can be used.
    """
    hint = "`skillwire --help` lists the commands"
    if "/" in word or os.path.isdir(word):  # noqa: PTH112 - `Path` raises
        return UsageError(
            f"unknown command {quoted(word)}",
            hint=f"did you mean `skillwire serve {escape_invisible(word)}`?",
        )
    if meant := _meant_commands(word, commands, exists):
        hint = f"did you mean {_choice(f'skillwire {each}' for each in meant)}?"
    return UsageError(f"unknown command {quoted(word)}", hint=hint)


def _meant_commands(word: str, commands: Iterable[str], exists: Callable[[str], bool]) -> list[str]:
    lower = word.lower()
    known = [*commands, "help"]
    if lower in known:
        return [lower]
    if lower not in COMMAND_SYNONYMS:
        if close := find_close_matches(lower, known, 1):
            return close
        close = find_close_matches(lower, COMMAND_SYNONYMS, 1, cutoff=_ALIKE)
        lower = close[0] if close else lower
    found = [each for each in COMMAND_SYNONYMS.get(lower, ()) if exists(each)]
    words = [each.partition(" ")[0] for each in found]
    return [each for at, each in enumerate(found) if words[at] not in words[:at]]


def explain(error: CycloptsError, command: str, known: Callable[[], Sequence[Argument]]) -> UsageError:
    """Return an error that says what is wrong with the arguments of `command`, and what to do.

    `command` is empty if the options of the program itself are wrong. `known` returns the arguments and
    options of the command.
    """
    message, meant = _explained(error, command, known)
    usage = f"`skillwire {command} --help` shows the usage"
    if not command:
        usage = "`skillwire --help` lists the commands"
    separator = " " if meant.endswith("?") else "; "
    return UsageError(message, hint=f"{meant}{separator}{usage}" if meant else usage)


def check_empty_values(arguments: Sequence[str]) -> None:
    """Raise `UsageError` for an option with an empty value after `=`, as in `--config=`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    for each in arguments[:end]:
        if each.startswith("--") and each.endswith("=") and each.count("=") == 1:
            option = each.removesuffix("=")
            hint = f"write `{option} VALUE` or `{option}=VALUE`, or remove the option"
            raise UsageError(f"{quoted(each)} has no value", hint=hint)


def _explained(
    error: CycloptsError, command: str, known: Callable[[], Sequence[Argument]]
) -> tuple[str, str]:
    """Return what is wrong, and what was probably meant, which can be empty."""
    match error:
        case UnknownOptionError(token=token, argument_collection=arguments):
            option = (token.keyword or token.value).partition("=")[0]
            explained = f"unknown option {quoted(option)}", _meant_option(option, arguments)
        case UnknownCommandError(unused_tokens=[unknown, *_]):
            explained = f"unknown option {quoted(unknown)}", _meant_program_option(unknown)
        case UnusedCliTokensError(unused_tokens=[unexpected, *_]):
            arguments = known()
            hint = program_hint(unexpected) if any(each.name == "SERVER" for each in arguments) else ""
            explained = (
                f"unexpected argument {quoted(unexpected)}",
                hint or _where_arguments_go(command, arguments),
            )
        case RepeatArgumentError(token=Token(keyword=str(option))):
            explained = f"`{option}` is given twice", "give it once"
        case MissingArgumentError(keyword=str(option), argument=argument):
            explained = _missing_value(option, argument)
        case MissingArgumentError(argument=Argument() as argument):
            explained = f"`{argument.name}` is missing", _possible(argument)
        case CoercionError(token=Token() as token, argument=argument):
            explained = _wrong_value(token, error.target_type, argument, command)
        case _:
            explained = "the arguments are not valid", ""
    return explained


def _meant_option(option: str, known: Iterable[Argument]) -> str:
    names = [name for argument in known for name in argument.names]
    options = [name for name in names if name.startswith("--")]
    long = f"-{option}" if not option.startswith("--") and len(option) > 2 else option
    if long in options:  # `-json`
        return f"did you mean `{long}`?"
    if found := [name for name in OPTION_SYNONYMS.get(option, ()) if name in names]:
        if found[0].startswith("-"):
            return f"did you mean `{found[0]}`?"
        return f"write the value as the argument `{found[0]}`, without an option"
    longer = [name for name in options if name.startswith(long)]
    close = longer if len(longer) == 1 else find_close_matches(long.lower(), options, 1, cutoff=_ALIKE)
    return f"did you mean `{close[0]}`?" if close else ""


def _meant_program_option(word: str) -> str:
    synonyms = OPTION_SYNONYMS.get(word) or COMMAND_SYNONYMS.get(word)
    close = synonyms or find_close_matches(word, ("--help", "--version"), 1, cutoff=_ALIKE)
    if close and close[0] in {"--help", "--version"}:
        return f"did you mean `skillwire {close[0]}`?"
    if word == "--":
        return "write the command first, as in `skillwire list -- python server.py`"
    return "options follow the command, as in `skillwire list --json`"


def _where_arguments_go(command: str, known: Iterable[Argument]) -> str:
    """Return the hint for an argument too many: which arguments the command takes, or where they must be."""
    positional = [argument for argument in known if not argument.name.startswith("-")]
    if any(argument.token_count()[1] for argument in positional):
        return "write all arguments side by side, before or after the options"
    if not positional:
        return f"`skillwire {command}` takes only options"
    names = " and ".join(f"`{argument.name}`" for argument in positional)
    return f"`skillwire {command}` takes only {names}"


def _missing_value(option: str, argument: Argument | None) -> tuple[str, str]:
    """Return the error for an option without its value, or with too few of its values."""
    count = 1 if argument is None else argument.token_count()[0]
    if argument is None or count < 2:
        return f"`{option}` requires a value", _possible(argument)
    written = f"{option} {argument.parameter.metavar or ' '.join(['VALUE'] * count)}"
    possible = _possible(argument)
    return f"`{option}` requires {count} values", f"write `{written}`" + (f"; {possible}" if possible else "")


def _possible(argument: Argument | None) -> str:
    """Return the values that an argument or option accepts, if there are few."""
    choices = () if argument is None else _choices(argument.hint)
    return f"choose {_choice(choices)}" if choices else ""


def _wrong_value(token: Token, target: object, argument: Argument | None, command: str) -> tuple[str, str]:
    choices = _choices(target)
    value = quoted(token.value)
    if choices and token.keyword is None:
        name = _ACTION if argument is None else argument.name
        kind = "action" if name == _ACTION else f"`{name}`"
        message = f"`skillwire {command}` has no {kind} {value}"
        synonyms = [each for each in ACTION_SYNONYMS.get(token.value.lower(), ()) if each in choices]
        if meant := synonyms or find_close_matches(token.value.lower(), choices, 1):
            return message, f"did you mean `skillwire {command} {meant[0]}`?"
        return message, f"choose {_choice(choices)}"
    option = f"`{token.keyword or ('' if argument is None else argument.name)}`"
    if choices:
        meant = find_close_matches(token.value.lower(), choices, 1)
        also = f"; did you mean `{meant[0]}`?" if meant else ""
        return f"{option} cannot be {value}", f"choose {_choice(choices)}{also}"
    if target is bool:
        return f"{option} takes no value, but {value} is given", f"write only {option}"
    if isinstance(target, type) and (number := _NUMBERS.get(target)):
        return f"{option} requires {number}, not {value}", ""
    return f"{option} cannot be {value}", ""


def _choices(hint: object) -> Sequence[str]:
    """Return the values of the `Literal` in a type, such as `Literal["on", "off"] | None`."""
    if get_origin(hint) is Literal:
        return [str(each) for each in get_args(hint)]
    return next((found for each in get_args(hint) if (found := _choices(each))), ())


def _choice(words: Iterable[str]) -> str:
    """Return `a`, `b` or `c`."""
    *first, last = [f"`{escape_invisible(word)}`" for word in words]
    return f"{', '.join(first)} or {last}" if first else last

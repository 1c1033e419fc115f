"""Arguments of a skill, in the fields and placeholders that Claude Code defines.

The frontmatter names the arguments (`arguments: [issue, branch]`) or describes them (`argument-hint`). The
text contains placeholders for their values: `$issue`, `$ARGUMENTS`, `$ARGUMENTS[0]`, `$0`. Placeholders are
replaced; commands in a text are never executed.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, cast

from skillwire.core.record import Json
from skillwire.safe_text import strip_invisible

ARGUMENTS_FIELD, HINT_FIELD = "arguments", "argument-hint"
WHOLE = "arguments"
"""The name of the argument that holds all arguments, as a person types them after a slash command."""
MAX_ADDED = 1024 * 1024
"""Maximum number of characters that arguments may add to a text."""
_TOO_LONG = f"the arguments add more than {MAX_ADDED:,} characters to the text"
_MAX_NAMES = 32
_MAX_HINT = 200
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_KEYWORD = "ARGUMENTS"


class TooLongError(ValueError):
    """The arguments add more than `MAX_ADDED` characters to a text."""


@dataclass(frozen=True, slots=True)
class SkillArguments:
    """The arguments that the frontmatter of a skill declares."""

    names: tuple[str, ...] = ()
    """The names of the arguments, in order. `$0` stands for the first argument."""
    hint: str = ""
    """What a person should type, such as `[issue] [branch]`."""

    @classmethod
    def of(cls, frontmatter: Mapping[str, Json]) -> Self:
        """Return the arguments that a frontmatter declares. Ignores invalid values and names."""
        names = _words(frontmatter.get(ARGUMENTS_FIELD))
        usable = (name for name in names if _NAME.fullmatch(name) and name != _KEYWORD)
        return cls(tuple(dict.fromkeys(usable))[:_MAX_NAMES], _hint(frontmatter.get(HINT_FIELD)))

    @property
    def is_declared(self) -> bool:
        return bool(self.names or self.hint)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The keys of the values that `fill` uses: the names, or `arguments` if there is only a hint."""
        return self.names or ((WHOLE,) if self.hint else ())

    def fill(self, text: str, values: Mapping[str, str]) -> str:
        """Return `text` with the values in place of its placeholders.

        Placeholders inside a value are not replaced. `$N` without a value stays, a name without a value is
        removed, and `\\$0` becomes `$0`. If no placeholder takes a value, the values are added at the end,
        after `ARGUMENTS:`. Raises `TooLongError`.
        """
        typed, positions = self._typed(values)
        filled = _Filled(typed, positions, dict(zip(self.names, positions, strict=False)))
        result = _pattern(self.names).sub(filled.replace, text)
        if filled.was_used or not typed:
            return result
        if len(typed) > MAX_ADDED:
            raise TooLongError(_TOO_LONG)
        return f"{result.rstrip()}\n\n{_KEYWORD}: {typed}\n"

    def _typed(self, values: Mapping[str, str]) -> tuple[str, list[str]]:
        """Return the values twice: as one line, as typed after a slash command, and as a list."""
        if WHOLE not in self.names and values.get(WHOLE, "").strip():
            typed = values[WHOLE].strip()
            return typed, _split(typed)
        given = [values.get(name, "") for name in self.names]
        while given and not given[-1]:
            given.pop()
        return " ".join(map(_quote, given)), given


class _Filled:
    """Replaces placeholders. Records whether a value was used, and how many more characters are allowed."""

    def __init__(self, typed: str, positions: Sequence[str], named: Mapping[str, str]) -> None:
        self._typed, self._positions, self._named = typed, positions, named
        self._left = MAX_ADDED
        self.was_used = False

    def replace(self, found: re.Match[str]) -> str:
        escape, index, digits, name = found.groups()
        if escape:
            return found[0][1:]
        if index is None and digits is None:
            value = self._typed if name is None else self._named.get(name, "")
        else:
            at = int(index or digits)
            if at >= len(self._positions):
                return found[0]
            value = self._positions[at]
        self._left -= len(value)
        if self._left < 0:
            raise TooLongError(_TOO_LONG)
        self.was_used = self.was_used or bool(value)
        return value


def _pattern(names: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern of all placeholders; its groups are escape, index, number and name."""
    longest_first = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    name = rf"({longest_first})(?!\w)" if names else "((?!))"
    return re.compile(
        rf"(\\)?\$(?:{_KEYWORD}(?:\[([0-9]{{1,4}})\]|(?!\w))|([0-9]{{1,4}})(?!\w)|{name})", re.ASCII
    )


def _words(value: Json) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _hint(value: Json) -> str:
    """Return a hint on one line. `[issue]` without quotes is a list in YAML, so a list is accepted too."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = " ".join(f"[{each}]" for each in cast("list[str]", value[:_MAX_NAMES]))
    return strip_invisible(value, _MAX_HINT) if isinstance(value, str) else ""


def _split(typed: str) -> list[str]:
    """Split a line into arguments, with quotes as in a shell. If a quote is not closed, split at spaces."""
    try:
        return shlex.split(typed)
    except ValueError:  # a quote without its other half, such as an apostrophe
        return typed.split()


def _quote(value: str) -> str:
    """Return a value as one argument of a line, in quotes if it needs them."""
    is_plain = value and not any(character.isspace() or character in "\"'\\" for character in value)
    return value if is_plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

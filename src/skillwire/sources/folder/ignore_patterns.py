"""Match patterns as in `.gitignore`, without backtracking.

Patterns may come from untrusted repositories, so no pattern may make matching slow. All patterns together
form one automaton, whose states are the bits of one integer. Matching a name takes one step per character,
and matching a path takes one step per name, whatever the patterns are.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Literal

from skillwire.safe_text import quoted

_MAX_LENGTH = 4096
"""Maximum length of one pattern. A longer path cannot exist."""
_MAX_STATES = 16_384
"""Maximum size of the automaton, which limits the cost of a step. Each pattern and each name counts 1.

In a name with wildcards, each character counts 1 (a star 0), and each range in brackets counts 8.
"""
_COST_OF_RANGE = 8
_WORD = 64
"""Number of bits that are examined at once."""
_CACHE_SIZE = 1024
"""Maximum number of cached results each for names, folders and characters."""

Ranges = tuple[tuple[str, str], ...]
"""Character ranges, each as its first and last character."""
_POSIX: dict[str, Ranges] = {
    "alnum": (("0", "9"), ("A", "Z"), ("a", "z")),
    "alpha": (("A", "Z"), ("a", "z")),
    "blank": ((" ", " "), ("\t", "\t")),
    "cntrl": (("\x00", "\x1f"), ("\x7f", "\x7f")),
    "digit": (("0", "9"),),
    "graph": (("!", "~"),),
    "lower": (("a", "z"),),
    "print": ((" ", "~"),),
    "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "space": (("\t", "\r"), (" ", " ")),
    "upper": (("A", "Z"),),
    "xdigit": (("0", "9"), ("A", "F"), ("a", "f")),
}


class PatternError(ValueError):
    """A pattern cannot be used. The message completes a sentence that begins with "the file"."""


@dataclass(frozen=True, slots=True)
class _Characters:
    """The set of characters that one position of a pattern matches."""

    ranges: Ranges
    negated: bool = False

    def has(self, character: str) -> bool:
        return any(first <= character <= last for first, last in self.ranges) is not self.negated

    @property
    def literal(self) -> str | None:
        """The character, if the set is written as a single character; else None."""
        single = len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1] and not self.negated
        return self.ranges[0][0] if single else None

    @property
    def cost(self) -> int:
        return 1 if self.literal is not None else 1 + _COST_OF_RANGE * len(self.ranges)


_Sign = Literal["*", "/"]
_Token = _Characters | _Sign
_Name = tuple[_Token, ...]
"""One part of a pattern, between slashes."""
_ANY = _Characters((), negated=True)
_DOUBLE_STAR: _Name = ("*", "*")


class PathPatterns:
    """The patterns of one ignore file. The last pattern that matches decides, as in `.gitignore`.

    If a folder is left out, everything in it is left out. Raises `PatternError` if a pattern is invalid or
    all patterns together are too large.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._begin = self._loops = self._folders = self._files = self._reincluded = 0
        positions: dict[_Name, int] = {}
        """The bits of each name in the automaton of paths."""
        position = cost = 0
        for names, only_folders, reincluded in _parse_patterns(lines):
            cost += 1 + sum(map(_cost, names))
            if cost > _MAX_STATES:
                raise PatternError(f"is too large: its patterns need more than {_MAX_STATES:,} states")
            self._begin |= 1 << position
            for name in names:
                if name == _DOUBLE_STAR:
                    self._loops |= 1 << position
                else:
                    positions[name] = positions.get(name, 0) | 1 << position
                position += 1
            end = 1 << position
            self._folders |= end
            self._files |= 0 if only_folders else end
            self._reincluded |= end if reincluded else 0
            position += 1
        self._names = _Names(positions)
        self._matched: dict[str, int] = {}
        self._top = self._begin | (self._begin & self._loops) << 1, False
        self._known: dict[str, tuple[int, bool]] = {"": self._top}

    def __bool__(self) -> bool:
        return self._begin != 0

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Return whether a path or a folder above it is left out.

        `folder` tells whether the path is a folder.
        """
        parent, _, name = path.rpartition("/")
        state, ignored = self._known.get(parent) or self._enter_folder(parent)
        return ignored or self._is_ignored(self._advance(state, name), folder=folder)

    def _enter_folder(self, folder: str) -> tuple[int, bool]:
        """Return the state of the automaton in a folder, and whether the folder is left out."""
        below: list[tuple[str, str]] = []
        while (found := self._known.get(folder)) is None:
            parent, _, name = folder.rpartition("/")
            below.append((folder, name))
            folder = parent
        for inner, name in reversed(below):
            state = self._advance(found[0], name)
            found = state, found[1] or self._is_ignored(state, folder=True)
            if len(self._known) >= _CACHE_SIZE:
                self._known = {"": self._top}
            self._known[inner] = found
        return found

    def _advance(self, state: int, name: str) -> int:
        matched = self._matched.get(name)
        if matched is None:
            matched = self._names.match(name)
            if len(self._matched) >= _CACHE_SIZE:
                self._matched = {}
            self._matched[name] = matched
        after = (state & matched) << 1 | state & self._loops
        return after | (after & self._loops) << 1

    def _is_ignored(self, state: int, *, folder: bool) -> bool:
        """Return whether the last matching pattern, which has the highest bit, leaves the path out."""
        ends = state & (self._folders if folder else self._files)
        return ends != 0 and not self._reincluded >> (ends.bit_length() - 1) & 1


class _Names:
    """The names in all patterns, each with its bits in the automaton of paths.

    Names without wildcards, or with only one star at the beginning or end, are looked up without `_Globs`.
    """

    def __init__(self, names: dict[_Name, int]) -> None:
        self._exact: dict[str, int] = {}
        self._endings: dict[int, dict[str, int]] = {}
        """The literal texts after a leading star, by length."""
        self._beginnings: dict[int, dict[str, int]] = {}
        globs: dict[_Name, int] = {}
        for name, positions in names.items():
            if (text := _literal(name)) is not None:
                self._exact[text] = positions
            elif name[0] == "*" and (text := _literal(name[1:])) is not None:
                self._endings.setdefault(len(text), {})[text] = positions
            elif name[-1] == "*" and (text := _literal(name[:-1])) is not None:
                self._beginnings.setdefault(len(text), {})[text] = positions
            else:
                globs[name] = positions
        self._globs = _Globs(globs) if globs else None

    def match(self, name: str) -> int:
        """Return the bits of all pattern names that match `name`."""
        found = self._exact.get(name, 0)
        for length, endings in self._endings.items():
            found |= endings.get(name[-length:] if length else "", 0)
        for length, beginnings in self._beginnings.items():
            found |= beginnings.get(name[:length], 0)
        return found if self._globs is None else found | self._globs.match(name)


class _Globs:
    """All names with wildcards, matched together.

    Each glob has one bit for each character and one bit for its end. A bit is set while all characters before
    it have matched. A star keeps the next character's bit set.
    """

    def __init__(self, globs: dict[_Name, int]) -> None:
        self._begin = self._stars = self._any = self._ends = 0
        self._literals: dict[str, int] = {}
        self._classes: list[tuple[_Characters, int]] = []
        self._found: dict[tuple[int, int], int] = {}
        """Bits of each name in the automaton of paths, by the word and the bit of its glob's end."""
        bit = 1
        for glob, positions in globs.items():
            self._begin |= bit
            for token in glob:
                if isinstance(token, str):
                    self._stars |= bit
                    continue
                if token == _ANY:
                    self._any |= bit
                elif (literal := token.literal) is not None:
                    self._literals[literal] = self._literals.get(literal, 0) | bit
                else:
                    self._classes.append((token, bit))
                bit <<= 1
            self._ends |= bit
            place, within = divmod(bit.bit_length() - 1, _WORD)
            self._found[place, 1 << within] = positions
            bit <<= 1
        self._words = Struct(f"<{bit.bit_length() // _WORD + 1}Q")
        ranges = [each for bracket, _ in self._classes for each in bracket.ranges]
        borders = {ord(first) for first, _ in ranges} | {ord(last) + 1 for _, last in ranges}
        self._borders = sorted(borders)
        """Boundaries of character ranges. All characters between two boundaries are in the same classes."""
        self._between: dict[int, int] = {}
        self._accepting: dict[str, int] = {}

    def match(self, name: str) -> int:
        """Return the bits of all pattern names whose globs match `name`."""
        state, stars, accepting = self._begin, self._stars, self._accepting
        for character in name:
            accepts = accepting.get(character)
            if accepts is None:
                accepts = self._accepts(character)
            state = (state & accepts) << 1 | state & stars
            if not state:
                return 0
        found, ends = 0, (state & self._ends).to_bytes(self._words.size, "little")
        for place, word in enumerate(self._words.unpack(ends)):
            while word:
                lowest = word & -word
                found |= self._found[place, lowest]
                word ^= lowest  # noqa: PLW2901 - the bits that are left
        return found

    def _accepts(self, character: str) -> int:
        """Return the bits of all positions that accept the character."""
        accepts = self._any | self._literals.get(character, 0)
        if self._classes:
            where = bisect_right(self._borders, ord(character))
            if where not in self._between:
                bits = 0
                for bracket, bit in self._classes:
                    bits |= bit if bracket.has(character) else 0
                self._between[where] = bits
            accepts |= self._between[where]
        if len(self._accepting) >= _CACHE_SIZE:
            self._accepting.clear()
        self._accepting[character] = accepts
        return accepts


def _parse_patterns(lines: Iterable[str]) -> Iterator[tuple[list[_Name], bool, bool]]:
    """Yield the names of each pattern, whether it is for folders only, and whether it begins with `!`."""
    for line in lines:
        text = _without_spaces_at_end(line)
        if not text or text.startswith("#"):
            continue
        if len(text) > _MAX_LENGTH:
            raise PatternError(f"holds a pattern of {len(text):,} characters; the limit is {_MAX_LENGTH:,}")
        reincluded, text = text.startswith("!"), text.removeprefix("!")
        only_folders, text = text.endswith("/"), text.removesuffix("/")
        try:
            tokens = list(_tokens(text))
        except _NeverMatchesError:  # as in git
            continue
        names = _names(tokens)
        if "/" not in text:
            names.insert(0, _DOUBLE_STAR)
        elif not names[0]:  # a leading slash, which anchors the pattern at the root
            del names[0]
        if not all(names):  # an empty name never matches
            continue
        if names[-1] == _DOUBLE_STAR:
            names.append(("*",))
        yield _drop_repeated_stars(names), only_folders, reincluded


def _names(tokens: list[_Token]) -> list[_Name]:
    names: list[list[_Token]] = [[]]
    for sign in tokens:
        if sign == "/":
            names.append([])
        else:
            names[-1].append(sign)
    alone = len(names) == 1  # without slashes, `**` means the same as `*`
    return [_collapse_stars(name, alone=alone) for name in names]


def _collapse_stars(name: list[_Token], *, alone: bool) -> _Name:
    """Merge repeated stars in a name into one, except `**` between slashes."""
    stars = name.count("*")
    if stars > 1 and stars == len(name) and not alone:
        return _DOUBLE_STAR
    return tuple(sign for at, sign in enumerate(name) if not (sign == "*" and name[at - 1 : at] == ["*"]))


def _drop_repeated_stars(names: list[_Name]) -> list[_Name]:
    return [
        name for at, name in enumerate(names) if not (name == _DOUBLE_STAR and names[at - 1 : at] == [name])
    ]


def _literal(name: _Name) -> str | None:
    """Return the only name that the pattern matches, or None if it has wildcards."""
    characters = [None if isinstance(token, str) else token.literal for token in name]
    return None if None in characters else "".join(each for each in characters if each is not None)


def _cost(name: _Name) -> int:
    """Return the number of states that a name adds to the automaton."""
    if _literal(name) is not None:
        return 1
    return 1 + sum(token.cost for token in name if not isinstance(token, str))


def _without_spaces_at_end(line: str) -> str:
    text = line.rstrip(" \t\r\n")
    escaped = (len(text) - len(text.rstrip("\\"))) % 2 == 1
    return line[: len(text) + 1] if escaped else text


class _NeverMatchesError(Exception):
    """The pattern matches no path, for example because a bracket is not closed."""


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
            if at == len(text):
                raise PatternError(f"holds {quoted(text)}, which ends with an incomplete escape")
            yield "/" if text[at] == "/" else _single(text[at])
        elif character == "[":
            bracket, at = _bracket(text, at + 1)
            yield bracket
        elif character == "?":
            yield _ANY
        elif character == "*" or character == "/":  # noqa: PLR1714 - narrows the type
            yield character
        else:
            yield _single(character)
        at += 1


def _single(character: str) -> _Characters:
    return _Characters(((character, character),))


def _bracket(text: str, at: int) -> tuple[_Characters, int]:
    """Return the character class after the bracket at `at - 1`, and the index of the closing bracket."""
    negated = text[at : at + 1] in {"!", "^"}
    at += negated
    ranges: list[tuple[str, str]] = []
    first, previous = True, ""
    while at < len(text) and (first or text[at] != "]"):
        first = False
        if text[at] == "-" and previous and text[at + 1 : at + 2] not in {"", "]"}:
            last, at = _escaped(text, at + 1)
            ranges.append((previous, last))
            previous = ""
        elif text.startswith("[:", at) and (named := _posix(text, at + 2)) is not None:
            ranges.extend(_POSIX[named])
            at += len(named) + 4
            previous = ""
        else:
            previous, at = _escaped(text, at)
            ranges.append((previous, previous))
    if at >= len(text):
        raise _NeverMatchesError
    return _Characters(tuple(ranges), negated), at


def _posix(text: str, at: int) -> str | None:
    """Return the name of a class such as `[:alpha:]`, or None if the brackets are literal characters."""
    end = text.find("]", at)
    if end < 0:
        raise _NeverMatchesError
    if end == at or text[end - 1] != ":":
        return None
    if (name := text[at : end - 1]) not in _POSIX:
        raise _NeverMatchesError
    return name


def _escaped(text: str, at: int) -> tuple[str, int]:
    """Return the character at `at`, which may be escaped, and the index of the next character."""
    at += text[at] == "\\"
    if at >= len(text):
        raise _NeverMatchesError
    return text[at], at + 1

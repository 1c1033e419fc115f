"""Change one member of an object in a JSON text, and keep every other character.

The text may contain comments and trailing commas. Indentation and line breaks follow the text around.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillwire.config.clients.files import ClientFileError
from skillwire.config.clients.render import json_value

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\],:]|//[^\r\n]*|/\*.*?\*/|[^\s{}\[\],:"/]+|\S', re.DOTALL)
_COMMENTS = re.compile(r"(?:[ \t]|/\*.*?\*/|//[^\r\n]*)*", re.DOTALL)
"""Matches comments and spaces, up to the end of the line or to other text."""
_UNIT = "  "


@dataclass(slots=True)
class _Member:
    key: str
    start: int
    """Where the key starts."""
    value: int = -1
    """Where the value starts."""
    end: int = -1
    """Where the value ends."""
    comma: int = -1
    """Where the comma after the value is; -1 if there is none."""

    @property
    def whole_end(self) -> int:
        """The end of the member with its comma."""
        return self.comma + 1 if self.comma >= 0 else self.end


@dataclass(frozen=True, slots=True)
class _Object:
    start: int
    """Where the `{` is."""
    end: int
    """Where the `}` is."""
    members: list[_Member]

    def member(self, key: str) -> _Member | None:
        return next((each for each in self.members if each.key == key), None)


def span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return where the member at `path` starts and ends, or None if it is missing."""
    found = _find(text, path)[1]
    return None if found is None else (found.start, found.end)


def put(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with `value` at `path`. Missing objects are created. Raises `ClientFileError`."""
    if not text.strip():
        nested = value
        for key in reversed(path):
            nested = {key: nested}
        return f"{json_value(nested)}\n"
    parents, found = _find(text, path)
    if found is not None:
        indent = _indent(text, found.start)
        shown = _flat(value) if indent is None else json_value(value, _unit(text), indent, _newline(text))
        return f"{text[: found.value]}{shown}{text[found.end :]}"
    for key in reversed(path[len(parents) :]):
        value = {key: value}
    return _add(text, parents[-1], path[len(parents) - 1], value)


def remove(text: str, path: Sequence[str], prune: int = 0) -> str:
    """Return the text without the member at `path`. Raises `ClientFileError`.

    Also remove up to `prune` objects around it if they have become empty.
    """
    parents, found = _find(text, path)
    if found is None:
        return text
    text = _without(text, parents[-1], found)
    if prune > 0 and len(path) > 1 and len(parents[-1].members) == 1:
        parent = _find(text, path[:-1])[1]
        if parent is not None and not text[parent.value + 1 : parent.end - 1].strip():
            return remove(text, path[:-1], prune - 1)
    return text


def _find(text: str, path: Sequence[str]) -> tuple[list[_Object], _Member | None]:
    """Return the objects on `path` that exist, from the whole text on, and the member at its end."""
    start = next(each.start() for each in _TOKEN.finditer(text) if each[0][:1] != "/")
    objects: list[_Object] = []
    for depth, key in enumerate(path):
        objects.append(_object_at(text, start, path[:depth]))
        if (member := objects[-1].member(key)) is None or depth == len(path) - 1:
            return objects, member
        start = member.value
    return objects, None


def _object_at(text: str, start: int, path: Sequence[str]) -> _Object:
    """Return the object that starts at `start`. Raises `ClientFileError` if two members have the same key."""
    where = f"`{path[-1]}`" if path else "the whole file"
    if text[start] != "{":
        raise ClientFileError(f"{where} is not an object")
    members: list[_Member] = []
    after_comma = True
    for first, end in _parts(text, start):
        part = text[first]
        if part == "}":
            _check_unique(members, where)
            return _Object(start, first, members)
        if part == "," and members:
            members[-1].comma, after_comma = first, True
        elif part not in ",:" and after_comma:
            members.append(_Member(json.loads(text[first:end]), first))
            after_comma = False
        elif part != ":" and members:
            members[-1].value, members[-1].end = first, end
        elif part != ":":
            break
    raise ClientFileError(f"{where} has a comma or a comment in an unexpected place")


def _parts(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where each part of an object starts and ends: keys, values, `:`, `,` and the `}` at its end."""
    depth, value = 0, start
    for match in _TOKEN.finditer(text, start):
        first = match[0][0]
        if match[0][:2] in {"//", "/*"}:
            continue
        if first in "{[":
            value = match.start() if depth == 1 else value
            depth += 1
        elif first in "}]":
            depth -= 1
            if depth <= 1:
                yield (value if depth else match.start()), match.end()
            if depth == 0:
                return
        elif depth == 1:
            yield match.span()


def _check_unique(members: Sequence[_Member], where: str) -> None:
    seen: set[str] = set()
    for each in members:
        if each.key in seen:
            raise ClientFileError(f"{where} has the key {json.dumps(each.key)} more than once")
        seen.add(each.key)


def _add(text: str, parent: _Object, key: str, value: object) -> str:
    name, newline = json.dumps(key, ensure_ascii=False), _newline(text)
    if not parent.members:
        return _fill(text, parent, name, value)
    last = parent.members[-1]
    comma = "," if last.comma >= 0 else ""
    indent = _indent(text, last.start)
    comments = _COMMENTS.match(text, last.whole_end)
    at = last.whole_end if comments is None else comments.end()
    if indent is None or text[at] not in "\r\n":  # another member or the `}` is on the same line
        at = last.whole_end
        return f"{text[:at]}{'' if comma else ','} {name}: {_flat(value)}{comma}{text[at:]}"
    before = f"{text[: last.end]}{'' if comma else ','}{text[last.end : at]}"
    shown = json_value(value, _unit(text), indent, newline)
    return f"{before}{newline}{indent}{name}: {shown}{comma}{text[at:]}"


def _fill(text: str, parent: _Object, name: str, value: object) -> str:
    """Return the text with the first member of an empty object."""
    newline, inside = _newline(text), text[parent.start + 1 : parent.end]
    if not inside.strip():
        inside = ""
    outer = re.match(r"[ \t]*", text[text.rfind("\n", 0, parent.start) + 1 :])
    indent = "" if outer is None else outer[0]
    before, after = text[: parent.start + 1], text[parent.end :]
    if "\n" not in text.strip() and text[: parent.start].strip():  # the whole file is on one line
        return f"{before}{inside}{name}: {_flat(value)}{after}"
    inner = f"{indent}{_unit(text)}"
    shown = json_value(value, _unit(text), inner, newline)
    return f"{before}{inside.rstrip()}{newline}{inner}{name}: {shown}{newline}{indent}{after}"


def _without(text: str, parent: _Object, member: _Member) -> str:
    at = parent.members.index(member)
    is_last = at == len(parent.members) - 1
    start, end = member.start, member.whole_end
    indent = _indent(text, start)
    comments = _COMMENTS.match(text, end)
    following = end if comments is None else comments.end()
    if indent is not None and text[following : following + 1] in {"\r", "\n", ""}:
        start -= len(indent)
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
    elif is_last:
        start = len(text[:start].rstrip(" \t"))
    else:
        end += len(text[end:following]) - len(text[end:following].lstrip(" \t"))
    before, after = text[:start], text[end:]
    if is_last and at > 0 and member.comma < 0:
        comma = parent.members[at - 1].comma
        before = f"{before[:comma]}{before[comma + 1 :]}"
    elif len(parent.members) == 1:
        inside = before[parent.start + 1 :] + after[: parent.end - end]
        if not inside.strip():
            return f"{before[: parent.start + 1]}{text[parent.end :]}"
    return before + after


def _indent(text: str, at: int) -> str | None:
    """Return the spaces before `at`, or None if something else precedes it on its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip() and "\n" in text[:at] else None


def _unit(text: str) -> str:
    """Return the indentation of the first member of the whole object."""
    found = re.search(r'\n([ \t]+)"', text)
    return found[1] if found else _UNIT


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _flat(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

"""Change one entry of a mapping in a YAML text, and keep all other text as written, comments included."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import yaml

from skillwire.config.clients.files import ClientFileError
from skillwire.config.clients.render import flat_value, yaml_key, yaml_lines

_Pair: TypeAlias = tuple[yaml.Node, yaml.Node]
_NULL = "tag:yaml.org,2002:null"
_AFTER = re.compile(r"[ \t]*,[ \t]*")


def span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return where the entry at `path` starts and ends, or None if it is missing."""
    pair = _find(text, path)[1]
    return None if pair is None else (_start(pair), _content_end(pair))


def put(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with `value` at `path`. Missing mappings are created. Raises `ClientFileError`."""
    parents, pair = _find(text, path)
    if pair is not None:
        is_flow = bool(cast("yaml.MappingNode", parents[-1]).flow_style)
        shown = _shown(text, path[-1], value, pair[0].start_mark.column, is_flow=is_flow)
        return f"{text[: _start(pair)]}{shown}{text[_content_end(pair) :]}"
    for key in reversed(path[len(parents) or 1 :]):
        value = {key: value}
    key = path[len(parents) - 1] if parents else path[0]
    if len(parents) <= 1:
        return _add_to_root(text, parents, key, value)
    return _add(text, parents[-2], path[len(parents) - 2], parents[-1], {key: value})


def remove(text: str, path: Sequence[str], prune: int = 0) -> str:
    """Return the text without the entry at `path`. Raises `ClientFileError`.

    Also remove up to `prune` mappings around it if they have become empty.
    """
    parents, pair = _find(text, path)
    if pair is None:
        return text
    mapping = cast("yaml.MappingNode", parents[-1])
    if len(cast("list[_Pair]", mapping.value)) == 1 and len(path) > 1:
        return remove(text, path[:-1], prune - 1) if prune > 0 else put(text, path[:-1], {})
    start, end = _start(pair), _content_end(pair)
    if not mapping.flow_style:
        return f"{text[: _line_start(text, start)]}{text[_next_line_start(text, end) :]}"
    if (after := _AFTER.match(text, end)) is not None:
        return f"{text[:start]}{text[after.end() :]}"
    before = text[:start].rstrip()
    return f"{before.removesuffix(',')}{text[end:]}"


def _find(text: str, path: Sequence[str]) -> tuple[list[yaml.Node], _Pair | None]:
    """Return the mappings on `path` that exist, from the whole text on, and the entry at its end."""
    compose = cast("Callable[..., yaml.Node | None]", yaml.compose)  # pyright: ignore[reportUnknownMemberType]
    node = compose(text, Loader=yaml.SafeLoader)
    parents: list[yaml.Node] = []
    for depth, key in enumerate(path):
        if node is None and depth == 0:
            return parents, None
        assert node is not None
        is_empty = depth > 0 and isinstance(node, yaml.ScalarNode) and node.tag == _NULL
        if not isinstance(node, yaml.MappingNode) and not is_empty:
            where = f"`{path[depth - 1]}`" if depth else "the whole file"
            raise ClientFileError(f"{where} is not a mapping")
        parents.append(node)
        pair = None if is_empty else _pair(node, key)
        if pair is None or depth == len(path) - 1:
            return parents, pair
        node = pair[1]
    return parents, None


def _pair(node: yaml.Node, key: str) -> _Pair | None:
    """Return the entry with this key. Raises `ClientFileError` if a key occurs more than once."""
    pairs = cast("list[_Pair]", node.value)
    keys = [str(each.value) for each, _ in pairs if isinstance(each, yaml.ScalarNode)]
    if len(set(keys)) != len(keys):
        twice = next(each for each in keys if keys.count(each) > 1)
        raise ClientFileError(f"the key `{twice}` occurs more than once")
    return next((pair for pair in pairs if pair[0].value == key), None)


def _add_to_root(text: str, parents: Sequence[yaml.Node], key: str, value: object) -> str:
    newline = _newline(text)
    root = parents[0] if parents else None
    if isinstance(root, yaml.MappingNode) and root.flow_style:
        return _add_in_flow(text, root, key, value)
    indent = " " * (0 if root is None else _column(text, cast("list[_Pair]", root.value)[0]))
    ended = text if not text or text.endswith("\n") else f"{text}{newline}"
    return ended + "".join(f"{line}{newline}" for line in yaml_lines({key: value}, indent))


def _add(text: str, above: yaml.Node, name: str, parent: yaml.Node, entry: Mapping[str, object]) -> str:
    """Return the text with an entry in `parent`, which is a mapping or null, and the value of `name`."""
    pair = _pair(above, name)
    assert pair is not None
    pairs = cast("list[_Pair]", parent.value) if isinstance(parent, yaml.MappingNode) else []
    start, end = parent.start_mark.index, parent.end_mark.index
    if isinstance(parent, yaml.MappingNode) and parent.flow_style and pairs:
        return _add_in_flow(text, parent, *next(iter(entry.items())))
    if cast("yaml.MappingNode", above).flow_style:
        return f"{text[:start]} {flat_value(entry)}{text[end:]}"
    column = _column(text, pairs[0]) if pairs else _column(text, pair) + 2
    if not pairs:  # `extensions:`, `extensions: {}` or `extensions: null`
        before = text[:start].rstrip(" \t") if start < end else text[:start]
        text = f"{before}{text[end:]}"
    newline = _newline(text)
    at = _next_line_start(text, pair[0].end_mark.index)
    before = text[:at] if text[:at].endswith("\n") else f"{text[:at]}{newline}"
    lines = yaml_lines(entry, " " * column)
    return before + "".join(f"{line}{newline}" for line in lines) + text[at:]


def _add_in_flow(text: str, parent: yaml.Node, key: str, value: object) -> str:
    at = parent.start_mark.index + 1
    comma = ", " if parent.value else ""
    return f"{text[:at]}{yaml_key(key)}: {flat_value(value)}{comma}{text[at:]}"


def _shown(text: str, key: str, value: object, column: int, *, is_flow: bool) -> str:
    """Return an entry, to be written at `column`."""
    if is_flow or not isinstance(value, Mapping):
        return f"{yaml_key(key)}: {flat_value(value)}"
    indent = " " * column
    return _newline(text).join(yaml_lines({key: cast("object", value)}, indent)).removeprefix(indent)


def _start(pair: _Pair) -> int:
    return pair[0].start_mark.index


def _content_end(pair: _Pair) -> int:
    """Return where an entry ends. The marks of the parser include the comments and blank lines after it."""
    key, node = pair
    while isinstance(node, (yaml.MappingNode, yaml.SequenceNode)) and not node.flow_style and node.value:
        last: object = cast("list[object]", node.value)[-1]
        key, node = cast("_Pair", last) if isinstance(last, tuple) else (key, cast("yaml.Node", last))
    return max(node.end_mark.index, key.end_mark.index)


def _column(text: str, pair: _Pair) -> int:
    """Return the column of the first character on the line of an entry. A key may follow `?`."""
    line = text[_line_start(text, _start(pair)) :]
    return len(line) - len(line.lstrip(" "))


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _next_line_start(text: str, at: int) -> int:
    """Return the start of the line after `at`, or `at` if it is already the start of a line.

    A block scalar ends at the start of the next line.
    """
    if text[at - 1 : at] == "\n":
        return at
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"

"""Render the entry of a server as JSON, TOML or YAML."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

from skillwire.config.clients.files import Format, as_object

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that are not strings in some versions of YAML."""
_TOML_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def render(format: Format, keys: Sequence[str], name: str, fields: Mapping[str, object]) -> str:  # noqa: A002 - the usual word
    """Return the text of a file that contains one server alone, ending with a line break."""
    if format is Format.TOML:
        return toml_table((*keys, name), fields)
    nested: object = {name: fields}
    for key in reversed(keys):
        nested = {key: nested}
    if format is Format.YAML:
        return "".join(f"{line}\n" for line in yaml_lines(cast("Mapping[str, object]", nested)))
    return f"{json_value(nested)}\n"


def json_value(value: object, indent: str = "  ", start: str = "", newline: str = "\n") -> str:
    """Return a value as indented JSON. All lines except the first begin with `start`."""
    text = json.dumps(value, ensure_ascii=False, indent=indent).replace("\x7f", "\\u007f")
    return text.replace("\n", f"{newline}{start}")


def flat_value(value: object) -> str:
    """Return a value on one line, as JSON that is also valid YAML and, without objects, valid TOML."""
    return _escaped(json.dumps(value, ensure_ascii=False))


def toml_table(path: Sequence[str], fields: Mapping[str, object], newline: str = "\n") -> str:
    """Return a TOML table with its header."""
    header = ".".join(toml_key(part) for part in path)
    lines = [f"[{header}]", *(f"{toml_key(key)} = {flat_value(value)}" for key, value in fields.items())]
    return "".join(f"{line}{newline}" for line in lines)


def toml_key(key: str) -> str:
    return key if _TOML_KEY.fullmatch(key) else flat_value(key)


def yaml_lines(fields: Mapping[str, object], indent: str = "") -> list[str]:
    """Return the lines of a YAML mapping. Strings are quoted, so that no version of YAML changes them."""
    lines: list[str] = []
    for key, value in fields.items():
        start = f"{indent}{yaml_key(key)}:"
        if inner := as_object(value):
            lines += [start, *yaml_lines(inner, f"{indent}  ")]
        else:
            lines.append(f"{start} {flat_value(value)}")
    return lines


def yaml_key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS else flat_value(key)


def _escaped(text: str) -> str:
    """Escape the characters in a JSON text that YAML or TOML do not allow in a string."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

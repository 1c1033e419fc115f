"""Put values in quotes that YAML refuses, if they can only be text."""

import re

from yaml import YAMLError

from skillwire.core.problem import Rule
from skillwire.frontmatter.pyyaml import parse
from skillwire.frontmatter.split import OPENING, UnreadableError, split
from skillwire.frontmatter.writer import format_scalar
from skillwire.frontmatter.yaml12 import load

REFUSED = frozenset({Rule.FRONTMATTER_YAML, Rule.YAML_ANCHOR, Rule.YAML_TAG})
"""The rules of frontmatter that quotes around a value may make readable."""
_TEXT_FIELDS = "name|description|license|compatibility|when_to_use|argument-hint|model|context|agent|shell"
_FIELD = re.compile(rf"(?P<key>{_TEXT_FIELDS}):[ \t]+(?P<value>\S(?:.*\S)?)[ \t]*")
# A value may be meant as something else: text in quotes without their end, a block scalar, a list in brackets
# without their end, or a list in lines. A `#` after a space may begin a comment.
_OTHER_READING = re.compile(r"[\"'|>]|[-?:](?:\s|\Z)|\[[^\]]*\Z|\{[^}]*\Z|.*\s#|#")


def quote_refused_values(content: bytes) -> bytes | None:
    """Return the content of a `SKILL.md` with quotes around the values that make its frontmatter unreadable.

    Only a plain value on one line, of a field whose value is text, gets quotes. Returns None if there is no
    such value, or if the frontmatter is unreadable for another reason, too.
    """
    try:
        parts = split(content)
    except UnreadableError:
        return None
    # The newline of the file stays at the end of each line.
    lines = content[parts.start : parts.end].decode().split("\n")
    texts: dict[str, str] = {}
    for at, line in enumerate(lines):
        field = _FIELD.fullmatch(line.removesuffix("\r"))
        if field is None or _is_indented(lines, at + 1) or not _is_refused(field):
            continue
        key, value = field["key"], field["value"]
        texts[key] = value
        lines[at] = f"{key}: {format_scalar(value)}" + ("\r" if line.endswith("\r") else "")
    after = content[: parts.start] + "\n".join(lines).encode() + content[parts.end :]
    try:
        fields = load(split(after).text).values
    except UnreadableError:
        return None
    return after if texts and all(fields.get(key) == value for key, value in texts.items()) else None


def _is_indented(lines: list[str], start: int) -> bool:
    """Return whether the next line with text is indented, so that it may continue a value."""
    following = next((line for line in lines[start:] if line.strip()), "")
    return following.startswith((" ", "\t"))


def _is_refused(field: re.Match[str]) -> bool:
    """Return whether YAML refuses a line, and its value can only be text."""
    if _OTHER_READING.match(field["value"]):
        return False
    try:
        for _ in parse(f"{OPENING}{field[0]}\n"):
            pass
    except (YAMLError, ValueError, OverflowError):
        return True
    return False

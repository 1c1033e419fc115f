"""JSON as people write it: with comments, and a comma too many at the end."""

import json
import re

# What has no end ends with the text: so each character is looked at once, whatever a file holds.
_STRING = r'"(?:\\.|[^"\\])*"?'
_COMMENT = re.compile(rf"(?P<kept>{_STRING})|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"(?P<kept>{_STRING})|,(?=\s*[}}\]])", re.DOTALL)


def parse_jsonc(text: str) -> object:
    """Return the value in `text`. Raises `ValueError`, with the line and column in `text`."""
    return json.loads(_LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text)))


def _blank(match: re.Match[str]) -> str:
    """Leave spaces where something was, so that lines and columns stay what they are."""
    return match["kept"] or re.sub(r"[^\r\n]", " ", match[0])

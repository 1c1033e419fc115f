"""A description for a text that comes without one: its first paragraph that is no heading."""

import re

_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_FENCES = ("```", "~~~")
MAX_DESCRIPTION = 1024


def described(text: str) -> str:
    """Return the first paragraph of a Markdown text that is no heading, on one line; `` if there is none."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    for paragraph in _PARAGRAPHS.split(plain):
        if paragraph.lstrip().startswith(_FENCES):
            continue
        lines = [line.strip() for line in paragraph.splitlines() if not _is_heading(line)]
        if found := " ".join(line for line in lines if line):
            return found[:MAX_DESCRIPTION]
    return ""


def _is_heading(line: str) -> bool:
    stripped = line.strip()
    return stripped.startswith("#") or (bool(stripped) and not stripped.strip("=-*_ "))

"""Labels for servers and folders: validate a label, or create one from a name, URL or command."""

import re
from collections.abc import Container, Sequence
from itertools import chain, count
from urllib.parse import urlsplit

from skillwire.errors import InvalidValueError

LABEL_LENGTH = 64
LABEL_RULE = "1-64 letters, digits, dots, underscores and hyphens, the first a letter or digit"
"""The rule for labels. A label also serves as a folder name, and as the first part of a `skill://` URI."""

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_WORDS = 3
"""Maximum number of words from a command in its label, including the program's name.

Only leading options are skipped. Words after a later option are not used, because they may be secret.
"""
_SECRET_OPTION = re.compile(r"--?.*(?:token|secret|passw|key|auth|credential|header)", re.IGNORECASE)
"""Matches an option whose value may be a secret."""


def is_label(text: str) -> bool:
    return len(text) <= LABEL_LENGTH and _LABEL.fullmatch(text) is not None


def validate_label(text: str) -> str:
    """Return `text` if it is a valid label. Raises `InvalidValueError`."""
    if not is_label(text):
        raise InvalidValueError("label", text, LABEL_RULE)
    return text


def slug(text: str) -> str:
    """Return `text` as a valid label: other characters become hyphens, and the end may be cut off.

    Returns `server` if no valid character is left.
    """
    return _UNSAFE_CHARACTERS.sub("-", text).strip("._-")[:LABEL_LENGTH].rstrip("._-") or "server"


def url_slug(url: str) -> str:
    """Return a label for a URL, created from its host, port and path only; `server` for an invalid URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return slug("")
    return slug(f"{parts.netloc.rpartition('@')[2]}{parts.path}")


def command_slug(command: Sequence[str]) -> str:
    """Return a label for a command, created from the program's name and the first other words.

    Options before these words are skipped, and so is the value of an option that may be a secret. The words
    end at the next option or at a word with `=`.
    """
    program, *words = command
    while words and words[0].startswith("-"):
        has_secret = _SECRET_OPTION.match(words[0]) and "=" not in words[0]
        del words[: 2 if has_secret else 1]
    named = [program]
    for word in words:
        if word.startswith("-") or "=" in word or len(named) == _WORDS:
            break
        named.append(word)
    return slug(" ".join(map(_last_part, named)))


def unique_label(label: str, taken: Container[str]) -> str:
    """Return `label`, or the first of `label-2`, `label-3`, … that is not taken.

    The labels in `taken` are case-folded, because some file systems ignore case.
    """
    numbered = (f"{label[: LABEL_LENGTH - len(end)]}{end}" for end in (f"-{number}" for number in count(2)))
    return next(each for each in chain([label], numbered) if each.casefold() not in taken)


def _last_part(word: str) -> str:
    """Return the file name if a word is a path; otherwise the word itself."""
    return re.split(r"[/\\]", word)[-1] if re.match(r"[./~\\]|[A-Za-z]:[/\\]", word) else word

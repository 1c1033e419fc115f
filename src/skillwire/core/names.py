"""Rules for skill names and file paths, suggestions for misspelled names, and skill URIs."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import islice
from urllib.parse import quote, unquote

MAX_NAME_LENGTH = 64
NAME_RULE = "lowercase letters, digits and single hyphens (1-64 characters)"

_MAX_WORD_LENGTH = 64
"""Maximum length of a word that is compared with names. A longer word cannot be a misspelled name."""
_MAX_COMPARED = 20_000
"""Maximum number of names with which a word is compared."""
_MAX_COMPARED_EXACTLY = 8
"""Maximum number of names that are compared exactly, after a fast comparison has selected them."""
_CUTOFF = 0.6
"""Default minimum similarity of a name, from 0 to 1."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
# Limits of common file systems. `_LEVELS` also limits the data that is stored for the folders above a file.
_PATH_BYTES = 1024
_NAME_BYTES = 255
_LEVELS = 64
_FORBIDDEN_SEGMENTS = {
    "": "has an empty name in its path",
    ".": "has `.` in its path",
    "..": "has `..` in its path",
}
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *([.:].*)?", re.IGNORECASE)
SCHEME = "skill://"
SKILL_FILE = "SKILL.md"
EVALS_FOLDER = "evals"
"""The folder of a skill with its eval cases. Models must not read the expected answers in it."""
# RFC 3986. The first segment is the authority of the URI, so it must be a reg-name; the others may also
# contain `:` and `@`.
_REG_NAME = "!$&'()*+,;="
_SEGMENT = _REG_NAME + ":@"


def is_skill_name(text: str) -> bool:
    """Return whether `text` may name a skill: 1-64 of `a-z0-9-`, no leading, trailing or double hyphen."""
    return len(text) <= MAX_NAME_LENGTH and _NAME.fullmatch(text) is not None


def suggest_name(text: str) -> str:
    """Return a valid name made from `text`: in lower case, with hyphens in place of other characters.

    Return an empty string if `text` has no valid character.
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MAX_NAME_LENGTH].rstrip("-")


def find_close_matches(word: str, known: Iterable[str], number: int, *, cutoff: float = _CUTOFF) -> list[str]:
    """Return at most `number` known names that are most similar to `word`, best first. Ignore case.

    `cutoff` is the minimum similarity, from 0 to 1. A fast comparison of letter pairs selects the best eight
    of the first 20,000 names. Only these eight are compared exactly. A word of more than 64 characters has no
    matches.
    """
    if len(word) > _MAX_WORD_LENGTH:
        return []
    import difflib  # noqa: PLC0415 - only after a typo

    word = word.lower()
    pairs = _pairs(word)
    shortest, longest = len(word) * _CUTOFF / (2 - _CUTOFF), len(word) * (2 - _CUTOFF) / _CUTOFF
    fitting = (name for name in islice(known, _MAX_COMPARED) if shortest <= len(name) <= longest)

    def shared(name: str) -> float:
        own = _pairs(name.lower())
        return len(pairs & own) / (len(pairs) + len(own))

    best = nlargest(_MAX_COMPARED_EXACTLY, fitting, key=shared)
    names = {name.lower(): name for name in reversed(best)}
    return [names[each] for each in difflib.get_close_matches(word, names, n=number, cutoff=cutoff)]


def _pairs(word: str) -> set[tuple[str, str]]:
    """Return all pairs of adjacent letters. The beginning and end of the word count as letters."""
    return set(zip(f" {word}", f"{word} ", strict=True))


def name_fault(name: str) -> str | None:
    """Return why a file or folder with this name cannot be published, or None if it can."""
    if name in {"", ".", ".."}:
        return "is empty or points elsewhere"
    if "\\" in name or "/" in name:
        return "contains a path separator"
    if name.isascii():
        return None if name.isprintable() else "contains a control character"
    for character in name:
        category = unicodedata.category(character)
        if category == "Cs":  # a byte that Python could not decode
            return "is not UTF-8"
        if category == "Cc":
            return "contains a control character"
    return None


def path_fault(path: str) -> str | None:
    """Return why a file at this relative path cannot be published, or None if it can."""
    return next((fault for name in path.split("/") if (fault := name_fault(name))), None)


def portable_fault(path: str) -> str | None:
    """Return why some systems cannot store a file at this relative path, or None if all systems can."""
    if path.startswith("/"):
        return "is an absolute path"
    if len(path.encode(errors="replace")) > _PATH_BYTES or path.count("/") >= _LEVELS:
        return f"is longer than {_PATH_BYTES:,} bytes or {_LEVELS} names"
    for name in path.split("/"):
        if fault := _FORBIDDEN_SEGMENTS.get(name) or name_fault(name) or _portability_fault(name):
            return fault
    return None


def _portability_fault(name: str) -> str | None:
    """Return why some systems cannot store a file or folder with this name, or None if all systems can."""
    if _DRIVE.match(name):
        return "contains a drive letter"
    if _DEVICE.fullmatch(name):
        return "has the name of a Windows device in its path"
    if name.endswith((".", " ")):
        return "has a name in its path that ends in a dot or a space, which Windows drops"
    if len(name.encode()) > _NAME_BYTES:
        return f"has a name of more than {_NAME_BYTES} bytes in its path"
    return None


def parent_paths(path: str) -> list[str]:
    """Return the paths of the folders above a relative path, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def collision_key(path: str) -> str:
    """Return a key that is equal for paths that some file systems treat as the same (H7).

    Such paths differ only in upper and lower case, or in their Unicode form.
    """
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


_needs_no_escape = re.compile(r"[A-Za-z0-9._~/-]*").fullmatch
"""Matches a path that needs no percent-encoding. Most paths match, and this check is faster than encoding."""


def is_plain_path(path: str) -> bool:
    """Return whether a relative path is the same in a URI, without percent-encoding."""
    return _needs_no_escape(path) is not None


def root_uri(skill_path: Iterable[str]) -> str:
    """Return the URI of the folder with these path segments, without a trailing slash (S5)."""
    first, *rest = skill_path = tuple(skill_path)
    if _needs_no_escape(joined := "/".join(skill_path)) and joined.count("/") == len(rest):
        return SCHEME + joined
    return "/".join(
        [SCHEME + _quote_segment(first, _REG_NAME), *(_quote_segment(part, _SEGMENT) for part in rest)]
    )


def skill_uri(path: str) -> str:
    """Return the URI of the `SKILL.md` of the skill at this path, whose segments are separated by `/`."""
    root = SCHEME + path if _needs_no_escape(path) else root_uri(path.split("/"))
    return f"{root}/{SKILL_FILE}"


def file_uri(root: str, path: str) -> str:
    """Return the URI of the file or folder at `path`, relative to the folder with the URI `root`."""
    return f"{root}/{path if _needs_no_escape(path) else quote(path, safe=_SEGMENT + '/')}"


def parent_uri(uri: str) -> str | None:
    """Return the URI of the folder that contains `uri`, or None if `uri` has only one segment."""
    head, separator, _ = uri.removeprefix(SCHEME).rpartition("/")
    return SCHEME + head if separator else None


def parents(uri: str) -> Iterator[str]:
    """Yield the URIs of the folders above `uri`, nearest first."""
    end = uri.rfind("/", len(SCHEME))
    while end >= 0:
        yield uri[:end]
        end = uri.rfind("/", len(SCHEME), end)


def last_segment(uri: str) -> str:
    """Return the text after the last slash of a URI, decoded."""
    return unquote(uri.rpartition("/")[2])


def _quote_segment(segment: str, safe: str) -> str:
    return segment if "/" not in segment and _needs_no_escape(segment) else quote(segment, safe=safe)

"""The rule for a skill's name, in one place, and how to find a name that was mistyped."""

import re
from collections.abc import Iterable
from heapq import nlargest
from itertools import islice

NAME_LENGTH = 64
NAME_RULE = "lowercase letters, digits and single hyphens (1-64 characters)"

_MISTYPED = 64
"""Characters of a word that is compared with others. A longer one is no typing error."""
_COMPARED = 20_000
"""Names that a word is compared with."""
_EXACTLY = 8
"""Names that are compared exactly."""
_CUTOFF = 0.6
"""How similar a name must be, from 0 to 1."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)


def is_skill_name(text: str) -> bool:
    """Whether `text` may name a skill: 1-64 of `a-z0-9-`, no leading, trailing or double hyphen."""
    return len(text) <= NAME_LENGTH and _NAME.fullmatch(text) is not None


def proposed_name(text: str) -> str:
    """Return the legal name nearest to `text`, or `` if nothing of it is left."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:NAME_LENGTH].rstrip("-")


def closest(word: str, known: Iterable[str], number: int) -> list[str]:
    """Return at most `number` of the known names, those that `word` is most likely a typing error for.

    All names are compared by their pairs of letters, which is fast. Only the best are compared exactly.
    """
    if len(word) > _MISTYPED:
        return []
    import difflib  # noqa: PLC0415 - only after a typing error

    pairs = _pairs(word)
    shortest, longest = len(word) * _CUTOFF / (2 - _CUTOFF), len(word) * (2 - _CUTOFF) / _CUTOFF
    fitting = (name for name in islice(known, _COMPARED) if shortest <= len(name) <= longest)

    def shared(name: str) -> float:
        own = _pairs(name)
        return len(pairs & own) / (len(pairs) + len(own))

    best = nlargest(_EXACTLY, fitting, key=shared)
    return difflib.get_close_matches(word, best, n=number, cutoff=_CUTOFF)


def _pairs(word: str) -> set[tuple[str, str]]:
    """Return each pair of neighbours, with marks for the beginning and the end."""
    return set(zip(f" {word}", f"{word} ", strict=True))

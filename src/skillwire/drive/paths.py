"""The grammar of live paths, and the rules by which a registered path matches a requested path."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

from skillwire.core.names import NAME_RULE, is_skill_name
from skillwire.errors import InvalidValueError
from skillwire.safe_text import quoted

SKILL_LEAVES = ("skill.md", "SKILL.md")
PROMPT_LEAVES = ("prompt.md", "PROMPT.md")
PATH_RULE = (
    "a path such as `/orders/:id/skill.md`: a slash before each segment, each of `a-z0-9_-` "
    "(after one `.` or, for a parameter, one `:`), and `skill.md` or `prompt.md` only at its end"
)
MAX_PATH = 1024
"""Maximum number of characters in a path."""

_LEAVES = frozenset({*SKILL_LEAVES, *PROMPT_LEAVES})
_STATIC = re.compile(r"\.?[a-z0-9][a-z0-9_-]*", re.ASCII)
_PARAMETER = re.compile(r":[a-z0-9][a-z0-9_-]*", re.ASCII)


class SegmentKind(IntEnum):
    """The kind of a segment. If several paths match a request, a smaller kind takes precedence."""

    STATIC = 0
    LEAF = 1
    PARAMETER = 2


@dataclass(frozen=True, slots=True)
class LivePath:
    """A valid path. A path with parameters is a pattern; a path without parameters can be requested."""

    text: str
    segments: tuple[str, ...]
    kinds: tuple[SegmentKind, ...]
    """The kind of each segment. If several paths match a request, these are compared from left to right."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a path. Raises `InvalidValueError`."""
        head, *segments = text.split("/")
        kinds = [_kind(segment) for segment in segments]
        fits = [kind for kind in kinds if kind is not None]
        if (
            head
            or not segments
            or len(text) > MAX_PATH
            or len(fits) < len(kinds)
            or SegmentKind.LEAF in fits[:-1]
        ):
            raise InvalidValueError("path", text, PATH_RULE)
        return cls(text, tuple(segments), tuple(fits))

    @property
    def leaf(self) -> str | None:
        """The reserved name at the end, which makes the path a skill or a prompt; None for an endpoint."""
        return self.segments[-1] if self.kinds[-1] is SegmentKind.LEAF else None

    @property
    def folder(self) -> tuple[str, ...]:
        """The segments before the leaf. All segments if there is no leaf."""
        return self.segments[:-1] if self.leaf else self.segments

    @property
    def name_fault(self) -> str:
        """Why the path contains no valid name of a skill, so that it is not listed; empty if it does."""
        if self.parameters or (self.folder and is_skill_name(self.folder[-1])):
            return ""
        return (
            f"{quoted(self.folder[-1])} is not {NAME_RULE}"
            if self.folder
            else "it has no folder to be named after"
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the path's parameters, without the colon."""
        return tuple(
            segment[1:]
            for segment, kind in zip(self.segments, self.kinds, strict=True)
            if kind is SegmentKind.PARAMETER
        )

    @property
    def depth(self) -> int:
        """The path's level in listings: 1 for up to three segments, and 1 more for each further segment."""
        return max(1, len(self.segments) - 2)

    def match(self, requested: "LivePath") -> dict[str, str] | None:
        """Return the values of the parameters in `requested`, or None if this path does not match it."""
        if len(self.segments) != len(requested.segments):
            return None
        params: dict[str, str] = {}
        for own, kind, other in zip(self.segments, self.kinds, requested.segments, strict=True):
            if kind is SegmentKind.PARAMETER:
                params[own[1:]] = other
            elif own != other:
                return None
        return params


def _kind(segment: str) -> SegmentKind | None:
    if segment in _LEAVES:
        return SegmentKind.LEAF
    if _STATIC.fullmatch(segment):
        return SegmentKind.STATIC
    return SegmentKind.PARAMETER if _PARAMETER.fullmatch(segment) else None


def best_match(paths: Iterable[LivePath], requested: LivePath) -> tuple[LivePath, dict[str, str]] | None:
    """Return the path that matches `requested` best, with the values of its parameters.

    Return the first of several equally good paths, and None if no path matches.
    """
    found: tuple[LivePath, dict[str, str]] | None = None
    for path in paths:
        params = path.match(requested)
        if params is not None and (found is None or path.kinds < found[0].kinds):
            found = path, params
    return found

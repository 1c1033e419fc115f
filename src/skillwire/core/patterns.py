"""Patterns that select skills by name, path or tag, and a search in their texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import cast

import orjson

from skillwire.core.record import Json
from skillwire.errors import UsageError
from skillwire.safe_text import quoted

TAG = "tag:"
"""Prefix of a selector that is the name of a tag."""
_WILDCARDS = frozenset("*?[")
_MAX_LENGTH = 1000
"""Maximum number of characters of a pattern."""
_MAX_TAGS_TEXT = 10_000


def is_pattern(text: str) -> bool:
    """Return whether a text is a pattern. A URI and a name without wildcards are not."""
    return "://" not in text and not _WILDCARDS.isdisjoint(text)


def matches(pattern: str, name: str, path: str) -> bool:
    """Return whether a pattern matches the whole name or the whole path of a skill.

    `*` stands for any text, also with slashes. Case is significant.
    """
    return fnmatchcase(name, pattern) or fnmatchcase(path, pattern)


@dataclass(frozen=True, slots=True)
class TextFilter:
    """Finds skills by a text in their name, path or description, or by a pattern for one of them."""

    text: str

    def accepts(self, *fields: str) -> bool:
        """Return whether one of the fields contains the text, or matches the pattern. Case is ignored."""
        wanted = self.text.casefold()
        if is_pattern(wanted):
            return any(fnmatchcase(each.casefold(), wanted) for each in fields)
        return any(wanted in each.casefold() for each in fields)


def tags_of(frontmatter: Mapping[str, Json]) -> frozenset[str]:
    """Return the tags of a skill.

    Tags are in the field `tags`, in `metadata`, or in a mapping such as the contract block `x-skillwire`.
    A block that was projected into `metadata` has its tags as JSON, as in `x-skillwire.tags`.
    """
    blocks = [frontmatter, *(value for value in frontmatter.values() if isinstance(value, dict))]
    found = {tag for block in blocks for tag in _texts(block.get("tags"))}
    metadata = frontmatter.get("metadata")
    if isinstance(metadata, dict):
        nested = (value for value in metadata.values() if isinstance(value, dict))
        found.update(tag for block in nested for tag in _texts(block.get("tags")))
        projected = (value for key, value in metadata.items() if key.endswith(".tags"))
        found.update(tag for value in projected for tag in _texts(_parsed(value)))
    return frozenset(found)


def _texts(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _parsed(value: Json) -> Json:
    """Return a value that is written as JSON, or the value itself."""
    if not isinstance(value, str) or len(value) > _MAX_TAGS_TEXT:
        return None
    try:
        return cast("Json", orjson.loads(value))
    except orjson.JSONDecodeError:
        return value


@dataclass(frozen=True, slots=True)
class Selection:
    """Which skills are served: those that match `only`, without those that match `exclude`.

    A selector is a pattern for the name or path, or `tag:NAME`. Without `only`, every skill matches.
    """

    only: Sequence[str] = ()
    exclude: Sequence[str] = ()
    used: set[str] = field(default_factory=set[str], compare=False)
    """The selectors that have matched a skill so far."""

    def __post_init__(self) -> None:
        """Raise `UsageError` for an empty or very long selector."""
        for selector in (*self.only, *self.exclude):
            if not selector.removeprefix(TAG).strip():
                hint = f"write a pattern such as `team/*`, or `{TAG}NAME`"
                raise UsageError(f"{quoted(selector)} selects no skill", hint=hint)
            if len(selector) > _MAX_LENGTH:
                raise UsageError(f"{quoted(selector)} is longer than {_MAX_LENGTH:,} characters")

    def __bool__(self) -> bool:
        return bool(self.only or self.exclude)

    def accepts(self, name: str, path: str, frontmatter: Mapping[str, Json]) -> bool:
        """Return whether a skill is served, and record the selectors that match it."""
        tags = tags_of(frontmatter)
        found = {each for each in (*self.only, *self.exclude) if _selects(each, name, path, tags)}
        self.used.update(found)
        return (not self.only or not found.isdisjoint(self.only)) and found.isdisjoint(self.exclude)

    def unused(self) -> list[str]:
        """Return the selectors that have matched no skill so far."""
        return [each for each in dict.fromkeys((*self.only, *self.exclude)) if each not in self.used]


def _selects(selector: str, name: str, path: str, tags: frozenset[str]) -> bool:
    if selector.startswith(TAG):
        return any(fnmatchcase(tag, selector.removeprefix(TAG)) for tag in tags)
    return matches(selector, name, path)

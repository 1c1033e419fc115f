"""Changing a few characters of a frontmatter, and nothing else of its file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from skillwire.model.entry import Json
from skillwire.skillmd.frontmatter import OPENING, split
from skillwire.skillmd.places import Place, Way, places_in
from skillwire.skillmd.yaml12 import load


@dataclass(frozen=True, slots=True)
class Edit:
    """What to write instead of a part of the text. Line breaks are `\\n`; the file keeps its own."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The frontmatter of a file, ready to be edited."""

    content: bytes
    text: str
    values: Mapping[str, Json]
    places: Mapping[Way, Place]

    @classmethod
    def of(cls, content: bytes) -> "Draft":
        """Read a file. Raises `UnreadableError`."""
        text = split(content).text
        return cls(content, text, load(text).values, places_in(text))

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Return the file with these edits, which do not overlap: every other byte is as it was."""
        parts = split(self.content)
        source = self.content[parts.start : parts.end].decode()
        offsets = _offsets(source)
        newline = "\r\n" if "\r\n" in source else "\n"
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            start, end = (offsets[at - len(OPENING)] for at in (edit.start, edit.end))
            source = source[:start] + edit.text.replace("\n", newline) + source[end:]
        return self.content[: parts.start] + source.encode() + self.content[parts.end :]

    def line_start(self, at: int) -> int:
        """Return where the line begins that holds the character at `at`."""
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Return where the line after the one that holds `at` begins."""
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1


def _offsets(source: str) -> list[int]:
    """Return, for each character of `source` with `\\n` for `\\r\\n`, where it is; and where the end is."""
    kept = (at for at in range(len(source)) if source[max(at - 1, 0) : at + 1] != "\r\n")
    return [*kept, len(source)]

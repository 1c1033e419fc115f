"""Edit the frontmatter of a file. All other bytes stay the same."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from skillwire.core.record import Json
from skillwire.frontmatter.positions import FieldPath, Position, find_positions
from skillwire.frontmatter.split import OPENING, split
from skillwire.frontmatter.yaml12 import load


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement for the characters from `start` to `end` of `EditableFrontmatter.text`.

    Line breaks in `text` are `\\n`. They are written in the style of the file.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class EditableFrontmatter:
    """The frontmatter of a file, with the positions needed to edit it."""

    content: bytes
    text: str
    values: Mapping[str, Json]
    places: Mapping[FieldPath, Position]

    @classmethod
    def of(cls, content: bytes) -> "EditableFrontmatter":
        """Parse the content of a `SKILL.md`. Raises `UnreadableError`."""
        text = split(content).text
        return cls(content, text, load(text).values, find_positions(text))

    def apply_edits(self, edits: Iterable[Edit]) -> bytes:
        """Return the `SKILL.md` with these edits, which must not overlap. All other bytes stay the same."""
        parts = split(self.content)
        source = self.content[parts.start : parts.end].decode()
        offsets = _offsets(source)
        newline = "\r\n" if "\r\n" in source else "\n"
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            start, end = (offsets[at - len(OPENING)] for at in (edit.start, edit.end))
            source = source[:start] + edit.text.replace("\n", newline) + source[end:]
        return self.content[: parts.start] + source.encode() + self.content[parts.end :]

    def line_start(self, at: int) -> int:
        """Return the offset at which the line that contains `at` begins."""
        return self.text.rfind("\n", 0, at) + 1

    def line_start_of(self, line: int) -> int:
        """Return the offset at which a line begins. Lines count from 1."""
        return sum(len(each) + 1 for each in self.text.split("\n")[: line - 1])

    def line_end(self, at: int) -> int:
        """Return the offset after the line that contains `at`."""
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1


def _offsets(source: str) -> list[int]:
    """Return the offset of each character in `source`, and of its end. `\\r\\n` counts as one character."""
    positions = (at for at in range(len(source)) if source[max(at - 1, 0) : at + 1] != "\r\n")
    return [*positions, len(source)]


def replace_value(draft: EditableFrontmatter, field_path: FieldPath, text: str) -> Iterator[Edit]:
    """Yield the edit that replaces the value of a field. Yield nothing if a comment would be lost."""
    place = draft.places[field_path]
    written = draft.text[place.start : place.end]
    # The first line of a block scalar may end in a comment. The text of a block scalar ends in a line break,
    # which must stay.
    if not (written.startswith(("|", ">")) and "#" in written.partition("\n")[0]):
        yield Edit(place.start, place.end, text + ("\n" if written.endswith("\n") else ""))

"""The interface of an embedder, which turns texts into vectors, and what is embedded of a skill."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillwire.core.record import LiveFile, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.errors import SkillwireError
from skillwire.search.document import HEADING, MAX_HEADINGS, Searchable, body_of, has_indexed_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float64]
    """One vector in each row."""

MAX_DIMENSIONS = 4096
MAX_SUMMARY = 4_000
"""Maximum number of characters of a name and description that are embedded."""
MAX_BODY = 4_000
"""Maximum number of characters of the text of a `SKILL.md` that are embedded. Later headings are, too."""


class EmbeddingError(SkillwireError):
    """Texts could not be embedded. The message says why, in words for the operator."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The parts of a skill that are embedded."""

    summary: str
    """The name and the description."""
    headings: str = ""
    body: str = ""


class Embedder(ABC):
    """Turns texts into vectors. Texts with a similar meaning have similar vectors."""

    key: str
    """Names the model and everything else that vectors depend on. It is stored with vectors."""
    batch: int
    """The number of passages that are embedded together."""

    @abstractmethod
    async def embed_passages(self, passages: Sequence[Passage]) -> "Vectors":
        """Return a vector for each passage. Raises `EmbeddingError`."""

    @abstractmethod
    async def embed_query(self, query: str) -> "Vectors":
        """Return the vector of a query, as one row. Raises `EmbeddingError`."""


def passage_of(entry: Searchable, text: str = "") -> Passage:
    """Return what is embedded of a skill or template. `text` is its `SKILL.md`."""
    if isinstance(entry, SkillTemplate):
        name, description = entry.path.rpartition("/")[2], entry.description
    else:
        name, description = entry.name, entry.shown_description
    body = body_of(text)
    return Passage(
        f"{name.replace('-', ' ')}. {description}"[:MAX_SUMMARY],
        "\n".join(HEADING.findall(f"\n{body}"))[:MAX_HEADINGS],
        body[:MAX_BODY],
    )


def passage_identity(entry: Searchable) -> str:
    """Return a text that differs whenever the passage of an entry differs, without reading its file."""
    if isinstance(entry, SkillTemplate):
        return f"{entry.path}\0{entry.description}"
    main = entry.files[0]
    content = "" if isinstance(main, LiveFile) or not has_indexed_text(entry) else main.digest.text
    return f"{entry.name}\0{entry.shown_description}\0{content}"


def is_read(entry: Searchable) -> bool:
    """Return whether the text of a skill is embedded, besides its entry."""
    return isinstance(entry, SkillRecord) and has_indexed_text(entry)

"""The local model: WordLlama's static embeddings, which its package contains. Nothing is downloaded.

A static model has one vector for each token, whatever the tokens around it. The vector of a text is the mean
of its tokens. The files are read here, because importing the package `wordllama` configures the logging of
the whole process, and it may download what it does not find.
"""

from collections.abc import Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import numpy as np

from skillwire.search.semantic.embedder import Embedder, EmbeddingError, Passage

if TYPE_CHECKING:
    from skillwire.search.semantic.embedder import Vectors

_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_TENSOR = "embedding.weight"
_SUMMARY, _HEADINGS, _BODY = 1.0, 0.5, 1.0
"""What the parts of a passage count, however long they are."""
_SHORT_HEADINGS, _SHORT_BODY = 200, 800
"""Number of characters below which headings, or a text, count less. Few words say little about a skill."""
_FORMAT = 1
"""Changes whenever vectors are computed in another way."""


class LocalModel(Embedder):
    """WordLlama with 256 dimensions. The files are loaded by the first text."""

    batch = 32

    def __init__(self) -> None:
        """Create the model. Raises `EmbeddingError` if it is not installed."""
        self._folder = model_folder()
        self.key = f"wordllama {version('wordllama')} {_FORMAT}"
        self._loaded: tuple[Any, Any] | None = None

    async def embed_passages(self, passages: Sequence[Passage]) -> "Vectors":
        return await anyio.to_thread.run_sync(partial(self._passages, passages))

    async def embed_query(self, query: str) -> "Vectors":
        return await anyio.to_thread.run_sync(lambda: self._means([query]))

    def _passages(self, passages: Sequence[Passage]) -> "Vectors":
        headings, bodies = [each.headings for each in passages], [each.body for each in passages]
        return (
            _SUMMARY * self._means([each.summary for each in passages])
            + _HEADINGS * _shares(headings, _SHORT_HEADINGS) * self._means(headings)
            + _BODY * _shares(bodies, _SHORT_BODY) * self._means(bodies)
        )

    def _means(self, texts: Sequence[str]) -> "Vectors":
        """Return the mean of the tokens of each text, with length 1; zeros for a text without tokens."""
        tokenizer, embedding = self._load()
        found = np.zeros((len(texts), embedding.shape[1]))
        for row, text in enumerate(texts):
            clean = text.encode(errors="replace").decode()  # lone surrogates are no text for the tokenizer
            tokens: list[int] = tokenizer.encode(clean, add_special_tokens=False).ids
            if tokens:
                mean = embedding[np.minimum(tokens, len(embedding) - 1)].sum(axis=0, dtype=np.float64)
                if length := float(np.sqrt((mean * mean).sum())):
                    found[row] = mean / length
        return found

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            from safetensors import safe_open  # noqa: PLC0415 - a start does not wait for it
            from tokenizers import Tokenizer  # noqa: PLC0415

            try:
                tokenizer = Tokenizer.from_file(str(self._folder / _TOKENIZER))
                embedding: Any = _tensor(safe_open, self._folder / _WEIGHTS)
            except Exception as error:  # both libraries raise their own kinds
                raise EmbeddingError(f"the local model cannot be loaded: {error}") from error
            tokenizer.no_padding()
            tokenizer.no_truncation()
            self._loaded = tokenizer, embedding
        return self._loaded


def _shares(texts: Sequence[str], full: int) -> "Vectors":
    """Return what each text counts: 1 from `full` characters on, and less below."""
    return np.array([[min(1.0, len(text) / full)] for text in texts])


def _tensor(safe_open: Any, path: Path) -> Any:
    with safe_open(path, framework="np") as file:
        return file.get_tensor(_TENSOR)


def model_folder() -> Path:
    """Return the folder of the installed model. Raises `EmbeddingError` if there is none."""
    try:
        found = find_spec("wordllama")
        version("wordllama")
    except (ImportError, PackageNotFoundError):
        found = None
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        if all((Path(place) / each).is_file() for each in (_WEIGHTS, _TOKENIZER)):
            return Path(place)
    raise EmbeddingError("the local model is not installed")

"""An OpenAI-compatible server of embeddings, such as Ollama or vLLM on this machine, or a vendor.

Whatever the server does, a request ends in time, and an answer that does not fit is refused.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpx2
import numpy as np
import orjson

from skillwire import __version__
from skillwire.core.http_body import BodyTooLargeError, read_response
from skillwire.safe_text import escape_invisible
from skillwire.search.semantic.embedder import MAX_DIMENSIONS, Embedder, EmbeddingError, Passage
from skillwire.sources.web.address import WebAddress

if TYPE_CHECKING:
    from skillwire.search.semantic.embedder import Vectors

QUERY_SECONDS = 3.0
"""Seconds to wait for the vector of a query."""
PASSAGE_SECONDS = 60.0
"""Seconds to wait for the vectors of a batch of skills. A model on this machine may load first."""
_MAX_ANSWER = 8 * 1024 * 1024
_MAX_INPUT = 6_000
"""Maximum number of characters of one text. Servers refuse texts that are longer than the model allows."""
_OK = 200
_SHOWN_REASON = 200
_FORMAT = 1
"""Changes whenever texts are put together in another way."""


class Endpoint(Embedder):
    """The embeddings of one model of a server."""

    batch = 16

    def __init__(
        self,
        address: str,
        model: str,
        token: str | None = None,
        *,
        query_seconds: float = QUERY_SECONDS,
        passage_seconds: float = PASSAGE_SECONDS,
    ) -> None:
        """Create an embedder. Nothing is sent yet.

        Raises `SourceError` if the address is not `https`, or `http` with a loopback address.
        """
        self._address = WebAddress.parse(f"{address.rstrip('/')}/embeddings")
        self._model, self._token = model, token
        self._query_seconds, self._passage_seconds = query_seconds, passage_seconds
        self._dimensions = 0
        self.key = f"endpoint {self._address.url} {model} {_FORMAT}"

    async def embed_passages(self, passages: Sequence[Passage]) -> "Vectors":
        return await self._embed([_text(each) for each in passages], self._passage_seconds)

    async def embed_query(self, query: str) -> "Vectors":
        return await self._embed([query[:_MAX_INPUT]], self._query_seconds)

    async def _embed(self, texts: Sequence[str], seconds: float) -> "Vectors":
        clean = [text.encode(errors="replace").decode() for text in texts]
        body = orjson.dumps({"model": self._model, "input": clean, "encoding_format": "float"})
        try:
            with anyio.fail_after(seconds):
                found = _vectors(await self._post(body, seconds), len(texts))
        except TimeoutError:
            raise EmbeddingError(f"{self._address.shown} takes longer than {seconds:g} seconds") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, ImportError) as error:
            reason = escape_invisible(str(error) or type(error).__name__, _SHOWN_REASON)
            raise EmbeddingError(f"{self._address.shown} cannot be used: {reason}") from error
        except BodyTooLargeError as error:
            raise EmbeddingError(f"{self._address.shown} sends more than {_MAX_ANSWER:,} bytes") from error
        if self._dimensions not in {0, found.shape[1]}:
            raise EmbeddingError(f"{self._address.shown} sends vectors of different sizes")
        self._dimensions = found.shape[1]
        return found

    async def _post(self, body: bytes, seconds: float) -> bytes:
        headers = {
            "User-Agent": f"skillwire/{__version__}",
            "Content-Type": "application/json",
            "Accept-Encoding": "gzip",
        }
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        # A proxy is not used for this machine. Redirects are not followed: the token is for this address.
        async with (
            httpx2.AsyncClient(
                trust_env=not self._address.loopback, follow_redirects=False, timeout=seconds
            ) as client,
            client.stream("POST", self._address.url, content=body, headers=headers) as response,
        ):
            if response.status_code != _OK:
                raise ValueError(f"it answers {response.status_code}")
            return await read_response(response, _MAX_ANSWER, decoded=True)


def _text(passage: Passage) -> str:
    parts = (passage.summary, passage.headings, passage.body)
    return "\n\n".join(part for part in parts if part)[:_MAX_INPUT]


def _vectors(answer: bytes, number: int) -> "Vectors":
    """Return the vectors in an answer. Raises `ValueError` if they are not what was asked for."""
    read: Any = orjson.loads(answer)
    data: Any = cast("dict[str, Any]", read).get("data") if isinstance(read, dict) else None
    if not isinstance(data, list) or len(cast("list[Any]", data)) != number:
        raise ValueError(f"it does not send {number} vectors")
    rows: dict[int, list[float]] = {}
    for at, each in enumerate(cast("list[Any]", data)):
        row: dict[str, Any] = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        index, vector = row.get("index", at), row.get("embedding")
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < number:
            raise ValueError("it sends a vector for another text")
        if not isinstance(vector, list) or not 0 < len(cast("list[Any]", vector)) <= MAX_DIMENSIONS:
            raise ValueError("it sends something that is not a vector")
        values = cast("list[Any]", vector)
        if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
            raise ValueError("it sends a vector that does not consist of numbers")
        rows[index] = values
    if len(rows) != number or len({len(row) for row in rows.values()}) != 1:
        raise ValueError("it sends vectors of different sizes")
    try:
        found = np.array([rows[at] for at in range(number)], np.float64)
    except OverflowError as error:
        raise ValueError("it sends a number that is too large") from error
    if not np.isfinite(found).all() or not np.abs(found).max(axis=1).all():
        raise ValueError("it sends a vector without a direction")
    return found

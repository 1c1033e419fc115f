"""The vectors of all skills of a library, in one matrix of small integers.

The product of a query with a vector is a whole number that floating point represents exactly. So the order of
results does not depend on the processor, or on how many skills there are.
"""

from collections.abc import Callable, Collection, Iterator

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1_024
"""Number of vectors that are compared at once, so that they fit into the cache of a processor."""
_LARGEST = 127


def quantized(vectors: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return vectors as small integers. Only their directions stay."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors * (_LARGEST / np.where(largest > 0, largest, 1))).astype(np.int8)


class Vectors:
    """The vectors of skills by URI, each with the key of the text that it was computed from."""

    def __init__(self) -> None:
        self._matrix: NDArray[np.int8] = np.zeros((0, 0), np.int8)
        self._lengths: NDArray[np.float64] = np.zeros(0)
        self._rows: dict[str, int] = {}
        self._uris: list[str | None] = []
        self._keys: dict[str, bytes] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def dimensions(self) -> int:
        """The size of the vectors, 0 if there are none."""
        return self._matrix.shape[1] if self._rows else 0

    @property
    def uris(self) -> Collection[str]:
        return self._rows.keys()

    def key(self, uri: str) -> bytes | None:
        """Return the key of the text of a skill, or None if it has no vector."""
        return self._keys.get(uri)

    def put(self, uri: str, key: bytes, vector: NDArray[np.int8]) -> None:
        """Set the vector of a skill. Raises `ValueError` if its size differs from that of the others."""
        if not self._rows:
            self._matrix = np.zeros((0, len(vector)), np.int8)
            self._lengths, self._uris, self._free = np.zeros(0), [], []
        if len(vector) != self._matrix.shape[1]:
            raise ValueError(f"a vector has {len(vector)} dimensions, others have {self._matrix.shape[1]}")
        self.remove(uri)
        row = self._free.pop() if self._free else len(self._uris)
        if row == len(self._uris):
            self._uris.append(None)
        if row >= len(self._matrix):
            more = max(row // 4, 64)
            self._matrix = np.concatenate([self._matrix, np.zeros((more, len(vector)), np.int8)])
            self._lengths = np.concatenate([self._lengths, np.zeros(more)])
        self._matrix[row] = vector
        self._lengths[row] = np.sqrt(float(np.square(vector, dtype=np.int64).sum()))
        self._uris[row], self._rows[uri], self._keys[uri] = uri, row, key

    def remove(self, uri: str) -> None:
        """Remove the vector of a skill, if it has one."""
        if (row := self._rows.pop(uri, None)) is not None:
            del self._keys[uri]
            self._uris[row] = None
            self._lengths[row] = 0
            self._free.append(row)

    def items(self) -> Iterator[tuple[bytes, NDArray[np.int8]]]:
        """Yield the key and the vector of each skill."""
        for uri, row in self._rows.items():
            yield self._keys[uri], self._matrix[row]

    def nearest(
        self,
        query: NDArray[np.int8],
        number: int,
        least: float,
        hidden: Collection[str],
        place: Callable[[str], int],
    ) -> list[str]:
        """Return the most similar skills that are not hidden, the most similar first.

        `least` is the least cosine that counts. `place` orders skills that are equally similar.
        """
        used = len(self._uris)
        length = np.sqrt(float(np.square(query, dtype=np.int64).sum()))
        if not used or not length or len(query) != self._matrix.shape[1]:
            return []
        cosines = np.empty(used)
        wanted = query.astype(np.float32)
        block = np.empty((min(_BLOCK, used), len(query)), np.float32)
        for start in range(0, used, _BLOCK):
            size = min(_BLOCK, used - start)
            np.copyto(block[:size], self._matrix[start : start + size])
            cosines[start : start + size] = block[:size] @ wanted
        lengths = self._lengths[:used]
        cosines /= np.where(lengths > 0, lengths, 1) * length
        cosines[lengths == 0] = -1
        rows = [row for uri in hidden if (row := self._rows.get(uri)) is not None]
        cosines[rows] = -1
        if number < used:
            least = max(least, float(np.partition(cosines, used - number)[used - number]))
        found = [(uri, row) for row in np.flatnonzero(cosines >= least).tolist() if (uri := self._uris[row])]
        found.sort(key=lambda each: (-cosines[each[1]], place(each[0]), each[0]))
        return [uri for uri, _ in found[:number]]

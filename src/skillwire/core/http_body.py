"""Read an HTTP body in chunks, up to a maximum size."""

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from skillwire.errors import SkillwireError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2


class BodyTooLargeError(SkillwireError):
    """A body is larger than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a body may have at most {limit:,} bytes")


class BoundedBody:
    """The chunks of a body that have arrived so far. It holds at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._content = bytearray()  # not a list, because each chunk may be a single byte

    def add(self, piece: bytes) -> None:
        """Append a chunk. Raises `BodyTooLargeError` if the body would exceed the limit."""
        if len(self._content) + len(piece) > self._limit:
            raise BodyTooLargeError(self._limit)
        self._content += piece

    def __bytes__(self) -> bytes:
        return bytes(self._content)


async def read_response(response: "httpx2.Response", limit: int, *, decoded: bool) -> bytes:
    """Return the body of a streamed response. Raises `BodyTooLargeError` above `limit` bytes.

    With `decoded`, compressed content is decompressed in chunks, and the limit applies to the result.
    Otherwise, the bytes are returned as sent.
    """
    body = BoundedBody(limit)
    pieces = response.aiter_bytes() if decoded else response.aiter_raw()
    async with aclosing(cast("AsyncGenerator[bytes, Any]", pieces)) as arriving:
        async for piece in arriving:
            body.add(piece)
    return bytes(body)

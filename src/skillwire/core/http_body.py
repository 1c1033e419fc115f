"""Read an HTTP body that arrives in pieces, within a limit."""

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from skillwire.errors import SkillwireError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2


class BodyTooLargeError(SkillwireError):
    """A body has more bytes than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a body may have {limit:,} bytes")


class BoundedBody:
    """The pieces of a body so far. They never take more memory than the limit and one piece."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._content = bytearray()  # and no list of pieces, each of which may be one byte

    def add(self, piece: bytes) -> None:
        """Append a piece. Raises `BodyTooLargeError`."""
        if len(self._content) + len(piece) > self._limit:
            raise BodyTooLargeError(self._limit)
        self._content += piece

    def __bytes__(self) -> bytes:
        return bytes(self._content)


async def read_response(response: "httpx2.Response", limit: int, *, decoded: bool) -> bytes:
    """Return the body of a streamed response. Raises `BodyTooLargeError`.

    With `decoded`, compressed content is unpacked piece by piece, and the limit counts what comes out.
    Without, the bytes are those on the wire: nothing that a server sends is ever unpacked.
    """
    body = BoundedBody(limit)
    pieces = response.aiter_bytes() if decoded else response.aiter_raw()
    async with aclosing(cast("AsyncGenerator[bytes, Any]", pieces)) as arriving:
        async for piece in arriving:
            body.add(piece)
    return bytes(body)

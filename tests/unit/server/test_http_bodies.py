"""Bodies over HTTP are read within a limit, on both sides."""

import gzip
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope

from skillwire.core.http_body import BodyTooLargeError, read_response
from skillwire.server.http.routes import read_body

pytestmark = pytest.mark.anyio


def _scope(length: str | None = None) -> Scope:
    return {"type": "http", "headers": [] if length is None else [(b"content-length", length.encode())]}


def _receive(*messages: Message) -> Receive:
    arriving: Iterator[Message] = iter(messages)

    async def receive() -> Message:
        return next(arriving)

    return receive


def _piece(content: bytes, *, more: bool) -> Message:
    return {"type": "http.request", "body": content, "more_body": more}


async def test_a_body_is_its_pieces_in_order() -> None:
    receive = _receive(_piece(b"ab", more=True), _piece(b"", more=True), _piece(b"cd", more=False))
    assert await read_body(_scope("4"), receive, 4) == b"abcd"


@pytest.mark.parametrize("length", ["5", "0005", "9" * 5000])
async def test_a_declared_length_above_the_limit_is_refused_unread(length: str) -> None:
    with pytest.raises(BodyTooLargeError):
        await read_body(_scope(length), _receive(), 4)


@pytest.mark.parametrize("length", [None, "", "4", "-1", "5 ", "\u0665"])
async def test_more_bytes_than_the_limit_are_refused(length: str | None) -> None:
    receive = _receive(_piece(b"abc", more=True), _piece(b"de", more=False))
    with pytest.raises(BodyTooLargeError, match="4 bytes"):
        await read_body(_scope(length), receive, 4)


async def test_a_client_that_leaves_is_not_an_empty_body() -> None:
    receive = _receive(_piece(b"abc", more=True), {"type": "http.disconnect"})
    with pytest.raises(ClientDisconnect):
        await read_body(_scope(), receive, 4)


def _response(content: bytes) -> httpx2.Response:
    async def pieces() -> AsyncIterator[bytes]:
        yield content

    return httpx2.Response(200, headers={"content-encoding": "gzip"}, content=pieces())


async def test_the_limit_counts_unpacked_bytes_when_decoding() -> None:
    packed = gzip.compress(bytes(10_000))
    assert len(await read_response(_response(packed), 10_000, decoded=True)) == 10_000
    with pytest.raises(BodyTooLargeError):
        await read_response(_response(packed), 9_999, decoded=True)


async def test_raw_bytes_are_never_unpacked() -> None:
    packed = gzip.compress(bytes(10_000))
    assert await read_response(_response(packed), len(packed), decoded=False) == packed
    with pytest.raises(BodyTooLargeError):
        await read_response(_response(packed), len(packed) - 1, decoded=False)

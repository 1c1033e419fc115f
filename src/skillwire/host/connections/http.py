"""Connect to an untrusted server over Streamable HTTP.

Responses are limited, secrets are sent only to the server's origin, and login errors are reported.
"""

import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import httpx2
import orjson
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import PARSE_ERROR

from skillwire.errors import LoginRequiredError, SkillwireError
from skillwire.host.connections.addresses import is_loopback, is_plain_http
from skillwire.host.connections.errors import LoginAdvice
from skillwire.host.connections.network import PublicTransport, counting_client, head_trace
from skillwire.host.connections.target import TokenSource
from skillwire.host.connections.traffic import (
    AnswerLimits,
    AnswerTooLargeError,
    JsonValueCounter,
    Meter,
    Traffic,
)

_CODE = -32042
_MARK = secrets.token_hex(16)
"""A secret that marks messages from Skillwire, so that no server can imitate them."""
_LONGEST_SCOPE = 300
UNAUTHORIZED, FORBIDDEN = 401, 403
_CONNECT, _READ = 30.0, 60.0
"""Timeouts in seconds for connecting and for each chunk of a response."""
_CLOSE_TIMEOUT = 2.0
"""Seconds in which a server must confirm the end of a session."""
_STREAM_PAUSE, _FREE_STREAMS = 1.0, 3
"""Seconds between requests for notification streams, and the number of first requests without this pause.

The pause is needed because a server could end each stream at once.
"""
_NAMED_BY_A_PROJECT = (
    "it uses plain `http` at a loopback address or in a private network, and only a project's file names it"
)
_OURS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"}
)
"""Headers that the protocol sets. Users cannot override them, nor any header that begins with `mcp-`."""


def is_refusal(response: httpx2.Response) -> bool:
    """Return whether the server requires a login, or a login with more scopes."""
    if response.status_code == UNAUTHORIZED:
        return True
    return (
        response.status_code == FORBIDDEN
        and extract_field_from_www_auth(response, "error") == "insufficient_scope"
    )


def replace_body(response: httpx2.Response, message: str) -> None:
    """Replace the body of a 401 or 403 response with a JSON-RPC error, which `wants_login` recognizes."""
    data = {"mark": _MARK, "scope": scope_of(response)[:_LONGEST_SCOPE]}
    error = {"code": _CODE, "message": message, "data": data}
    content = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    response.stream = _Replacement(content, cast("httpx2.AsyncByteStream", response.stream))
    for name in ("content-length", "content-encoding", "transfer-encoding"):
        response.headers.pop(name, None)
    response.headers["content-type"] = "application/json"


def scope_of(response: httpx2.Response) -> str:
    """Return the scopes in the `WWW-Authenticate` header, or an empty string if there are none."""
    return extract_scope_from_www_auth(response) or ""


def wants_login(error: MCPError) -> LoginRequiredError | None:
    """Return a `LoginRequiredError` if `replace_body` created this error, or None for any other error."""
    data: object = error.error.data
    if not isinstance(data, dict):
        return None
    fields = cast("Mapping[str, Any]", data)
    if not secrets.compare_digest(str(fields.get("mark", "")).encode(), _MARK.encode()):
        return None
    return LoginRequiredError("", error.message, str(fields.get("scope", "")))


class _Replacement(httpx2.AsyncByteStream):
    """A body that replaces the received one."""

    def __init__(self, content: bytes, stream: httpx2.AsyncByteStream) -> None:
        self._content, self._stream = content, stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def http_streams(
    url: str,
    traffic: Traffic,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    public_only: bool = False,
    tokens: TokenSource | None = None,
    advice: LoginAdvice | None = None,
) -> AsyncGenerator[Any]:
    """Yield the streams of a connection, for a client of the SDK.

    `token` overrides an `Authorization` header. With `public_only`, no connection is made to a loopback
    address or a private network. `tokens` supplies the token of a stored login, if there is no other token.
    `advice` supplies the error message if the server requires a login.
    """
    sent = {**(headers or {}), **({} if token is None else {"Authorization": f"Bearer {token}"})}
    throttle = _Throttle(traffic)

    async def bound(response: httpx2.Response) -> None:
        stream = cast("httpx2.AsyncByteStream", response.stream)
        body = _BoundedBody(stream, _refusal(response), _answer(response.request, traffic), traffic)
        if (asked := _asked_for(response)) is None:
            response.stream = body
        else:
            response.stream = _JsonBody(body, asked)
            response.headers.pop("content-encoding", None)  # a compressed answer is refused, and not unpacked

    async with (
        counting_client(
            # A few compressed bytes can expand to very many.
            headers={"Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(_CONNECT, read=_READ),
            auth=_Authorization(httpx2.URL(url), sent, tokens, advice),
            transport=PublicTransport(_NAMED_BY_A_PROJECT) if public_only else None,
            # A proxy would see the secrets of requests that never leave this machine.
            trust_env=not (is_plain_http(url) and is_loopback(httpx2.URL(url).host)),
            event_hooks={"request": [throttle.before], "response": [bound]},
        ) as client,
        streamable_http_client(
            url, http_client=client, max_sse_event_size=traffic.limits.read_bytes
        ) as streams,
    ):
        yield streams


class _Throttle:
    """Prepares each request: starts to count the response headers, and limits the time of the final `DELETE`.

    Repeated requests of the SDK for notification streams are delayed.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._streams, self._next = 0, 0.0

    async def before(self, request: httpx2.Request) -> None:
        await request.aread()  # the body of a redirected request is not loaded yet
        request.extensions = {**request.extensions, "trace": head_trace(self._traffic)}
        if request.method == "DELETE":
            request.extensions = {**request.extensions, "timeout": httpx2.Timeout(_CLOSE_TIMEOUT).as_dict()}
        elif request.method == "GET":
            self._streams += 1
            now = time.monotonic()
            if self._streams > _FREE_STREAMS:
                self._next = max(self._next, now) + _STREAM_PAUSE
                await anyio.sleep(self._next - now)


def _answer(request: httpx2.Request, traffic: Traffic) -> AnswerLimits | None:
    """Return the limits for the response to a request. Return None for an endless notification stream."""
    answer = None
    if request.method == "POST":
        message: object = orjson.loads(request.content)  # the client created the request, so it is valid
        answer = traffic.answer_to(cast("dict[str, object]", message).get("id"))
    elif request.method == "GET":
        return None
    if answer is not None and answer.stream:
        return None
    return answer or AnswerLimits(traffic.limits.small_answer_bytes, traffic.limits.answer_values)


def _asked_for(response: httpx2.Response) -> str | int | None:
    """Return the id of the request that a JSON response answers; None for all other responses."""
    is_json = response.headers.get("content-type", "").lower().startswith("application/json")
    if response.request.method != "POST" or not response.is_success or not is_json:
        return None
    return cast("Mapping[str, Any]", orjson.loads(response.request.content)).get("id")


def _refusal(response: httpx2.Response) -> str:
    """Return why a response is refused without reading it, or an empty string if it is read."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        return "the answer is compressed, which was not requested"
    if (response.charset_encoding or "utf-8").lower() not in {"utf-8", "utf8", "us-ascii"}:
        return "the answer is not UTF-8"  # JSON values cannot be counted in other encodings
    return ""


class _OriginHeaders(httpx2.Auth):
    """Adds headers to requests to one origin, and removes them from redirects to other origins."""

    def __init__(self, url: httpx2.URL, headers: Mapping[str, str]) -> None:
        self._origin = _origin(url)
        self._headers = {name: value for name, value in headers.items() if not _is_ours(name.lower())}

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        for name in self._headers:
            request.headers.pop(name, None)
        if _origin(request.url) == self._origin:
            request.headers.update(self._headers)
        yield request


class _Authorization(_OriginHeaders):
    """Adds headers and a login's token to requests to one origin. A refused token is renewed once.

    If the server requires a login, the body of its response is replaced with an error message.
    """

    def __init__(
        self,
        url: httpx2.URL,
        headers: Mapping[str, str],
        tokens: TokenSource | None = None,
        advice: LoginAdvice | None = None,
    ) -> None:
        super().__init__(url, headers)
        self._fixed = any(name.lower() == "authorization" for name in self._headers)
        self._tokens = None if self._fixed or not _is_confidential(url) else tokens
        self._advice = advice

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        next(self.auth_flow(request))
        if _origin(request.url) != self._origin:
            yield request
            return
        token, failure = await self._get_token(None)
        _set_bearer_token(request, token)
        response = yield request
        if response.status_code == UNAUTHORIZED and token is not None:
            fresh, failure = await self._get_token(token)
            if fresh is not None and fresh != token:
                _set_bearer_token(request, fresh)
                response = yield request
        if self._advice is not None and is_refusal(response):
            replace_body(response, failure or self._message(self._advice, response, had=token is not None))

    async def _get_token(self, refused: str | None) -> tuple[str | None, str]:
        """Return the token to send or None, and an error message if the stored login cannot be used.

        `refused` is a token to renew.
        """
        if self._tokens is None:
            return None, ""
        try:
            if refused is None:
                return await self._tokens.token(), ""
            return await self._tokens.renewed(refused), ""
        except SkillwireError as error:
            return None, str(error)

    def _message(self, advice: LoginAdvice, response: httpx2.Response, *, had: bool) -> str:
        if response.status_code == FORBIDDEN:
            return advice.scope_missing(scope_of(response))
        if self._fixed:
            return advice.token_refused()
        return advice.expired() if had else advice.needed()


def _set_bearer_token(request: httpx2.Request, token: str | None) -> None:
    if token is not None:
        request.headers["Authorization"] = f"Bearer {token}"


def _is_confidential(url: httpx2.URL) -> bool:
    """Return whether requests to a URL are hidden from others on the network."""
    return url.scheme == "https" or is_loopback(url.host)


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of a response.

    Reading it raises `StreamError` if the response is refused, or if the response or connection exceeds a
    limit.
    """

    def __init__(
        self, stream: httpx2.AsyncByteStream, refusal: str, answer: AnswerLimits | None, traffic: Traffic
    ) -> None:
        self._stream, self._refusal, self._answer, self._traffic = stream, refusal, answer, traffic

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._refusal:
            raise httpx2.StreamError(self._refusal)
        meter = None if self._answer is None else Meter(self._answer)
        counter = JsonValueCounter()
        async for chunk in self._stream:
            if meter is None:
                before = counter.values
                self._traffic.count_unsolicited(len(chunk), counter.feed(chunk) - before, messages=1)
            else:
                try:
                    meter.feed(chunk)
                except AnswerTooLargeError as error:
                    raise httpx2.StreamError(str(error)) from error
            if self._traffic.failure:
                raise httpx2.StreamError(self._traffic.failure)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _JsonBody(httpx2.AsyncByteStream):
    """The body of a JSON response. A refused body becomes a JSON-RPC error.

    The SDK would log an exception with its traceback in the program of the user.
    """

    def __init__(self, body: _BoundedBody, request_id: str | int) -> None:
        self._body, self._id = body, request_id

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            chunks = [chunk async for chunk in self._body]
        except httpx2.StreamError as error:
            failure = {"code": PARSE_ERROR, "message": f"the answer is refused: {error}"}
            chunks = [orjson.dumps({"jsonrpc": "2.0", "id": self._id, "error": failure})]
        for chunk in chunks:
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _is_ours(name: str) -> bool:
    """Return whether a header is set by the protocol."""
    return name in _OURS or name.startswith("mcp-")

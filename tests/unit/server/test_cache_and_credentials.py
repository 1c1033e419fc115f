"""The response cache over HTTP, for clients that showed a token and servers that change later."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from anyio.from_thread import start_blocking_portal
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp, Receive, Scope, Send

from skillwire import Library, MemorySource
from skillwire.server import Address, HostPolicy, http_app, skills_server
from tests.support.cached_answers import AsgiClient, headers_for, modern
from tests.support.clients import skill

POLICY = HostPolicy(Address("127.0.0.1", 8765))
TOKEN = "s" * 32
ASKED = [modern("skills/list"), modern("resources/read", uri="skill://refunds/SKILL.md")] * 2


def served() -> Any:
    return skills_server(Library([MemorySource([skill("refunds")])]))


def answers(app: ASGIApp, *headers: tuple[bytes, bytes]) -> Iterator[Any]:
    with start_blocking_portal() as portal:
        posts = AsgiClient(portal, cast("Any", app))
        for question in ASKED:
            yield posts.post([*headers_for(question), *headers], json.dumps(question).encode())[2]
        posts.close()


def test_answers_behind_a_token_are_private_with_the_cache() -> None:
    app = http_app(served(), POLICY, TOKEN)
    given = list(answers(app, (b"authorization", f"Bearer {TOKEN}".encode())))
    assert [each["result"]["cacheScope"] for each in given] == ["private"] * len(ASKED)


def test_answers_to_a_verified_user_are_private_with_the_cache() -> None:
    inner = http_app(served(), POLICY)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["user"] = AuthenticatedUser(AccessToken(token="t", client_id="c", scopes=[]))
        await inner(scope, receive, send)

    assert [each["result"]["cacheScope"] for each in answers(app)] == ["private"] * len(ASKED)


def test_answers_to_everyone_stay_public() -> None:
    given = list(answers(http_app(served(), POLICY)))
    assert [each["result"]["cacheScope"] for each in given] == ["public"] * len(ASKED)


def test_middleware_added_later_is_not_bypassed_by_the_cache() -> None:
    server = served()

    async def deny(_ctx: Any, _call_next: CallNext) -> HandlerResult:
        raise MCPError(-32001, "denied")

    given = answers(http_app(server, POLICY))
    for _ in ASKED[:3]:
        assert "result" in next(given)
    server.middleware.append(deny)
    (last,) = given
    assert last["error"]["message"] == "denied"


@pytest.mark.parametrize("cache", [True, False])
def test_cached_and_sdk_answers_are_marked_alike(cache: bool) -> None:  # noqa: FBT001 - a parameter of a test
    (first, *_) = answers(
        http_app(served(), POLICY, TOKEN, cache=cache), (b"authorization", f"Bearer {TOKEN}".encode())
    )
    assert first["result"]["cacheScope"] == "private"

"""A page that offers live skills connects as the reference client does, in a real browser."""

import json
import os
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.support.browser import page_of
from tests.support.eavesdropper import Eavesdropper
from tests.support.peers import PATIENCE, HttpServer

pytestmark = pytest.mark.anyio

TOKEN = "correct-horse-battery-staple"
INTRODUCE = """
async ([base, token]) => (await fetch(`${base}/mdp/auth`, {
    method: "POST",
    headers: {"content-type": "application/json"},
    body: JSON.stringify({auth: {token}}),
    credentials: "include",
})).status
"""
CONNECT = """
base => new Promise((resolve) => {
    const socket = new WebSocket(base.replace("http", "ws"));
    socket.onerror = socket.onclose = () => resolve("refused");
    socket.onmessage = (event) => resolve(JSON.parse(event.data).type);
    socket.onopen = () => {
        const paths = [{type: "skill", path: "/a/skill.md", description: "d"}];
        const client = {id: "tab", name: "Tab", paths};
        socket.send(JSON.stringify({type: "registerClient", client}));
        socket.send(JSON.stringify({type: "ping", timestamp: 1}));
        window.socket = socket;
    };
})
"""


async def replayed(server: HttpServer, cookie: str, **more: str) -> dict[str, Any]:
    """Return what a cookie opens for a program that got hold of it."""
    headers = {"cookie": cookie, **more}
    opened: dict[str, Any] = {}
    async with httpx2.AsyncClient(base_url=server.base, trust_env=False, timeout=PATIENCE) as thief:
        for method, path in [("POST", "/mcp"), ("GET", "/skills/tab/a"), ("GET", "/ui/events")]:
            opened[path] = (await thief.request(method, path, headers=headers)).status_code
    async with connect(server.base.replace("http", "ws"), proxy=None, additional_headers=headers) as socket:
        client: dict[str, Any] = {"id": "thief", "name": "Thief", "paths": []}
        await socket.send(json.dumps({"type": "registerClient", "client": client}))
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
        opened["socket"] = closed.value.rcvd and closed.value.rcvd.code
    return opened


async def test_the_cookie_of_a_page_is_useless_to_other_ports(browser: Browser) -> None:
    environment = {**os.environ, "DRIVE_TOKEN": TOKEN}
    with Eavesdropper() as site, Eavesdropper() as other:
        options = ("--http", "0", "--drive", "--no-config", "--token-env", "DRIVE_TOKEN")
        with HttpServer(*options, "--allow-origin", site.base, env=environment) as server:
            async with page_of(browser, site.base, watch=False) as page:
                await page.goto(f"{site.base}/")
                assert await page.evaluate(INTRODUCE, [server.base, TOKEN]) == 204
                assert await page.evaluate(CONNECT, server.base) == "pong"
                assert await page.evaluate(CONNECT, server.base) == "refused"  # the cookie is used up
                assert await page.evaluate(INTRODUCE, [server.base, TOKEN]) == 204
                assert await page.evaluate(CONNECT, server.base) == "pong"
                thief = await page.context.new_page()
                await thief.goto(f"{other.base}/")
                (heard,) = {each for each in other.heard if each.startswith("cookie: ")}  # browsers do that
                cookie = heard.removeprefix("cookie: ")
                assert TOKEN not in cookie
                refused = {"/mcp": 401, "/skills/tab/a": 401, "/ui/events": 401, "socket": 1008}
                assert await replayed(server, cookie) == refused
                assert await replayed(server, cookie, origin=site.base) == refused

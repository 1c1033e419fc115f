"""Code mode as a client meets it: judged and run in one process over stdio, and refused to everybody else."""

import importlib.util
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import httpx2
import jsonschema
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, Implementation

from approved_code.approvals import Approvals, Caller
from approved_code.dataset import orders
from approved_code.desk import Desk
from code_mode import code_mode_server, over_stdio
from tests.e2e.examples.servers import SKILLS, started
from tests.e2e.examples.test_approvals import Clock
from tests.support.clients import ERAS, refusal

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)

REFERENCES = SKILLS / "code-mode/references"
SCHEMA = json.loads((REFERENCES / "validate-code.schema.json").read_text("utf-8"))
CODE = 'sum(o["total_cents"] for o in orders if o["country"] == country)'
ASKED = {"code": CODE, "variables": {"country": "SE"}}
TOTAL = sum(order["total_cents"] for order in orders().records if order["country"] == "SE")


def content(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def verdict(client: Client, **arguments: Any) -> dict[str, Any]:
    """Return what `validate_code` says, having seen that the skill's schema allows question and answer."""
    jsonschema.validate(arguments, SCHEMA["$defs"]["arguments"])
    found = content(await client.call_tool("validate_code", arguments))
    jsonschema.validate(found, SCHEMA)
    return found


async def token_for(client: Client, **arguments: Any) -> str:
    return (await verdict(client, **arguments))["approval_token"]


@every_era
async def test_code_is_judged_then_run_once_over_stdio(mode: Any) -> None:
    async with started("code_mode.py", mode) as client:
        judged = await verdict(client, **ASKED)
        assert (judged["valid"], judged["risk_level"], judged["violations"]) == (True, "low", [])
        approved = {**ASKED, "approval_token": judged["approval_token"]}
        assert content(await client.call_tool("execute_code", approved))["result"] == TOTAL
        assert "was used before" in await refusal(client, "execute_code", approved)


@every_era
async def test_what_was_not_approved_does_not_run_over_stdio(mode: Any) -> None:
    async with started("code_mode.py", mode) as client:
        token = await token_for(client, **ASKED)
        approved = {**ASKED, "approval_token": token}
        changes: list[tuple[str, dict[str, Any]]] = [
            ("for other code", {"code": f"{CODE} "}),
            ("for other variables", {"variables": {"country": "DE"}}),
            ("there is no `country`", {"variables": {}}),
            ("did not make this token", {"approval_token": "none"}),
            ("did not make this token", {"approval_token": token[:-1]}),
        ]
        for reason, changed in changes:
            assert reason in await refusal(client, "execute_code", {**approved, **changed})
        assert content(await client.call_tool("execute_code", approved))["result"] == TOTAL


async def test_a_token_of_another_process_is_refused() -> None:
    async with started("code_mode.py", "auto") as one, started("code_mode.py", "auto") as other:
        approved = {**ASKED, "approval_token": await token_for(one, **ASKED)}
        assert "did not make this token" in await refusal(other, "execute_code", approved)


async def test_verdicts_over_stdio_match_the_schema_of_the_skill() -> None:
    async with started("code_mode.py", "auto") as client:
        refused = await verdict(client, code='[o.email for o in orders] + __import__("os")')
        assert [each["rule"] for each in refused["violations"]] == ["attribute", "call"]
        people = await verdict(client, code='[o["email"] for o in orders]')
        assert people["risk_level"] == "medium"
        tried = await verdict(client, **ASKED, dry_run=True, format="markdown")
        assert "approval_token" not in tried
        assert tried["explanation"].startswith("- Reads `country`, `total_cents`")
        assert "unknown" in await refusal(client, "validate_code", {"code": "1", "format": "unknown"})
        assert "at least 1 character" in await refusal(client, "validate_code", {"code": ""})


async def test_code_that_stops_says_why_and_what_would_pass() -> None:
    async with started("code_mode.py", "auto") as client:
        code = 'orders[0]["totl"]'
        token = await token_for(client, code=code)
        said = await refusal(client, "execute_code", {"code": code, "approval_token": token})
        assert said.startswith(
            "Error executing tool execute_code: field: a record has no field `'totl'`; it has "
        )


@pytest.fixture(params=ERAS)
def mode(request: pytest.FixtureRequest) -> Any:
    return request.param


class Counter:
    """One server for several people: each is who their client says they are, as if signed in."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.mcp = code_mode_server(Desk(orders(), Approvals("shop", clock=self.clock)), self._caller)

    @asynccontextmanager
    async def client(self, user: str, session: str, mode: Any) -> AsyncGenerator[Client]:
        info = Implementation(name=user, version=session)
        async with Client(self.mcp, mode=mode, client_info=info) as client:
            yield client

    @staticmethod
    def _caller(ctx: Context) -> Caller:
        params = ctx.session.client_params
        assert params is not None
        return Caller(params.client_info.name, params.client_info.version)


@pytest.mark.parametrize("thief", [("bob", "1"), ("ada", "2")])
async def test_no_other_caller_can_use_a_token_on_one_server(mode: Any, thief: tuple[str, str]) -> None:
    counter = Counter()
    async with counter.client("ada", "1", mode) as ada:
        approved = {**ASKED, "approval_token": await token_for(ada, **ASKED)}
    async with counter.client(*thief, mode) as other:
        assert "for another user or another session" in await refusal(other, "execute_code", approved)
    async with counter.client("ada", "1", mode) as ada:
        assert content(await ada.call_tool("execute_code", approved))["result"] == TOTAL


async def test_after_five_minutes_a_token_has_expired(mode: Any) -> None:
    counter = Counter()
    async with counter.client("ada", "1", mode) as ada:
        approved = {**ASKED, "approval_token": await token_for(ada, **ASKED)}
        counter.clock.now += 300
        assert "has expired" in await refusal(ada, "execute_code", approved)


async def test_over_http_an_unknown_caller_gets_no_token(mode: Any) -> None:
    url = "http://127.0.0.1:8000/mcp"
    mcp = code_mode_server(Desk(orders(), Approvals("shop")), over_stdio())
    transport = httpx2.ASGITransport(mcp.streamable_http_app())
    async with (
        mcp.session_manager.run(),
        httpx2.AsyncClient(transport=transport) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        assert "does not know who asks" in await refusal(client, "validate_code", {"code": "1"})


# The client that the skill hands out


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("code_mode_example", REFERENCES / "example.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_the_client_in_the_skill_works_with_the_example_server(
    example: ModuleType,
) -> None:
    async with started("code_mode.py", "auto") as client:
        assert (await example.run(client, CODE, {"country": "SE"}))["result"] == TOTAL
        with pytest.raises(example.RefusedError, match="attribute: line 1"):
            await example.run(client, "orders.clear", {})


async def test_the_client_in_the_skill_asks_before_it_shows_people(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def answer(judged: dict[str, Any], code: str) -> bool:
        asked.append(judged["risk_level"])
        return code.startswith("len")

    monkeypatch.setattr(example, "user_agrees", answer)
    async with started("code_mode.py", "auto") as client:
        with pytest.raises(example.RefusedError, match="did not agree"):
            await example.run(client, '[o["email"] for o in orders]', {})
        found = await example.run(client, 'len({o["email"] for o in orders})', {})
    assert found["result"] == len({order["email"] for order in orders().records})
    assert asked == ["medium", "medium"]

"""Changes under the contract: good ones are published, bad ones leave the last good registry in place."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client

from skillwire import Library, MemorySource, ServeOptions
from skillwire.contract import ContractOptions
from skillwire.server import Freshness, skills_server
from skillwire.sources import MemorySkill
from tests.support.contracts import POLICY, block, frontmatter, skill_md
from tests.support.listening import NotificationLog, listening

pytestmark = pytest.mark.anyio

INDEX = "resource://catalog/skills_index"
CARD = "resource://catalog/skills/refunds"
DOCUMENT = "resource://skills/refunds/document"
REFERENCE = "resource://skills/refunds/references/policy"
ORDERS = "resource://skills/orders/document"
PROBLEMS = "skillwire://problems"
SENTINEL = "skill://sentinel/SKILL.md"


def skill(name: str, inner: Mapping[str, Any] | None = None, body: str = "Body") -> MemorySkill:
    more = {POLICY: b"policy"} if name == "refunds" else {}
    return MemorySkill(name, {"SKILL.md": skill_md(frontmatter(name, inner), body), **more})


def refunds(**fields: Any) -> dict[str, Any]:
    start: dict[str, Any] = {
        "capabilities": [DOCUMENT, REFERENCE],
        "depends_on": ["orders"],
        "references": {"policy": {"path": POLICY}},
    }
    return block("refunds", **(start | fields))


@dataclass
class Stage:
    """A source that is served under the contract, and a client that listens."""

    source: MemorySource
    client: Client
    heard: NotificationLog
    rounds: int = 0

    async def told(self) -> list[str]:
        """Return everything that was told of the changes so far, of addresses and problems."""
        for times in (1, 2):  # by the second time nothing is on its way any more
            self.rounds += 1
            self.source.put(skill("sentinel", body=f"round {self.rounds}"))
            await self.heard.until_true(lambda: self.heard.all.count(SENTINEL) == times)  # noqa: B023
        return [each for each in self.heard.take() if each != SENTINEL]

    async def text(self, uri: str) -> str:
        (found,) = (await self.client.read_resource(uri)).contents
        return found.model_dump()["text"]

    async def versions(self) -> dict[str, str]:
        skills = json.loads(await self.text(INDEX))["skills"]
        return {each["id"]: each["version"] for each in skills if each["id"] != "sentinel"}

    async def addresses(self) -> set[str]:
        return {str(each.uri) for each in (await self.client.list_resources()).resources}

    async def rules(self) -> set[str]:
        return {each["rule"] for each in json.loads(await self.text(PROBLEMS))["problems"]}


@asynccontextmanager
async def stage(mode: Any = "auto", *, tolerant: bool = False) -> AsyncGenerator[Stage]:
    source = MemorySource([skill("refunds", refunds()), skill("orders"), skill("sentinel")])
    library = Library([source])
    await library.load()
    options = ServeOptions(additions=[ContractOptions(tolerant=tolerant)])
    server = skills_server(library, options=options, freshness=Freshness(0))
    uris = [SENTINEL, INDEX, CARD, DOCUMENT, REFERENCE, ORDERS, PROBLEMS]
    async with listening(server, mode, uris) as (client, heard):
        yield Stage(source, client, heard)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_good_change_is_published_and_told(mode: Any) -> None:
    async with stage(mode) as at:
        at.source.put(skill("orders", block("orders", version="2.0.0")))
        told = await at.told()
        assert {INDEX, CARD, ORDERS, "resources"} <= set(told)
        assert DOCUMENT not in told
        assert await at.versions() == {"orders": "2.0.0", "refunds": "1.0.0"}


async def test_a_new_body_is_told_at_the_address_alone() -> None:
    async with stage() as at:
        at.source.put(skill("orders", body="New"))
        assert await at.told() == [ORDERS]
        assert (await at.text(ORDERS)).endswith("New")


async def test_a_new_skill_has_its_addresses_at_once() -> None:
    async with stage() as at:
        at.source.put(skill("shop", block("shop", depends_on=["refunds"])))
        await at.told()
        assert json.loads(await at.text(CARD))["dependents"] == ["shop"]
        assert "resource://skills/shop/document" in await at.addresses()


async def test_strict_server_keeps_last_good_registry_until_errors_are_fixed() -> None:
    async with stage() as at:
        before = await at.addresses()
        at.source.put(skill("orders", block("orders", version=2.0)))
        at.source.put(skill("refunds", refunds(version="1.5.0")))
        assert PROBLEMS in await at.told()
        assert await at.versions() == {"orders": "1.0.0", "refunds": "1.0.0"}
        assert await at.addresses() == before | {PROBLEMS}
        assert "contract-version-type" in await at.rules()
        assert await at.text(DOCUMENT) == await at.text("skill://refunds/SKILL.md")
        at.source.put(skill("orders", block("orders", version="2.0.0")))
        await at.told()
        assert await at.versions() == {"orders": "2.0.0", "refunds": "1.5.0"}


@pytest.mark.parametrize("tolerant", [False, True])
async def test_live_skill_without_the_block_does_not_block_reload(*, tolerant: bool) -> None:
    async def now() -> bytes:
        return b"---\nname: live\ndescription: A program that is connected.\n---\n"

    async with stage(tolerant=tolerant) as at:
        at.source.put(MemorySkill("live", {"SKILL.md": now}))
        at.source.put(skill("orders", block("orders", version="2.0.0")))
        await at.told()
        assert await at.versions() == {"orders": "2.0.0", "refunds": "1.0.0"}
        assert "skill://live/SKILL.md" in await at.addresses()
        assert PROBLEMS not in await at.addresses()


async def test_tolerant_server_keeps_the_old_version_of_broken_skills() -> None:
    async with stage(tolerant=True) as at:
        at.source.put(skill("orders", block("orders", version=2.0)))
        at.source.put(skill("refunds", refunds(version="1.5.0")))
        await at.told()
        assert await at.versions() == {"orders": "1.0.0", "refunds": "1.5.0"}
        assert {"contract-version-type", "contract-dependency-broken"} <= await at.rules()


async def test_a_registry_that_is_kept_lists_nothing_that_is_gone() -> None:
    async with stage() as at:
        main = skill_md(frontmatter("refunds", refunds()))
        at.source.put(MemorySkill("refunds", {"SKILL.md": main}))
        at.source.remove("orders")
        await at.told()
        found = await at.addresses()
        assert DOCUMENT in found
        assert not {REFERENCE, ORDERS} & found
        assert await at.rules() >= {"contract-reference-missing", "contract-dependency-unknown"}

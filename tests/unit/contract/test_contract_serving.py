"""Serving under the contract: addresses with metadata, the same bytes, and what is left out."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from mcp import Client

from skillwire import FolderSource, Library, MemorySource, ServeOptions
from skillwire.contract import ContractOptions
from skillwire.contract.feature import as_resource
from skillwire.contract.publishing import ContractPublisher, ContractResource, PublishedSkills
from skillwire.contract.repository import check_repository
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.server import skills_server
from skillwire.sources import MemorySkill
from tests.support.clients import ERAS
from tests.support.contracts import (
    POLICY,
    block,
    check,
    frontmatter,
    skill_md,
    sound_frontmatters,
    write_contract_skill,
)
from tests.support.skills import write, write_skill

pytestmark = pytest.mark.anyio

INDEX = "resource://catalog/skills_index"
CARD = "resource://catalog/skills/refunds"
DOCUMENT = "resource://skills/refunds/document"
REFERENCE = "resource://skills/refunds/references/policy"
ALIAS = "resource://skills/refunds/references/rules"


def refunds(**fields: Any) -> dict[str, Any]:
    references = {"policy": {"path": POLICY, "title": "The policy", "aliases": ["rules"]}}
    start: dict[str, Any] = {
        "version": "1.4.0",
        "tags": ["billing", "money", "billing"],
        "capabilities": [DOCUMENT, REFERENCE],
        "depends_on": ["orders"],
        "references": references,
        "icons": [{"src": "https://example.com/r.png", "mimeType": "image/png"}],
    }
    return block("refunds", **(start | fields))


@pytest.fixture
def team(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    folder = write_contract_skill(
        root, "billing/refunds", refunds(), "# Refunds\r\n\r\nSee [it](references/policy.md).\n"
    )
    write(folder, {POLICY: "# Policy\r\nÄ\n", "references/hidden.md": "x"})
    write_contract_skill(root, "orders", metadata={"owner": "shop"})
    return root


@asynccontextmanager
async def serving(
    root: Path, mode: Any = "auto", *, tolerant: bool = False
) -> AsyncGenerator[tuple[Client, Library]]:
    library = Library([FolderSource(root, keep_good=True)])
    await library.load()
    server = skills_server(library, options=ServeOptions(additions=[ContractOptions(tolerant=tolerant)]))
    async with Client(server, mode=mode) as client:
        yield client, library


async def listed(client: Client) -> dict[str, Any]:
    found = (await client.list_resources()).resources
    return {str(each.uri): each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in found}


async def text_at(client: Client, uri: str) -> str:
    (block,) = (await client.read_resource(uri)).contents
    return block.model_dump()["text"]


async def document_at(client: Client, uri: str) -> Any:
    return json.loads(await text_at(client, uri))


@pytest.mark.parametrize("mode", ERAS)
async def test_every_address_is_listed_with_its_metadata(team: Path, mode: Any) -> None:
    async with serving(team, mode) as (client, _):
        found = await listed(client)
        assert [uri for uri in found if uri.startswith("resource://")] == [
            INDEX,
            "resource://catalog/skills/orders",
            CARD,
            "resource://skills/orders/document",
            DOCUMENT,
            REFERENCE,
            ALIAS,
        ]
        assert "skill://billing/refunds/references/policy.md" not in found
        document = found[DOCUMENT]
        assert document["name"] == "refunds"
        assert (document["title"], document["description"]) == ("Refunds", "Does refunds.")
        assert document["mimeType"] == "text/markdown"
        assert document["icons"][0]["src"] == "https://example.com/r.png"
        assert document["_meta"] == {
            "skill_id": "refunds",
            "path": "SKILL.md",
            "version": "1.4.0",
            "tags": ["billing", "money"],
            "readOnlyHint": True,
            "idempotentHint": True,
        }
        reference, alias = found[REFERENCE], found[ALIAS]
        assert reference["title"] == "The policy"
        assert (reference["_meta"]["ref_id"], reference["_meta"]["path"]) == ("policy", POLICY)
        assert alias["_meta"] == reference["_meta"] | {
            "ref_id": "rules",
            "deprecated": True,
            "alias_of": "policy",
        }


async def test_templates_are_listed_for_clients_that_fill_them_in(team: Path) -> None:
    async with serving(team) as (client, _):
        templates = {
            each.uri_template for each in (await client.list_resource_templates()).resource_templates
        }
        assert templates >= {
            "resource://catalog/skills/{id}",
            "resource://skills/{id}/document",
            "resource://skills/{id}/references/{ref_id}",
        }


@pytest.mark.parametrize("mode", ERAS)
async def test_the_bytes_are_those_of_the_skill_resources(team: Path, mode: Any) -> None:
    async with serving(team, mode) as (client, _):
        for ours, theirs in {
            DOCUMENT: "skill://billing/refunds/SKILL.md",
            REFERENCE: "skill://billing/refunds/references/policy.md",
            ALIAS: "skill://billing/refunds/references/policy.md",
        }.items():
            assert await text_at(client, ours) == await text_at(client, theirs)
        assert await text_at(client, REFERENCE) == "# Policy\r\nÄ\n"


async def test_values_are_served_in_their_plainest_spelling(team: Path) -> None:
    references = {" policy ": {"path": " ./references//Policy.MD ", "title": ""}}
    inner = refunds(version=" 1.4.0\n", tags=[" billing ", ""], references=references)
    folder = write_contract_skill(team, "billing/refunds", inner)
    write(folder, {"references/Policy.MD": "# Policy\n"})
    async with serving(team) as (client, _):
        assert await text_at(client, REFERENCE) == "# Policy\n"
        meta = (await listed(client))[REFERENCE]["_meta"]
        assert (meta["version"], meta["tags"], meta["path"]) == ("1.4.0", ["billing"], "references/Policy.MD")


async def test_the_catalog_lists_uris_and_dependencies(team: Path) -> None:
    async with serving(team) as (client, _):
        card = await document_at(client, CARD)
        assert card == {
            "id": "refunds",
            "description": "Does refunds.",
            "version": "1.4.0",
            "tags": ["billing", "money"],
            "document": DOCUMENT,
            "references": ["policy"],
            "capabilities": [DOCUMENT, REFERENCE],
            "depends_on": ["orders"],
            "dependents": [],
            "closure": ["orders"],
            "topological_order": ["orders", "refunds"],
        }
        assert (await document_at(client, "resource://catalog/skills/orders"))["dependents"] == ["refunds"]
        index = await document_at(client, INDEX)
        assert [each["id"] for each in index["skills"]] == ["orders", "refunds"]


async def test_reads_and_tool_results_carry_who_and_which_version(team: Path) -> None:
    meta = {"skill_id": "refunds", "version": "1.4.0", "tags": ["billing", "money"]}
    async with serving(team) as (client, _):
        for uri in (DOCUMENT, ALIAS, CARD, "skill://billing/refunds/references/policy.md"):
            result = await client.read_resource(uri)
            told = result.contents[0].meta or {}
            own = uri.startswith("skill://")  # where no bare key may be
            assert {key: told.get(key) for key in meta} == (dict.fromkeys(meta) if own else meta)
            assert {key: (result.meta or {})[key] for key in meta} == meta
        result = await client.call_tool("load-skill", {"name": "refunds"})
        assert {key: (result.meta or {})[key] for key in meta} == meta
        result = await client.call_tool("skill-resource", {"skill": "orders", "path": ""})
        assert (result.meta or {})["skill_id"] == "orders"
        assert (result.meta or {})["io.modelcontextprotocol.skills/owner"] == "shop"


@pytest.mark.parametrize(
    "uri",
    [
        "resource://skills/refunds/references/hidden",
        "resource://skills/refunds/SKILL.md",
        "resource://skills/refunds/references/../document",
        "resource://skills/nobody/document",
        "resource://catalog/skills/nobody",
        "resource://catalog/",
    ],
)
async def test_nothing_else_is_served(team: Path, uri: str) -> None:
    async with serving(team) as (client, _):
        with pytest.raises(Exception, match="no file is served at"):
            await client.read_resource(uri)


async def test_without_the_contract_no_catalog_is_served(team: Path) -> None:
    library = Library([FolderSource(team)])
    await library.load()
    async with Client(skills_server(library)) as client:
        assert not any(uri.startswith("resource://") for uri in await listed(client))
        assert "skill_id" not in ((await client.call_tool("load-skill", {"name": "refunds"})).meta or {})


async def test_a_tolerant_server_omits_broken_skills_and_lists_their_problems(team: Path) -> None:
    write_contract_skill(team, "broken", block("broken", version=1.0))
    write_skill(team, "plain")
    async with serving(team, tolerant=True) as (client, _):
        found = await listed(client)
        assert DOCUMENT in found
        assert "resource://skills/broken/document" not in found
        assert "skill://broken/SKILL.md" in found
        problems = (await document_at(client, "skillwire://problems"))["problems"]
        errors = [each for each in problems if each["severity"] == "error"]
        assert {(each["path"], each["rule"]) for each in errors} == {
            ("broken/SKILL.md", "contract-version-type"),
            ("plain/SKILL.md", "contract-block-missing"),
        }


# Values for whoever registers resources with another server


@given(raw=sound_frontmatters())
def test_what_has_no_hard_error_serves(raw: dict[str, Any]) -> None:
    name = raw["name"]
    skill = check(raw, path=f"{name}/SKILL.md", files=(POLICY, "references/a/b.md"))
    published = PublishedSkills.of(check_repository([skill]).valid)
    assert list(published.skills) == [name]
    served = {uri for uri, each in published.resources.items() if each.path is not None}
    assert served >= set(raw[BLOCK_KEY]["capabilities"])
    for each in published.resources.values():
        assert each.meta["readOnlyHint"] is True
        if each.path is None:
            json.loads(published.rendered(each))


async def test_unknown_fields_are_published_verbatim(tmp_path: Path) -> None:
    raw = frontmatter("refunds", block(own={"deep": [1, None, "x"]}), my_field={"a": [True]})
    files = {"SKILL.md": skill_md(raw)}
    library = Library([MemorySource([MemorySkill("refunds", files)])])
    catalog = await library.load()
    found = ContractPublisher().of(catalog)
    assert found.checked.errors == ()
    assert found.published.skills["refunds"].frontmatter.raw == raw
    (entry,) = catalog.entries.values()
    assert entry.frontmatter == raw


def test_a_resource_is_one_plain_value() -> None:
    published = PublishedSkills.of(check_repository([check(frontmatter())]).valid)
    resource = published.resources[DOCUMENT]
    assert isinstance(resource, ContractResource)
    assert (resource.version, resource.tags, resource.title) == ("1.0.0", (), "Refunds")
    assert "annotations" not in as_resource(resource)
    assert {"readOnlyHint": True, "idempotentHint": True}.items() <= resource.meta.items()


async def test_what_is_kept_of_a_checked_repository_holds_no_bodies(team: Path) -> None:
    marker = "a line of the body that nobody may keep"
    write_contract_skill(team, "long", body=f"{marker}\n" * 100)
    library = Library([FolderSource(team)])
    found = ContractPublisher().of(await library.load())
    assert "long" in found.published.skills
    assert marker not in repr(found)

"""The search of the pages: its order, its reasons, its further results, and who gets results."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import httpx2
import jsonschema
import pytest

from skillwire import Skill
from skillwire.app.gateway import ServedLibrary, open_served_library
from skillwire.authoring.source import CodeSource
from skillwire.config.file import ConfigFile
from skillwire.config.source_config import LibraryOptions
from skillwire.errors import BadParamsError
from skillwire.library.search import MAX_LIMIT
from skillwire.pages.apps import SKILLS_SCHEMA, tool_text
from skillwire.pages.overview import Overview
from skillwire.pages.serving import mcp_overview
from tests.support.peers import MODERN, PATIENCE, HttpServer, StdioPeer, skillwire
from tests.support.skills import skill_md, write
from tests.support.templates import catalog_library, template_skills

pytestmark = pytest.mark.anyio

TOKEN = "correct-horse-battery-staple"
CALL = "/ui/call/skill-display"
MANY = 70


def write_library(root: Path) -> Path:
    """Write 70 skills about invoices, and three about something else."""
    texts = {
        f"billing/invoice-{number:02}": skill_md(f"invoice-{number:02}", f"Handles invoice number {number}.")
        for number in range(MANY)
    }
    texts["chat/telegram"] = skill_md(
        "telegram", "Sends a message.", "# Bots\n\nStart the bot with a token.\n"
    )
    texts["chat/greeting"] = skill_md("greeting", "Says hello in a telegram.")
    texts["tools/ledger"] = skill_md(
        "ledger", "Keeps the books.", "# Steps\n\nAdd up each **column** twice.\n"
    )
    write(root, {f"{path}/SKILL.md": text for path, text in texts.items()})
    return root


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_library(tmp_path_factory.mktemp("searched") / "skills")


@pytest.fixture
async def served(folder: Path, tmp_path: Path) -> ServedLibrary:
    served = open_served_library([str(folder)], LibraryOptions(), ConfigFile(tmp_path / "config.toml"))
    await served.library.load()
    return served


@pytest.fixture
def overview(served: ServedLibrary) -> Overview:
    return mcp_overview(served.context)


@pytest.fixture(scope="module")
def guarded(folder: Path) -> Iterator[HttpServer]:
    """A server with a token."""
    environment = {**os.environ, "PAGE_TOKEN": TOKEN}
    options = ("--http", "0", "--no-config", "--token-env", "PAGE_TOKEN")
    with HttpServer(folder, *options, env=environment) as server:
        yield server


class NothingToChange:
    """As much of an `Admin` as an overview of a library in memory needs."""

    editable = False

    def sources(self) -> tuple[()]:
        return ()

    def listen(self, _listener: object) -> Callable[[], None]:
        return lambda: None


def names(page: Any) -> list[str]:
    return [each["name"] for each in page["skills"]]


# Results


async def test_the_best_skill_is_first_and_tells_why(overview: Overview) -> None:
    page: Any = await overview.search("telegram", 10)
    assert names(page) == ["telegram", "greeting"]
    assert [each["rank"] for each in page["matches"]] == [1, 2]
    assert [each["fields"] for each in page["matches"]] == [["name"], ["description"]]
    found: Any = await overview.search("column", 10)
    assert found["matches"][0]["fields"] == ["text"]
    assert found["matches"][0]["snippet"] == "Add up each column twice."


async def test_a_word_is_found_before_it_is_complete(overview: Overview) -> None:
    page: Any = await overview.search("teleg", 10)
    assert names(page) == ["telegram", "greeting"]
    assert [each["fields"] for each in page["matches"]] == [["name"], ["description"]]
    found: Any = await overview.search("colu", 10)
    assert found["matches"][0]["snippet"] == "Add up each column twice."


async def test_corrections_and_weak_results_are_told(overview: Overview) -> None:
    page: Any = await overview.search("telegran bot", 10)
    assert (page["corrections"], page["weak"]) == ({"telegran": "telegram"}, False)
    assert names(page)[0] == "telegram"
    weak: Any = await overview.search("violin repair column maintenance", 10)
    assert (names(weak), weak["weak"]) == (["ledger"], True)
    assert "no skill fits well" in tool_text("skill-display", weak)
    nothing: Any = await overview.search("zzzyqx", 10)
    assert (nothing["total"], nothing["skills"], nothing["matches"]) == (0, [], [])


async def test_the_cursor_continues_without_gaps_or_repeats(overview: Overview) -> None:
    seen: list[str] = []
    cursor = None
    while True:
        page: Any = await overview.search("invoice", 20, cursor=cursor)
        assert page["total"] == MANY
        assert [each["uri"] for each in page["matches"]] == [each["uri"] for each in page["skills"]]
        seen += names(page)
        cursor = page.get("nextCursor")
        if cursor is None:
            break
        assert cursor in tool_text("skill-display", page)
    assert sorted(seen) == [f"invoice-{number:02}" for number in range(MANY)]


async def test_a_page_never_has_more_results_than_the_maximum(overview: Overview) -> None:
    page: Any = await overview.search("invoice", 2000)
    assert len(page["skills"]) == MAX_LIMIT


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("invoice", {"limit": 0}),
        ("x" * 9000, {"limit": 10}),
        ("invoice", {"limit": 10, "offset": 5}),
        ("invoice", {"limit": 10, "cursor": "unknown"}),
    ],
    ids=["limit", "length", "offset", "cursor"],
)
async def test_wrong_arguments_are_refused(overview: Overview, query: str, options: Any) -> None:
    with pytest.raises(BadParamsError):
        await overview.search(query, **options)


async def test_a_cursor_of_another_query_is_refused(overview: Overview) -> None:
    page: Any = await overview.search("invoice", 5)
    with pytest.raises(BadParamsError):
        await overview.search("invoices", 5, cursor=page["nextCursor"])


async def test_without_search_skills_that_contain_every_word_are_found(
    overview: Overview, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "skillwire.search.service", None)
    page: Any = await overview.search("books ledger", 10)
    assert names(page) == ["ledger"]
    assert "matches" not in page
    jsonschema.validate(page, SKILLS_SCHEMA)
    page = await overview.search("invoice", 10, offset=5)
    assert (page["total"], names(page)[0]) == (MANY, "invoice-05")
    with pytest.raises(BadParamsError):
        await overview.search("invoice", 10, cursor="unknown")


async def test_templates_are_neither_shown_nor_counted() -> None:
    text = "---\nname: guide-writer\ndescription: Writes a guide to use.\n---\n\n# Steps\n"
    library = await catalog_library(CodeSource(template_skills().add(Skill("guide-writer", text))))
    overview = Overview(library, cast("Any", NothingToChange()))
    found = await library.search("how to use a guide")
    assert any("{" in each.uri for each in found.results)
    page: Any = await overview.search("how to use a guide", 10)
    assert (names(page), page["total"], len(page["matches"])) == (["guide-writer"], 1, 1)
    first: Any = await overview.search("how to use a guide", 1)
    assert first["total"] == 1


# The tool


def test_skill_display_has_the_order_of_search_skills(folder: Path) -> None:
    with StdioPeer(MODERN, skillwire("serve", folder, "--no-config")) as peer:

        def call(tool: str, **arguments: object) -> Any:
            return peer.result("tools/call", {"name": tool, "arguments": arguments})

        for query in ("telegram message", "invoice number 33", "teleg", "books", "zzzyqx"):
            ranked = call("search-skills", query=query, limit=50)["structuredContent"]
            shown = call("skill-display", query=query, limit=50)["structuredContent"]
            jsonschema.validate(shown, SKILLS_SCHEMA)
            assert [each["uri"] for each in shown["skills"]] == [each["uri"] for each in ranked["results"]]
            assert (shown["total"], shown["weak"]) == (ranked["total"], ranked["weak"])
        text = call("skill-display", query="telegram")["content"][0]["text"]
        assert text.splitlines()[:2] == ["2 skills found; the best first:", "- telegram: Sends a message."]
        (tool,) = (each for each in peer.result("tools/list")["tools"] if each["name"] == "skill-display")
        assert "same order as in `search-skills`" in tool["description"]


# Who gets results


def call(server: HttpServer, body: object, **headers: str) -> httpx2.Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(f"{server.base}{CALL}", json=body, headers=sent, trust_env=False, timeout=PATIENCE)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"x_skillwire_session": "unknown"},
        {"authorization": f"Bearer {TOKEN}"},  # without the CSRF token of the page
        {"authorization": f"Bearer {TOKEN}", "origin": "https://evil.example"},
        {"authorization": f"Bearer {TOKEN}", "host": "evil.example"},
    ],
    ids=["nothing", "wrong token", "wrong session", "no page", "foreign origin", "foreign host"],
)
def test_callers_without_access_get_no_results(guarded: HttpServer, headers: dict[str, str]) -> None:
    answer = call(guarded, {"query": "telegram"}, **headers)
    assert answer.status_code in {401, 403, 421}
    assert "greeting" not in answer.text


def test_a_page_that_is_let_in_gets_results(guarded: HttpServer) -> None:
    opened = httpx2.post(
        f"{guarded.base}/ui/session", json={"token": TOKEN}, headers={"origin": guarded.base}, trust_env=False
    )
    session = {"origin": guarded.base, "x_skillwire_session": opened.json()["session"]}
    answer = call(guarded, {"query": "telegram"}, **session)
    assert (answer.status_code, names(answer.json())) == (200, ["telegram", "greeting"])
    for wrong in ({"query": "x" * 9000}, {"query": "invoice", "cursor": 1}, {"query": "invoice", "limit": 0}):
        refused = call(guarded, wrong, **session)
        assert refused.status_code == 400
        assert len(refused.json()["error"]) < 200
    assert json.dumps(answer.json()).count(str(Path.home())) == 0

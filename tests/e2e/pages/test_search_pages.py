"""The search field of the pages: ranked by the server, in a browser, with 1,000 skills."""

import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio import run_process
from playwright.async_api import Browser, Page, Route, expect

from tests.support.axe import violations
from tests.support.browser import DESK, page_of
from tests.support.paths import ROOT
from tests.support.peers import HttpServer, skillwire
from tests.support.skills import skill_md, write

pytestmark = pytest.mark.anyio

NARROW = (320, 640)
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SKILLS = 1000
INVOICES = 60
CALL = "**/ui/call/skill-display"


@pytest.fixture(scope="module")
def searched(home: Path) -> Iterator[HttpServer]:
    """A server with 1,000 skills, 60 of them about invoices."""
    texts: dict[str, bytes | str] = {
        f"team-{number % 20:02}/task-{number:03}/SKILL.md": skill_md(
            f"task-{number:03}",
            f"Does the task of customer {number}.",
            f"# Task\n\nCall extension {number}.\n",
        )
        for number in range(SKILLS - INVOICES - 3)
    }
    for number in range(INVOICES):
        texts[f"billing/invoice-{number:02}/SKILL.md"] = skill_md(f"invoice-{number:02}", "Sends an invoice.")
    texts["chat/telegram/SKILL.md"] = skill_md("telegram", "Sends a message.", "# Bots\n\nStart a bot.\n")
    texts["chat/greeting/SKILL.md"] = skill_md("greeting", "Says hello in a telegram.")
    hostile = "Open the zeppelin <img src=x onerror=window.pwned=1> hangar. " + "w" * 300
    texts["other/hangar/SKILL.md"] = skill_md("hangar", "Moves things.", f"# Steps\n\n{hostile}\n")
    write(home / "searched", texts)
    with HttpServer(home / "searched", "--http", "0", "--no-config") as server:
        yield server


@pytest.fixture
async def page(browser: Browser, searched: HttpServer) -> AsyncGenerator[Page]:
    async with page_of(browser, searched.base) as page:
        await page.goto("/")
        await expect(page.locator(".tally")).to_have_text("1,000 skills")
        yield page


async def search(page: Page, query: str) -> None:
    """Search, and wait until the answer is shown."""
    await page.get_by_role("searchbox", name="Search skills").fill(query)
    await expect(page.locator("#skill-list")).to_have_attribute("aria-busy", "false")


def write_described(folder: Path, description: str) -> Path:
    """Write a skill with this description into a folder of its name; return the folder."""
    write(folder, {"SKILL.md": skill_md(folder.name, description)})
    return folder


async def test_the_best_skill_is_first_with_the_reason(page: Page) -> None:
    await search(page, "telegram")
    await expect(page.locator(".row strong")).to_have_text(["telegram", "greeting"])
    await expect(page.locator(".row .fields").nth(1)).to_contain_text("description")
    await search(page, "how do I start the bot")
    await expect(page.locator(".row strong").first).to_have_text("telegram")
    await expect(page.locator(".row .line").first).to_have_text("Start a bot.")
    await expect(page.locator(".row mark").first).to_have_text("Start")


async def test_results_follow_each_letter_and_the_empty_field_lists_all(page: Page) -> None:
    field = page.get_by_role("searchbox")
    await field.press_sequentially("zepp", delay=30)
    await expect(page.locator(".row strong")).to_have_text(["hangar"])
    await expect(page.locator(".tally")).to_have_text("1 of 1,000 skills")
    await expect(page.locator(".row .line mark")).to_have_text("zeppelin")
    await expect(page.locator(".row img")).to_have_count(0)
    assert await page.evaluate("window.pwned") is None
    await field.press("Escape")
    await expect(page.locator(".tally")).to_have_text("1,000 skills")
    await expect(page.locator(".row .why")).to_have_count(0)


async def test_corrections_and_weak_results_are_announced(page: Page) -> None:
    status = page.get_by_role("status").filter(has_text="skills")
    await search(page, "telegran")
    await expect(status).to_contain_text("Searched for telegram instead of telegran.")
    await expect(page.locator(".row strong").first).to_have_text("telegram")
    await search(page, "violin repair zeppelin maintenance schedule")
    await expect(status).to_contain_text("No skill fits well.")
    await search(page, "qqzzyy")
    await expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    await expect(status).to_have_text("0 of 1,000 skills")
    await page.get_by_role("button", name="Clear the search").click()
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await expect(status).to_have_text("1,000 skills")


async def test_more_results_follow_until_there_are_none(page: Page) -> None:
    await search(page, "invoice")
    await expect(page.locator(".tally")).to_have_text(f"{INVOICES} of 1,000 skills")
    row = page.locator(".row").first
    await expect(row).to_have_attribute("aria-setsize", "25")
    await page.get_by_role("button", name="Show 25 more").press("Enter")
    await expect(row).to_have_attribute("aria-setsize", "50")
    await expect(page.get_by_role("button", name="Show 10 more")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(row).to_have_attribute("aria-setsize", str(INVOICES))
    await expect(page.get_by_role("listbox", name="Skills")).to_be_focused()
    await page.keyboard.press("End")
    names = {await each.inner_text() for each in await page.locator(".row strong").all()}
    assert names <= {f"invoice-{number:02}" for number in range(INVOICES)}


async def test_a_search_is_used_with_the_keyboard_alone(page: Page) -> None:
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.type("telegram")
    await page.keyboard.press("Enter")
    await expect(page.locator(".row")).to_have_count(2)
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.locator(".head h1")).to_have_text("greeting")


async def test_only_the_answer_to_the_newest_query_is_shown(page: Page) -> None:
    held: list[Route] = []

    async def hold(route: Route) -> None:
        if '"telegram"' in (route.request.post_data or ""):
            held.append(route)
        else:
            await route.continue_()

    await page.route(CALL, hold)
    field = page.get_by_role("searchbox")
    async with page.expect_request(CALL):
        await field.fill("telegram")
    await expect(page.locator(".tally")).to_have_text("Searching…")
    await search(page, "zeppelin")
    await expect(page.locator(".row strong")).to_have_text(["hangar"])
    (late,) = held
    async with page.expect_response(CALL):
        await late.continue_()
    await search(page, "zeppelin hangar")
    await expect(page.locator(".row strong")).to_have_text(["hangar"])


async def test_few_requests_are_sent_while_typing(page: Page) -> None:
    sent: list[str] = []
    page.on(
        "request",
        lambda request: (
            sent.append(request.post_data or "") if "query" in (request.post_data or "") else None
        ),
    )
    await page.get_by_role("searchbox").press_sequentially("telegram message", delay=5)
    await expect(page.locator("#skill-list")).to_have_attribute("aria-busy", "false")
    assert '"telegram message"' in sent[-1]
    assert len(sent) < len("telegram message") / 2


async def test_results_are_completed_when_the_index_is(page: Page) -> None:
    asked: list[str] = []

    async def answer(route: Route) -> None:
        asked.append(route.request.post_data or "")
        real = await (await route.fetch()).json()
        early: dict[str, Any] = {"total": 0, "skills": [], "matches": [], "incomplete": True}
        await route.fulfill(json=real if len(asked) > 2 else {**real, **early})

    await page.route(CALL, answer)
    await page.get_by_role("searchbox").fill("telegram")
    await expect(page.locator(".tally")).to_contain_text("The index is still being built.")
    await expect(page.locator(".row strong")).to_have_text(["telegram", "greeting"])
    await expect(page.locator(".tally")).to_have_text("2 of 1,000 skills")


async def test_a_query_that_is_too_long_is_explained(page: Page) -> None:
    await page.get_by_role("searchbox").fill("word " * 2000)
    await expect(page.get_by_role("heading", name="The search failed")).to_be_visible()
    await expect(page.locator(".none")).to_contain_text("8,192 bytes")
    await search(page, "zeppelin")
    await expect(page.locator(".row strong")).to_have_text(["hangar"])


async def test_results_follow_changes_of_the_skills(page: Page, home: Path) -> None:
    await search(page, "zeppelin")
    folder = write_described(home / "searched/other/airship", "Steers a zeppelin.")
    try:
        await expect(page.locator(".tally")).to_have_text("2 of 1,001 skills", timeout=20_000)
        await expect(page.locator(".row", has_text="airship")).to_have_count(1)
    finally:
        shutil.rmtree(folder)
    await expect(page.locator(".row strong")).to_have_text(["hangar"], timeout=20_000)
    await expect(page.locator(".tally")).to_have_text("1 of 1,000 skills")


async def test_without_a_connection_the_page_searches_what_it_has(page: Page) -> None:
    await page.route(CALL, lambda route: route.abort())
    await search(page, "billing invoice-07")
    await expect(page.locator(".row strong")).to_have_text(["invoice-07"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, NARROW], ids=["desk", "narrow"])
async def test_results_are_accessible(
    browser: Browser, searched: HttpServer, size: tuple[int, int], scheme: str
) -> None:
    async with page_of(browser, searched.base, size, scheme=scheme) as page:
        await page.goto("/")
        await expect(page.locator(".tally")).to_have_text("1,000 skills")
        for query in ("invoice", "telegran", "violin repair zeppelin schedule", "qqzzyy"):
            await search(page, query)
            assert (query, await violations(page)) == (query, [])
            assert (query, await page.evaluate(OVERFLOW)) == (query, 0)
        await search(page, "zeppelin")
        why = page.locator(".row .why")
        row, line = await page.locator(".row").bounding_box(), await why.bounding_box()
        assert row is not None
        assert line is not None
        assert line["y"] + line["height"] <= row["y"] + row["height"]


async def test_without_the_search_area_the_page_filters_the_list(
    browser: Browser, home: Path, tmp_path: Path
) -> None:
    package = tmp_path / "src/skillwire"
    shutil.copytree(ROOT / "src/skillwire", package, ignore=shutil.ignore_patterns("search", "__pycache__"))
    shutil.copy(ROOT / "src/skillwire/library/search.py", package / "library")
    table = package / "app/areas.py"
    lines = table.read_text("utf-8").splitlines(keepends=True)
    table.write_text("".join(line for line in lines if "skillwire.search." not in line), "utf-8")
    write_described(home / "few/refunds", "Pays customers back.")
    write_described(home / "few/returns", "Takes goods back.")
    env = {**os.environ, "PYTHONPATH": str(package.parent)}
    with HttpServer(home / "few", "--http", "0", "--no-config", env=env) as server:
        async with page_of(browser, server.base) as page:
            await page.goto("/")
            await expect(page.locator(".row")).to_have_count(2)
            await search(page, "ustomer")  # a part of a word, which only the filter finds
            await expect(page.locator(".row strong")).to_have_text(["refunds"])
            await expect(page.locator(".tally")).to_have_text("1 of 2 skills")
            await expect(page.locator(".row .why")).to_have_count(0)
            await search(page, "goods customers")
            await expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()


async def test_withheld_skills_are_found_and_marked(browser: Browser, home: Path) -> None:
    options, env = ("--http", "0", "--no-config"), {**os.environ, "SKILLWIRE_STATE_DIR": str(home / "state")}
    write_described(home / "upstream/refunds", "Pays customers back.")
    write_described(home / "upstream/returns", "Takes goods back from customers.")
    with (
        HttpServer(home / "upstream", *options) as upstream,
        HttpServer(upstream.url, "--http", "0", env=env, command="bridge") as bridge,
    ):
        async with page_of(browser, bridge.base, NARROW) as page:
            await page.goto("/")
            await expect(page.locator(".row")).to_have_count(2)
            await search(page, "back customers")
            rows, status = page.locator(".row"), page.locator(".tally")
            await expect(page.locator(".row .badge", has_text="not approved")).to_have_count(2)
            await expect(status).to_have_text("2 of 2 skills2 skills not approved: not ranked.")
            assert await violations(page) == []
            approve = skillwire("approve", "returns", "--from", upstream.url, "--yes")
            await run_process(approve, env=env, stdin=subprocess.DEVNULL)
            await expect(page.locator(".row strong")).to_have_text(["returns", "refunds"])
            await expect(status).to_contain_text("1 skill not approved: not ranked, and shown last.")
            await expect(rows.first.locator(".why")).to_contain_text("description")
            await expect(rows.nth(1)).to_contain_text("not approved")
            assert await violations(page) == []
            await search(page, "zeppelin")
            await expect(rows).to_have_count(0)

"""The list of skills with thousands of skills: few rows, few bytes, and every skill within reach."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, Response, Route, expect

from tests.support.axe import violations
from tests.support.browser import DESK, PHONE, page_of
from tests.support.peers import HttpServer
from tests.support.skills import skill_md, write, write_skill

pytestmark = pytest.mark.anyio

SKILLS = 3000
MILLION = 1_000_000
MOST_ROWS, MOST_BYTES = 40, 100_000
CALL = "**/ui/call/skill-display"
TO_MIDDLE = "element => { element.scrollTop = (element.scrollHeight - element.clientHeight) / 2 }"
TO_END = "element => { element.scrollTop = element.scrollHeight }"


def name(number: int) -> str:
    return f"task-{number:04}"


@pytest.fixture(scope="module")
def large(home: Path) -> Iterator[HttpServer]:
    """A server with 3,000 skills in 30 folders."""
    texts: dict[str, bytes | str] = {
        f"team-{number // 100:02}/{name(number)}/SKILL.md": skill_md(
            name(number), f"Does the task of customer {number}.", "# Task\n\nDo it.\n"
        )
        for number in range(SKILLS)
    }
    write(home / "large", texts)
    with HttpServer(home / "large", "--http", "0", "--no-config") as server:
        yield server


@pytest.fixture
async def page(browser: Browser, large: HttpServer) -> AsyncGenerator[Page]:
    async with page_of(browser, large.base) as page:
        await opened(page)
        yield page


async def opened(page: Page, address: str = "/") -> None:
    await page.goto(address)
    await expect(page.locator(".tally")).to_have_text("3,000 skills")
    await expect(page.locator(".row strong").first).to_be_visible()


async def at_rest(page: Page) -> None:
    """Wait until the rows at the place that was scrolled to are drawn and loaded."""
    await page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    await expect(page.locator(".row .waiting")).to_have_count(0)


async def first_shown(page: Page) -> str:
    """Return the name in the first row that is completely visible."""
    return await page.locator("#skill-list").evaluate(
        """list => [...list.querySelectorAll(".row")].find(
          row => row.getBoundingClientRect().top >= list.getBoundingClientRect().top - 1
        ).querySelector("strong").textContent"""
    )


async def assert_few_rows(page: Page) -> None:
    assert 0 < await page.locator(".row").count() < MOST_ROWS


def row(page: Page, number: int) -> Locator:
    return page.locator(".row", has=page.locator("strong", has_text=name(number)))


# Size


async def test_the_first_view_transfers_one_part_of_the_list(browser: Browser, large: HttpServer) -> None:
    sizes: list[int] = []

    async def measure(response: Response) -> None:
        if "/ui/call/" in response.url:
            sizes.append(len(await response.body()))

    async with page_of(browser, large.base) as page:
        page.on("response", measure)
        await opened(page)
        await page.wait_for_load_state("load")
        await assert_few_rows(page)
        assert 0 < sum(sizes) < MOST_BYTES


async def test_scrolling_to_the_end_shows_the_last_skill(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    await page.locator("#skill-list").evaluate(TO_END)
    await expect(row(page, SKILLS - 1)).to_be_visible()
    await expect(row(page, SKILLS - 1)).to_have_attribute("aria-posinset", str(SKILLS))
    await assert_few_rows(page)
    assert len([each for each in asked if "offset" in each]) <= 3


async def test_every_row_of_a_long_scroll_is_loaded(page: Page) -> None:
    skills = page.locator("#skill-list")
    for step in range(1, 13):
        await skills.evaluate(f"element => {{ element.scrollTop = element.scrollHeight * {step} / 13 }}")
        await at_rest(page)
        await assert_few_rows(page)
    numbers = [int(text[-4:]) for text in await page.locator(".row strong").all_inner_texts()]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_a_million_skills_are_within_reach(browser: Browser, large: HttpServer) -> None:
    patterns: list[dict[str, Any]] = []

    async def answer(route: Route) -> None:
        asked = json.loads(route.request.post_data or "{}")
        real = await (await route.fetch()).json()
        patterns.extend(real["skills"])
        numbers = range(asked["offset"], min(asked["offset"] + asked["limit"], MILLION))
        skills = [{**patterns[0], "uri": f"skill://{n}/SKILL.md", "name": f"skill {n}"} for n in numbers]
        await route.fulfill(json={**real, "total": MILLION, "offset": asked["offset"], "skills": skills})

    async with page_of(browser, large.base) as page:
        await page.route(CALL, answer)
        await page.goto("/")
        await expect(page.locator(".tally")).to_have_text("1,000,000 skills")
        skills = page.locator("#skill-list")
        await skills.evaluate(TO_END)
        await expect(page.get_by_role("option", name="skill 999999")).to_be_in_viewport()
        await skills.evaluate(TO_MIDDLE)
        await expect(page.get_by_role("option", name="skill 500000")).to_be_in_viewport()
        await skills.focus()
        for key, number in (("End", MILLION - 1), ("ArrowUp", MILLION - 2), ("Home", 0), ("ArrowDown", 1)):
            await page.keyboard.press(key)
            active = page.locator(".row.active", has_text=f"skill {number}")
            await expect(active).to_be_in_viewport()
        await assert_few_rows(page)


# Keyboard and screen readers


async def test_the_keyboard_reaches_both_ends_and_pages(page: Page) -> None:
    skills = page.get_by_role("listbox", name="Skills")
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(skills).to_be_focused()
    active = page.locator(".row.active")
    await page.keyboard.press("End")
    await expect(active.locator("strong")).to_have_text(name(SKILLS - 1))
    await expect(active).to_have_attribute("aria-posinset", str(SKILLS))
    await expect(active).to_have_attribute("aria-setsize", str(SKILLS))
    await expect(skills).to_have_attribute("aria-activedescendant", await active.get_attribute("id") or "")
    await page.keyboard.press("PageUp")
    await expect(active.locator("strong")).not_to_have_text(name(SKILLS - 1))
    await expect(active).to_be_in_viewport()
    await page.keyboard.press("PageDown")
    await expect(active.locator("strong")).to_have_text(name(SKILLS - 1))
    await page.keyboard.press("Home")
    await expect(active.locator("strong")).to_have_text(name(0))
    await assert_few_rows(page)


async def test_a_loading_row_opens_when_it_is_loaded(page: Page) -> None:
    held: list[Route] = []
    asked = asyncio.Event()

    async def hold(route: Route) -> None:
        held.append(route)
        asked.set()

    await page.locator("#skill-list").focus()
    await page.route(CALL, hold)
    await page.keyboard.press("End")
    async with asyncio.timeout(10):
        await asked.wait()
    await expect(page.locator(".row.active")).to_have_text("Loading…")
    assert await violations(page) == []
    await page.keyboard.press("Enter")
    for route in held:
        await route.continue_()
    await page.unroute(CALL)
    await expect(page.locator(".head h1")).to_have_text(name(SKILLS - 1))


# Search


async def test_the_filter_finds_a_skill_in_the_middle(page: Page) -> None:
    await page.get_by_role("searchbox").fill(name(1543))
    await expect(page.locator(".row strong").first).to_have_text(name(1543))
    await page.keyboard.press("Escape")
    await expect(page.locator(".tally")).to_have_text("3,000 skills")
    await expect(page.locator(".row strong").first).to_have_text(name(0))
    await assert_few_rows(page)


# Places


async def test_a_link_scrolls_to_a_skill_in_the_middle(browser: Browser, large: HttpServer) -> None:
    async with page_of(browser, large.base) as page:
        await opened(page, f"/#/skills/team-15/{name(1543)}")
        await expect(page.locator(".head h1")).to_have_text(name(1543))
        await expect(row(page, 1543)).to_be_in_viewport()
        await expect(row(page, 1543)).to_have_attribute("aria-selected", "true")


async def test_a_link_in_the_page_loads_its_part(page: Page) -> None:
    await page.evaluate(f"location.hash = '#/skills/team-22/{name(2200)}'")
    await expect(page.locator(".head h1")).to_have_text(name(2200))
    await expect(row(page, 2200)).to_be_in_viewport()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_back_and_reload_keep_the_place(
    browser: Browser, large: HttpServer, size: tuple[int, int]
) -> None:
    async with page_of(browser, large.base, size) as page:
        await opened(page)
        skills = page.locator("#skill-list")
        await skills.evaluate(TO_MIDDLE)
        await at_rest(page)
        before = await first_shown(page)
        assert before != name(0)
        number = int(before[-4:]) + 1
        await row(page, number).click()
        await expect(page.locator(".head h1")).to_have_text(name(number))
        await page.go_back()
        await expect(row(page, number)).to_be_in_viewport()
        assert await first_shown(page) == before
        await page.get_by_role("link", name="Problems").click()
        await page.go_back()
        await expect(row(page, number)).to_be_in_viewport()
        assert await first_shown(page) == before
        await page.evaluate(
            "new Promise(resolve => setTimeout(resolve, 400))"
        )  # it is remembered when it rests
        await page.reload()
        await expect(row(page, number)).to_be_in_viewport()
        assert abs(int((await first_shown(page))[-4:]) - int(before[-4:])) <= 1


async def test_a_reload_repeats_the_search(page: Page) -> None:
    await page.get_by_role("searchbox").fill(name(1543))
    await expect(page.locator(".row strong").first).to_have_text(name(1543))
    await page.reload()
    await expect(page.get_by_role("searchbox")).to_have_value(name(1543))
    await expect(page.locator(".row strong").first).to_have_text(name(1543))


async def test_changes_above_do_not_move_what_is_read(page: Page, home: Path) -> None:
    skills = page.locator("#skill-list")
    await skills.evaluate(TO_MIDDLE)
    await at_rest(page)
    before = await first_shown(page)
    for number in range(3):
        write_skill(home / "large", f"a-first-{number}")
    await expect(page.locator(".tally")).to_have_text("3,003 skills", timeout=20_000)
    await at_rest(page)
    assert await first_shown(page) == before
    await skills.evaluate("element => { element.scrollTop = 0 }")
    await expect(page.locator(".row strong").first).to_have_text("a-first-0")
    for number in range(3):
        folder = home / f"large/a-first-{number}"
        (folder / "SKILL.md").unlink()
        folder.rmdir()
    await expect(page.locator(".row strong").first).to_have_text(name(0), timeout=20_000)


async def test_a_part_that_failed_is_loaded_on_retry(page: Page) -> None:
    await page.route(CALL, lambda route: route.abort())
    await page.locator("#skill-list").evaluate(TO_END)
    await expect(page.locator(".banner")).to_be_visible()
    await expect(page.locator(".row .waiting").first).to_be_visible()
    await page.unroute(CALL)
    await page.get_by_role("button", name="Try now").click()
    await expect(row(page, SKILLS - 1)).to_be_in_viewport()
    await expect(page.locator(".banner")).to_be_hidden()

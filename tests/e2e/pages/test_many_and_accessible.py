"""Many skills with the same names and many problems, on narrow screens, with axe-core and the keyboard."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.axe import violations
from tests.support.browser import DESK, page_of
from tests.support.peers import HttpServer
from tests.support.skills import skill_md, write, write_skill

pytestmark = pytest.mark.anyio

NARROW = (320, 640)
VIEWS = ("skills", "skills/tools/deep", "sources", "problems", "connect")
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
TEAMS = 40


@pytest.fixture(scope="module")
def crowd(home: Path) -> Iterator[HttpServer]:
    """A server with two folders: 40 skills of one name, 30 that cannot be served, and odd texts."""
    for number in range(TEAMS):
        write_skill(home / "crowd", f"team-{number:02}/pdf")
    files: dict[str, bytes | str] = {
        f"wrong-{number:02}/SKILL.md": skill_md("Wrong Name") for number in range(30)
    }
    write(home / "crowd", files)
    text = f"'Runs `make all`. Not code: ` alone. {'w' * 300} <img src=x onerror=window.pwned=1>'"
    write(home / "other", {"tools/deep/SKILL.md": skill_md("deep", text, "# Deep\n\n" + "| a | b |\n" * 3)})
    write(home / "other", {"no-description/SKILL.md": "---\nname: no-description\n---\n"})
    options = ("--http", "0", "--allow-config", "--config", home / "crowd.toml")
    with HttpServer(home / "crowd", home / "other", *options) as server:
        yield server


@pytest.fixture
async def page(browser: Browser, crowd: HttpServer) -> AsyncGenerator[Page]:
    async with page_of(browser, crowd.base) as page:
        await page.goto("/")
        await expect(page.locator(".row").first).to_be_visible()
        yield page


async def shown(page: Page, view: str) -> None:
    await page.goto(f"/#/{view}")
    await expect(page.locator(".tally-mark").first).not_to_be_empty()
    ready = {"skills": ".row", "sources": ".source", "problems": ".group", "connect": "#client-panel pre"}
    await expect(page.locator(ready.get(view, ".prose")).first).to_be_visible()


# axe-core


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, NARROW], ids=["desk", "narrow"])
async def test_no_view_violates_an_accessibility_rule(
    browser: Browser, crowd: HttpServer, size: tuple[int, int], scheme: str
) -> None:
    async with page_of(browser, crowd.base, size, scheme=scheme) as page:
        for view in VIEWS:
            await shown(page, view)
            assert (view, await violations(page)) == (view, [])
            assert (view, await page.evaluate(OVERFLOW)) == (view, 0)
        assert await page.evaluate("window.pwned") is None


async def test_forms_messages_and_questions_are_accessible(browser: Browser, crowd: HttpServer) -> None:
    async with page_of(browser, crowd.base, NARROW) as page:
        await page.goto(f"/#key={crowd.key()}")
        await expect(page.locator(".row").first).to_be_visible()
        await page.get_by_role("link", name="Sources").click()
        await page.get_by_label("Add a source", exact=True).fill("nowhere")
        await page.get_by_label("Add a source", exact=True).press("Enter")
        await expect(page.locator(".alerts code").first).to_have_text("nowhere")
        assert await violations(page) == []
        assert await page.evaluate(OVERFLOW) == 0


async def test_the_sign_in_page_is_accessible(browser: Browser, home: Path) -> None:
    options = ("--http", "0", "--no-config", "--token-env", "PAGE_TOKEN")
    environment = {"PAGE_TOKEN": "open-sesame", "PATH": "/usr/bin"}
    with HttpServer(home / "crowd", *options, env=environment) as server:
        for scheme in ("light", "dark"):
            async with page_of(browser, server.base, NARROW, scheme=scheme) as page:
                await page.goto("/")
                await expect(page.get_by_label("Token")).to_be_visible()
                assert await violations(page) == []
        async with page_of(browser, server.base) as page:
            await page.goto("/#/connect")
            await page.get_by_label("Token").fill("open-sesame")
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.locator("#client-panel")).to_contain_text("Bearer YOUR_TOKEN")
            assert "open-sesame" not in await page.content()


# Many


async def test_a_repeated_name_shows_the_path(page: Page) -> None:
    first = page.locator(".row", has_text="pdf").first
    await expect(first.locator(".path")).to_have_text("team-00/pdf")
    alone = page.locator(".row", has=page.get_by_text("deep", exact=True))
    await expect(alone.locator(".path")).to_have_count(0)


@pytest.mark.parametrize("width", [400, 1280, 1600])
async def test_only_the_content_scrolls_and_not_the_page(page: Page, width: int) -> None:
    await page.set_viewport_size({"width": width, "height": 700})
    for view in ("Problems", "Sources", "Skills"):
        await page.get_by_role("link", name=view).click()
        await expect(page.locator("nav a[aria-current]")).to_contain_text(view)
        beyond = "document.documentElement.scrollHeight - document.documentElement.clientHeight"
        assert await page.evaluate(beyond) == 0, view


async def test_badges_do_not_cut_names(page: Page) -> None:
    await expect(page.locator(".row strong").first).to_be_visible()
    cut = "names => names.filter(each => each.scrollHeight > each.clientHeight + 1).length"
    assert await page.locator(".row strong").evaluate_all(cut) == 0


async def test_backticks_become_code_and_lone_ones_stay(page: Page) -> None:
    await page.goto("/#/skills/tools/deep")
    await expect(page.locator(".lead code")).to_have_text("make all")
    await expect(page.locator(".lead")).to_contain_text("Not code: ` alone.")
    await expect(page.locator(".row", has_text="deep").locator("code")).to_have_text("make all")


async def test_problems_are_filtered_and_counts_agree(page: Page) -> None:
    everything = int(await page.locator("nav a", has_text="Problems").locator(".tally-mark").inner_text())
    await page.get_by_role("link", name="Sources").click()
    badges = page.locator(".source .meta a.badge")
    await expect(badges.first).to_be_visible()
    counts = [int(text.split()[0]) for text in await badges.all_inner_texts()]
    assert sum(counts) == everything
    skills = [int((await each.inner_text()).split()[0]) for each in await page.locator(".meta").all()]
    assert sum(skills) == TEAMS + 1
    await page.locator(".source", has_text="crowd").get_by_role("link", name="30 errors").click()
    await expect(page.get_by_label("Severity")).to_have_value("error")
    await expect(page.get_by_label("Source")).to_have_value("crowd")
    await expect(page.locator(".note")).to_contain_text(f"30 of {everything} problems")
    await expect(page.locator(".group h2")).to_have_text(["name-format"])
    await expect(page.locator(".problem")).to_have_count(20)
    await page.get_by_role("button", name="Show all 30").click()
    await expect(page.locator(".problem")).to_have_count(30)
    assert page.url.endswith("/#/problems?severity=error&source=crowd")
    await page.get_by_label("Source").select_option("other")
    await expect(page.locator(".group h2")).to_have_text(["description-missing"])
    await page.get_by_label("Source").press("Escape")
    await expect(page.get_by_label("Source")).to_have_value("")
    await page.get_by_label("Group by").select_option("source")
    await expect(page.locator(".group h2")).to_have_text(["crowd", "other"])


async def test_a_problem_links_to_its_skill(page: Page) -> None:
    await page.goto("/#/problems?rule=name-shared")
    await page.locator(".problem a").first.click()
    await expect(page.locator(".head h1")).to_have_text("pdf")
    await expect(page.locator(".troubles h2")).to_have_text("1 problem")
    await expect(page.locator(".row[aria-selected=true] .badge.warn")).to_have_text("1")


# Keyboard and focus


async def test_escape_leads_back_from_a_skill_to_the_search(browser: Browser, crowd: HttpServer) -> None:
    async with page_of(browser, crowd.base, NARROW) as page:
        await page.goto("/#/skills/tools/deep")
        await expect(page.locator(".detail")).to_be_focused()
        await page.keyboard.press("Escape")
        listing = page.get_by_role("listbox", name="Skills")
        await expect(listing).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("searchbox")).to_be_focused()


async def test_live_updates_keep_the_focus_and_typed_text(
    browser: Browser, crowd: HttpServer, home: Path
) -> None:
    async with page_of(browser, crowd.base) as page:
        await page.goto("/#/skills/tools/deep")
        tab = page.get_by_role("tab", name="Files")
        await tab.press("Enter")
        file = home / "other/tools/deep/SKILL.md"
        before = file.read_bytes()
        file.write_bytes(before.replace(b"Runs `make all`", b"Builds `make all`"))
        await expect(page.locator(".lead")).to_contain_text("Builds")
        await expect(tab).to_be_focused()
        file.write_bytes(before)
        await expect(page.locator(".lead")).to_contain_text("Runs")
        await page.goto("/#/problems")
        await page.get_by_label("Rule").focus()
        folder = write_skill(home / "crowd", "wrong-99", name="Wrong Name")
        await expect(page.locator(".group .badge.bad").first).to_have_text("31 errors")
        await expect(page.get_by_label("Rule")).to_be_focused()
        (folder / "SKILL.md").unlink()
        folder.rmdir()
        await expect(page.locator(".group .badge.bad").first).to_have_text("30 errors")


async def test_a_switch_keeps_the_focus_after_saving(browser: Browser, crowd: HttpServer) -> None:
    async with page_of(browser, crowd.base) as page:
        await page.goto(f"/#key={crowd.key()}")
        await expect(page.locator(".row").first).to_be_visible()
        await page.goto("/#/skills/tools/deep")
        await page.get_by_role("switch", name="User").press("Space")
        await expect(page.locator(".visibility .badge")).to_have_text("Customized")
        await expect(page.get_by_role("switch", name="User")).to_be_focused()
        await page.get_by_role("button", name="Reset").click()
        await expect(page.locator(".visibility .badge")).to_have_count(0)


# Connect a client


async def test_each_client_has_an_entry_to_copy(page: Page, crowd: HttpServer, home: Path) -> None:
    await page.get_by_role("link", name="Connect").click()
    tabs = page.get_by_role("tablist", name="Client").get_by_role("tab")
    await expect(tabs).to_have_count(8)
    panel = page.locator("#client-panel")
    await tabs.first.focus()
    for number in range(8):
        name = await tabs.nth(number).inner_text()
        await expect(tabs.nth(number)).to_be_focused()
        command = f"skillwire install {home / 'crowd'} {home / 'other'} --client"
        await expect(panel.locator("pre").first).to_contain_text(command)
        if name == "Claude Desktop":
            await expect(panel).to_contain_text("Settings > Connectors")
        else:
            await expect(panel.locator("pre").nth(1)).to_contain_text(crowd.url)
        await page.keyboard.press("ArrowRight")
    await page.get_by_role("tab", name="Cursor").click()
    link = panel.get_by_role("link", name="Add to Cursor")
    address = await link.get_attribute("href") or ""
    assert address.startswith("cursor://anysphere.cursor-deeplink/mcp/install?name=skillwire&config=")
    await panel.get_by_role("button", name="Copy the entry").click()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == await panel.locator("pre").nth(1).inner_text()
    await page.get_by_role("tab", name="VS Code").click()
    address = await panel.get_by_role("link", name="Add to VS Code").get_attribute("href") or ""
    assert address.startswith("vscode:mcp/install?%7B")

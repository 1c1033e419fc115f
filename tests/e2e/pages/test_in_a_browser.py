"""The pages in a real browser: every button, on a desk and on a phone, with the keyboard, and live."""

import os
import tomllib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.browser import PHONE, page_of
from tests.support.demo_skills import write_demo
from tests.support.eavesdropper import Eavesdropper
from tests.support.paths import ROOT
from tests.support.peers import HttpServer
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

SKILLS = 14


@pytest.fixture
async def page(browser: Browser, server: HttpServer) -> AsyncGenerator[Page]:
    async with page_of(browser, server.base) as page:
        await page.goto(f"/#key={server.key()}")
        await expect(page.locator(".row").first).to_be_visible()
        yield page


def written(home: Path) -> dict[str, Any]:
    file = home / "config.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


async def open_refunds(page: Page) -> None:
    await page.locator(".row", has_text="refunds").click()
    await expect(page.get_by_role("heading", name="refunds", exact=True)).to_be_visible()
    await expect(page.locator(".prose")).to_be_visible()


# Skills


async def test_search_narrows_the_list_of_skills_as_you_type(page: Page) -> None:
    await expect(page.locator(".tally")).to_have_text(f"{SKILLS} skills")
    field = page.get_by_role("searchbox", name="Search skills")
    await field.press_sequentially("refu")
    await expect(page.locator(".row")).to_have_count(1)
    await expect(page.locator(".tally")).to_have_text(f"1 of {SKILLS} skills")
    await field.fill("expense report policy")  # the best first, and the others after it
    await expect(page.locator(".row strong").first).to_have_text("expense-check")
    await field.press("Escape")
    await expect(page.locator(".tally")).to_have_text(f"{SKILLS} skills")


async def test_a_search_without_a_match_can_be_cleared(page: Page) -> None:
    await page.get_by_role("searchbox").fill("no such thing")
    await expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    await page.get_by_role("button", name="Clear the search").click()
    await expect(page.locator(".row").first).to_be_visible()


async def test_a_skill_shows_its_source_its_document_and_its_files(page: Page, home: Path) -> None:
    await open_refunds(page)
    facts = page.locator(".facts")
    await expect(facts).to_contain_text("team-skills")
    await expect(facts).to_contain_text("finance/refunds/SKILL.md")
    await expect(facts).to_contain_text("4 files")
    await expect(facts).to_contain_text(str(home / "team-skills/finance/refunds"))
    await expect(page.locator(".prose table td").first).to_have_text("monthly")
    await expect(page.locator(".prose")).not_to_contain_text("license")
    await page.locator(".frontmatter summary").click()
    await expect(page.locator(".frontmatter")).to_contain_text("Apache-2.0")
    await page.get_by_role("tab", name="Raw text").click()
    await expect(page.locator(".raw")).to_contain_text("license: Apache-2.0")
    await page.get_by_role("tab", name="Files").click()
    await expect(page.locator(".files li")).to_have_count(4)
    await expect(page.locator(".files li", has_text="form.pdf")).to_contain_text("4.3 KB")


async def test_files_open_from_the_list_and_from_links(page: Page) -> None:
    await open_refunds(page)
    await page.locator(".prose a", has_text="policy").click()
    await expect(page.locator(".shown-file")).to_contain_text("references/policy.md")
    await expect(page.locator(".prose h1")).to_have_text("Policy")
    await page.get_by_role("button", name="Back to SKILL.md").click()
    await expect(page.locator(".prose h1")).to_have_text("Refunds")
    await page.get_by_role("tab", name="Files").click()
    await page.get_by_role("button", name="scripts/prepare.py").click()
    await expect(page.locator(".raw")).to_have_text("print('prepared')\n")
    await page.get_by_role("tab", name="Files").click()
    await page.get_by_role("button", name="assets/form.pdf").click()
    await expect(page.locator(".panel")).to_contain_text("it is not text")


async def test_the_address_of_a_skill_is_copied(page: Page) -> None:
    await open_refunds(page)
    await page.get_by_role("button", name="Copy the URI").click()
    await expect(page.locator(".said")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "skill://finance/refunds/SKILL.md"


async def test_a_skill_can_be_linked_to_and_back_leads_back(browser: Browser, server: HttpServer) -> None:
    async with page_of(browser, server.base) as page:
        await page.goto("/#/skills/finance/refunds")
        await expect(page.get_by_role("heading", name="refunds", exact=True)).to_be_visible()
        await page.locator(".row", has_text="forecast").click()
        await expect(page.get_by_role("heading", name="forecast", exact=True)).to_be_visible()
        assert page.url.endswith("/#/skills/finance/forecast")
        await page.go_back()
        await expect(page.get_by_role("heading", name="refunds", exact=True)).to_be_visible()


async def test_a_link_to_a_missing_skill_can_be_tried_again(
    browser: Browser, server: HttpServer, home: Path
) -> None:
    async with page_of(browser, server.base) as page:
        await page.goto("/#/skills/coming-soon")
        await expect(page.get_by_role("heading", name="This skill cannot be shown")).to_be_visible()
        folder = write_skill(home / "team-skills", "coming-soon")
        await expect(page.get_by_role("heading", name="coming-soon", exact=True)).to_be_visible()
        (folder / "SKILL.md").unlink()
        folder.rmdir()
        await expect(page.get_by_role("heading", name="This skill cannot be shown")).to_be_visible()
        await page.get_by_role("button", name="Try again").click()
        await expect(page.get_by_role("heading", name="This skill cannot be shown")).to_be_visible()


# Visibility


async def test_visibility_is_switched_marked_as_customized_and_reset(page: Page, home: Path) -> None:
    await open_refunds(page)
    assistant, user = page.get_by_role("switch", name="Assistant"), page.get_by_role("switch", name="User")
    await expect(assistant).to_be_checked()
    await assistant.click()
    await expect(assistant).not_to_be_checked()
    await expect(page.locator(".visibility .badge")).to_have_text("Customized")
    await expect(page.locator(".row[aria-selected=true]")).to_contain_text("Customized")
    await user.click()
    await expect(page.locator(".row[aria-selected=true]")).to_contain_text("not for people")
    await expect(user).not_to_be_checked()
    uri = "skill://finance/refunds/SKILL.md"
    assert written(home)["visibility"] == {uri: {"assistant": False, "user": False}}
    await page.get_by_role("button", name="Reset").click()
    await expect(page.locator(".visibility .badge")).to_have_count(0)
    await expect(assistant).to_be_checked()
    await expect(user).to_be_checked()
    assert "visibility" not in written(home)


async def test_what_the_frontmatter_says_is_shown_and_is_not_customized(page: Page) -> None:
    row = page.locator(".row", has_text="sql-style")
    await expect(row).to_contain_text("not for people")
    await expect(row).not_to_contain_text("Customized")


# Sources


async def test_a_source_is_added_synced_and_removed(page: Page, home: Path) -> None:
    write_skill(home / "more", "added")
    await page.get_by_role("link", name="Sources").click()
    await page.get_by_label("Add a source", exact=True).fill(str(home / "more"))
    await page.get_by_label("Label").fill("further")
    await page.get_by_role("button", name="Add").click()
    card = page.locator(".source", has_text="further")
    await expect(card).to_contain_text("1 skill")
    await expect(card).to_contain_text("from the configuration")
    await expect(card).to_contain_text("Ready")
    assert written(home)["sources"] == [{"source": str(home / "more"), "label": "further"}]
    await card.get_by_role("button", name="Sync further now").click()
    await expect(page.locator(".said")).to_have_text("Synced")
    await page.get_by_role("link", name="Skills").click()
    await expect(page.locator(".tally")).to_have_text(f"{SKILLS + 1} skills")
    await page.get_by_role("link", name="Sources").click()
    await card.get_by_role("button", name="Remove further").click()
    await card.get_by_role("button", name="Cancel").click()
    await card.get_by_role("button", name="Remove further").click()
    await card.get_by_role("button", name="Remove source").click()
    await expect(card).to_have_count(0)
    assert "sources" not in written(home)


async def test_a_source_of_the_command_line_cannot_be_removed(page: Page) -> None:
    await page.get_by_role("link", name="Sources").click()
    card = page.locator(".source", has_text="team-skills")
    await expect(card).to_contain_text("from the command line")
    await expect(card.get_by_role("button", name="Sync")).to_be_visible()
    await expect(card.get_by_role("button", name="Remove")).to_have_count(0)


async def test_a_refused_source_shows_a_reason_that_can_be_closed(page: Page) -> None:
    await page.get_by_role("link", name="Sources").click()
    await page.get_by_label("Add a source", exact=True).fill("/no/such/folder")
    await page.get_by_label("Add a source", exact=True).press("Enter")
    alert = page.locator(".alerts")
    await expect(alert).to_contain_text("/no/such/folder does not exist")
    await expect(alert).to_contain_text("create it first, or correct its name")
    await expect(page.get_by_label("Add a source", exact=True)).to_have_value("/no/such/folder")
    await page.get_by_role("button", name="Close this message").click()
    await expect(alert).to_be_empty()


async def test_a_broken_configuration_is_reported_and_not_overwritten(page: Page, home: Path) -> None:
    await open_refunds(page)
    file = home / "config.toml"
    before = file.read_bytes() if file.exists() else b""
    file.write_bytes(b"[[broken\n")
    try:
        await page.get_by_role("switch", name="User").click()
        await expect(page.locator(".alerts")).to_contain_text("cannot be used")
        await expect(page.get_by_role("switch", name="User")).to_be_checked()
        assert file.read_bytes() == b"[[broken\n"
    finally:
        file.write_bytes(before)


async def test_static_mode_freezes_the_list_until_turned_off(page: Page, home: Path) -> None:
    await page.get_by_role("link", name="Sources").click()
    static = page.get_by_role("switch", name="Static")
    await static.click()
    await expect(page.locator(".said")).to_contain_text("is frozen")
    assert written(home)["static"] is True
    folder = write_skill(home / "team-skills", "too-late")
    await page.get_by_role("button", name="Sync team-skills now").click()
    await expect(page.locator(".said")).to_have_text("Synced")
    await page.reload()
    await expect(static).to_be_checked()
    await page.get_by_role("link", name="Skills").click()
    await expect(page.locator(".tally")).to_have_text(f"{SKILLS} skills")
    await page.get_by_role("link", name="Sources").click()
    await static.click()
    await page.get_by_role("link", name="Skills").click()
    await expect(page.locator(".tally")).to_have_text(f"{SKILLS + 1} skills")
    (folder / "SKILL.md").unlink()
    folder.rmdir()
    await expect(page.locator(".tally")).to_have_text(f"{SKILLS} skills")


async def test_origins_are_allowed_and_not_allowed_any_more(page: Page, home: Path) -> None:
    await page.get_by_role("link", name="Sources").click()
    await page.get_by_label("Another origin").fill("https://cdn.example.com")
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(page.locator(".chips li")).to_have_text("https://cdn.example.com")
    assert written(home)["allowed-origins"] == ["https://cdn.example.com"]
    await page.get_by_role("button", name="Stop allowing https://cdn.example.com").click()
    await expect(page.locator(".chips")).to_have_count(0)
    assert "allowed-origins" not in written(home)


# Problems


async def test_problems_are_shown_with_hints(page: Page) -> None:
    await expect(page.get_by_role("link", name="Problems")).to_have_text("Problems1")
    await page.get_by_role("link", name="Problems").click()
    problem = page.locator(".problem.error")
    await expect(problem).to_contain_text("support/Old Macros/SKILL.md")
    await expect(problem).to_contain_text("name-format")
    await expect(problem.locator(".hint")).not_to_be_empty()


# Live


async def test_what_changes_on_disk_shows_without_a_reload(page: Page, home: Path) -> None:
    await open_refunds(page)
    file = home / "team-skills/finance/refunds/SKILL.md"
    before = file.read_text(encoding="utf-8")
    file.write_text(before.replace("# Refunds\n", "# Refunds, revised\n"), encoding="utf-8")
    await expect(page.locator(".prose h1")).to_have_text("Refunds, revised")
    file.write_text(before, encoding="utf-8")
    await expect(page.locator(".prose h1")).to_have_text("Refunds")


async def test_a_lost_connection_is_shown_and_restored(browser: Browser, home: Path) -> None:
    folder = write_skill(home / "lonely", "one").parent
    server = HttpServer(folder, "--http", "0", "--no-config")
    port = server.base.rpartition(":")[2]
    async with page_of(browser, server.base, watch=False) as page:
        await page.goto("/")
        await expect(page.locator(".row")).to_have_count(1)
        server.stop()
        await expect(page.locator(".banner")).to_contain_text("connection to the server is lost")
        await page.get_by_role("button", name="Try now").click()
        await expect(page.locator(".row")).to_have_count(1)  # what is known stays
        write_skill(folder, "two")
        with HttpServer(folder, "--http", port, "--no-config"):
            await expect(page.locator(".banner")).to_be_hidden()
            await expect(page.locator(".row")).to_have_count(2)


async def test_a_failing_server_shows_an_error_with_try_again(browser: Browser, server: HttpServer) -> None:
    async with page_of(browser, server.base, watch=False) as page:
        await page.route("**/ui/events", lambda route: route.abort())  # or it finds the server by itself
        await page.route("**/ui/call/**", lambda route: route.fulfill(status=500, body="{}"))
        await page.goto("/")
        await expect(page.get_by_role("heading", name="The server answered 500")).to_be_visible()
        await page.unroute("**/ui/call/**")
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator(".row").first).to_be_visible()


# Empty and closed


async def test_a_server_without_skills_says_what_to_do(browser: Browser, home: Path) -> None:
    file = home / "empty.toml"
    with HttpServer("--http", "0", "--allow-config", "--config", file) as server:
        async with page_of(browser, server.base) as page:
            await page.goto(f"/#key={server.key()}")
            await expect(page.get_by_role("heading", name="No skills yet")).to_be_visible()
            await page.get_by_role("button", name="Add a source").click()
            await expect(page.get_by_role("heading", name="No sources yet")).to_be_visible()
            await page.get_by_role("link", name="Problems").click()
            await expect(page.get_by_role("heading", name="No problems")).to_be_visible()
            await page.get_by_role("link", name="Sources").click()
            write_skill(home / "first", "first")
            await page.get_by_label("Add a source", exact=True).fill(str(home / "first"))
            await page.get_by_role("button", name="Add").click()
            await page.get_by_role("link", name="Skills").click()
            await expect(page.locator(".row")).to_have_count(1)


async def test_without_leave_everything_is_shown_and_nothing_can_be_changed(
    browser: Browser, home: Path
) -> None:
    folder = write_skill(home / "readable", "one").parent
    with HttpServer(folder, "--http", "0", "--no-config") as server:
        async with page_of(browser, server.base) as page:
            await page.goto("/#/skills/one")
            await expect(page.get_by_role("switch", name="Assistant")).to_be_disabled()
            await expect(page.locator(".visibility")).to_contain_text("start the server with --allow-config")
            await page.get_by_role("link", name="Sources").click()
            await expect(page.locator(".note")).to_contain_text("--allow-config")
            for name in ("Add", "Allow", "Sync", "Remove"):
                await expect(page.get_by_role("button", name=name)).to_have_count(0)
            await expect(page.get_by_role("switch", name="Static")).to_be_disabled()


async def test_the_address_of_a_broken_skill_leads_to_its_problems(browser: Browser, home: Path) -> None:
    folder = write_skill(home / "half", "one").parent
    for name, text in (("broken", "---\nname: broken\n---\n"), ("other", "none")):
        (folder / name).mkdir()
        (folder / name / "SKILL.md").write_text(text, "utf-8")
    with HttpServer(folder, "--http", "0", "--no-config") as server:
        async with page_of(browser, server.base) as page:
            await page.goto("/#/skills/broken")
            await page.get_by_role("button", name="Show 1 problem").click()
            await expect(page.locator(".problems li")).to_have_count(1)
            await expect(page.locator(".problems li")).to_contain_text("broken/SKILL.md")
            await page.goto("/#/skills/nowhere")
            await expect(page.get_by_role("heading", name="This skill cannot be shown")).to_be_visible()
            await expect(page.get_by_role("button", name="Show")).to_have_count(0)


async def test_the_token_is_entered_once_and_forgotten_on_request(browser: Browser, home: Path) -> None:
    folder = write_skill(home / "secret", "one").parent
    environment = {**os.environ, "PAGE_TOKEN": "open-sesame"}
    with HttpServer(
        folder, "--http", "0", "--no-config", "--token-env", "PAGE_TOKEN", env=environment
    ) as server:
        async with page_of(browser, server.base) as page:
            await page.goto("/#/skills/one")
            field = page.get_by_label("Token")
            await expect(field).to_be_focused()
            await field.fill("wrong")
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_role("alert")).to_have_text("the token is wrong.")
            await field.fill("open-sesame")
            await field.press("Enter")
            await expect(page.get_by_role("heading", name="one", exact=True)).to_be_visible()
            assert "open-sesame" not in await page.evaluate("document.cookie + JSON.stringify(localStorage)")
            await page.reload()
            await expect(page.get_by_role("heading", name="one", exact=True)).to_be_visible()
            await page.get_by_role("button", name="Sign out").click()
            await expect(field).to_be_visible()


async def test_a_one_time_address_allows_changes_until_signing_out(browser: Browser, home: Path) -> None:
    folder = write_skill(home / "keyed", "one").parent
    with HttpServer(folder, "--http", "0", "--allow-config", "--config", home / "keyed.toml") as server:
        key = server.key()
        async with page_of(browser, server.base) as page:
            await page.goto(f"/#key={key}")
            await expect(page.locator(".row")).to_have_count(1)
            assert key not in page.url
            await page.goto("/#/skills/one")
            await page.reload()
            await expect(page.get_by_role("switch", name="Assistant")).to_be_enabled()
            await page.get_by_role("switch", name="Assistant").click()
            await expect(page.locator(".visibility .badge")).to_have_text("Customized")
            await page.get_by_role("button", name="Sign out").click()
            await expect(page.get_by_role("switch", name="Assistant")).to_be_disabled()
            assert await page.evaluate("document.cookie + localStorage.length") == "0"
        async with page_of(browser, server.base) as page:  # a used address shows, and changes nothing
            await page.goto(f"/#key={key}")
            await expect(page.locator(".alerts")).to_contain_text("this address was used before")
            await page.get_by_role("link", name="Sources").click()
            await expect(page.locator(".note")).to_contain_text("#key=")
            await expect(page.get_by_role("button", name="Add")).to_have_count(0)
            # The next one is opened in the same tab, where only the fragment changes.
            await page.evaluate("key => { location.hash = `#key=${key}`; }", server.key())
            await page.get_by_role("link", name="Sources").click()
            await expect(page.get_by_role("button", name="Add")).to_have_count(1)


async def test_another_port_gets_no_secrets_of_a_signed_in_page(browser: Browser, home: Path) -> None:
    folder = write_skill(home / "ported", "one").parent
    environment = {**os.environ, "PAGE_TOKEN": "open-sesame"}
    options = ("--http", "0", "--no-config", "--token-env", "PAGE_TOKEN")
    with HttpServer(folder, *options, env=environment) as server, Eavesdropper() as other:
        async with page_of(browser, server.base, watch=False) as page:
            await page.goto("/")
            await page.get_by_label("Token").fill("open-sesame")
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.locator(".row")).to_have_count(1)
            for path in ("/", "/ui", "/ui/session", "/ui/call/skill-config", "/mdp/auth"):
                await page.goto(f"{other.base}{path}")
                assert await page.evaluate("document.cookie + localStorage.length") == "0"
            assert other.asked >= 5
            assert other.heard == []
            await page.goto(f"{server.base}/")
            await expect(page.locator(".row")).to_have_count(1)  # it is still signed in here


async def test_signing_out_in_one_tab_locks_the_others(browser: Browser, home: Path) -> None:
    folder = write_skill(home / "tabs", "one").parent
    environment = {**os.environ, "PAGE_TOKEN": "open-sesame"}
    options = ("--http", "0", "--no-config", "--token-env", "PAGE_TOKEN")
    with HttpServer(folder, *options, env=environment) as server:
        async with page_of(browser, server.base) as page:
            await page.goto("/")
            await page.get_by_label("Token").fill("open-sesame")
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.locator(".row")).to_have_count(1)
            other = await page.context.new_page()
            await other.goto("/")
            await expect(other.locator(".row")).to_have_count(1)
            await other.get_by_role("button", name="Sign out").click()
            await expect(other.get_by_label("Token")).to_be_visible()
            await expect(page.get_by_label("Token")).to_be_visible()


# Keyboard, screen reader, phone, colours


async def test_everything_is_reached_with_the_keyboard(page: Page) -> None:
    await page.locator("nav a").first.focus()
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    listing = page.get_by_role("listbox", name="Skills")
    await expect(listing).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    active = await listing.get_attribute("aria-activedescendant")
    option = page.locator(f'[id="{active}"]')
    await expect(option).to_have_attribute("aria-posinset", "3")
    await expect(option).to_have_attribute("aria-setsize", str(SKILLS))
    await page.keyboard.press("End")
    await page.keyboard.press("Home")
    await page.keyboard.press("Enter")
    await expect(page.locator(".head h1")).to_have_text("code-review")
    await page.get_by_role("tab", name="Document").focus()
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("tab", name="Raw text")).to_be_focused()
    await expect(page.locator(".raw")).to_be_visible()
    await page.keyboard.press("ArrowLeft")
    await expect(page.get_by_role("tab", name="Document")).to_have_attribute("aria-selected", "true")


async def test_the_first_stop_skips_to_the_content(browser: Browser, server: HttpServer) -> None:
    async with page_of(browser, server.base) as page:
        await page.goto("/")
        await expect(page.locator(".row").first).to_be_visible()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()


UNNAMED = """[...document.querySelectorAll('button, a, input, [role=tab], [role=switch]')]
  .filter((each) => !each.getAttribute('aria-label') && !each.textContent.trim() && !each.labels?.length)
  .map((each) => each.outerHTML)"""


async def test_everything_that_can_be_pressed_has_a_name(page: Page) -> None:
    await open_refunds(page)
    assert await page.evaluate(UNNAMED) == []
    await page.get_by_role("link", name="Sources").click()
    assert await page.evaluate(UNNAMED) == []


OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def test_on_a_phone_there_is_one_thing_at_a_time(browser: Browser, server: HttpServer) -> None:
    async with page_of(browser, server.base, PHONE) as page:
        await page.goto("/")
        await expect(page.locator(".row").first).to_be_visible()
        await expect(page.locator(".detail")).to_be_hidden()
        await page.locator(".row", has_text="refunds").click()
        await expect(page.get_by_role("heading", name="refunds", exact=True)).to_be_visible()
        await expect(page.locator(".finder")).to_be_hidden()
        assert await page.evaluate(OVERFLOW) == 0
        await page.get_by_role("button", name="All skills").click()
        await expect(page.locator(".row").first).to_be_visible()
        for view in ("Sources", "Problems"):
            await page.get_by_role("link", name=view).click()
            assert await page.evaluate(OVERFLOW) == 0


async def test_the_colours_follow_the_system_or_the_choice(browser: Browser, server: HttpServer) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    async with page_of(browser, server.base, scheme="dark") as page:
        await page.goto("/")
        await expect(page.locator(".row").first).to_be_visible()
        dark = await page.evaluate(paper)
        await page.get_by_role("button", name="Theme: system").click()
        light = await page.evaluate(paper)
        assert dark != light
        await page.reload()
        await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
        assert await page.evaluate(paper) == light
        await page.get_by_role("button", name="Theme: light").click()
        assert await page.evaluate(paper) == dark


# Many


async def test_ten_thousand_skills_are_searched_and_scrolled(browser: Browser, tmp_path: Path) -> None:
    many = 10_000
    for number in range(many):
        folder = tmp_path / "many" / f"{number // 100:03}" / f"skill-{number:05}"
        folder.mkdir(parents=True)
        text = (
            f"---\nname: skill-{number:05}\ndescription: Does the thing number {number}.\n---\n\n# {number}\n"
        )
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    with HttpServer(tmp_path / "many", "--http", "0", "--no-config") as server:
        async with page_of(browser, server.base) as page:
            await page.goto("/")
            await expect(page.locator(".tally")).to_have_text("10,000 skills")
            assert await page.locator(".row").count() < 60  # only what is in sight exists
            await page.get_by_role("searchbox").fill("number 9876")
            await expect(page.locator(".row strong")).to_have_text(["skill-09876"])
            await page.get_by_role("searchbox").fill("")
            await page.get_by_role("searchbox").press("ArrowDown")
            await page.keyboard.press("End")
            await expect(page.locator(".row", has_text="skill-09999")).to_be_in_viewport()
            assert await page.locator(".row").count() < 60
            await page.keyboard.press("Enter")
            await expect(page.locator(".head h1")).to_have_text("skill-09999")
            await page.reload()
            await expect(page.locator(".row[aria-selected=true]")).to_be_in_viewport()


# Pictures for the documentation

IMAGES = ROOT / "docs/images"
MOST_BYTES = 300 * 1024


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_screenshots_of_the_documentation_can_be_made(
    browser: Browser, home: Path, tmp_path: Path, scheme: str
) -> None:
    """With SKILLWIRE_SCREENSHOTS they are made where the documentation shows them."""
    kept = os.environ.get("SKILLWIRE_SCREENSHOTS")
    folder = write_demo(tmp_path / "team-skills")
    write_skill(tmp_path / "field-notes", "travel-checklist")
    file = tmp_path / "config.toml"
    notes = f'[[sources]]\nsource = "{tmp_path}/field-notes"\n'
    waited = '\n[[sources]]\nsource = "./handbook"\n'
    decided = '\n[visibility."skill://finance/refunds/SKILL.md"]\nassistant = false\n'
    file.write_text(
        f'allowed-origins = ["https://cdn.example.com"]\n\n{notes}{waited}{decided}', encoding="utf-8"
    )
    with HttpServer(folder, "--http", "0", "--allow-config", "--config", file) as server:
        async with page_of(browser, server.base, scheme=scheme) as page:
            await page.goto(f"/#key={server.key()}")
            await expect(page.locator(".row").first).to_be_visible()
            await page.goto("/#/skills/finance/refunds")
            await expect(page.locator(".prose")).to_be_visible()
            await page.evaluate(RENAMED, [str(tmp_path), "/home/you"])
            pictures = {f"skills-{scheme}.png": await page.screenshot()}
            await page.get_by_role("link", name="Sources").click()
            await expect(page.locator(".source")).to_have_count(3)
            await expect(page.get_by_role("button", name="Add")).to_have_count(1)
            await page.evaluate(RENAMED, [str(tmp_path), "/home/you"])
            pictures[f"sources-{scheme}.png"] = await page.screenshot()
            await page.get_by_role("link", name="Connect").click()
            await page.get_by_role("tab", name="Cursor").click()
            await expect(page.get_by_role("link", name="Add to Cursor")).to_be_visible()
            await page.evaluate(RENAMED, [server.base, "http://127.0.0.1:8765"])
            pictures[f"connect-{scheme}.png"] = await page.screenshot()
    for name, picture in pictures.items():
        assert 10_000 < len(picture) < MOST_BYTES
        if kept:
            IMAGES.mkdir(exist_ok=True)
            (IMAGES / name).write_bytes(picture)


RENAMED = """([name, shown]) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replace(name, shown);
}"""
"""The folder and the port of this run have names that nobody wants to read."""

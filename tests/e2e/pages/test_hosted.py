"""The pages inside a host of MCP Apps: the reference bridge and client from npm, in a real browser."""

import json
import os
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.async_api import Browser, FrameLocator, Page, expect

from tests.support.browser import page_of
from tests.support.demo_skills import write_demo
from tests.support.paths import ROOT
from tests.support.peers import HttpServer
from tests.support.skills import write_skill
from tests.support.static_site import StaticSite

pytestmark = pytest.mark.anyio

TOKEN = "a-token-for-hosts"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StaticSite]:
    """The host, built from its sources with the packages that the pages are built with."""
    folder = tmp_path_factory.mktemp("host")
    built = subprocess.run(
        [ROOT / "scripts/ui", "--host", folder], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    with StaticSite(folder) as site:
        yield site


@pytest.fixture(scope="module")
def steered(home: Path, host: StaticSite) -> Iterator[HttpServer]:
    folder = write_demo(home / "team-skills")
    options = ("--http", "0", "--allow-config", "--config", home / "config.toml", "--allow-origin", host.base)
    token = ("--token-env", "HOSTED_TOKEN")
    with HttpServer(folder, *options, *token, env={**os.environ, "HOSTED_TOKEN": TOKEN}) as server:
        yield server


@asynccontextmanager
async def hosted(
    browser: Browser, host: StaticSite, server: HttpServer, tool: str, theme: str = "light", **arguments: Any
) -> AsyncGenerator[tuple[Page, FrameLocator]]:
    """Yield a host that called `tool`, and the page that it shows."""
    asked = {"server": server.url, "token": TOKEN, "tool": tool, "theme": theme}
    asked["arguments"] = json.dumps(arguments)
    async with page_of(browser, host.base, watch=False) as page:
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        await page.goto(f"/host.html?{urlencode(asked)}")
        yield page, page.frame_locator("iframe")
        assert errors == []


async def test_the_skills_show_and_one_can_be_opened(
    browser: Browser, host: StaticSite, steered: HttpServer
) -> None:
    async with hosted(browser, host, steered, "skill-display") as (_, app):
        await expect(app.locator(".tally")).to_have_text("14 skills")
        await app.locator(".row", has_text="refunds").click()
        await expect(app.locator(".head h1")).to_have_text("refunds")
        await expect(app.locator(".prose table td").first).to_have_text("monthly")
        await app.get_by_role("tab", name="Files").click()
        await app.get_by_role("button", name="scripts/prepare.py").click()
        await expect(app.locator(".raw")).to_have_text("print('prepared')\n")
        await app.get_by_role("tab", name="Files").click()
        await app.get_by_role("button", name="assets/form.pdf").click()
        await expect(app.locator(".panel")).to_contain_text("it is not text")


async def test_what_the_model_asked_for_is_open(
    browser: Browser, host: StaticSite, steered: HttpServer
) -> None:
    async with hosted(browser, host, steered, "skill-display", skill="forecast") as (_, app):
        await expect(app.locator(".head h1")).to_have_text("forecast")
    async with hosted(browser, host, steered, "skill-display", query="tone") as (_, app):
        await expect(app.locator(".row strong").first).to_have_text("tone")


async def test_a_search_is_ranked_by_the_server_through_the_host(
    browser: Browser, host: StaticSite, steered: HttpServer
) -> None:
    async with hosted(browser, host, steered, "skill-display") as (_, app):
        await expect(app.locator(".tally")).to_have_text("14 skills")
        field = app.get_by_role("searchbox", name="Search skills")
        await field.fill("expence check")
        await expect(app.locator(".tally")).to_contain_text("Searched for expense instead of expence.")
        await expect(app.locator(".row strong").first).to_have_text("expense-check")
        await expect(app.locator(".row .fields").first).to_contain_text("name")
        await field.press("Escape")
        await expect(app.locator(".tally")).to_have_text("14 skills")


async def test_a_long_list_is_loaded_in_parts_through_the_host(
    browser: Browser, host: StaticSite, home: Path
) -> None:
    for number in range(300):
        write_skill(home / "long", f"task-{number:03}")
    options = ("--http", "0", "--no-config", "--allow-origin", host.base, "--token-env", "HOSTED_TOKEN")
    with HttpServer(home / "long", *options, env={**os.environ, "HOSTED_TOKEN": TOKEN}) as server:
        async with hosted(browser, host, server, "skill-display") as (page, app):
            await expect(app.locator(".tally")).to_have_text("300 skills")
            await app.get_by_role("listbox", name="Skills").focus()
            await page.keyboard.press("End")
            await expect(app.locator(".row.active strong")).to_have_text("task-299")
            await expect(app.locator(".row.active")).to_have_attribute("aria-setsize", "300")
            assert await app.locator(".row").count() < 40
            await page.keyboard.press("Enter")
            await expect(app.locator(".head h1")).to_have_text("task-299")
        async with hosted(browser, host, server, "skill-display", skill="task-150") as (_, app):
            await expect(app.locator(".head h1")).to_have_text("task-150")
            await expect(app.locator(".row[aria-selected=true]")).to_be_in_viewport()


async def test_the_configuration_is_changed_through_the_host(
    browser: Browser, host: StaticSite, steered: HttpServer, home: Path
) -> None:
    write_skill(home / "more", "added")
    async with hosted(browser, host, steered, "skill-config") as (page, app):
        await expect(app.get_by_role("heading", name="Sources")).to_be_visible()
        await app.get_by_label("Add a source", exact=True).fill("nowhere")
        await app.get_by_role("button", name="Add").click()
        await expect(app.locator(".alerts")).to_contain_text("is not an absolute path")
        await expect(app.locator(".alerts p")).to_contain_text("write a path such as")
        await app.get_by_label("Add a source", exact=True).fill(str(home / "more"))
        await app.get_by_role("button", name="Add").click()
        card = app.locator(".source", has_text="from the configuration")
        await expect(card).to_contain_text("1 skill")
        await card.get_by_role("button", name="Remove").click()
        await card.get_by_role("button", name="Remove source").click()
        await expect(card).to_have_count(0)
        assert len(await page.evaluate("window.seen.appOnly")) == 6
    assert "sources" not in (home / "config.toml").read_text(encoding="utf-8")


async def test_visibility_is_decided_through_the_host(
    browser: Browser, host: StaticSite, steered: HttpServer
) -> None:
    async with hosted(browser, host, steered, "skill-display", skill="tone") as (_, app):
        await app.get_by_role("switch", name="Assistant").click()
        await expect(app.locator(".visibility .badge")).to_have_text("Customized")
        await app.get_by_role("button", name="Reset").click()
        await expect(app.locator(".visibility .badge")).to_have_count(0)


async def test_the_page_uses_theme_fonts_and_padding_of_its_host(
    browser: Browser, host: StaticSite, steered: HttpServer
) -> None:
    async with hosted(browser, host, steered, "skill-config", theme="dark") as (page, app):
        shell = app.locator(".shell")
        await expect(app.locator(".source")).to_have_count(1)
        await expect(shell).to_have_css("background-color", "rgb(16, 24, 32)")
        await expect(shell).to_have_css("padding", "11px 12px 13px 14px")
        await expect(shell).to_have_css("font-family", "monospace")
        await expect(shell).to_have_css("height", "740px")
        await page.evaluate("window.retheme('light')")
        await expect(shell).to_have_css("background-color", "rgb(255, 250, 240)")
        await expect(app.get_by_role("button", name="Theme")).to_have_count(0)  # the host's business


async def test_what_changes_shows_in_a_while(
    browser: Browser, host: StaticSite, steered: HttpServer, home: Path
) -> None:
    async with hosted(browser, host, steered, "skill-display") as (_, app):
        await expect(app.locator(".tally")).to_have_text("14 skills")
        folder = write_skill(home / "team-skills", "came-later")
        await expect(app.locator(".tally")).to_have_text("15 skills")
        (folder / "SKILL.md").unlink()
        folder.rmdir()
        await expect(app.locator(".tally")).to_have_text("14 skills")


async def test_a_link_to_the_web_is_the_hosts_to_open(
    browser: Browser, host: StaticSite, steered: HttpServer, home: Path
) -> None:
    text = "---\nname: linked\ndescription: Links.\n---\n\n[out](https://example.com/x)\n"
    folder = home / "team-skills/linked"
    folder.mkdir()
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    async with hosted(browser, host, steered, "skill-display") as (page, app):
        await app.locator(".row", has_text="linked").click()
        await app.locator(".prose a").click()
        await page.wait_for_function("window.seen.links.length === 1")
        assert await page.evaluate("window.seen.links") == ["https://example.com/x"]
    (folder / "SKILL.md").unlink()
    folder.rmdir()

"""The pages of `bridge --http`: servers, approvals, and what is withheld. They change nothing."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.axe import violations
from tests.support.browser import DESK, page_of
from tests.support.peers import PATIENCE, HttpServer, skillwire
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

NARROW = (320, 640)
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def env(home: Path) -> Mapping[str, str]:
    return {**os.environ, "HOME": str(home), "SKILLWIRE_STATE_DIR": str(home / "state")}


@pytest.fixture(scope="module")
def upstream(home: Path) -> Iterator[HttpServer]:
    write_skill(home / "upstream", "refunds", {"references/policy.md": "# Policy\n"})
    write_skill(home / "upstream", "returns")
    with HttpServer(home / "upstream", "--no-config", "--http", "0") as server:
        yield server


@pytest.fixture(scope="module")
def bridge(upstream: HttpServer, env: Mapping[str, str]) -> Iterator[HttpServer]:
    """A bridge in front of a server that answers, and of one that does not."""
    missing = "http://127.0.0.1:1/mcp"
    with HttpServer(upstream.url, missing, "--http", "0", env=env, command="bridge") as server:
        yield server


def approve(upstream: HttpServer, env: Mapping[str, str], skill: str) -> None:
    command = skillwire("approve", skill, "--from", upstream.url, "--yes")
    subprocess.run(
        command, env=env, check=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, capture_output=True
    )


async def test_servers_and_withheld_skills_are_shown_until_approved(
    browser: Browser, bridge: HttpServer, upstream: HttpServer, env: Mapping[str, str]
) -> None:
    async with page_of(browser, bridge.base) as page:
        await page.goto("/")
        row = page.locator(".row", has_text="returns")
        await expect(row).to_contain_text("not approved")
        await page.get_by_role("link", name="Servers").click()
        card = page.locator(".source", has_text=upstream.url)
        await expect(card).to_contain_text("2 skills not approved")
        await expect(card).to_contain_text("its skills need approval")
        await expect(page.locator(".source", has_text="Failed")).to_have_count(1)
        await expect(page.locator(".note")).to_contain_text("skillwire approve")
        for name in ("Add", "Allow", "Sync", "Remove"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
        await card.get_by_role("link", name="2 skills not approved").click()
        await expect(page.locator(".problem")).to_have_count(2)
        await expect(page.locator(".problem").first).to_contain_text("skillwire approve")
        await page.get_by_role("link", name="Problems").click()
        summary = page.get_by_role("region", name="Problems").get_by_role("status")
        await expect(summary).to_have_text("1 error, 2 skills not approved")
        await page.locator(".problem a").first.click()
        await expect(page.locator(".facts")).to_contain_text("not approved")
        await expect(page.locator(".prose h1")).to_have_text("Steps")
        await expect(page.locator(".head h1")).to_contain_text("refunds")
        approve(upstream, env, "refunds")
        await expect(page.locator(".facts")).not_to_contain_text("not approved")
        await expect(page.locator(".facts")).to_contain_text("approved")


@pytest.mark.parametrize("size", [DESK, NARROW], ids=["desk", "narrow"])
async def test_the_pages_of_a_bridge_are_accessible(
    browser: Browser, bridge: HttpServer, size: tuple[int, int]
) -> None:
    ready = {"sources": ".source", "problems": ".group", "connect": "#client-panel pre"}
    async with page_of(browser, bridge.base, size, scheme="dark") as page:
        for view, selector in ready.items():
            await page.goto(f"/#/{view}")
            await expect(page.locator(selector).first).to_be_visible()
            assert (view, await violations(page)) == (view, [])
            assert (view, await page.evaluate(OVERFLOW)) == (view, 0)


async def test_no_request_can_change_a_bridge(browser: Browser, bridge: HttpServer) -> None:
    async with page_of(browser, bridge.base) as page:
        await page.goto("/")
        await expect(page.locator(".row").first).to_be_visible()
        change = """async () => {
          const { csrf } = await (await fetch("/ui/session")).json();
          const headers = { "x-skillwire-page": csrf, "content-type": "application/json" };
          const body = JSON.stringify({ source: "/tmp" });
          return (await fetch("/ui/call/skill-config-add-source", { method: "POST", headers, body })).status;
        }"""
        assert await page.evaluate(change) == 404

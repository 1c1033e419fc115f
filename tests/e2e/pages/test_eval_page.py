"""The page of an eval report in a browser: light and dark, wide and narrow, and for everyone."""

import json
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.support.axe import violations
from tests.support.browser import DESK, PHONE, page_of
from tests.support.peers import skillwire
from tests.support.skills import skill_md, write

CASES = [
    {"query": "is this chargeback justified?", "should_trigger": True},
    {"query": "a customer wants money for a kettle", "should_trigger": True},
    {"query": "<img src=x onerror=alert(1)> " + "long" * 60, "should_trigger": True},
    {"query": "returns of an order", "should_trigger": False},
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("evals")
    text = skill_md("refunds", "Decides about returns of an order and chargebacks.")
    write(root / "skills/refunds", {"SKILL.md": text, "evals/triggers.json": json.dumps(CASES)})
    long = "a-skill-with-a-name-that-is-quite-long-for-the-screen-of-a-phone"
    text = skill_md(long, "Writes invoices to a customer. Use for money that is owed.")
    write(root / "skills" / long, {"SKILL.md": text, "evals/triggers.json": json.dumps(CASES[:1])})
    command = skillwire("eval", root / "skills", "--no-config", "--out", root / "report")
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return root / "report/index.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_the_page_fits_and_is_accessible(
    browser: Browser, report: Path, scheme: str, size: tuple[int, int]
) -> None:
    async with page_of(browser, report.as_uri(), size, scheme=scheme) as page:
        await page.goto(report.as_uri())
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= size[0]


async def test_the_page_shows_confusions_and_opens_cases_by_keyboard(browser: Browser, report: Path) -> None:
    async with page_of(browser, report.as_uri()) as page:
        await page.goto(report.as_uri())
        assert await page.locator("h2").all_inner_texts() == ["Skills", "Confused skills", "All cases"]
        pair = page.locator(".pair", has_text="kettle")
        assert await pair.locator(".chip").all_inner_texts() == ["customer", "money"]
        details = page.locator("details", has_text="refunds").first
        assert await details.get_attribute("open") is not None
        await details.locator("summary").focus()
        await page.keyboard.press("Enter")
        assert await details.get_attribute("open") is None

"""The page that `skillwire publish` writes, opened from the disk and below a path, in a real browser."""

import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.axe import violations
from tests.support.browser import DESK, page_of
from tests.support.peers import skillwire
from tests.support.skills import skill_md, write, write_skill
from tests.support.static_site import StaticSite

pytestmark = pytest.mark.anyio

NARROW = (320, 640)
SKILLS = 30
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
HOSTILE = (
    "'</p></li><script>window.pwned=1</script><img src=x onerror=window.pwned=1> <!--skills--> `<b>` "
    + "w" * 300
    + "'"
)


@pytest.fixture(scope="module")
def site(home: Path) -> Path:
    """A published site, in a folder with a space in its name."""
    for number in range(SKILLS - 2):
        write_skill(home / "skills", f"skill-{number:02}")
    write_skill(home / "skills", "forms", {"references/a b#c?.md": "# A\n", "run.sh": "echo\n"})
    write(home / "skills", {"hostile/SKILL.md": skill_md("hostile", HOSTILE)})
    out = home / "the site"
    run = subprocess.run(
        skillwire("publish", home / "skills", "--out", out / "below"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return out


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, NARROW], ids=["desk", "narrow"])
async def test_it_is_accessible_and_searched_from_a_disk(
    browser: Browser, site: Path, size: tuple[int, int], scheme: str
) -> None:
    async with page_of(browser, "file://", size, scheme=scheme) as page:
        await page.goto((site / "below/index.html").as_uri())
        await expect(page.locator("#tally")).to_have_text(f"{SKILLS} skills")
        await expect(page.locator("#skills > li")).to_have_count(SKILLS)
        await page.locator(".use summary").click()
        await page.locator("#skill-forms summary").click()
        assert await violations(page) == []
        assert await page.evaluate(OVERFLOW) == 0
        await page.keyboard.press("/")
        await page.keyboard.type("does one -07")
        await expect(page.locator("#skills > li:visible h2")).to_have_text(["skill-07"])
        await expect(page.locator("#tally")).to_have_text(f"1 of {SKILLS} skills")
        await page.keyboard.press("Escape")
        await expect(page.locator("#tally")).to_have_text(f"{SKILLS} skills")
        assert await page.evaluate("window.pwned") is None
        assert await page.locator("main img, main script").count() == 0
        await expect(page.locator("#skill-hostile code").first).to_have_text("<b>")


async def test_its_links_and_commands_work_below_a_path(browser: Browser, site: Path) -> None:
    with StaticSite(site) as served:
        async with page_of(browser, served.base) as page:
            await page.goto("/below/index.html")
            await page.locator("#skill-forms summary").click()
            command = page.locator("#skill-forms pre").first
            await expect(command).to_have_text(f"npx skills add {served.base}/below --skill forms")
            await page.locator("#skill-forms button").first.click()
            copied = await page.evaluate("navigator.clipboard.readText()")
            assert copied == await command.inner_text()
            for link in await page.locator("#skill-forms .files a, #skill-forms .download").all():
                address = await link.evaluate("each => each.href")
                assert (await page.request.get(address)).ok, address


async def test_it_is_readable_without_scripts(browser: Browser, site: Path) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto((site / "below/index.html").as_uri())
    await expect(page.locator("#skills > li")).to_have_count(SKILLS)
    await expect(page.locator("#search")).to_be_hidden()
    await page.locator("#skill-forms summary").click()
    await expect(page.locator("#skill-forms .files li")).to_have_count(3)
    await context.close()

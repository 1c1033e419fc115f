"""A skill whose author is an enemy of whoever looks at it: it shows, and does nothing."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.browser import DESK, PHONE, page_of
from tests.support.peers import HttpServer
from tests.support.skills import write

pytestmark = pytest.mark.anyio

NAME = "a" * 64
OVERRIDE, ISOLATE, TAG, BELL = "\u202e", "\u2066", "\U000e0041", "\x07"
ZERO_WIDTH, MARK = "\u200b", "\u200e"
EVIL = "http://127.0.0.1:9"
"""Where its author waits. A page that asks there is found out by whoever watches its requests."""
WIN = "window.pwned=1"
BODY = f"""
<script>{WIN}</script>
<img src=x onerror="{WIN}"><svg onload="{WIN}"><body onload="{WIN}"><details open ontoggle="{WIN}">
<iframe src="javascript:{WIN}"></iframe><object data="javascript:{WIN}"></object><embed src="EVIL/embed">
<style>* {{ display: none !important; background: url(EVIL/style) }}</style>
<link rel=stylesheet href="EVIL/link"><meta http-equiv=refresh content="0;url=EVIL/meta"><base href="EVIL/">
<form action="EVIL/form"><input name=page><button>Sign in again</button></form>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror={WIN}&gt;">
<a id="page" name="search" href="javascript:{WIN}">clobber</a><div id="page"></div>
<x onclick="{WIN}" style="position:fixed;inset:0">cover</x>
<noscript><p title="</noscript><img src=x onerror={WIN}>">

[a](javascript:{WIN}) [b](JaVaScRiPt:{WIN}) [c](&#106;avascript:{WIN}) [d](java\tscript:{WIN})
[e](data:text/html,<script>{WIN}</script>) [f](vbscript:{WIN}) [g](<javascript:{WIN}>) [h]( javascript:{WIN})
[i](//EVIL_HOST/x) [j](/ui/session) [k](#/sources) [l](\\\\EVIL_HOST) [m](blob:x) [n](file:///etc/passwd)
[ref] <javascript:{WIN}> [up](../../../../etc/passwd) [away](EVIL/away "onmouseover={WIN}")
[nowhere](http://[) [titled](EVIL/titled "{OVERRIDE}moc.knab")

[ref]: javascript:{WIN}

![picture](EVIL/picture.png) ![inline](data:image/svg+xml,<svg/onload={WIN}>)
[![nested](EVIL/n.png)](javascript:{WIN})

| a | b |
|---|---|
| <img src=x onerror={WIN}> | `<script>{WIN}</script>` |

```html
<script>{WIN}</script>
```

Pay to {OVERRIDE}ecila{ISOLATE} and{TAG} not{BELL} to bob. {"w" * 5000}

{"> " * 200}deep
{"- " * 100}deeper
"""


@pytest.fixture(scope="module")
def hostile(home: Path) -> Iterator[HttpServer]:
    body = BODY.replace("EVIL_HOST", EVIL.removeprefix("http://")).replace("EVIL", EVIL)
    fields = (
        f"name: {NAME}\n"
        f'description: "<img src=x onerror={WIN}> \\u202egpj.exe {"x" * 900}"\n'
        f'license: "<script>{WIN}</script>"\n'
        f'"<b onclick={WIN}>": "</dd><script>{WIN}</script>"\n'
    )
    name = f"{'n' * 180}<img src=x onerror={WIN}>.md"
    files: dict[str, bytes | str] = {
        "SKILL.md": f"---\n{fields}---\n{body}",
        name: "# <script>\n",
        f"{OVERRIDE}txt.exe": "reversed\n",
        "flood.txt": f"before{ZERO_WIDTH * 190_000}!{(ZERO_WIDTH + MARK) * 20_000}after\n",
        "page.html": f"<script>{WIN}</script>",
        "'\"><script>.txt": "quotes\n",
    }
    write(home / "hostile" / NAME, files)
    broken = f'---\nname: "</p><img src=x onerror={WIN}>"\ndescription: x\n---\n'
    write(home / "hostile" / "<img src=x onerror=alert(1)>", {"SKILL.md": broken})
    with HttpServer(home / "hostile", "--http", "0", "--allow-config", "--config", home / "h.toml") as server:
        yield server


@pytest.fixture
async def page(browser: Browser, hostile: HttpServer) -> AsyncGenerator[Page]:
    async with page_of(browser, hostile.base) as page:
        await page.goto(f"/#/skills/{NAME}")
        await expect(page.locator(".prose")).to_be_visible()
        yield page
        assert await page.evaluate("window.pwned") is None


ACTIVE = """[...document.querySelectorAll('.content *, .row *, .sheet *')].flatMap((each) =>
  [...each.attributes].filter((a) => /^on|^style$|^src|^srcdoc$|^action$|^formaction$|^xlink/i.test(a.name))
    .map((a) => `${each.tagName} ${a.name}`))"""
STRANGERS = (
    "script, style, iframe, object, embed, img, form, link, meta, base, math, video, audio, input[name]"
)


async def test_nothing_of_it_becomes_more_than_text(page: Page) -> None:
    document = page.locator(".prose")
    assert await document.locator(STRANGERS).count() == 0
    assert await document.locator("[id], [name], [class]:not(span):not(code)").count() == 0
    assert await page.evaluate(ACTIVE) == []
    await expect(document).to_contain_text(f"<script>{WIN}</script>")  # for everybody to see
    await expect(page.locator(".lead")).to_contain_text("<img src=x")


async def test_its_links_lead_only_to_the_web_and_its_files(page: Page) -> None:
    found = "[...document.querySelectorAll('.prose a[href]')].map((each) => each.getAttribute('href'))"
    addresses = await page.evaluate(found)
    assert {address for address in addresses if not address.startswith("http://127.0.0.1:")} <= {"#"}
    for link in await page.locator(".prose a").all():
        text = await link.inner_text()
        if text not in {"away", "i", "titled"}:
            await link.click()
    await expect(page.locator(".prose")).to_be_visible()
    assert page.url.endswith(f"/#/skills/{NAME}")


async def test_a_link_to_the_web_opens_without_a_way_back(page: Page) -> None:
    link = page.locator(".prose a", has_text="away")
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    await expect(link).to_have_attribute("target", "_blank")


async def test_characters_that_cannot_be_seen_are_shown(page: Page) -> None:
    hidden = page.locator(".prose .hidden-character")
    assert {"U+202E", "U+2066", "U+E0041", "U+0007"} <= set(await hidden.all_inner_texts())
    await expect(page.locator(".lead")).to_contain_text("\\u202egpj.exe")
    await page.get_by_role("tab", name="Raw text").click()
    assert "U+202E" in await page.locator(".raw .hidden-character").all_inner_texts()
    assert OVERRIDE not in await page.locator(".content").inner_text()


async def test_its_files_can_be_looked_at(page: Page) -> None:
    await page.get_by_role("tab", name="Files").click()
    names = await page.locator(".files .file").all_inner_texts()
    assert any("onerror" in name for name in names)
    await page.get_by_role("button", name="page.html").click()
    await expect(page.locator(".raw")).to_have_text(f"<script>{WIN}</script>")


async def test_the_name_of_a_file_cannot_be_turned_around(page: Page) -> None:
    await page.get_by_role("tab", name="Files").click()
    await page.locator(".files .file", has_text="txt.exe").click()
    await expect(page.locator(".shown-file code")).to_have_text("U+202Etxt.exe")
    await page.get_by_role("tab", name="Files").click()
    assert "U+202Etxt.exe" in await page.locator(".files .file").all_inner_texts()
    assert OVERRIDE not in await page.locator(".content").inner_html()


async def test_links_in_a_document_have_no_titles(page: Page) -> None:
    await expect(page.locator(".prose a", has_text="titled")).to_be_visible()
    assert await page.locator(".prose a[title]").count() == 0


async def test_a_flood_of_hidden_characters_hides_nothing(page: Page) -> None:
    await page.get_by_role("tab", name="Files").click()
    await page.get_by_role("button", name="flood.txt").click()
    raw = page.locator(".raw")
    await expect(raw).to_contain_text("before")
    await expect(raw).to_contain_text("after")
    marks = await raw.locator(".hidden-character").all_inner_texts()
    assert marks[0] == "U+200B \N{MULTIPLICATION SIGN}190000"
    assert marks[1:3] == ["U+200B", "U+200E"]
    assert marks[-1].endswith("more invisible characters")
    assert len(marks) < 3000


async def test_problems_of_a_hostile_skill_are_shown_as_text(page: Page) -> None:
    await page.get_by_role("link", name="Problems").click()
    await expect(page.locator(".problem").first).to_contain_text("onerror")
    assert await page.evaluate(ACTIVE) == []


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_it_does_not_break_the_page(
    browser: Browser, hostile: HttpServer, size: tuple[int, int]
) -> None:
    async with page_of(browser, hostile.base, size) as page:
        await page.goto(f"/#/skills/{NAME}")
        await expect(page.locator(".prose")).to_be_visible()
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await page.evaluate(wide) == 0
        inside = (
            "(() => { const d = document.querySelector('.detail'); return d.scrollWidth - d.clientWidth })()"
        )
        assert await page.evaluate(inside) == 0
        for tab in ("Raw text", "Files"):
            await page.get_by_role("tab", name=tab).click()
            assert await page.evaluate(inside) == 0


async def test_scripts_that_got_in_all_the_same_would_not_run(browser: Browser, hostile: HttpServer) -> None:
    """The policy of the page is a second wall: what the first let through would stand before it."""
    attempts = """async (code) => {
      const refused = [];
      for (const attempt of [
        () => { const s = document.createElement('script'); s.textContent = code; document.body.append(s) },
        () => { document.body.insertAdjacentHTML('beforeend', `<img src=x onerror="${code}">`) },
        () => { document.body.setAttribute('onclick', code); document.body.click() },
        () => { setTimeout(code) },
      ]) { try { attempt() } catch (error) { refused.push(error.name) } }
      await new Promise((done) => setTimeout(done, 100));
      return [window.pwned ?? 'nothing', refused.length];
    }"""
    async with page_of(browser, hostile.base, watch=False) as page:
        await page.goto("/")
        await expect(page.locator(".row")).to_have_count(1)
        outcome, refused = await page.evaluate(attempts, WIN)
        assert outcome == "nothing"
        assert refused >= 3


def test_the_policy_lets_nothing_in_and_nothing_out(hostile: HttpServer) -> None:
    headers = httpx2.get(f"{hostile.base}/", trust_env=False).headers
    parts = (part.split() for part in headers["content-security-policy"].split(";"))
    policy = {name: " ".join(values) for name, *values in parts}
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    for directive in ("script-src", "style-src"):
        assert all(each.startswith("'sha256-") for each in policy[directive].split())
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"

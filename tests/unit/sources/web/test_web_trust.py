"""Which origins a web source contacts, what it sends them, and its limits on size and time."""

import gzip
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import httpx2
import pytest

from skillwire.errors import SourceError, UsageError
from skillwire.sources.web import download as publisher_skills
from skillwire.sources.web import source as publisher_mirror
from skillwire.sources.web.address import WebAddress
from skillwire.sources.web.client import WebClient
from skillwire.sources.web.source import WebFetcher
from tests.support.fetched import contents, names, told
from tests.support.skills import skill_md
from tests.support.web_site import NEWER, Answer, PublishingSite

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("bound")]


@pytest.fixture
def other() -> Iterator[PublishingSite]:
    """A site at another origin."""
    with PublishingSite() as publisher:
        yield publisher


# Allowed origins


async def test_redirect_to_other_origin_is_refused_without_request(
    site: PublishingSite, other: PublishingSite, mirror: WebFetcher
) -> None:
    site.redirect(f"{NEWER}index.json", f"{other.origin}{NEWER}index.json")
    with pytest.raises(SourceError, match=f"redirects to `{other.origin}`, which is not an allowed origin"):
        await mirror.fetch()
    assert other.log == []


async def test_download_from_other_origin_is_left_out_without_request(
    site: PublishingSite, other: PublishingSite, mirror: WebFetcher
) -> None:
    artifact = other.offer("hello", {"SKILL.md": skill_md("hello")})
    site.index(replace(artifact, url=f"{other.origin}{NEWER}hello/SKILL.md"))
    copy = await mirror.fetch()
    assert f"allow `{other.origin}` with `allowed-origins`" in told(copy)["hello/SKILL.md"]
    assert other.log == []


async def test_allowed_origin_may_serve_downloads_and_redirects(
    site: PublishingSite, other: PublishingSite, tmp_path: Path
) -> None:
    mirror = WebFetcher(site.origin, tmp_path, allowed_origins=[f"{other.origin}/"])
    hello = other.offer("hello", {"SKILL.md": skill_md("hello")})
    moved = site.offer("moved", {"SKILL.md": skill_md("moved")})
    other.offer("moved", {"SKILL.md": skill_md("moved")})
    site.redirect(f"{NEWER}moved/SKILL.md", f"{other.origin}{NEWER}moved/SKILL.md", 307)
    site.index(replace(hello, url=f"{other.origin}{NEWER}hello/SKILL.md"), moved)
    copy = await mirror.fetch()
    assert (names(copy), copy.problems) == (["hello", "moved"], ())


async def test_token_is_sent_only_to_its_own_origin(other: PublishingSite, tmp_path: Path) -> None:
    with PublishingSite(token="secret") as site:
        mirror = WebFetcher(site.origin, tmp_path, allowed_origins=[other.origin], token="secret")
        hello = other.offer("hello", {"SKILL.md": skill_md("hello")})
        moved = site.offer("moved", {"SKILL.md": skill_md("moved")})
        other.offer("moved", {"SKILL.md": skill_md("moved")})
        site.redirect(f"{NEWER}moved/SKILL.md", f"{other.origin}{NEWER}moved/SKILL.md")
        site.index(replace(hello, url=f"{other.origin}{NEWER}hello/SKILL.md"), moved)
        assert names(await mirror.fetch()) == ["hello", "moved"]
        assert all(request.headers["Authorization"] == "Bearer secret" for request in site.log)
    assert len(other.log) == 2
    assert not any("secret" in str(request) for request in other.log)
    assert not any(b"secret" in content for content in contents(tmp_path).values())


async def test_missing_token_is_reported(tmp_path: Path) -> None:
    wants = pytest.raises(SourceError, match="answers 401: it requires a token")
    with PublishingSite(token="secret") as site, wants:
        await WebFetcher(site.origin, tmp_path).fetch()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://host.example", "is `http`"),
        ("http://localhost.evil.example/", "is `http`"),
        ("http://2130706433/", "is `http`"),
        ("ftp://host.example", "is not an `https` address"),
        ("host.example", "is not an `https` address"),
        ("https://me:secret@host.example", "holds a user name or a password"),
        ("https://host.example\\@evil.example/", "is not a URL"),
        ("https://host.example/some/page", "is not the address of a web source"),
        ("https://host.example/?key=secret", "is not the address of a web source"),
        ("https://host.example:99999/", "has no valid port"),
        ("https://", "has no valid host"),
    ],
)
async def test_invalid_address_is_refused_without_request(tmp_path: Path, url: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        WebFetcher(url, tmp_path)
    assert "secret" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    "target", ["http://host.example/x", "ftp://host.example/x", "https://u:p@host.example/"]
)
async def test_redirect_to_invalid_address_is_refused(
    site: PublishingSite, mirror: WebFetcher, target: str
) -> None:
    site.redirect(f"{NEWER}index.json", target)
    with pytest.raises(SourceError, match=r"index\.json` redirects, but `(http|ftp)"):
        await mirror.fetch()


async def test_redirects_are_followed_five_times(site: PublishingSite, mirror: WebFetcher) -> None:
    site.index(site.offer("hello", {"SKILL.md": skill_md("hello")}))
    site.pages["/step5"] = site.pages.pop(f"{NEWER}index.json")
    site.show("/hello/SKILL.md", skill_md("hello"))  # relative to where the index came from
    site.redirect(f"{NEWER}index.json", "/step1")
    for step in range(1, 5):
        site.redirect(f"/step{step}", f"step{step + 1}")
    assert names(await mirror.fetch()) == ["hello"]
    site.redirect("/step5", "/step5")
    with pytest.raises(SourceError, match="redirects more than 5 times"):
        await mirror.fetch()


async def test_equal_origins_have_one_canonical_form() -> None:
    spellings = [
        "https://bücher.example",
        "HTTPS://BÜCHER.example:443/",
        "https://xn--bcher-kva.Example:0443/x",
    ]
    assert {WebAddress.parse(spelling).origin for spelling in spellings} == {"https://xn--bcher-kva.example"}
    different = ["https://host.example", "https://host.example:8443", "https://host.example."]
    assert len({WebAddress.parse(each).origin for each in different}) == 3
    assert WebAddress.parse("http://[0:0:0:0:0:0:0:1]:80/").origin == "http://[::1]"


@pytest.mark.parametrize("origin", ["http://host.example", "https://host.example/path", "host.example", "*"])
async def test_invalid_allowed_origin_is_refused(tmp_path: Path, origin: str) -> None:
    with pytest.raises(UsageError):
        WebFetcher("https://host.example", tmp_path, allowed_origins=[origin])


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "ü"])
async def test_token_invalid_in_header_is_refused_and_not_repeated(tmp_path: Path, token: str) -> None:
    with pytest.raises(
        UsageError, match=r"^the token contains spaces or characters that are not allowed in a"
    ):
        WebFetcher("https://host.example", tmp_path, token=token)


# Limits on size and time


async def test_endless_body_is_cut_off(site: PublishingSite, mirror: WebFetcher) -> None:
    endless = site.offer("endless", {"SKILL.md": skill_md("endless")})
    site.pages[f"{NEWER}endless/SKILL.md"] = Answer(bytes(65536), endless=True)
    site.index(endless, site.offer("hello", {"SKILL.md": skill_md("hello")}))
    copy = await mirror.fetch()
    assert names(copy) == ["hello"]
    assert "sends more than 16,777,216 bytes" in told(copy)["endless/SKILL.md"]


@pytest.mark.parametrize("value", [b"{}", b"[]", b"0", b'{"a":{}}', b'""'])
async def test_index_with_too_many_values_is_refused_before_parsing(
    site: PublishingSite, mirror: WebFetcher, value: bytes
) -> None:
    values = b",".join([value] * (12 * 1024 * 1024 // (len(value) + 1)))
    site.show(f"{NEWER}index.json", b'{"skills": [' + values + b"]}")
    tracemalloc.start()
    try:
        with pytest.raises(SourceError, match="more than 300,000 values"):
            await mirror.fetch()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 80 * 1024 * 1024


async def test_compressed_body_is_limited_by_its_decompressed_size(
    site: PublishingSite, mirror: WebFetcher
) -> None:
    large = site.offer("large", {"SKILL.md": skill_md("large")})
    packed = gzip.compress(bytes(64 * 1024 * 1024))
    site.show(f"{NEWER}large/SKILL.md", packed, Content_Encoding="gzip")
    site.index(large)
    assert "sends more than 16,777,216 bytes" in told(await mirror.fetch())["large/SKILL.md"]


async def test_gzip_encoded_body_is_read(site: PublishingSite, mirror: WebFetcher) -> None:
    hello = site.offer("hello", {"SKILL.md": skill_md("hello")})
    packed = gzip.compress(skill_md("hello"))
    site.show(f"{NEWER}hello/SKILL.md", packed, Content_Encoding="gzip")
    site.index(hello)
    assert names(await mirror.fetch()) == ["hello"]


async def test_concurrent_downloads_are_limited(site: PublishingSite, mirror: WebFetcher) -> None:
    wanted = [f"skill-{number:02}" for number in range(40)]
    site.index(*(site.offer(name, {"SKILL.md": skill_md(name)}) for name in wanted))
    assert names(await mirror.fetch()) == wanted
    assert site.busiest <= publisher_mirror.MAX_CONCURRENT_DOWNLOADS


@pytest.mark.parametrize("module", [publisher_mirror, publisher_skills])
async def test_skills_over_total_size_are_left_out(
    site: PublishingSite, mirror: WebFetcher, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    one, two = (
        site.offer("one", {"SKILL.md": skill_md("one")}),
        site.offer("two", {"SKILL.md": skill_md("two")}),
    )
    monkeypatch.setattr(module, "MAX_TOTAL_BYTES", len(skill_md("one")) + 1)
    site.index(one, two)
    copy = await mirror.fetch()
    assert len(names(copy)) == 1
    (reason,) = told(copy).values()
    assert "the skills of one website may have" in reason


async def test_silent_server_times_out(site: PublishingSite) -> None:
    site.pages["/silent"] = Answer(silent=True)
    address = WebAddress.parse(f"{site.origin}/silent")
    async with WebClient(address, timeout=0.05) as fetcher:
        with pytest.raises(SourceError, match=r"/silent` takes longer than 0\.05 seconds"):
            await fetcher.get(address, limit=10)


async def test_stalled_download_does_not_delay_others(
    site: PublishingSite, mirror: WebFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    hello = site.offer("hello", {"SKILL.md": skill_md("hello")})
    site.index(hello)
    await mirror.fetch()
    site.index(site.offer("late", {"SKILL.md": skill_md("late")}), hello)
    site.pages[f"{NEWER}late/SKILL.md"] = Answer(silent=True)
    monkeypatch.setattr(publisher_mirror, "TIMEOUT_SECONDS", 0.2)
    copy = await mirror.fetch()
    assert names(copy) == ["hello"]
    assert "took too long" in told(copy)["late/SKILL.md"]


async def test_key_in_address_is_not_repeated_in_error(site: PublishingSite) -> None:
    address = WebAddress.parse(f"{site.origin}/gone?key=secret")
    async with WebClient(address) as fetcher:
        with pytest.raises(SourceError, match=r"/gone` answers 404$"):
            await fetcher.get(address, limit=10)
    assert [request.path for request in site.log] == ["/gone?key=secret"]


async def test_loopback_requests_use_no_proxy(
    site: PublishingSite, other: PublishingSite, mirror: WebFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, other.origin)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    site.index(site.offer("hello", {"SKILL.md": skill_md("hello")}))
    assert names(await mirror.fetch()) == ["hello"]
    assert other.log == []


async def test_cookies_are_not_stored(site: PublishingSite, mirror: WebFetcher) -> None:
    site.index(site.offer("hello", {"SKILL.md": skill_md("hello")}))
    index = site.pages[f"{NEWER}index.json"]
    site.pages[f"{NEWER}index.json"] = replace(index, headers={"Set-Cookie": "who=you; Path=/"})
    await mirror.fetch()
    assert not any("Cookie" in request.headers for request in site.log)


async def test_http_library_errors_become_source_errors(site: PublishingSite) -> None:
    address = WebAddress.parse(f"{site.origin}/x")
    site.go_offline()
    async with WebClient(address) as fetcher:
        with pytest.raises(SourceError) as caught:
            await fetcher.get(address, limit=10)
    assert isinstance(caught.value.__cause__, httpx2.HTTPError)

"""Skills at `/.well-known/agent-skills/` of a running server: live, verified, behind its guards."""

import http.client
import io
import json
import logging
import os
import socket
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from skillwire import Library, MemorySource, SkillRecord, State
from skillwire.features import live_site, website
from skillwire.features.live_site import LiveSite, NotPublishedError
from skillwire.protocol.claims import SkillClaim, parse_entry
from skillwire.protocol.delivery import Delivery
from skillwire.protocol.discovery import Artifact, read_index
from skillwire.sources import Digest, FetchedSource, Limits, MemorySkill
from skillwire.sources.web.source import WebFetcher
from tests.support.bridges import open_bridge
from tests.support.clients import library_of, skill
from tests.support.liars import Liar
from tests.support.links import Wire
from tests.support.peers import PATIENCE, HttpServer
from tests.support.scripted import ScriptedServer
from tests.support.skills import skill_md, write, write_skill

TOKEN_VARIABLE, TOKEN = "SKILLWIRE_TEST_TOKEN", "correct-horse-battery-staple"
FOLDER = "/.well-known/agent-skills"
INDEX = f"{FOLDER}/index.json"


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("skills")
    refunds = {"references/größe mit.md": "# Size\n", "scripts/tool": b"\x7fELF\x00", "page.html": "<script>"}
    write_skill(root, "refunds", refunds)
    (root / "refunds/scripts/tool").chmod(0o755)
    write_skill(root, "returns")
    write_skill(root, "first/shared", {"a.md": "first"})
    write_skill(root, "second/shared", {"a.md": "second"})
    write_skill(root, "device", {"aux": "readers refuse this name"})
    return root


@pytest.fixture(scope="module")
def server(skills: Path) -> Iterator[HttpServer]:
    with HttpServer(skills, "--no-config", "--http", "127.0.0.1:0") as server:
        yield server


@pytest.fixture(scope="module")
def web(server: HttpServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.base, timeout=PATIENCE) as client:
        yield client


def artifacts(content: bytes) -> dict[str, Artifact]:
    index = read_index(content)
    assert index.problems == ()
    return {each.name: each for each in index.skills if isinstance(each, Artifact)}


def eventually(client: httpx2.Client, done: Callable[[dict[str, Artifact]], bool]) -> dict[str, Artifact]:
    """Ask for the index until it is as it should be."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        if done(found := artifacts(client.get(INDEX).content)):
            return found
    raise AssertionError("the index did not follow")


# What is served


def test_the_index_names_downloads_with_their_digests(web: httpx2.Client, server: HttpServer) -> None:
    answer = web.get(INDEX)
    assert answer.headers["content-type"] == "application/json"
    found = artifacts(answer.content)
    assert {name: each.type for name, each in found.items()} == {
        "refunds": Delivery.ARCHIVE,
        "returns": Delivery.SKILL_MD,
        "shared": Delivery.ARCHIVE,
    }
    for artifact in found.values():
        download = web.get(f"{FOLDER}/{artifact.url}")
        assert Digest.of(download.content) == artifact.digest
        assert download.headers["etag"] == f'"{artifact.digest.text}"'
        assert "immutable" in download.headers["cache-control"]
        assert download.headers["x-content-type-options"] == "nosniff"
    with tarfile.open(fileobj=io.BytesIO(web.get(f"{FOLDER}/{found['refunds'].url}").content)) as archive:
        modes = {member.name: member.mode for member in archive.getmembers()}
    assert {name for name, mode in modes.items() if mode == 0o755} == {"scripts/tool"}
    assert "references/größe mit.md" in modes
    assert web.get(f"{FOLDER}/shared/a.md").text == "first"
    told = [line for line in server.log if "device" in line]
    assert len(told) == 1
    assert "Windows device" in told[0]


@pytest.mark.anyio
async def test_our_own_web_source_reads_a_running_server(
    server: HttpServer, skills: Path, tmp_path: Path
) -> None:
    with anyio.fail_after(PATIENCE):
        scan = await FetchedSource(WebFetcher(server.base, tmp_path), label="site").scan()
    assert scan.problems == ()
    assert sorted(entry.name for entry in scan.entries) == ["refunds", "returns", "shared"]
    refunds = next(entry for entry in scan.entries if entry.name == "refunds")
    assert refunds.executable == {"scripts/tool"}
    for file in refunds.files:
        assert Digest.of((skills / "refunds" / file.path).read_bytes()) == getattr(file, "digest", None)


def test_only_changed_files_or_modes_change_a_download(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "skills", "one", {"run": "x"})
    with (
        HttpServer(tmp_path / "skills", "--no-config", "--http", "127.0.0.1:0") as server,
        httpx2.Client(base_url=server.base, timeout=PATIENCE) as web,
    ):
        seen = [artifacts(web.get(INDEX).content)["one"]]

        def changed(found: dict[str, Artifact]) -> bool:
            return found["one"].url not in {each.url for each in seen}

        (folder / "run").chmod(0o755)
        seen.append(eventually(web, changed)["one"])
        write(folder, {"run": "y"})
        seen.append(eventually(web, changed)["one"])
        last = web.get(f"{FOLDER}/{seen[-1].url}")
        assert Digest.of(last.content) == seen[-1].digest
        for former in seen[:2]:  # the very bytes of then, or none
            answer = web.get(f"{FOLDER}/{former.url}")
            assert answer.status_code == 404 or Digest.of(answer.content) == former.digest
        write_skill(tmp_path / "skills", "two")
        assert set(eventually(web, lambda found: "two" in found)) == {"one", "two"}
        (folder / "SKILL.md").unlink()
        eventually(web, lambda found: set(found) == {"two"})
        assert web.get(f"{FOLDER}/{seen[-1].url}").status_code == 404
        assert web.get(f"{FOLDER}/one/run").status_code == 404


@pytest.mark.parametrize("path", ["index.json", "refunds/SKILL.md", "download"])
def test_conditional_requests_are_answered_without_the_content(web: httpx2.Client, path: str) -> None:
    found = artifacts(web.get(INDEX).content)
    address = f"{FOLDER}/{found['refunds'].url if path == 'download' else path}"
    whole = web.get(address)
    etag = whole.headers["etag"]
    assert etag == f'"{Digest.of(whole.content).text}"'
    for matching in (etag, f"W/{etag}", "*", f'"a, b", W/"c", {etag}', f'"x",{etag}'):
        answer = web.get(address, headers={"If-None-Match": matching})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
    long = '""' + " " * 50_000
    for other in ('"other"', etag.strip('"'), "", f'"x{etag[1:]}', "*, *", f"{long}x", '"' * 50_000):
        assert web.get(address, headers={"If-None-Match": other}).status_code == 200
    head = web.head(address)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-length", "content-type", "etag", "cache-control"):
        assert head.headers[name] == whole.headers[name]
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        refused = web.request(method, address)
        assert (refused.status_code, set(refused.headers["allow"].split(", "))) == (405, {"GET", "HEAD"})


def test_no_file_of_a_skill_runs_in_a_browser(web: httpx2.Client) -> None:
    page = web.get(f"{FOLDER}/refunds/page.html")
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("sandbox;")
    assert web.get(f"{FOLDER}/refunds/SKILL.md").headers["content-type"] == "text/markdown; charset=utf-8"
    assert web.get(f"{FOLDER}/refunds/scripts/tool").headers["content-type"] == "application/octet-stream"
    assert web.get(f"{FOLDER}/refunds/references/gr%C3%B6%C3%9Fe%20mit.md").text == "# Size\n"


HOSTILE = [
    *("", "nothing", "refunds", "refunds/", "refunds//SKILL.md", "refunds/no.md", "index.json/", "x.json"),
    *("../../etc/passwd", "refunds/../returns/SKILL.md", "%2e%2e/%2e%2e/mcp", "refunds/%2e%2e/SKILL.md"),
    *("refunds%2fSKILL.md", "refunds/scripts%2ftool", "refunds/%252e%252e/SKILL.md", "refunds\\SKILL.md"),
    *("refunds/SKILL.md%00", "%00", "refunds/%00/SKILL.md", "refunds/SKILL%2emd%20", "refunds/skill.md"),
    *("refunds.000000000000.tar.gz", "refunds..tar.gz", "refunds.x/../../../x", "returns.0/SKILL.md"),
    *("device/aux", "device/SKILL.md", "a" * 6000, "refunds/" + "a/" * 2000, "." * 3000, "refunds/%ff"),
]


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path[:40])
def test_unknown_paths_are_not_found(server: HttpServer, path: str) -> None:
    connection = http.client.HTTPConnection(server.base.removeprefix("http://"), timeout=PATIENCE)
    with closing(connection):
        connection.putrequest("GET", f"{FOLDER}/{path}")  # as it is: other clients would tidy it up
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status == (400 if "%ff" in path else 404)
        assert answer.headers["content-type"].startswith("application/json")
        assert len(told := answer.read()) < 1000
        assert json.loads(told)["error"]


# Who may ask


def test_the_guards_are_those_of_the_whole_server(server: HttpServer, web: httpx2.Client) -> None:
    assert web.get(INDEX, headers={"Host": "evil.example"}).status_code == 421
    assert web.get(INDEX, headers={"Origin": "https://evil.example"}).status_code == 403
    assert web.get(INDEX, headers={"Origin": server.base}).status_code == 200


def test_token_is_required_and_answers_are_private(skills: Path) -> None:
    env = {**os.environ, TOKEN_VARIABLE: TOKEN}
    with (
        HttpServer(
            skills, "--no-config", "--http", "127.0.0.1:0", "--token-env", TOKEN_VARIABLE, env=env
        ) as server,
        httpx2.Client(base_url=server.base, timeout=PATIENCE) as web,
    ):
        known = {"Authorization": f"Bearer {TOKEN}"}
        index = web.get(INDEX, headers=known)
        download = f"{FOLDER}/{artifacts(index.content)['refunds'].url}"
        for path in (INDEX, download, f"{FOLDER}/refunds/SKILL.md", f"{FOLDER}/nothing"):
            refused = web.get(path)
            assert (refused.status_code, b"refunds" in refused.content) == (401, False)
            assert web.get(path, headers={"If-None-Match": "*"}).status_code == 401
        for path in (INDEX, download):
            answer = web.get(path, headers=known)
            assert (answer.status_code, answer.headers["cache-control"][:7]) == (200, "private")


def test_without_well_known_nothing_is_there(skills: Path) -> None:
    with HttpServer(skills, "--no-config", "--http", "127.0.0.1:0", "--no-well-known") as server:
        assert httpx2.get(f"{server.base}{INDEX}", timeout=PATIENCE).status_code == 404


def test_stalled_clients_do_not_delay_others(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "large", {"data.bin": bytes(12 * 1024 * 1024)})
    with (
        HttpServer(tmp_path / "skills", "--no-config", "--http", "127.0.0.1:0") as server,
        httpx2.Client(base_url=server.base, timeout=PATIENCE) as web,
        ExitStack() as stalled,
    ):
        large = artifacts(web.get(INDEX).content)["large"]
        host, _, port = server.base.removeprefix("http://").partition(":")
        for _ in range(30):  # more than the memory for unread answers holds
            connection = stalled.enter_context(socket.create_connection((host, int(port)), PATIENCE))
            connection.sendall(f"GET {FOLDER}/{large.url} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        assert web.get(INDEX).status_code == 200
        assert int(web.head(f"{FOLDER}/{large.url}").headers["content-length"]) > 12 * 1024 * 1024
        assert web.get(f"{FOLDER}/large/SKILL.md").status_code == 200


# How it is made


def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the name of every skill that is packed."""
    packed: list[str] = []
    make = website.build_download

    def making(entry: SkillRecord, files: Any) -> Any:
        packed.append(entry.name)
        return make(entry, files)

    monkeypatch.setattr(live_site, "build_download", making)
    return packed


@pytest.mark.anyio
async def test_concurrent_requests_build_a_download_once(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = noted(monkeypatch)
    site = LiveSite(await library_of(skill("one", files={"a": b"a"}), skill("two", files={"b": b"b"})))
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(site.index)
    one = artifacts((await site.index()).content)["one"]
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(site.find, one.url)
    assert sorted(packed) == ["one", "two"]


@pytest.mark.anyio
async def test_only_changed_downloads_are_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = noted(monkeypatch)
    source = MemorySource([skill(f"s{number}", files={"a": b"a"}) for number in range(5)])
    library = Library([source])
    await library.load()
    site = LiveSite(library)
    before = await site.index()
    source.put(skill("s3", files={"a": b"b"}))
    await library.rescan_source(source)
    after = await site.index()
    assert packed[5:] == ["s3"]
    assert before.digest != after.digest
    assert await site.index() is after


@pytest.mark.anyio
async def test_uncached_downloads_are_rebuilt_with_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = await library_of(*(skill(f"s{number}", files={"a": bytes(5000)}) for number in range(4)))
    site = LiveSite(library, cached_bytes=20_000)
    found = artifacts((await site.index()).content)
    packed = noted(monkeypatch)
    for artifact in found.values():
        download = await site.find(artifact.url)
        assert Digest.of(await site.content(download)) == artifact.digest
    assert packed


@pytest.mark.anyio
async def test_old_download_is_served_unchanged_until_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    source = MemorySource([skill("one", files={"a": b"a"})])
    library = Library([source])
    await library.load()
    site = LiveSite(library)
    old = artifacts((await site.index()).content)["one"]
    source.put(skill("one", files={"a": b"b"}))
    await library.rescan_source(source)
    assert Digest.of(await site.content(await site.find(old.url))) == old.digest
    monkeypatch.setattr(live_site, "_OLD_SECONDS", -1.0)
    with pytest.raises(NotPublishedError, match="names its current download"):
        await site.find(old.url)


@pytest.mark.anyio
async def test_skill_changed_during_indexing_is_in_the_index() -> None:
    source = MemorySource([skill("one", files={"a": b"a"}), skill("two")])
    edited: list[bytes] = []

    async def edit(content: bytes) -> bytes:
        if content == b"a" and not edited:
            edited.append(content)
            source.put(skill("one", files={"a": b"b"}))
            await library.rescan_source(library.sources[0])
        return content

    library = Library([Liar(source, edit)])
    await library.load()
    site = LiveSite(library)
    found = artifacts((await site.index()).content)
    assert (edited, set(found)) == ([b"a"], {"one", "two"})
    with tarfile.open(fileobj=io.BytesIO(await site.content(await site.find(found["one"].url)))) as archive:
        extracted = archive.extractfile("a")
        assert extracted is not None
        assert extracted.read() == b"b"


@pytest.mark.anyio
async def test_same_name_does_not_restore_a_withdrawn_download() -> None:
    source = MemorySource([skill("first/shared", files={"a": b"first"}), skill("second/shared")])
    library = Library([source])
    await library.load()
    site = LiveSite(library)
    withdrawn = artifacts((await site.index()).content)["shared"]
    assert await site.find(withdrawn.url)
    source.remove("first/shared")
    await library.rescan_source(source)
    with pytest.raises(NotPublishedError):
        await site.find(withdrawn.url)


@pytest.mark.anyio
async def test_a_bridge_publishes_only_what_is_approved(tmp_path: Path) -> None:
    script = ScriptedServer()
    uri = script.publish("one", {"a.md": b"a"})
    with State.open(tmp_path / "state") as state:
        async with (
            open_bridge({"acme": Wire(script.server())}, state) as bridge,
            Client(bridge.server),  # which makes the bridge follow its servers
        ):
            site = LiveSite(bridge.library)
            assert artifacts((await site.index()).content) == {}
            with pytest.raises(NotPublishedError):
                await site.file("one", "a.md")
            (entry,) = bridge.library.catalog.entries
            parsed = parse_entry(script.entries[0], Limits())
            assert isinstance(parsed, SkillClaim)
            bridge.approve("acme", parsed)
            await bridge.until_offered(entry)
            approved = artifacts((await site.index()).content)["one"]
            assert await site.content(await site.find(approved.url))
            assert (await site.file("one", "a.md"))[0] == b"a"
            bridge.revoke("acme", uri)
            await bridge.until_offered()
            assert artifacts((await site.index()).content) == {}
            for path in (approved.url, "one/SKILL.md"):
                with pytest.raises(NotPublishedError):
                    await site.find(path)
            with pytest.raises(NotPublishedError):
                await site.file("one", "a.md")


@pytest.mark.anyio
async def test_one_skill_that_cannot_be_read_leaves_the_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {"bad": True}

    async def lie(content: bytes) -> bytes:
        return b"other" if broken["bad"] and content == b"bad" else content

    library = Library([Liar(MemorySource([skill("bad", files={"a": b"bad"}), skill("good")]), lie)])
    await library.load()
    site = LiveSite(library)
    monkeypatch.setattr(live_site, "_RETRY_SECONDS", -1.0)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert set(artifacts((await site.index()).content)) == {"good"}
    assert len([each for each in caplog.records if "bad" in each.getMessage()]) == 1
    broken["bad"] = False
    assert set(artifacts((await site.index()).content)) == {"bad", "good"}


@pytest.mark.anyio
async def test_dynamic_skills_are_left_out() -> None:
    async def now() -> bytes:
        return skill_md("live")

    site = LiveSite(await library_of(MemorySkill("live", {"SKILL.md": now}), skill("one")))
    assert set(artifacts((await site.index()).content)) == {"one"}
    with pytest.raises(NotPublishedError):
        await site.file("live", "SKILL.md")


@pytest.mark.anyio
async def test_long_description_is_cut_by_utf16_length() -> None:
    site = LiveSite(await library_of(skill("one", f"description: {'😀' * 600}\n")))
    told = artifacts((await site.index()).content)["one"].description
    assert len(told.encode("utf-16-le")) // 2 <= 1024
    assert told == f"{'😀' * 511}…"

"""A request that is made for the first time is answered at once, and like the SDK answers it."""

import asyncio
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from skillwire import FolderSource, Library, LiveSkill, ServeOptions, Skill, SkillRequest, Skills
from skillwire.authoring.source import CodeSource
from skillwire.core.record import SkillFile
from skillwire.library.catalog import Catalog
from skillwire.server.http.byte_budget import ByteBudget
from skillwire.server.http.cache import ResponseCacheMiddleware
from skillwire.server.serve_options import all_features
from skillwire.server.stdio.serve import serve_pipes
from skillwire.sources.folder.files import read_unchanged
from tests.support.cached_answers import FRESHNESS, CountingCache, both, headers_for, modern
from tests.support.peers import VERSIONS
from tests.support.skills import make_fifo, write, write_skill

LEGACY = VERSIONS[1:]
LARGEST_NOW = 256 * 1024
"""The size of the largest file that is read without a task."""
NAMES = (
    *("with space & 100%.md", "ünïcode/naïve.md", "a+b~c!$'(),;=:@.txt", 'quote"d.md', "hash#mark?.md"),
    *("deep/er/and/deeper.py", ".hidden", "x" * 200, "[brackets]{}^`|.md", "\u202eodd\u2028.md"),
)
CONTENTS = (
    *(b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbfmark", b"a\r\nb", "\u2028\x7f\U0001f600".encode(), b'"\\\x01'),
    *(bytes(range(256)), b"y" * 4096, b"z" * LARGEST_NOW, b"z" * (LARGEST_NOW + 1), b"x" * 1_200_000),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skills whose files are easy to get wrong."""
    root = tmp_path_factory.mktemp("cold")
    files = {f"content-{number}": content for number, content in enumerate(CONTENTS)}
    skill = write_skill(root, "acme/nasty", {**files, **dict.fromkeys(NAMES, b"text")})
    (skill / "link.md").symlink_to("content-8")
    outer = write_skill(root, "outer", {"notes.md": "outer\n", "inner-not/notes.md": "outer\n"})
    write_skill(outer, "inner", {"help.md": "inner\n"})
    odd = "nothing: null\nmetadata:\n  owner: desk\n  nothing: null\nbig: 18446744073709551616\n"
    write(root / "odd", {"SKILL.md": f"---\nname: odd\ndescription: Fields.\n{odd}---\nBody\n"})
    write(root / "broken", {"SKILL.md": b"---\nname: Broken Name\ndescription: x\n---\n"})
    write(root / "bare", {"SKILL.md": b"No frontmatter\n", "more.md": b"more"})
    for number in range(120):
        write_skill(root, f"many/skill-{number:03}")
    return root


def every_question(library: Library) -> list[tuple[str, dict[str, Any]]]:
    """Return each request that a client can make of a library, once."""
    catalog = library.catalog
    asked: list[tuple[str, dict[str, Any]]] = [("skills/list", {})]
    asked += [("skills/get", {"uri": uri}) for uri in catalog.entries]
    asked += [("resources/read", {"uri": uri}) for uri in catalog.files]
    known = next(iter(catalog.entries))
    for uri in (f"{known}/", known.removesuffix("/SKILL.md"), known[:-1], "skill://no/such", "", "x"):
        asked += [("skills/get", {"uri": uri}), ("resources/read", {"uri": uri})]
    return asked


def is_made_at_once(method: str, answer: Any) -> bool:
    """Return whether an answer of the SDK is one that needs no waiting."""
    if "result" not in answer:
        return False
    if method != "resources/read":
        return "18446744073709551616" not in json.dumps(answer)
    (content,) = answer["result"]["contents"]
    size = len(content.get("text", "").encode()) or len(content.get("blob", "")) * 3 // 4
    return size <= LARGEST_NOW


OPTIONS = [
    pytest.param(None, id="default"),
    pytest.param(ServeOptions(scheme="desk", authority="acme"), id="other scheme"),
    pytest.param(ServeOptions(every_client=False, archives=True, drafts=True), id="archives"),
]


@pytest.mark.parametrize("options", OPTIONS)
def test_first_answer_on_stdio_equals_the_sdk(tree: Path, options: ServeOptions | None) -> None:
    with both(tree, options) as served:
        base = None if options is None else options.uri_base
        at_once = 0
        for number, (method, params) in enumerate(every_question(served.library)):
            if base is not None and "uri" in params:
                params["uri"] = base.to_outer(params["uri"])
            line = json.dumps(modern(method, number, **params)).encode()
            expected = served.without.ask(line)
            assert served.with_cache.ask(line) == expected
            at_once += is_made_at_once(method, expected)
        assert served.response_cache.made == at_once > 100


def test_first_answer_over_http_equals_the_sdk(tree: Path) -> None:
    with both(tree) as served:
        at_once = 0
        for method, params in every_question(served.library):
            message = modern(method, **params)
            line, headers = json.dumps(message).encode(), headers_for(message)
            status, _, expected = served.posts_without.post(headers, line)
            found = served.posts_with_cache.post(headers, line)
            assert (found[0], found[2]) == (status, expected)
            assert found[1][b"content-type"] == b"application/json"
            at_once += is_made_at_once(method, expected)
        assert served.response_cache.made == at_once > 100


@pytest.mark.parametrize("version", LEGACY)
def test_first_answer_of_earlier_versions_equals_the_sdk(tree: Path, version: str) -> None:
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}).encode()
    with both(tree) as served:
        assert served.with_cache.ask(hello) == served.without.ask(hello)
        at_once = 0
        for number, (method, params) in enumerate(every_question(served.library)):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            line = json.dumps(message).encode()
            expected = served.without.ask(line)
            assert served.with_cache.ask(line) == expected
            at_once += is_made_at_once(method, expected)
        assert served.response_cache.made == at_once > 100


def test_only_fixed_text_in_code_is_read_at_once() -> None:
    async def live(_request: SkillRequest) -> str:
        return "made\n"

    fixed = Skill("fixed", "---\nname: fixed\ndescription: Fixed text.\n---\nBody\n")
    skills = Skills().add(fixed, LiveSkill("live", live, description="Made when it is read."))
    with both(CodeSource(skills)) as served:
        for name in ("fixed", "live"):
            line = json.dumps(modern("resources/read", uri=f"skill://{name}/SKILL.md")).encode()
            assert served.with_cache.ask(line) == served.without.ask(line)
            assert served.response_cache.made == 1


def test_client_that_asks_once_leaves_nothing_in_the_cache(tree: Path) -> None:
    with both(tree) as served:
        for number, (method, params) in enumerate(every_question(served.library)):
            served.with_cache.ask(json.dumps(modern(method, number, **params)).encode())
        assert served.response_cache.cached_bytes == 0


def test_all_lines_of_a_large_burst_are_answered_once(tree: Path) -> None:
    with both(tree) as served:
        asked = [each for each in every_question(served.library) if "content-11" not in str(each)]
        lines = [json.dumps(modern(method, n, **params)) for n, (method, params) in enumerate(asked)]
        sender = threading.Thread(target=served.with_cache.send, args=["\n".join(lines).encode()])
        sender.start()
        found = {answer["id"]: answer for answer in (served.with_cache.receive() for _ in lines)}
        sender.join()
        for number, line in enumerate(lines):
            assert found[number] == served.without.ask(line.encode())


def edit_until(stop: threading.Event, skills: list[Path], names: list[str]) -> None:
    """Edit files in turns: in place, so that a reader can see half of a file, or by replacing them."""
    number = 0
    while not stop.is_set():
        for skill in skills:
            number += 1
            target = skill / names[number * 7 % len(names)]
            if number % 3:
                with target.open("w") as file:
                    file.write("half\n")
                    file.flush()
                    file.write(f"edit {number}\n")
            else:
                (other := skill.parent / "other").write_text(f"swap {number}\n")
                other.replace(target)
            stop.wait(0.0005)


def note_digests(library: Library) -> dict[str, set[str]]:
    """Return every digest that the library lists for each URI, now and later."""
    listed: dict[str, set[str]] = {}

    def note(catalog: Catalog) -> None:
        for uri, served in catalog.files.items():
            assert isinstance(served.file, SkillFile)
            listed.setdefault(uri, set()).add(served.file.digest.text)

    note(library.catalog)
    library.listen(lambda change: note(change.after))
    return listed


@pytest.mark.rule("S19")
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_first_reads_match_a_listed_digest_during_edits(tmp_path: Path, transport: str) -> None:
    names = [f"file-{number:02}.md" for number in range(40)]
    skills = [write_skill(tmp_path, f"skill-{each}", dict.fromkeys(names, "first\n")) for each in range(5)]
    stop = threading.Event()
    editor = threading.Thread(target=edit_until, args=[stop, skills, names])
    with both(tmp_path) as served:
        listed = note_digests(served.library)
        editor.start()
        answered = 0
        for number, uri in enumerate(sorted(listed)):
            message = modern("resources/read", number, uri=uri)
            line = json.dumps(message).encode()
            if transport == "stdio":
                answer = served.with_cache.ask(line)
            else:
                answer = served.posts_with_cache.post(headers_for(message), line)[2]
            if "result" in answer:  # a file that keeps changing cannot be read
                content = answer["result"]["contents"][0]["text"].encode()
                assert f"sha256:{hashlib.sha256(content).hexdigest()}" in listed[uri]
                answered += 1
        stop.set()
        editor.join()
        assert answered > len(listed) // 2
        assert served.response_cache.made > 0


def test_remote_file_system_is_left_to_the_tasks(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_remote(_root: str, *, everywhere: bool) -> bool:
        return everywhere

    monkeypatch.setattr("skillwire.sources.folder.source.is_local", is_remote)
    uris = ["skill://odd/SKILL.md", "skill://acme/nasty/content-7", "skill://outer/inner/help.md"]
    for source, made in ((FolderSource(tree), 0), (FolderSource(tree, follow_links=True), len(uris))):
        with both(source) as served:
            for uri in uris:
                line = json.dumps(modern("resources/read", uri=uri)).encode()
                assert served.with_cache.ask(line) == served.without.ask(line)
            assert served.response_cache.made == made


@pytest.fixture
def kinds(tmp_path: Path) -> Iterator[dict[str, Path]]:
    found = {name: tmp_path / name for name in ("file", "link", "folder", "pipe", "gone", "closed")}
    found["file"].write_bytes(b"bytes")
    found["link"].symlink_to("file")
    found["folder"].mkdir()
    make_fifo(found["pipe"])
    writer = os.open(found["pipe"], os.O_RDWR | os.O_NONBLOCK)
    os.write(writer, b"bytes")
    yield found
    assert os.read(writer, 9) == b"bytes"  # nobody took them
    os.close(writer)


def test_only_regular_files_of_listed_size_are_read(kinds: dict[str, Path]) -> None:
    for name, path in kinds.items():
        found = read_unchanged(str(path), 5)
        assert found == (b"bytes" if name in {"file", "link"} else None), name
    for size in (0, 4, 6, 1 << 16):
        assert read_unchanged(str(kinds["file"]), size) is None


IN_A_ROW = 32
"""The most responses that one connection makes before other tasks have their turn."""


@pytest.mark.anyio
@pytest.mark.parametrize("piece", [1 << 20, 1000], ids=["at once", "in pieces"])
async def test_a_burst_does_not_keep_other_clients_waiting(tmp_path: Path, piece: int) -> None:
    for number in range(10):
        write_skill(tmp_path, f"skill-{number}", {f"{each}.md": "text" for each in range(500)})
    library = Library([FolderSource(tmp_path)])
    await library.load()
    cache = CountingCache(all_features(library, ServeOptions()), FRESHNESS, name="x", version="1")
    app = ResponseCacheMiddleware(refuse_all, cache, "/mcp", ByteBudget(1 << 20))
    uris = [f"skill://skill-{number % 10}/{number // 10}.md" for number in range(5000)]
    lines = [json.dumps(modern("resources/read", each, uri=uri)) for each, uri in enumerate(uris)]
    source, to = os.pipe()
    taken, sink = os.pipe()
    sender = threading.Thread(target=send_all, args=[to, "\n".join(lines).encode() + b"\n", piece])
    answers: list[bytes] = []
    reader = threading.Thread(target=receive_lines, args=[taken, len(lines), answers])
    sender.start()
    reader.start()
    waits: list[int] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve_pipes, source, sink, pytest.fail, cache)
        while reader.is_alive():
            before = cache.answered
            get = modern("skills/get", uri=f"skill://skill-{len(waits) % 10}/SKILL.md")
            assert await asyncio.create_task(post(app, get)) == 200
            waits.append(cache.answered - before)
    sender.join()
    assert sorted(json.loads(each)["id"] for each in answers) == list(range(5000))
    # A request counts itself. It starts and ends in different turns, and a limit may end within a turn.
    assert max(waits) <= 4 * IN_A_ROW + 1
    assert len(waits) > 5000 // IN_A_ROW // 4
    for descriptor in (source, taken, sink):
        os.close(descriptor)


async def post(app: ResponseCacheMiddleware, message: dict[str, Any]) -> int:
    """Return the status of an answer over HTTP."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps(message).encode()}

    async def send(part: Any) -> None:
        sent.append(part)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers_for(message)}
    await app(scope, receive, send)
    return sent[0]["status"]


async def refuse_all(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})


def send_all(descriptor: int, data: bytes, piece: int) -> None:
    """Send all, at most `piece` bytes at a time, and close."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left[:piece]) :]
    os.close(descriptor)


def receive_lines(descriptor: int, count: int, lines: list[bytes]) -> None:
    with os.fdopen(os.dup(descriptor), "rb") as taken:
        lines.extend(taken.readline() for _ in range(count))

"""The server that keeps answers ready says the same as the one that makes each anew.

Answers are compared byte for byte in one spelling: JSON leaves the order of keys and the escapes of
characters open, and nothing else. Over HTTP the status and the headers are compared, too. Only dates, ids of
sessions and the length, which depends on the spelling, may differ.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.peers import MODERN, HttpPeer, Peer, StdioPeer
from tests.blackbox.product import LOAD_TOOL, NO_CONFIG, PROBLEMS, UNCACHED, HttpService, Person, eventually
from tests.blackbox.skills import block_bytes, digest, write_skill

LEGACY = "2025-11-25"
REFUNDS = "skill://acme/billing/refunds"
SETTLED = 3.0
"""Seconds after which an answer from a file is kept: one that was just written is always read."""
TIMES = 3
"""An answer is kept from the second time on, so the third one is a kept one."""

Asked = tuple[str, dict[str, Any]]
Both = tuple[Peer, Peer]


@pytest.fixture(scope="module")
def services(tree: Path, somebody: Person) -> Iterator[tuple[HttpService, HttpService]]:
    with (
        HttpService(somebody, tree, NO_CONFIG, "--http", "0") as cached,
        HttpService(somebody, tree, NO_CONFIG, UNCACHED, "--http", "0") as uncached,
    ):
        yield cached, uncached


def on_http(tree: Path, person: Person, stack: ExitStack) -> Both:
    cached = stack.enter_context(HttpService(person, tree, NO_CONFIG, "--http", "0"))
    uncached = stack.enter_context(HttpService(person, tree, NO_CONFIG, UNCACHED, "--http", "0"))
    return HttpPeer(MODERN, cached.url), HttpPeer(MODERN, uncached.url)


def on_pipes(version: str, tree: Path, person: Person) -> Both:
    return (
        StdioPeer(version, person, "serve", tree, NO_CONFIG),
        StdioPeer(version, person, "serve", tree, NO_CONFIG, UNCACHED),
    )


@pytest.fixture(scope="module", params=["stdio-modern", "stdio-legacy", "http-modern", "http-legacy"])
def both(
    request: pytest.FixtureRequest, tree: Path, somebody: Person, services: tuple[HttpService, HttpService]
) -> Iterator[Both]:
    transport, era = request.param.split("-")
    version = MODERN if era == "modern" else LEGACY
    if transport == "stdio":
        cached, uncached = on_pipes(version, tree, somebody)
    else:
        cached, uncached = (HttpPeer(version, service.url) for service in services)
    assert cached.handshake == uncached.handshake
    yield cached, uncached
    assert cached.close() == uncached.close() == 0


def canonical(answer: bytes) -> bytes:
    """Return an answer in one spelling; as it is, if it is no JSON."""
    try:
        value = json.loads(answer, object_pairs_hook=_without_doubles)
    except ValueError:
        return answer
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def raw(peer: Peer, body: bytes, headers: Mapping[str, str] | None = None) -> Any:
    """Return everything that comes back for some bytes, apart from dates and ids of sessions."""
    if isinstance(peer, StdioPeer):
        peer.send(body)
        return canonical(peer.line())
    assert isinstance(peer, HttpPeer)
    response = peer.post(body, peer.headers({}) if headers is None else headers)
    assert response.headers.get("content-length") in {str(len(response.body)), None}
    open_to = {"date", "mcp-session-id", "content-length"}
    shown = {key: value for key, value in response.headers.items() if key not in open_to}
    return response.status, shown, canonical(response.body)


def same(both: Both, method: str, params: Mapping[str, Any], identity: object = 7) -> Any:
    """Ask both servers several times; return the one answer."""
    answers: list[Any] = []
    for peer in both:
        message = {**peer.message(method, params), "id": identity}
        body = json.dumps(message).encode()
        headers = peer.headers(message) if isinstance(peer, HttpPeer) else None
        answers += [raw(peer, body, headers) for _ in range(TIMES)]
    assert answers == [answers[0]] * len(answers)
    return json.loads(answers[0] if isinstance(answers[0], bytes) else answers[0][2])


def test_every_page_entry_and_file_is_the_same(both: Both) -> None:
    cursor: dict[str, str] = {}
    entries: list[Any] = []
    while True:
        result = same(both, "skills/list", cursor)["result"]
        entries += result["skills"]
        if "nextCursor" not in result:
            break
        cursor = {"cursor": result["nextCursor"]}
    for entry in [entry for entry in entries if "/many/" not in entry["uri"]]:
        assert same(both, "skills/get", {"uri": entry["uri"]})["result"]["skill"] == entry
        for resource in entry["resources"]:
            (block,) = same(both, "resources/read", {"uri": resource["uri"]})["result"]["contents"]
            assert digest(block_bytes(block)) == resource["digest"]


ODD: list[Asked] = [
    ("skills/get", {"uri": "skill://nobody/SKILL.md"}),
    ("skills/get", {"uri": f"{REFUNDS}/SKILL.md", "cursor": "x"}),
    ("skills/get", {"uri": 5}),
    ("skills/get", {}),
    ("skills/list", {"cursor": ""}),
    ("skills/list", {"cursor": "nonsense"}),
    ("skills/list", {"cursor": None}),
    ("skills/list", {"unknown": {"deep": [1, 2]}}),
    ("skills/list", {"_meta": {"progressToken": 1}}),
    ("skills/list", {"_meta": {"com.example/x": "y"}}),
    ("resources/read", {"uri": f"{REFUNDS}/nothing"}),
    ("resources/read", {"uri": f"{REFUNDS}/SKILL.md", "extra": True}),
    ("resources/read", {"uri": f"{REFUNDS}/SKILL%2Emd"}),
    ("resources/read", {"uri": "skill://bytes/ünïcode/naïve.md"}),
    ("resources/read", {"uri": ["x"]}),
    ("resources/read", {"uri": "x" * 5_000}),
    ("resources/read", {"uri": PROBLEMS}),
    ("resources/read", {"uri": "skill://index.json"}),
    ("resources/directory/read", {"uri": REFUNDS}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("tools/list", {}),
    ("tools/call", {"name": LOAD_TOOL, "arguments": {"name": "refunds"}}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "refunds"}),
    ("no/such/method", {}),
]


@pytest.mark.parametrize(
    ("method", "params"), ODD, ids=[f"{method}-{at}" for at, (method, _) in enumerate(ODD)]
)
def test_odd_requests_get_the_same_answer(both: Both, method: str, params: dict[str, Any]) -> None:
    same(both, method, params)


@pytest.mark.parametrize("identity", [0, -1, "", "text", 'ü\n"', 1 << 52], ids=repr)
def test_every_id_comes_back_as_it_was(both: Both, identity: object) -> None:
    assert same(both, "skills/get", {"uri": f"{REFUNDS}/SKILL.md"}, identity)["id"] == identity


def _message(peer: Peer, **more: Any) -> dict[str, Any]:
    return {**peer.message("resources/read", {"uri": f"{REFUNDS}/SKILL.md"}), "id": 7, **more}


SPELLINGS: dict[str, Callable[[Peer], bytes]] = {
    "spaces": lambda peer: json.dumps(_message(peer), indent=1).replace("\n", " ").encode(),
    "compact": lambda peer: json.dumps(_message(peer), separators=(",", ":")).encode(),
    "backwards": lambda peer: json.dumps(dict(reversed(_message(peer).items()))).encode(),
    "escaped": lambda peer: json.dumps(_message(peer)).replace("/SKILL.md", "\\/SKILL\\u002emd").encode(),
    "id-twice": lambda peer: json.dumps(_message(peer)).replace('"id": 7', '"id": 6, "id": 7').encode(),
    "uri-twice": lambda peer: (
        json.dumps(_message(peer)).replace('"uri": ', '"uri": "skill://nobody/SKILL.md", "uri": ').encode()
    ),
    "unknown-key": lambda peer: json.dumps(_message(peer, more=1)).encode(),
    "id-fraction": lambda peer: json.dumps(_message(peer, id=1.5)).encode(),
    "id-null": lambda peer: json.dumps(_message(peer, id=None)).encode(),
    "id-list": lambda peer: json.dumps(_message(peer, id=[7])).encode(),
    "other-rpc": lambda peer: json.dumps(_message(peer, jsonrpc="1.0")).encode(),
    "params-list": lambda peer: json.dumps(_message(peer, params=[1])).encode(),
    "meta-number": lambda peer: json.dumps(
        _message(peer, params={"uri": f"{REFUNDS}/SKILL.md", "_meta": 5})
    ).encode(),
    "no-meta": lambda peer: json.dumps(_message(peer, params={"uri": f"{REFUNDS}/SKILL.md"})).encode(),
    "cut": lambda peer: json.dumps(_message(peer)).encode()[:-2],
    "twice": lambda peer: b"%b%b" % ((json.dumps(_message(peer)).encode(),) * 2),
    "batch": lambda peer: json.dumps([_message(peer)]).encode(),
    "surrogate": lambda peer: json.dumps(_message(peer)).replace("/SKILL.md", "/\\ud800").encode(),
    "byte": lambda peer: json.dumps(_message(peer)).encode().replace(b"/SKILL.md", b"/\xff"),
    "nan": lambda peer: json.dumps(_message(peer, x=float("nan"))).encode(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_however_it_is_spelled_the_answer_is_the_same(both: Both, spelling: str) -> None:
    """Also right behind the usual spelling, whose answer is kept."""
    answers: list[Any] = []
    for peer in both:
        plain = _message(peer)
        headers = peer.headers(plain) if isinstance(peer, HttpPeer) else None
        known = [raw(peer, json.dumps(plain).encode(), headers) for _ in range(TIMES)]
        assert known == [known[0]] * TIMES
        answers.append([raw(peer, SPELLINGS[spelling](peer), headers) for _ in range(2)])
    assert answers[0] == answers[1]


HEADERS: dict[str, tuple[str, str | None]] = {
    "no-accept": ("accept", None),
    "accept-json": ("accept", "application/json"),
    "accept-html": ("accept", "text/html"),
    "no-type": ("content-type", None),
    "other-type": ("content-type", "text/plain"),
    "type-charset": ("content-type", "application/json; charset=utf-8"),
    "no-version": ("mcp-protocol-version", None),
    "old-version": ("mcp-protocol-version", LEGACY),
    "no-such-version": ("mcp-protocol-version", "1999-01-01"),
    "no-method": ("mcp-method", None),
    "other-method": ("mcp-method", "skills/get"),
    "no-name": ("mcp-name", None),
    "other-name": ("mcp-name", "skill://nobody/SKILL.md"),
    "encoded-name": ("mcp-name", "=?base64?c2tpbGw6Ly9ub2JvZHk=?="),
    "foreign-host": ("host", "evil.example"),
    "foreign-origin": ("origin", "https://evil.example"),
    "own-origin": ("origin", "http://localhost"),
    "session": ("mcp-session-id", "nonsense"),
}


@pytest.mark.parametrize("header", HEADERS)
def test_every_header_gets_the_same_answer(services: tuple[HttpService, HttpService], header: str) -> None:
    name, value = HEADERS[header]
    answers: list[Any] = []
    for service in services:
        with HttpPeer(MODERN, service.url) as peer:
            message = _message(peer)
            body, usual = json.dumps(message).encode(), peer.headers(message)
            for _ in range(TIMES):
                assert raw(peer, body, usual)[0] == 200
            headers = {key: each for key, each in usual.items() if key != name}
            odd = headers if value is None else {**headers, name: value}
            answers.append([raw(peer, body, odd) for _ in range(2)])
    assert answers[0] == answers[1]


def replaced(file: Path, content: bytes) -> None:
    other = file.with_name(".new")
    other.write_bytes(content)
    other.rename(file)


def backdated(file: Path, content: bytes) -> None:
    """Write, and set the time of the last change back to what it was."""
    before = file.stat()
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


EDITS: dict[str, Callable[[Path, bytes], object]] = {
    "written": Path.write_bytes,
    "replaced": replaced,
    "backdated": backdated,
}


@pytest.mark.rule("S19")
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_edits_are_answered_alike(tmp_path: Path, person: Person, transport: str) -> None:
    """Of the same length each, so that only the times or the inode of the file differ."""
    tree, skill = tmp_path / "tree", {"uri": "skill://one/SKILL.md"}
    folder = write_skill(tree, "one", dict.fromkeys(EDITS, "0"))
    with ExitStack() as stack:
        both = on_pipes(MODERN, tree, person) if transport == "stdio" else on_http(tree, person, stack)
        for peer in both:
            stack.enter_context(peer)
        eventually(lambda: time.time() - (folder / "SKILL.md").stat().st_ctime > SETTLED)
        for edit, change in EDITS.items():
            file = {"uri": f"skill://one/{edit}"}
            same(both, "resources/read", file)  # and the answer is kept
            for content in (b"1", b"22", b"", b"\xff"):
                change(folder / edit, content)
                (block,) = same(both, "resources/read", file)["result"]["contents"]
                assert block_bytes(block) == content
                listed = same(both, "skills/get", skill)["result"]["skill"]["resources"]
                assert digest(content) in {each["digest"] for each in listed}
        (folder / "written").unlink()
        assert same(both, "resources/read", {"uri": "skill://one/written"})["error"]["code"] == -32602


def test_the_two_servers_are_not_the_same(tree: Path, somebody: Person) -> None:
    """A kept answer is given before the SDK is even loaded; without the cache, the SDK gives it."""
    loaded: list[bool] = []
    for peer in on_pipes(MODERN, tree, somebody):
        with peer:
            assert isinstance(peer, StdioPeer)
            for _ in range(TIMES):
                assert peer.result("resources/read", {"uri": f"{REFUNDS}/SKILL.md"})
            maps = Path(f"/proc/{peer.process.pid}/maps").read_text("utf-8")
            loaded.append(re.search(r"pydantic_core", maps) is not None)
    assert loaded == [False, True]

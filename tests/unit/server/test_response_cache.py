"""The cache answers what the SDK would answer, or leaves it to the SDK: the same JSON each time."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillwire import ServeOptions
from skillwire.contract import ContractOptions
from skillwire.features.base import Answer, Call, Feature, Method
from skillwire.server import Freshness
from skillwire.server.cached_requests import Question
from skillwire.server.response_cache import ResponseCache
from skillwire.sources.base import Validator
from tests.support.cached_answers import PREFIX, ServerPair, both, envelope, headers_for, modern
from tests.support.peers import VERSIONS
from tests.support.skills import write, write_skill

SECOND = 1_000_000_000
LEGACY = VERSIONS[1:]
HOT = ("skills/list", "skills/get", "resources/read")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skills whose answers are easy to get wrong."""
    root = tmp_path_factory.mktemp("lane")
    write_skill(
        root,
        "acme/refunds",
        {
            "empty.txt": b"",
            "blob.bin": bytes(range(256)),
            "with space & 100%.md": "percent\n",
            "ünïcode/naïve.md": "\u2028 line \x7f \U0001f600\n",
            "large.txt": "x" * 1_200_000,
        },
    )
    numbers = "list: [1, 2.5, null, {a: null}]\nbig: 9223372036854775807\ntiny: 1.0e-7\n"
    odd = f'nothing: null\n{numbers}text: "\\u2028\\t"\n'
    metadata = "metadata:\n  owner: desk\n  nothing: null\n  io.modelcontextprotocol/x: kept\n"
    write(root / "odd", {"SKILL.md": f"---\nname: odd\ndescription: Fields.\n{odd}{metadata}---\nBody\n"})
    outer = write_skill(root, "outer", {"notes.md": "outer\n"})
    write_skill(outer, "inner", {"help.md": "inner\n"})
    for number in range(230):
        write_skill(root, f"many/skill-{number:03}")
    write(root / "broken", {"SKILL.md": b"---\nname: Broken Name\ndescription: x\n---\n"})
    return root


@pytest.fixture(scope="module", autouse=True)
def settled() -> Iterator[None]:
    """Files count as settled at once, so that no test has to wait for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -SECOND)
        yield


@pytest.fixture(scope="module")
def served(tree: Path) -> Iterator[ServerPair]:
    with both(tree) as served:
        for pipes in (served.with_cache, served.without):
            pipes.ask(json.dumps(modern("server/discover")).encode())  # both know the client's era
        yield served


def same_answers(served: ServerPair, message: dict[str, Any], *, raw: bytes | None = None) -> Any:
    """Return the answer to a message, having seen that it is the same with the response cache and without."""
    line = json.dumps(message).encode() if raw is None else raw
    expected = served.without.ask(line)
    for _ in range(3):  # made, made and kept, kept
        assert served.with_cache.ask(line) == expected
    headers = headers_for(message)
    answer = comparable(served.posts_without.post(headers, line))
    for _ in range(2):
        assert comparable(served.posts_with_cache.post(headers, line)) == answer
    return expected


def comparable(answer: tuple[int, dict[bytes, bytes], Any]) -> tuple[int, dict[bytes, bytes], Any]:
    """Return an answer without its length, as JSON can be spelled in many ways, and the name of a session."""
    status, told, body = answer
    chance = {b"content-length", b"mcp-session-id"}
    return status, {name: value for name, value in told.items() if name not in chance}, body


def every_page(served: ServerPair) -> Iterator[tuple[dict[str, Any], Any]]:
    message = modern("skills/list")
    while True:
        answer = same_answers(served, message)
        yield message, answer["result"]
        if (cursor := answer["result"].get("nextCursor")) is None:
            return
        message = modern("skills/list", cursor=cursor)


@pytest.mark.rule("S12")
def test_lists_entries_and_files_are_the_same_with_the_cache(served: ServerPair) -> None:
    before = served.response_cache.answered
    asked = 0
    for _, result in every_page(served):
        asked += 1
        assert (result["ttlMs"], result["cacheScope"]) == (1234, "private")
        for skill in result["skills"][:12]:
            assert same_answers(served, modern("skills/get", uri=skill["uri"]))["result"]["skill"] == skill
            asked += 1
            for resource in skill["resources"]:
                (content,) = same_answers(served, modern("resources/read", uri=resource["uri"]))["result"][
                    "contents"
                ]
                assert content["uri"] == resource["uri"]
                asked += 1
    assert served.response_cache.answered >= before + 5 * asked  # it was the response cache that answered


ODD_MESSAGES = [
    pytest.param(modern("skills/list", identity='a\u2028"b'), id="text as id"),
    pytest.param(modern("skills/list", identity=-(2**63)), id="small id"),
    pytest.param(modern("skills/list", identity=2**64), id="large id"),
    pytest.param(modern("skills/list", identity=1.5), id="fraction as id"),
    pytest.param(modern("skills/list", identity=True), id="boolean as id"),
    pytest.param(modern("skills/list", identity=None), id="null as id"),
    pytest.param(modern("skills/list", cursor=None), id="null cursor"),
    pytest.param(modern("skills/list", cursor=""), id="empty cursor"),
    pytest.param(modern("skills/list", cursor="no such cursor"), id="unknown cursor"),
    pytest.param(modern("skills/list", cursor=7), id="cursor of the wrong type"),
    pytest.param(modern("skills/list", more=True), id="a parameter more"),
    pytest.param(modern("skills/get"), id="no URI"),
    pytest.param(modern("skills/get", uri=None), id="null as URI"),
    pytest.param(modern("skills/get", uri=["skill://odd/SKILL.md"]), id="list as URI"),
    pytest.param(modern("skills/get", uri="skill://odd"), id="folder as skill"),
    pytest.param(modern("skills/get", uri="skill://odd/../odd/SKILL.md"), id="way back"),
    pytest.param(modern("skills/get", uri="skill://many/skill-000/SKILL.md "), id="space behind"),
    pytest.param(modern("resources/read", uri="skill://no/such/SKILL.md"), id="no such file"),
    pytest.param(modern("resources/read", uri="skill://broken/SKILL.md"), id="broken skill"),
    pytest.param(modern("resources/read", uri="skill://acme"), id="folder as file"),
    pytest.param(modern("resources/read", uri="SKILL://odd/SKILL.md"), id="other case"),
    pytest.param(modern("resources/read", uri="skillwire://problems"), id="document"),
    pytest.param(modern("resources/read", uri="skill://index.json"), id="index of drafts"),
    pytest.param(
        modern("resources/read", uri="skill://odd/SKILL.md", inputResponses={}), id="input responses"
    ),
    pytest.param(modern("resources/read", uri=""), id="empty URI"),
    pytest.param(modern("resources/list"), id="another method"),
    pytest.param(modern("skills/LIST"), id="method in capitals"),
    pytest.param(modern(""), id="no method"),
    pytest.param({**modern("skills/list"), "more": 1}, id="a member more"),
    pytest.param({**modern("skills/list"), "jsonrpc": "1.0"}, id="another JSON-RPC"),
    pytest.param({**modern("skills/list"), "params": []}, id="list as parameters"),
    pytest.param({"jsonrpc": "2.0", "id": 1, "method": "skills/list"}, id="no parameters"),
    pytest.param({"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {}}, id="no envelope"),
]


@pytest.mark.parametrize("message", ODD_MESSAGES)
def test_odd_requests_get_the_same_answers(served: ServerPair, message: dict[str, Any]) -> None:
    same_answers(served, message)


INFO, CAPABILITIES, VERSION = f"{PREFIX}clientInfo", f"{PREFIX}clientCapabilities", f"{PREFIX}protocolVersion"
ENVELOPES: list[Any] = [
    {**envelope(), INFO: {"name": "x"}},
    {**envelope(), INFO: {"name": "x", "version": 1}},
    {**envelope(), INFO: {"name": "x", "version": "1", "icons": 5}},
    {**envelope(), INFO: {"name": "x", "version": "1", "title": "X"}},
    {**envelope(), INFO: None},
    {**envelope(), INFO: []},
    {**envelope(), CAPABILITIES: None},
    {**envelope(), CAPABILITIES: []},
    {**envelope(), CAPABILITIES: {"roots": {"listChanged": True}, "sampling": {"tools": {}}}},
    {**envelope(), CAPABILITIES: {"roots": 1}},
    {**envelope(), CAPABILITIES: {"roots": {"listChanged": "yes"}}},
    {**envelope(), CAPABILITIES: {"sampling": {"tools": 1}}},
    {**envelope(), CAPABILITIES: {"elicitation": {"form": {}, "url": {}}}},
    {**envelope(), CAPABILITIES: {"elicitation": {"form": []}}},
    {**envelope(), CAPABILITIES: {"extensions": {f"{PREFIX}skills": {}}, "experimental": {"a": {"b": 1}}}},
    {**envelope(), CAPABILITIES: {"extensions": {"a/b": None}}},
    {**envelope(), CAPABILITIES: {"tasks": {}, "own": 1}},
    {**envelope(), VERSION: "2025-11-25"},
    {**envelope(), VERSION: "2026-07-29"},
    {**envelope(), VERSION: 20260728},
    {**envelope(), "progressToken": 1},
    {**envelope(), "progressToken": "a"},
    {**envelope(), "progressToken": 1.5},
    {**envelope(), "progressToken": {}},
    {**envelope(), f"{PREFIX}logLevel": "loud"},
    {**envelope(), "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    {VERSION: "2026-07-28"},
    {CAPABILITIES: {}},
    {},
    None,
    "x",
]


@pytest.mark.parametrize("meta", ENVELOPES, ids=str)
@pytest.mark.parametrize("method", HOT)
def test_every_envelope_gets_the_same_answer(served: ServerPair, method: str, meta: Any) -> None:
    params = {} if method == "skills/list" else {"uri": "skill://odd/SKILL.md"}
    same_answers(served, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}})


@pytest.mark.parametrize(
    "raw",
    [
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"skills/list","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"skills/get","params":{"uri":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"skills/list","params":{"cursor":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"skills/list","params":' + b"[" * 2000 + b"]" * 2000 + b"}",
        b'[{"jsonrpc":"2.0","id":1,"method":"skills/list"}]',
        b'"skills/list"',
        b"skills/list",
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1,"method":"skills/list"',
    ],
)
def test_hostile_lines_get_the_same_answers(served: ServerPair, raw: bytes) -> None:
    same_answers(served, {"method": "skills/list"}, raw=raw)


def test_last_of_two_ids_counts_on_every_request(served: ServerPair) -> None:
    rest = rb'"method":"skills/list","params":' + json.dumps({"_meta": envelope()}).encode()
    for first, last in ((1, 1), (1, 1), (7, 1), (7, 8)):
        for line in (
            rb'{"jsonrpc":"2.0","id":%d,"\u0069d":%d,%b}' % (first, last, rest),
            rb'{"jsonrpc":"2.0","id":%d,"id":%d,%b}' % (first, last, rest),
            rb'{"jsonrpc":"2.0","\u0069d":%d,%b,"id":%d}' % (first, rest, last),
        ):
            assert served.with_cache.ask(line)["id"] == served.without.ask(line)["id"] == last, line


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["dense", "spaced"])
def test_repeated_request_is_recognised_wherever_its_id_is(
    served: ServerPair, separators: tuple[str, str]
) -> None:
    asked = modern("resources/read", uri="skill://odd/SKILL.md")
    for names in (
        ("jsonrpc", "id", "method", "params"),
        ("method", "id", "params", "jsonrpc"),
        ("method", "params", "jsonrpc", "id"),
    ):
        for identity in (1, 2, 0, 10**14, 10**15, -3, 10**18):
            line = json.dumps(
                {name: (asked | {"id": identity})[name] for name in names}, separators=separators
            )
            answer = served.with_cache.ask(line.encode())
            assert answer == served.without.ask(line.encode())
            assert answer["id"] == identity


def test_nested_id_is_not_the_id_of_the_request(served: ServerPair) -> None:
    for inside, identity in ((7, 1), (7, 2), (8, 1)):
        meta = {**envelope(), CAPABILITIES: {"experimental": {"a": {"id": inside}}}}
        for message in (
            {"jsonrpc": "2.0", "id": identity, "method": "skills/list", "params": {"_meta": meta}},
            {"method": "skills/list", "params": {"_meta": meta}, "jsonrpc": "2.0", "id": identity},
        ):
            assert same_answers(served, message)["id"] == identity


def test_lines_in_one_chunk_are_each_answered_once(served: ServerPair) -> None:
    """Whether all of them are known, or some, and wherever the pipe cuts them."""
    uris = ["skill://odd/SKILL.md", "skill://outer/notes.md", "skill://outer/inner/help.md"]
    known = [json.dumps(modern("resources/read", each, uri=uri)).encode() for each, uri in enumerate(uris)]
    for line in known * 2:
        assert served.with_cache.ask(line)["result"]
    others = [b"", b"  ", json.dumps(modern("tools/list", 3)).encode()]
    for lines in (known, [*known, *others], [*others, *known], [known[0], *others, *known[1:]]):
        served.with_cache.send(b"\n".join(lines))
        expected = {0, 1, 2, 3} if others[-1] in lines else {0, 1, 2}
        assert {served.with_cache.receive()["id"] for _ in expected} == expected
    for at in (1, 100, len(known[0])):
        served.with_cache.write(known[0][:at])
        served.with_cache.write(known[0][at:] + b"\n" + known[1] + b"\n" + known[2][:at])
        assert [served.with_cache.receive()["id"] for _ in range(2)] == [0, 1]
        served.with_cache.write(known[2][at:] + b"\n")
        assert served.with_cache.receive()["id"] == 2


@pytest.mark.parametrize(
    "names", [("jsonrpc", "id", "method", "params"), ("method", "params", "jsonrpc", "id")]
)
def test_line_similar_to_a_known_one_is_not_answered(served: ServerPair, names: tuple[str, ...]) -> None:
    asked = modern("resources/read", 12, uri="skill://odd/SKILL.md")
    line = json.dumps({name: asked[name] for name in names}, separators=(",", ":")).encode()
    for _ in range(3):
        assert served.with_cache.ask(line)["result"]
    for wrong in (
        line + b"x",
        line[:-1],
        line[:-1] + b"]",
        line[1:],
        line.replace(b":12", b":012"),
        line.replace(b":12", b":"),
    ):
        served.with_cache.write(wrong)  # and its end comes later
        assert "error" in served.with_cache.ask(b"")
        assert "error" in served.with_cache.ask(wrong)


def test_only_changed_files_are_read_again_within_a_chunk(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "notes", {name: name for name in ("a.md", "b.md", "c.md")})
    lines = [
        json.dumps(modern("resources/read", each, uri=f"skill://notes/{name}.md")).encode()
        for each, name in enumerate("abc")
    ]
    with both(tmp_path) as served:
        for line in lines * 3:
            assert served.with_cache.ask(line)["result"]
        (skill / "b.md").write_text("other words")
        served.with_cache.send(b"\n".join(lines))
        answers = {answer["id"]: answer for answer in (served.with_cache.receive() for _ in lines)}
        texts = [answers[each]["result"]["contents"][0]["text"] for each in range(3)]
        assert texts == ["a.md", "other words", "c.md"]


def test_answers_stop_if_the_client_does_not_read(served: ServerPair) -> None:
    """However much it asks for in one go: what is unread has to be kept for it."""
    large = modern("resources/read", uri="skill://acme/refunds/large.txt")
    for identity in range(3):  # made, made and kept, kept
        assert served.with_cache.ask(json.dumps(large | {"id": identity}).encode())["result"]
    before = served.response_cache.answered
    served.with_cache.send(b"\n".join(json.dumps(large | {"id": each}).encode() for each in range(40)))
    identities = {served.with_cache.receive()["id"]}
    assert (
        served.response_cache.answered - before <= 4
    )  # one that was read, a mebibyte, and what was just begun
    identities |= {served.with_cache.receive()["id"] for _ in range(39)}
    assert identities == set(range(40))


HEADERS = [
    [(b"accept", b"text/event-stream")],
    [(b"accept", b"application/json;q=0.5")],
    [(b"accept", b"*/*")],
    [(b"accept", b"")],
    [(b"content-type", b"application/json; charset=utf-8")],
    [(b"content-type", b"text/plain")],
    [(b"mcp-protocol-version", b"2026-07-29")],
    [(b"mcp-protocol-version", b"2025-11-25")],
    [(b"mcp-method", b"resources/read")],
    [(b"mcp-name", b"skill://other/SKILL.md")],
    [(b"mcp-name", b"=?base64?c2tpbGw6Ly9vZGQvU0tJTEwubWQ=?=")],
    [(b"mcp-session-id", b"1")],
    [(b"origin", b"https://evil.example")],
    [(b"mcp-method", b"skills/get"), (b"mcp-method", b"skills/get")],
    [(b"mcp-name", b"skill://odd/SKILL.md"), (b"mcp-name", b"skill://odd/SKILL.md")],
    [(b"mcp-protocol-version", b"2026-07-28"), (b"mcp-protocol-version", b"2026-07-28")],
]


@pytest.mark.parametrize("method", HOT[1:])
@pytest.mark.parametrize("changed", HEADERS, ids=str)
def test_every_header_gets_the_same_answer(
    served: ServerPair, method: str, changed: list[tuple[bytes, bytes]]
) -> None:
    message = modern(method, uri="skill://odd/SKILL.md")
    names = {name for name, _ in changed}
    headers = [*(each for each in headers_for(message) if each[0] not in names), *changed]
    body = json.dumps(message).encode()
    answers = [posts.post(headers, body) for posts in (served.posts_with_cache, served.posts_without)]
    assert comparable(answers[0]) == comparable(answers[1])


@pytest.mark.parametrize(
    "missing", ["content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name"]
)
def test_every_missing_header_gets_the_same_answer(served: ServerPair, missing: str) -> None:
    message = modern("resources/read", uri="skill://odd/SKILL.md")
    headers = [each for each in headers_for(message) if each[0] != missing.encode()]
    body = json.dumps(message).encode()
    answers = [posts.post(headers, body) for posts in (served.posts_with_cache, served.posts_without)]
    assert comparable(answers[0]) == comparable(answers[1])


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
URIS = st.sampled_from(
    [
        "skill://odd/SKILL.md",
        "skill://acme/refunds/SKILL.md",
        "skill://acme/refunds/blob.bin",
        "skill://outer",
    ]
) | st.text(max_size=12)
KEYS = st.sampled_from(["uri", "cursor", "_meta", INFO, CAPABILITIES, VERSION, "progressToken", "x"])


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A well-formed request, with a few things in it replaced, added or left out."""
    message = modern(
        draw(st.sampled_from([*HOT, "resources/list"])), draw(st.integers() | st.text(max_size=5))
    )
    if message["method"] not in {"skills/list", "resources/list"}:
        message["params"]["uri"] = draw(URIS)
    for _ in range(draw(st.integers(0, 2))):
        meta = message["params"].get("_meta")
        parts: list[dict[str, Any]] = [
            message,
            message["params"],
            *([meta] if isinstance(meta, dict) else []),
        ]
        at = draw(st.sampled_from(parts))
        key = draw(st.sampled_from([*at]) | KEYS) if at else draw(KEYS)
        if key in {"jsonrpc", "id", "method", "params"} or draw(st.booleans()):
            at[key] = draw(JSON_VALUES)
        else:
            at.pop(key, None)
        if not isinstance(message.get("params"), dict):
            break
    return message


def _is_answered(message: dict[str, Any]) -> bool:
    """Whether somebody answers: a notification and a response are taken in silence."""
    return "id" in message and "method" in message


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=requests().filter(_is_answered))
def test_random_requests_get_the_same_answers(served: ServerPair, message: dict[str, Any]) -> None:
    line = json.dumps(message).encode()
    assert served.with_cache.ask(line) == served.without.ask(line)
    headers = headers_for(message)
    answers = [posts.post(headers, line) for posts in (served.posts_with_cache, served.posts_without)]
    assert comparable(answers[0]) == comparable(answers[1])


@pytest.mark.parametrize("version", LEGACY)
def test_earlier_versions_get_the_same_answers_after_the_handshake(tree: Path, version: str) -> None:
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}
    early: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "skills/list"}
    asked: list[dict[str, Any]] = [
        early,
        {**early, "params": {}},
        {**early, "params": {"_meta": {"progressToken": 1}}},
        {**early, "params": {"cursor": 5}},
        {**early, "method": "skills/get", "params": {"uri": "skill://odd/SKILL.md"}},
        {**early, "method": "resources/read", "params": {"uri": "skill://odd/SKILL.md"}},
        {**early, "method": "resources/read", "params": {"uri": "skill://acme/refunds/blob.bin"}},
        {**early, "method": "resources/read", "params": {"uri": "skill://acme/refunds/no"}},
        modern("skills/list"),
    ]
    with both(tree) as served:
        for message in [early, hello, *asked]:
            line = json.dumps(message).encode()
            expected = served.without.ask(line)
            for _ in range(1 if message is hello else 3):
                assert served.with_cache.ask(line) == expected
        assert served.response_cache.answered >= 12


def test_connection_keeps_the_protocol_version_of_a_cached_request(tree: Path) -> None:
    client = {"protocolVersion": LEGACY[0], "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": client}
    bare = {"jsonrpc": "2.0", "id": 8, "method": "tools/list"}
    with both(tree) as served:
        for message in [modern("skills/list"), hello, bare, modern("skills/list"), modern("tools/list")]:
            line = json.dumps(message).encode()
            assert served.with_cache.ask(line) == served.without.ask(line)
        assert served.response_cache.answered == 2


def test_requests_sent_with_the_handshake_wait_for_it(tree: Path) -> None:
    client = {"protocolVersion": LEGACY[0], "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}
    lines = [hello, modern("skills/list", 1), {"jsonrpc": "2.0", "id": 2, "method": "skills/list"}]
    with both(tree) as served:
        for pipes in (served.with_cache, served.without):
            pipes.send(b"\n".join(json.dumps(line).encode() for line in lines))
        answers = [
            sorted((pipes.receive() for _ in lines), key=lambda answer: answer["id"])
            for pipes in (served.with_cache, served.without)
        ]
    assert answers[0] == answers[1]


@pytest.mark.rule("S19")
def test_edit_is_served_at_once_with_matching_digest(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "notes", {"a.md": "first\n"})
    uri = "skill://notes/a.md"

    def answers(served: ServerPair) -> tuple[str, str]:
        read = json.dumps(modern("resources/read", uri=uri)).encode()
        get = json.dumps(modern("skills/get", uri="skill://notes/SKILL.md")).encode()
        (content,) = served.with_cache.ask(read)["result"]["contents"]
        entry = served.with_cache.ask(get)["result"]["skill"]
        (digest,) = (each["digest"] for each in entry["resources"] if each["uri"] == uri)
        assert digest == "sha256:" + hashlib.sha256(content["text"].encode()).hexdigest()
        listed = served.with_cache.ask(json.dumps(modern("skills/list")).encode())["result"]["skills"]
        assert entry in listed
        return content["text"], digest

    with both(tmp_path) as served:
        assert answers(served)[0] == "first\n"
        for number in range(20):
            text = f"edit {number}\n" + "x" * number
            (skill / "a.md").write_text(text)
            assert answers(served)[0] == text
            other = tmp_path / "other"
            other.write_text(swapped := text.upper())
            os.replace(other, skill / "a.md")  # noqa: PTH105 - of the same size, and perhaps of the same time
            assert answers(served)[0] == swapped


def test_recently_written_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", 3600 * SECOND)
    skill = write_skill(tmp_path, "notes", {"a.md": "first"})
    read = json.dumps(modern("resources/read", uri="skill://notes/a.md")).encode()
    with both(tmp_path) as served:
        for text in ("other", "words", "again"):
            (skill / "a.md").write_text(text)
            assert served.with_cache.ask(read)["result"]["contents"][0]["text"] == text
        assert served.response_cache.answered == 0


def test_removed_skill_is_not_answered_from_the_cache(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "notes", {"a.md": "first"})
    read = json.dumps(modern("resources/read", uri="skill://notes/a.md")).encode()
    with both(tmp_path) as served:
        assert "result" in served.with_cache.ask(read)
        (skill / "a.md").unlink()
        assert "error" in served.with_cache.ask(read)
        (skill / "a.md").write_text("back")
        (skill / "SKILL.md").unlink()
        assert served.with_cache.ask(read) == served.without.ask(read)


def test_request_made_once_is_not_cached_and_evicts_nothing(tree: Path) -> None:
    with both(tree) as served:
        often = json.dumps(modern("resources/read", uri="skill://odd/SKILL.md")).encode()
        assert served.with_cache.ask(often) == served.with_cache.ask(often)
        cached_bytes = served.response_cache.cached_bytes
        assert cached_bytes > 0
        for identity in range(2):
            assert served.response_cache.cached_bytes == cached_bytes
            served.with_cache.ask(json.dumps(modern("skills/list", identity)).encode())
        assert served.response_cache.cached_bytes > cached_bytes


def test_cache_stays_within_its_budget(tree: Path) -> None:
    with both(tree, budget=60_000) as served:
        for _ in range(2):
            for _, result in every_page(served):
                for skill in result["skills"][:8]:
                    same_answers(served, modern("resources/read", uri=skill["uri"]))
        assert 0 <= served.response_cache.cached_bytes <= 60_000


def test_contract_metadata_is_in_cached_reads(tree: Path) -> None:
    with both(tree, ServeOptions(additions=[ContractOptions(tolerant=True)])) as served:
        for uri in ("skill://odd/SKILL.md", "skill://many/skill-000/SKILL.md"):
            same_answers(served, modern("resources/read", uri=uri))
        same_answers(served, modern("skills/list"))


class ForOneClient(Feature):
    """Answers each client differently."""

    name = "one"

    def methods(self) -> Mapping[str, Method]:
        return {"skills/list": self.list}

    def validator(self, method: str, call: Call) -> Validator | None:
        return Lasting()

    async def list(self, _call: Call) -> Answer:
        return Answer({"skills": []}, private=True)


class Lasting(Validator):
    def is_current(self) -> bool:
        return True


@pytest.mark.anyio
@pytest.mark.parametrize("is_modern", [True, False])
async def test_an_answer_for_one_client_is_left_to_the_sdk(*, is_modern: bool) -> None:
    response_cache = ResponseCache([ForOneClient()], Freshness(), name="x", version="1")
    question = Question("skills/list", None, is_modern)
    for _ in range(3):
        assert await response_cache.prepare(question) is None
        assert response_cache.get_cached(question) is None
    assert response_cache.cached_bytes == 0


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer({}), Freshness(7)),
        (Answer({}, live=True), Freshness(0)),
        (Answer({}, private=True), Freshness(7, private=True)),
        (Answer({}, live=True, private=True), Freshness(0, private=True)),
    ],
)
def test_answer_can_only_restrict_the_freshness_of_the_server(answer: Answer, expected: Freshness) -> None:
    assert answer.freshness(Freshness(7)) == expected
    assert answer.freshness(Freshness(7, private=True)) == replace(expected, private=True)

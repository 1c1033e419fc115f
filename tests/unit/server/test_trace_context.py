"""Requests with a trace context (SEP-414) are answered like others, whatever its values are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.server import Freshness
from skillwire.server.cached_requests import parse_request
from skillwire.server.response_cache import ResponseCache
from skillwire.server.stdio.lines import RequestMemo
from tests.support.cached_answers import ServerPair, both, envelope, headers_for, modern
from tests.support.peers import VERSIONS
from tests.support.skills import write_skill

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
URI = "skill://notes/SKILL.md"
CONTEXTS: list[dict[str, Any]] = [
    {"traceparent": PARENT},
    {"traceparent": PARENT, "tracestate": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "baggage": "a=b;c=d"},
    {"tracestate": "", "baggage": ""},
    {"traceparent": "not in the format"},
    {"baggage": "naïve=\U0001f600"},
    {"baggage": 'quoted="a\\b"'},
    {"baggage": "a=" + "x" * 8190},
    {"baggage": "a=" + "é" * 4095, "tracestate": "a=" + "y" * 500},
]
WRONG: list[Any] = [5, 1.5, True, None, [], {}, [PARENT], {"traceparent": PARENT}]
TOO_LARGE = {"baggage": "x" * 30_000}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerPair]:
    """A skill whose files count as settled at once, so that their answers can be cached."""
    monkeypatch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -1_000_000_000)
    write_skill(tmp_path, "notes", {f"{number}.md": f"{number}\n" for number in range(50)})
    with both(tmp_path) as served:
        yield served


def traced(method: str, identity: int = 1, **context: Any) -> dict[str, Any]:
    params = {} if method == "skills/list" else {"uri": URI}
    message = modern(method, identity, **params)
    message["params"]["_meta"] = envelope(**context)
    return message


@pytest.mark.parametrize("method", ["skills/list", "skills/get", "resources/read"])
def test_every_trace_context_is_answered_from_the_cache(served: ServerPair, method: str) -> None:
    asked = 0
    contexts: list[dict[str, Any]] = [{}, *CONTEXTS, *CONTEXTS]
    for context in contexts:
        message = traced(method, asked, **context)
        for ascii_only in (True, False):
            line = json.dumps(message, ensure_ascii=ascii_only).encode()
            assert served.with_cache.ask(line) == served.without.ask(line)
            found, expected = (
                each.post(headers_for(message), line)[2]
                for each in (served.posts_with_cache, served.posts_without)
            )
            assert found == expected
            asked += 2
    # A line with an escape for each of 4,000 letters is long, and left to the SDK.
    assert served.response_cache.answered >= asked - 8


@pytest.mark.parametrize("key", ["traceparent", "tracestate", "baggage"])
@pytest.mark.parametrize("value", WRONG, ids=str)
def test_trace_context_of_wrong_type_goes_to_the_sdk(served: ServerPair, key: str, value: object) -> None:
    contexts: list[dict[str, Any]] = [{key: value}, TOO_LARGE]
    for context in contexts:
        message = traced("resources/read", **context)
        line = json.dumps(message).encode()
        for _ in range(2):
            assert served.with_cache.ask(line) == served.without.ask(line)
            found, expected = (
                each.post(headers_for(message), line)[2]
                for each in (served.posts_with_cache, served.posts_without)
            )
            assert found == expected
    assert served.response_cache.answered == 0


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_earlier_versions_may_send_a_trace_context(served: ServerPair, version: str) -> None:
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}).encode()
    assert served.with_cache.ask(hello) == served.without.ask(hello)
    metas: list[Any] = [{}, *CONTEXTS[:3], {"progressToken": 1, **CONTEXTS[0]}, {"traceparent": 5}, {"x": 1}]
    for meta in [*metas, None, 5]:
        params: dict[str, Any] = {"uri": URI, "_meta": meta}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params}).encode()
        for _ in range(3):
            assert served.with_cache.ask(line) == served.without.ask(line)
    assert served.response_cache.answered == 3 * 5


def test_trace_contexts_add_nothing_to_the_cache(served: ServerPair) -> None:
    for number in range(3):
        assert served.with_cache.ask(json.dumps(traced("resources/read", number)).encode())["result"]
    cached_bytes, made = served.response_cache.cached_bytes, served.response_cache.made
    assert cached_bytes > 0
    for number in range(300):
        message = traced("resources/read", number, traceparent=f"00-{number:032x}-{number:016x}-01")
        assert served.with_cache.ask(json.dumps(message).encode())["result"]
    assert (served.response_cache.cached_bytes, served.response_cache.made) == (cached_bytes, made)


def new_memo() -> RequestMemo:
    return RequestMemo(ResponseCache([], Freshness(), name="x", version="1"))


def remember(memo: RequestMemo, line: bytes) -> None:
    request_id, question = parse_request(line, modern=True) or pytest.fail(f"not parsed: {line!r}")
    memo.remember(line, json.dumps(request_id).encode(), question)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (",", " : "), (" ,", ":  ")])
def test_memo_does_not_grow_with_trace_contexts(separators: tuple[str, str]) -> None:
    memo = new_memo()
    for number in range(500):
        message = traced("resources/read", number, traceparent=f"{number}", baggage=f"é={number % 2}")
        del message["params"]["_meta"]["baggage" if number % 5 else "traceparent"]
        for ascii_only in (True, False):
            line = json.dumps(message, separators=separators, ensure_ascii=ascii_only).encode()
            line = line.replace(b'{"jsonrpc" : "2.0","id" : ', b'{"jsonrpc":"2.0","id":')
            remember(memo, line)
    assert memo.line_count <= 2


TEXT = st.text(max_size=20) | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)
KEYS = st.sampled_from(["traceparent", "tracestate", "baggage"])
URIS = st.sampled_from([URI, "skill://notes/1.md", '","traceparent":"', "baggage", ""])


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """A request with a trace context, some of whose texts may stand elsewhere too."""
    context = draw(st.dictionaries(KEYS, TEXT, max_size=3))
    message = traced("resources/read", draw(st.integers(0, 3)), **context)
    message["params"]["uri"] = draw(URIS)
    if draw(st.booleans()):
        nested = {"a": draw(st.dictionaries(KEYS | st.just("id"), TEXT, max_size=2))}
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {"experimental": nested}
    names = draw(st.permutations(list(message)))
    dense = draw(st.booleans())
    text = json.dumps(
        {name: message[name] for name in names},
        separators=(",", ":") if dense else (", ", ": "),
        ensure_ascii=draw(st.booleans()),
    )
    return text.encode()


@given(known=st.lists(messages(), max_size=4), line=messages())
def test_memo_knows_a_line_only_as_what_it_means(known: list[bytes], line: bytes) -> None:
    memo = new_memo()
    for each in known:
        remember(memo, each)
    for each in (line, *known):
        if (found := memo.find(each)) is not None:
            request_id, question = parse_request(each, modern=True) or pytest.fail(f"not parsed: {each!r}")
            assert found == (json.dumps(request_id).encode(), question)


@given(context=st.dictionaries(KEYS, st.text(st.characters(min_codepoint=35, max_codepoint=91), max_size=40)))
def test_memo_knows_a_line_with_any_other_trace_context(context: dict[str, str]) -> None:
    memo = new_memo()
    remember(memo, json.dumps(traced("resources/read", 1, **dict.fromkeys(context, "other"))).encode())
    found = memo.find(json.dumps(traced("resources/read", 2, **context)).encode())
    assert found is not None
    assert found[0] == b"2"

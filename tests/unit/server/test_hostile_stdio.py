"""Whatever a client sends on stdin gets an error or an answer, and the next request works."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillwire.server.jsonrpc import read_message
from skillwire.server.stdio.lines import LineSplitter, LineTooLongError
from tests.support.peers import MODERN, StdioPeer, skillwire

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602


@pytest.fixture(scope="module", params=[MODERN, "2025-11-25"])
def wire(request: pytest.FixtureRequest, served_tree: Path) -> Iterator[StdioPeer]:
    with StdioPeer(request.param, skillwire("serve", served_tree)) as peer:
        _ = peer.handshake
        yield peer


def deep(levels: int) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"skills/list","params":'
        + b'{"a":' * levels
        + b"1"
        + b"}" * levels
        + b"}"
    )


@pytest.mark.parametrize(
    ("line", "code", "identity"),
    [
        (b"garbage", PARSE_ERROR, None),
        (b"\xff\xfe\x00", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"pi', PARSE_ERROR, None),
        (deep(20_000), PARSE_ERROR, None),
        (deep(200_000), INVALID_REQUEST, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (rb'{"jsonrpc":"2.0","id":7,"method":"skills/get","params":{"uri":"\ud800"}}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":NaN}}', PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST, None),
        (b"5", INVALID_REQUEST, None),
        (b"null", INVALID_REQUEST, None),
        (b'"ping"', INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":7}', INVALID_REQUEST, 7),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', INVALID_REQUEST, 7),
        (b'{"id":"x","method":"ping"}', INVALID_REQUEST, "x"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', INVALID_PARAMS, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}', INVALID_PARAMS, 7),
        (b'{"a":"' + b"x" * (5 * 1024 * 1024) + b'"}', INVALID_REQUEST, None),
    ],
    ids=lambda value: value[:40].decode("latin-1") if isinstance(value, bytes) else str(value),
)
def test_invalid_line_gets_an_error_and_the_next_works(
    wire: StdioPeer, line: bytes, code: int, identity: object
) -> None:
    wire.send_line(line)
    answer = wire.receive()
    assert (answer["error"]["code"], answer["id"]) == (code, identity)
    assert wire.result("skills/get", {"uri": "skill://outer/SKILL.md"})["skill"]


@pytest.mark.parametrize("line", [b"", b"   ", b"\r", b"\t"])
def test_empty_lines_are_ignored(wire: StdioPeer, line: bytes) -> None:
    wire.send_line(line)
    assert wire.result("skills/get", {"uri": "skill://outer/SKILL.md"})["skill"]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/unknown"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "id": 999, "result": {}},
        {"jsonrpc": "2.0", "method": "skills/list"},
    ],
)
def test_notifications_and_responses_get_no_answer(wire: StdioPeer, message: dict[str, Any]) -> None:
    wire.send_line(json.dumps(message).encode())
    assert wire.result("skills/get", {"uri": "skill://outer/SKILL.md"})["skill"]


WRONG: tuple[Any, ...] = (None, True, 0, 1.5, -1, 1 << 60, "", "x", [1], [], {"a": 1}, {})
NOTIFIED = {
    "notifications/cancelled": ("requestId", "reason"),
    "notifications/progress": ("progressToken", "progress", "total", "message"),
    "notifications/initialized": ("anything",),
    "notifications/roots/list_changed": ("anything",),
    "notifications/message": ("level", "data"),
    "notifications/resources/updated": ("uri",),
    "notifications/unknown": ("anything",),
}


@pytest.mark.parametrize(("method", "names"), NOTIFIED.items(), ids=NOTIFIED)
def test_notification_with_any_parameters_is_ignored(
    wire: StdioPeer, method: str, names: tuple[str, ...]
) -> None:
    wrong = [{name: value} for name in (*names, "_meta") for value in WRONG]
    for params in [{}, *wrong, *(dict.fromkeys(names, value) for value in WRONG)]:
        wire.send_line(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())
    assert wire.result("tools/list")["tools"]  # which the SDK answers
    assert wire.result("skills/get", {"uri": "skill://outer/SKILL.md"})["skill"]


def test_deep_parameters_within_bounds_are_fine(wire: StdioPeer) -> None:
    nested: dict[str, Any] = {}
    for _ in range(200):
        nested = {"a": nested}
    assert wire.result("skills/list", {"extra": nested})["skills"]


def test_unknown_method_gets_method_not_found(wire: StdioPeer) -> None:
    assert wire.error("skills/delete", {"uri": "x"})["code"] == -32601


def test_many_requests_at_once_are_all_answered(wire: StdioPeer) -> None:
    for number in range(100):
        params = wire.enveloped({"uri": "skill://outer/SKILL.md"})
        message = {"jsonrpc": "2.0", "id": f"n{number}", "method": "resources/read", "params": params}
        wire.send_line(json.dumps(message).encode())
    assert {wire.receive()["id"] for _ in range(100)} == {f"n{number}" for number in range(100)}


def test_a_line_may_come_in_pieces(wire: StdioPeer) -> None:
    assert wire.process.stdin is not None
    message = {"jsonrpc": "2.0", "id": "slow", "method": "skills/list", "params": wire.enveloped({})}
    for piece in json.dumps(message).encode() + b"\n":
        wire.process.stdin.write(bytes([piece]))
        wire.process.stdin.flush()
    assert wire.receive()["id"] == "slow"


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_reading_a_message_never_raises(line: bytes) -> None:
    read_message(line)


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line), max_size=12), st.data())
def test_lines_are_the_same_however_chunks_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"\n".join(lines)
    splitter = LineSplitter(limit=16)
    found: list[bytes | LineTooLongError] = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += splitter.feed(stream[:cut])
        stream = stream[cut:]
    found += splitter.end()
    expected = [line if len(line) <= 16 else None for line in lines if len(line) > 16 or line.strip()]
    assert [None if isinstance(line, LineTooLongError) else line for line in found] == expected

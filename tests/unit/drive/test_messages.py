"""What clients and server say to each other, against what the reference really said."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.drive.fields import ShapeError
from skillwire.drive.messages import (
    NOTHING,
    CallClient,
    CallResult,
    Ping,
    Pong,
    RegisterClient,
    UnregisterClient,
    UpdateCatalog,
    read_client_message,
    read_server_message,
)
from skillwire.drive.registration import MAX_PATHS, RESERVED_IDS
from tests.support.recorded import frames, recorded

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
FIELDS = [
    "type",
    "client",
    "clientId",
    "paths",
    "id",
    "name",
    "requestId",
    "ok",
    "error",
    "timestamp",
    "auth",
]
TYPES = ["registerClient", "updateClientCatalog", "unregisterClient", "callClientResult", "ping", "pong"]


def skill(path: str, **more: Any) -> dict[str, Any]:
    return {"type": "skill", "path": path, **more}


def registration(*paths: dict[str, Any], **client: Any) -> dict[str, Any]:
    return {"type": "registerClient", "client": {"id": "c", "name": "C", "paths": list(paths), **client}}


def test_every_recorded_message_of_a_client_is_understood() -> None:
    read = [(frame, read_client_message(frame)) for frame in frames("client->server")]
    assert {type(message) for _, message in read} == {
        RegisterClient,
        UpdateCatalog,
        UnregisterClient,
        CallResult,
    }
    for frame, message in read:
        match message:
            case RegisterClient(client):
                assert client.id == frame["client"]["id"]
                assert [each.listed for each in client.paths] == frame["client"]["paths"]
            case UpdateCatalog(client_id, paths):
                assert client_id == frame["clientId"]
                assert [each.listed for each in paths] == frame["paths"]
            case CallResult(request_id, data, error):
                assert request_id == frame["requestId"]
                assert data == frame.get("data", NOTHING)
                assert (error.to_json() if error else None) == frame.get("error")
            case _:
                assert isinstance(message, UnregisterClient)
                assert message.client_id == frame["clientId"]


def test_every_recorded_call_reads_and_writes_the_same() -> None:
    for frame in frames("server->client"):
        message = read_server_message(frame)
        assert isinstance(message, CallClient)
        assert message.to_json() == frame


def test_recorded_pings_and_pongs_are_understood() -> None:
    beats = [each["f"] for each in recorded("lifecycle") if each.get("f", {}).get("type") in {"ping", "pong"}]
    assert len(beats) > 10
    for frame in beats:
        kind = Ping if frame["type"] == "ping" else Pong
        assert read_client_message(frame) == read_server_message(frame) == kind(frame["timestamp"])


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ([], "the message: not an object"),
        ({"type": "hello"}, "type: must be one of"),
        (
            {"type": "callClient", "requestId": "r", "clientId": "c", "method": "GET", "path": "/a"},
            "type: must be",
        ),
        (registration(skill("/A/skill.md")), "client.paths[0].path: path `/A/skill.md` is not a path"),
        (
            registration({"type": "endpoint", "method": "GET", "path": "/a/skill.md"}),
            "client.paths[0].path: endpoint `/a/skill.md` must end in no reserved name",
        ),
        (registration(skill("/a/prompt.md")), "skill `/a/prompt.md` must end in `skill.md` or `SKILL.md`"),
        (registration({"type": "endpoint", "path": "/a"}), "client.paths[0].method: must be one of `GET`"),
        (
            registration(skill("/a/skill.md"), skill("/a/skill.md")),
            "client.paths[1]: `/a/skill.md` is a duplicate",
        ),
        (registration(skill("/a/skill.md", description=5)), "client.paths[0].description: must be text"),
        ({"type": "registerClient", "client": {"id": "v", "name": "v"}}, "client.paths: must be a list"),
        (registration(name=""), "client.name: must be text that is not empty"),
        (registration(id="a/b"), "client.id: client id `a/b` is not 1-128 of"),
        (
            registration(*[skill("/a/skill.md")] * (MAX_PATHS + 1)),
            "client.paths: has 1,001 items; the limit is 1,000",
        ),
        ({"type": "callClientResult", "requestId": "r", "ok": False, "error": 1}, "error: not an object"),
        ({"type": "callClientResult", "requestId": "r", "ok": 1}, "ok: must be true or false"),
        ({"type": "ping", "timestamp": "now"}, "timestamp: must be a number"),
    ],
)
def test_invalid_message_error_names_the_field(message: Any, complaint: str) -> None:
    with pytest.raises(ShapeError) as caught:
        read_client_message(message)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("name", sorted(RESERVED_IDS | {each.upper() for each in RESERVED_IDS}))
def test_route_names_are_not_valid_ids(name: str) -> None:
    with pytest.raises(ShapeError, match="the name of another route"):
        read_client_message(registration(id=name))


def test_one_path_can_be_registered_with_two_methods() -> None:
    endpoints = [{"type": "endpoint", "path": "/a", "method": method} for method in ("GET", "POST")]
    message = read_client_message(registration(*endpoints))
    assert isinstance(message, RegisterClient)
    assert [each.method for each in message.client.paths] == ["GET", "POST"]


@given(st.dictionaries(st.sampled_from(FIELDS), json_values), st.sampled_from(TYPES))
def test_any_input_parses_or_raises_shape_error(message: dict[str, Any], kind: str) -> None:
    for each in (message, {**message, "type": kind}, {"type": "registerClient", "client": message}):
        with suppress(ShapeError):
            assert read_client_message(each) is not None

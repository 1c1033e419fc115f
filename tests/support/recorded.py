"""Frames that were recorded between the reference client and the reference server."""

import json
from pathlib import Path
from typing import Any

from tests.support.drive import Answers

FOLDER = Path(__file__).parents[1] / "data/mdp"


def recorded(name: str) -> list[dict[str, Any]]:
    """Return the records of one file, in the order in which they were made."""
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def path_vectors() -> dict[str, bool]:
    """Return paths, and whether the reference takes them."""
    return json.loads((FOLDER / "paths.json").read_text("utf-8"))


def frames(direction: str) -> list[dict[str, Any]]:
    """Return every message that went `client->server` or `server->client`, on either transport."""
    on_socket = [each["frame"] for each in recorded("websocket") if each["dir"] == direction]
    bodies = [each["body"] for each in recorded("http-loop") if each["dir"] == direction and each.get("body")]
    return on_socket + [body["message"] for body in bodies if "message" in body]


def recorded_answers() -> Answers:
    """Return a client that answers each path as the recorded one did."""
    paths = {each["requestId"]: _key(each) for each in frames("server->client")}
    results = {
        paths[each["requestId"]]: {name: each[name] for name in ("ok", "data", "error") if name in each}
        for each in frames("client->server")
        if each["type"] == "callClientResult"
    }
    unanswered = {"/workspace/slow/skill.md", "/hang/skill.md"}  # too late, or never

    def answer(call: dict[str, Any]) -> dict[str, Any] | None:
        if call["path"] in unanswered:
            return None
        if call["path"].startswith("/upper/"):
            return {"ok": True, "data": "# Upper"}
        return results[_key(call)]

    return answer


def _key(call: dict[str, Any]) -> str:
    headers: dict[str, str] = call.get("headers") or {}
    return json.dumps([call["path"], call.get("query") or {}, headers.get("x-review-scope")])


def registrations() -> list[dict[str, Any]]:
    """Return what the recorded clients said first: one, its replacement, another, one on the HTTP loop."""
    return [each for each in frames("client->server") if each["type"] == "registerClient"]

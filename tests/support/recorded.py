"""Frames that were recorded between the reference client and the reference server."""

import json
from pathlib import Path
from typing import Any

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

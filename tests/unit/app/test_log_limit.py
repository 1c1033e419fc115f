"""What clients do wrong fills no log."""

import base64
import io
import logging
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillwire.app.process import RateLimitedHandler
from tests.support.peers import PATIENCE, HttpServer
from tests.support.skills import write_skill

KEY = base64.b64encode(bytes(16))
UPGRADE = b"Connection: Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + KEY
REQUESTS = {
    "garbage": b"\x00\x01 nonsense\r\n\r\n",
    "a foreign host": b"GET / HTTP/1.1\r\nHost: evil.example\r\n" + UPGRADE % b"websocket" + b"\r\n\r\n",
    "no token": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + UPGRADE % b"websocket" + b"\r\n\r\n",
    "an unknown upgrade": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + UPGRADE % b"other" + b"\r\n\r\n",
}


@pytest.mark.parametrize("extra", [(), ("--drive",)], ids=["plain", "drive"])
def test_two_thousand_bad_requests_are_few_lines_on_stderr(tmp_path: Path, extra: tuple[str, ...]) -> None:
    write_skill(tmp_path / "skills", "one")
    environment = {**os.environ, "LOG_TOKEN": "a-token-of-some-length"}
    options = ("--http", "0", "--no-config", "--token-env", "LOG_TOKEN", *extra)
    with HttpServer(tmp_path / "skills", *options, env=environment) as server:
        host, _, port = server.base.removeprefix("http://").rpartition(":")
        before = len(server.log)
        for number in range(2_000):
            request = list(REQUESTS.values())[number % len(REQUESTS)]
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as client:
                client.sendall(request)
                client.recv(1)
        assert server.stop() == 0
        lines = server.log[before:]
        assert 0 < len(lines) < 100
        assert any(" more in the last minute" in line for line in lines)


@contextmanager
def logged(**limits: float) -> Generator[tuple[logging.Logger, io.StringIO]]:
    written = io.StringIO()
    handler = RateLimitedHandler(written, **limits)  # pyright: ignore[reportArgumentType] - two are whole numbers
    log = logging.getLogger("limited")
    log.propagate = False
    log.addHandler(handler)
    try:
        yield log, written
    finally:
        log.removeHandler(handler)
        handler.close()
        log.propagate = True


def test_lines_of_one_kind_are_counted_after_the_first_few() -> None:
    with logged(same_lines=2) as (log, written):
        for number in range(1_000):
            log.warning("denied %s", number)
        log.warning("another kind")
        assert written.getvalue().splitlines() == ["denied 0", "denied 1", "another kind"]
    assert written.getvalue().splitlines()[3:] == ["... and 998 more in the last minute"]


def test_lines_of_ever_new_kinds_are_counted_too() -> None:
    with logged(all_lines=10) as (log, written):
        for number in range(1_000):
            log.warning(f"denied {number}")  # as a careless library does
    lines = written.getvalue().splitlines()
    assert (len(lines), lines[-1]) == (11, "... and 990 more in the last minute")


def test_counts_start_again_each_minute() -> None:
    with logged(same_lines=1, seconds=0.0) as (log, written):
        for _ in range(3):
            log.warning("denied")
    assert written.getvalue().splitlines() == ["denied"] * 3

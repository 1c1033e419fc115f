"""A login server as a process, and a person who logs in there without a browser."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from skillwire.host import LoginRequest
from tests.support.foreign_servers import ROOT
from tests.support.peers import PATIENCE

NO_KEYRING = "keyring.backends.null.Keyring"
"""Keeps tests out of the keyring of the person who runs them."""
BROWSER = """
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=30).read()
"""


@dataclass(frozen=True, slots=True)
class LoginSite:
    """A server of skills that requires a login, and its login server."""

    url: str
    issuer: str

    @property
    def label(self) -> str:
        return self.url.removeprefix("http://").replace(":", "-").replace("/", "-")

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2].partition("/")[0]

    def control(self, **said: Any) -> None:
        """Change the answers from now on, and reset the counts."""
        httpx2.post(f"{self.issuer}/control", json=said).raise_for_status()

    async def held(self) -> None:
        """Wait until a request is held back."""
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            (await client.get(f"{self.issuer}/held")).raise_for_status()

    def release(self) -> None:
        """Let the requests go on that are held back."""
        httpx2.post(f"{self.issuer}/release").raise_for_status()

    def seen(self, what: str) -> int:
        return int(httpx2.get(f"{self.issuer}/seen").json()["counts"].get(what, 0))

    def tokens_at(self, who: str) -> set[str]:
        """Return the bearer tokens that the `server` or the `login` server was sent."""
        return set(httpx2.get(f"{self.issuer}/seen").json()["tokens_at"][who])


@contextmanager
def login_site(folder: Path) -> Generator[LoginSite]:
    """Yield a server of the skills in `folder` that requires a login."""
    command = [sys.executable, "-m", "tests.support.login_server", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        try:
            assert process.stdout is not None
            yield LoginSite(**json.loads(process.stdout.readline()))
        finally:
            process.kill()


class Visitor:
    """Opens a login page and returns where it leads, without a browser. `instead` changes the query."""

    redirect_uri = "http://127.0.0.1:1/callback"

    def __init__(self, instead: Mapping[str, str] | None = None) -> None:
        self._instead = instead or {}
        self.follows = True
        self.shown: list[LoginRequest] = []

    async def __call__(self, request: LoginRequest) -> str:
        self.shown.append(request)
        if not self.follows:
            back = httpx2.URL(request.redirect_uri, params={"state": request.state})
            return str(back.copy_merge_params(dict(self._instead)))
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            response = await client.get(request.url)
        back = httpx2.URL(response.headers["location"])
        return str(back.copy_merge_params(dict(self._instead)))


def browser(folder: Path) -> str:
    """Return a program that opens a page and follows it, as `BROWSER` names one."""
    script, program = folder / "browser.py", folder / "browser"
    script.write_text(BROWSER, "utf-8")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$1"\n', "utf-8")
    program.chmod(0o755)
    return str(program)


def environment(home: Path) -> dict[str, str]:
    """Return an environment with an empty state."""
    return {
        **os.environ,
        "HOME": str(home),
        "SKILLWIRE_STATE_DIR": str(home / "state"),
        "PYTHON_KEYRING_BACKEND": NO_KEYRING,
    }

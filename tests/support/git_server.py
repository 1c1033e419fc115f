"""Real git repositories on a server that speaks git's protocol and misbehaves on request."""

import os
import subprocess
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

from tests.support.skills import write

_PLAIN = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.org",
    "GIT_COMMITTER_NAME": "Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.org",
}
"""Whatever is configured on this machine, the repositories are the same."""


def git(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run git with a neutral identity. Return its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ran = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=cwd,
        env={**environment, **_PLAIN, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


class Origin:
    """A repository with a working tree, from which the tests fetch."""

    def __init__(self, folder: Path, *, object_format: str = "sha1") -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        git("init", "--quiet", f"--object-format={object_format}", cwd=folder)

    def commit(self, files: dict[str, bytes | str], *, amend: bool = False) -> str:
        """Write files and commit everything; return the commit."""
        write(self.folder, files)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message=x", *(("--amend",) if amend else ()))
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        return git(*arguments, cwd=self.folder)


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request that arrived."""

    path: str
    authorization: str | None
    fetch: bool
    """Whether it asked for content, and not only for what there is."""


class GitServer:
    """Serves every repository below a folder, on a port of its own of this machine alone."""

    def __init__(self, root: Path, *, login: tuple[str, str] | None = None) -> None:
        self.root = root
        self.seen: list[ReceivedRequest] = []
        self.offline = False
        """Whether connections are closed without a word."""
        self.old_protocol = False
        """Whether only branches and tags are handed out, as by a server that knows no version 2."""
        self.redirect: Callable[[str], str | None] = lambda path: None
        """Where a path has moved to, if it has."""
        self.refusal = 401
        """What is answered to whoever may not ask."""
        self.on_request: Callable[[], None] = lambda: None
        self.stall = threading.Event()
        """When set, a fetch gets half of its answer, and then nothing."""
        self.stalled = threading.Event()
        """Set when a fetch has got its half."""
        self._over = threading.Event()
        self._wanted = f"Basic {b64encode(':'.join(login).encode()).decode()}" if login else None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = False  # closing waits for the answers that are under way
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def fetches(self) -> int:
        """How often content was asked for."""
        return sum(seen.fetch for seen in self.seen)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def do_POST(self) -> None:
                server.answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
                """Say nothing."""

        return Handler

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        given = request.headers.get("Authorization")
        body = request.rfile.read(int(request.headers.get("Content-Length", "0")))
        seen = ReceivedRequest(request.path, given, fetch=b"want " in body)
        self.seen.append(seen)
        self.on_request()
        if self.offline:
            return
        if (moved := self.redirect(request.path)) is not None:
            _say(request, 301, {"Location": moved})
        elif self._wanted is not None and given != self._wanted:
            headers = {"WWW-Authenticate": 'Basic realm="git"', "Content-Type": "text/plain"}
            _say(
                request, self.refusal, headers, f"who is {given}?".encode()
            )  # git repeats it to whoever asked
        else:
            status, headers, content = self._from_git(request, body)
            stall = seen.fetch and self.stall.is_set()
            _say(request, status, headers, content, half=stall)
            if stall:
                self.stalled.set()
                self._over.wait()

    def _from_git(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Let git answer, as a program behind a web server does."""
        path, _, query = request.path.partition("?")
        variables = {
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": request.command,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": "" if self.old_protocol else request.headers.get("Git-Protocol", ""),
        }
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        ran = subprocess.run(
            ["git", "http-backend"],
            input=body,
            env={**environment, **_PLAIN, **variables},
            capture_output=True,
            check=False,
        )
        head, _, content = ran.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        status = int(headers.pop("Status", "200").split(" ")[0])
        return status, headers, content


def _say(
    request: BaseHTTPRequestHandler,
    status: int,
    headers: Mapping[str, str],
    content: bytes = b"",
    *,
    half: bool = False,
) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content[: len(content) // 2] if half else content)
    request.wfile.flush()

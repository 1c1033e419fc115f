"""A test web site on loopback: real HTTP, and every kind of misbehaviour a web source can show."""

import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from skillwire.protocol.delivery import ArchiveFormat, Delivery
from skillwire.protocol.discovery import (
    LEGACY_WELL_KNOWN_FOLDER,
    WELL_KNOWN_FOLDER,
    Artifact,
    FileListSkill,
    PublishedSkill,
    render_index,
)
from skillwire.protocol.packing import pack
from skillwire.sources import Digest

NEWER = f"/{WELL_KNOWN_FOLDER}/"
OLDER = f"/{LEGACY_WELL_KNOWN_FOLDER}/"


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the site received."""

    path: str
    headers: Mapping[str, str]
    status: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What the site answers at one path."""

    content: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    endless: bool = False
    """Whether the content is sent again and again, until the reader has enough."""
    silent: bool = False
    """Whether nothing is sent for as long as the site is there."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a reader that hung up."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType] - as given


class PublishingSite:
    """Serves `pages` by path, and keeps a log. A port of its own; closed at the end of the `with` block."""

    def __init__(self, *, etags: bool = True, token: str | None = None) -> None:
        self.pages: dict[str, Answer] = {}
        self.log: list[Request] = []
        self.busiest = 0
        """How many requests were under way at once, at most."""
        self._busy = 0
        self._counting = threading.Lock()
        self.etags = etags
        self.token = token
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.go_offline()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def go_offline(self) -> None:
        """Stop listening: from now on nobody answers at this address."""
        if not self._closing.is_set():
            self._closing.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def asked(self, *, but: str = "index.json") -> list[str]:
        """Return the paths asked for so far, without the index."""
        return sorted(request.path for request in self.log if not request.path.endswith(but))

    def forget(self) -> None:
        """Begin a new log."""
        self.log.clear()

    def show(self, path: str, content: bytes, **headers: str) -> None:
        self.pages[path] = Answer(content, headers=headers)

    def show_folder(self, root: Path) -> None:
        """Show every file of a folder that was made for a web server, and nothing else."""
        files = (path for path in root.rglob("*") if path.is_file())
        self.pages = {f"/{path.relative_to(root).as_posix()}": Answer(path.read_bytes()) for path in files}

    def redirect(self, path: str, target: str, status: int = 302) -> None:
        self.pages[path] = Answer(status=status, headers={"Location": target})

    def index(self, *skills: PublishedSkill, at: str = NEWER) -> None:
        """Publish an index of these skills."""
        self.show(f"{at}index.json", render_index(skills))

    def offer(self, name: str, files: Mapping[str, bytes], *, form: ArchiveFormat | None = None) -> Artifact:
        """Show a download of these files, and return the entry that tells of it."""
        if form is None:
            content, path, delivery = files["SKILL.md"], f"{name}/SKILL.md", Delivery.SKILL_MD
        else:
            content, path, delivery = pack(files, form), f"{name}{form.suffix}", Delivery.ARCHIVE
        self.show(NEWER + path, content)
        return Artifact(name, delivery, "Does one thing.", path, Digest.of(content))

    def offer_loose(self, name: str, files: Mapping[str, bytes]) -> FileListSkill:
        """Show these files as they are, and return the older entry that tells of them."""
        for path, content in files.items():
            self.show(f"{OLDER}{name}/{path}", content)
        return FileListSkill(name, "Does one thing.", tuple(files))

    def _handler(self) -> Callable[..., BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with site._counted():
                    self._respond()

            def _respond(self) -> None:
                answer = site._answer(self.path, dict(self.headers))
                site.log.append(Request(self.path, dict(self.headers), answer.status))
                if answer.silent:
                    site._closing.wait()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name.replace("_", "-"), value)
                if answer.endless:
                    self.send_header("Connection", "close")
                else:
                    self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                try:
                    self.wfile.write(answer.content)
                    while answer.endless:
                        self.wfile.write(answer.content)
                except OSError:  # the reader had enough
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
                """Say nothing: the log is `site.log`."""

        return Handler

    @contextmanager
    def _counted(self) -> Generator[None]:
        with self._counting:
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
        try:
            yield
        finally:
            with self._counting:
                self._busy -= 1

    def _answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        if self.token is not None and headers.get("Authorization") != f"Bearer {self.token}":
            return Answer(status=401)
        answer = self.pages.get(path.partition("?")[0], Answer(b"nothing here", 404))
        if not self.etags or answer.status != 200:
            return answer
        etag = f'"{Digest.of(answer.content)}"'
        if headers.get("If-None-Match") == etag:
            return Answer(status=304, headers={"ETag": etag})
        return replace(answer, headers={**answer.headers, "ETag": etag})

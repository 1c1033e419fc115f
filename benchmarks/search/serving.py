"""Measure a server with search: its memory, and how long reads take while searches run."""

import json
import os
import select
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.search.texts import Language
from benchmarks.stdio import NoAnswerError, StdioServer, request, result

WITH, WITHOUT = "memory with search", "memory without search"
CALM, BUSY = "read", "read while a search runs"
_PATIENCE = 600.0
"""Time limit in seconds for building the index."""
_SETTLE = 3.0
"""Seconds after the last request until memory is measured."""


class _Server(StdioServer):
    def wait_until_loaded(self) -> None:
        """Send a request and wait for its answer. With many skills, the first one takes long."""
        os.write(self._to, request("resources/list"))
        found = b""
        while not found.endswith(b"\n"):
            if not select.select([self._from], [], [], _PATIENCE)[0] or not (
                piece := os.read(self._from, 1 << 20)
            ):
                raise NoAnswerError("the server does not load its skills")
            found += piece

    def read_behind(self, search: bytes, read: bytes) -> float:
        """Send a search and then a read. Return the seconds until the read is answered."""
        begin = time.perf_counter()
        os.write(self._to, search.replace(b'"id":1', b'"id":2', 1) + read)
        answered, found, seconds = set[int](), b"", 0.0
        while len(answered) < 2:
            found += os.read(self._from, 1 << 20)
            *lines, found = found.split(b"\n")
            for line in lines:
                answered.add(number := json.loads(line)["id"])
                if number == 1:
                    seconds = time.perf_counter() - begin
        return seconds


def measure(root: Path, command: list[str], reads: int) -> Mapping[str, list[float]]:
    """Measure servers of a folder. `command` starts one."""
    found: dict[str, list[float]] = {}
    language = Language()
    read = request("resources/read", uri=language.skill(0).uri)
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        for name, index in ((WITHOUT, []), (WITH, [folder])):
            with _Server([*command, str(root), *index]) as server:
                server.wait_until_loaded()
                result(server.ask(read))
                # A tool loads the MCP SDK, which is not what search costs.
                result(server.ask(_call("load-skill", name="")))
                if index:
                    _wait_until_built(server)
                    for number in range(reads):
                        found.setdefault(CALM, []).append(_timed(server, read))
                        search = _search(language.long_query(number, 3_000))
                        found.setdefault(BUSY, []).append(server.read_behind(search, read))
                time.sleep(_SETTLE)
                found[name] = [server.memory()]
    return found


def _wait_until_built(server: StdioServer) -> None:
    deadline = time.monotonic() + _PATIENCE
    while result(server.ask(_search("warm up")))["structuredContent"].get("incomplete"):
        assert time.monotonic() < deadline, "the index is not built in time"


def _timed(server: StdioServer, line: bytes) -> float:
    begin = time.perf_counter()
    server.ask(line)
    return time.perf_counter() - begin


def _search(query: str) -> bytes:
    return _call("search-skills", query=query)


def _call(tool: str, **arguments: str) -> bytes:
    message = json.loads(request("tools/call"))
    message["params"] |= {"name": tool, "arguments": arguments}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"

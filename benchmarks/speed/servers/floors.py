"""Floors: programs that do the least that a server must do, without the protocol.

    python -m benchmarks.speed.servers.floors echo|route|raw|file stdio|PORT ANSWER|ROOT

`file` reads and hashes the requested file below ROOT. The others send the bytes of ANSWER to every request.
"""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

_HEADERS = [(b"content-type", b"application/json")]


def echo(answer: bytes) -> None:
    """Answer each line of stdin with one line."""
    read, out = sys.stdin.buffer, sys.stdout.buffer
    line = answer + b"\n"
    while read.readline():
        out.write(line)
        out.flush()


def route(answer: bytes) -> Any:
    """Return a bare Starlette application with one route that takes JSON and answers JSON."""
    from starlette.applications import Starlette  # noqa: PLC0415 - not needed by the floor on stdio
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import JSONResponse  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    value = json.loads(answer)

    async def respond(request: Request) -> JSONResponse:
        await request.json()
        return JSONResponse(value)

    return Starlette(routes=[Route("/mcp", respond, methods=["POST"])])


def raw(answer: bytes) -> Any:
    """Return a minimal ASGI application."""
    headers = [*_HEADERS, (b"content-length", str(len(answer)).encode())]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": answer})

    return app


def read_answer(file: str, uri: str) -> dict[str, Any]:
    """Look up, open, read and hash a file, and return what a server answers with it."""
    os.stat(file)  # noqa: PTH116 - the call that a server makes
    with open(file, "rb") as opened:  # noqa: PTH123 - as above
        content = opened.read()
    hashlib.sha256(content).digest()
    block = {"uri": uri, "mimeType": "text/markdown", "text": content.decode()}
    result = {"resultType": "complete", "ttlMs": 5000, "cacheScope": "public", "contents": [block]}
    return {"jsonrpc": "2.0", "id": 1, "result": result}


def file_route(root: str) -> Any:
    """Return a bare Starlette application with one route that answers with the text of the requested file."""
    from starlette.applications import Starlette  # noqa: PLC0415 - as above
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import JSONResponse  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    async def respond(request: Request) -> JSONResponse:
        uri: str = (await request.json())["params"]["uri"]
        return JSONResponse(read_answer(f"{root}/{uri.removeprefix('skill://')}", uri))

    return Starlette(routes=[Route("/mcp", respond, methods=["POST"])])


def main(kind: str, where: str, given: str) -> None:
    if where == "stdio":
        echo(Path(given).read_bytes())
        return
    from benchmarks.speed.servers.web import run_web  # noqa: PLC0415 - as above

    if kind == "file":
        run_web(file_route(given), int(where))
    else:
        run_web({"route": route, "raw": raw}[kind](Path(given).read_bytes()), int(where))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Floors: programs that answer every request with the bytes of a file, without parsing the request.

python -m benchmarks.speed.servers.floors echo|route|raw stdio|PORT ANSWER
"""

import json
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


def main(kind: str, where: str, answer: str) -> None:
    content = Path(answer).read_bytes()
    if where == "stdio":
        echo(content)
        return
    from benchmarks.speed.servers.web import run_web  # noqa: PLC0415 - as above

    run_web({"route": route, "raw": raw}[kind](content), int(where))


if __name__ == "__main__":
    main(*sys.argv[1:])

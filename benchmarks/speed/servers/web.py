"""Run uvicorn with the same settings as our server."""

from typing import Any

import uvicorn


def run_web(app: Any, port: int) -> None:
    """Serve until the process is ended."""
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        http="httptools",
        loop="uvloop",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
    )

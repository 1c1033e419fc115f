"""A scripted server over HTTP, in a thread of this process: what it says can change while it runs."""

import socket
import threading
from typing import Self

import uvicorn

from tests.support.peers import PATIENCE
from tests.support.scripted import ScriptedServer


class ScriptedSite:
    """Listens on a port of its own choosing, for as long as the block runs."""

    def __init__(self, script: ScriptedServer) -> None:
        self.script = script
        app = script.server().streamable_http_app(json_response=True, stateless_http=True)
        config = uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._socket = socket.create_server(("127.0.0.1", 0))  # who connects early waits
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/mcp"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        self._socket.close()

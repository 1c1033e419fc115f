"""A person with a home, a repository, and files of clients in both."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillwire.config.clients.known import KnownServer, KnownServers, known_servers

PROGRAM: Mapping[str, Any] = {"command": "acme-server", "args": ["--stdio"]}


@dataclass(slots=True)
class Machine:
    """Where files of clients are written for a test. Nothing of the machine that runs it counts."""

    home: Path
    repository: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def at(cls, folder: Path) -> "Machine":
        home, repository = folder / "home", folder / "work/repository"
        (repository / ".git").mkdir(parents=True)
        home.mkdir()
        return cls(home, repository, {"HOME": str(home), "PATH": "/nowhere"})

    def own(self, path: str, content: object) -> Path:
        """Write a file of the person's own."""
        return _write(self.home / path, content)

    def shared(self, path: str, content: object) -> Path:
        """Write a file of the repository."""
        return _write(self.repository / path, content)

    def known(self, folder: Path | None = None) -> KnownServers:
        return known_servers(self.environment, folder or self.repository)

    def server(self, label: str) -> KnownServer:
        return self.known().labels[label]


def _write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path

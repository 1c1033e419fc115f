import os
from pathlib import Path

import anyio

from skillwire.catalog.library import Library
from skillwire.server.address import Address, HostPolicy
from skillwire.server.http import http_app
from skillwire.server.skills import skills_server
from skillwire.sources.directory import FolderSource

SKILLS = Path(__file__).parents[2] / "examples/skills"

library = Library([FolderSource(SKILLS)])
anyio.run(library.load)

app = http_app(
    skills_server(library, name="acme-skills"),
    HostPolicy(Address("127.0.0.1", 8765), hosts=frozenset({"skills.example.com"})),
    token=os.environ.get("SKILLS_TOKEN"),
)

import os

import anyio

from skillwire import FolderSource, Library
from skillwire.server import Address, HostPolicy, http_app, skills_server

library = Library([FolderSource("skills")])
anyio.run(library.load)

app = http_app(
    skills_server(library, name="acme-skills"),
    HostPolicy(Address("127.0.0.1", 8765), hosts=frozenset({"skills.example.com"})),
    token=os.environ.get("SKILLS_TOKEN"),
)

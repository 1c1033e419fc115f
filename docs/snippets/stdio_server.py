from pathlib import Path

import anyio

from skillwire import FolderSource, Library
from skillwire.server import serve_stdio, skills_server

SKILLS = Path(__file__).parents[2] / "examples/skills"


async def main() -> None:
    library = Library([FolderSource(SKILLS)])
    await library.load()
    server = skills_server(
        library,
        name="acme-skills",
        version="1.0",
        instructions="Before you promise a refund, load skill://acme/billing/refunds/SKILL.md",
    )
    await serve_stdio(server)  # until the client closes our stdin


anyio.run(main)

import anyio
from mcp import Client

from skillwire import Library, MemorySource
from skillwire.server import skills_server
from skillwire.sources import MemorySkill

GREETING = b"""---
name: greeting
description: Greets people by name. Use when a conversation begins.
---

Say hello, then ask for the name.
"""


async def main() -> None:
    source = MemorySource([MemorySkill("acme/greeting", {"SKILL.md": GREETING, "names.txt": b"Ada\n"})])
    library = Library([source])
    await library.load()

    async with Client(skills_server(library, name="acme")) as client:  # in this process, without a transport
        listed = await client.list_resources()
        assert listed.resources[0].uri == "skill://acme/greeting/SKILL.md"

    source.put(MemorySkill("acme/farewell", {"SKILL.md": GREETING.replace(b"greeting", b"farewell")}))
    catalog = await library.load()
    assert [entry.name for entry in catalog.entries.values()] == ["greeting", "farewell"]


anyio.run(main)

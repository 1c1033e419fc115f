from datetime import UTC, datetime

import anyio

from skillwire import Library, MemorySource
from skillwire.sources import MemorySkill

ON_CALL = b"""---
name: on-call
description: Who is on call right now. Use before you wake anybody.
---

Read `now.md`.
"""


async def now() -> bytes:
    return f"Asked at {datetime.now(UTC):%H:%M}: Ada\n".encode()


async def main() -> None:
    library = Library([MemorySource([MemorySkill("on-call", {"SKILL.md": ON_CALL, "now.md": now})])])
    catalog = await library.load()

    entry = catalog.skill("skill://on-call/SKILL.md")
    assert entry.dynamic  # clients see `"resources": "dynamic"`: there is no digest to promise

    reading = await library.read(entry.uri_of("now.md"))
    assert reading.content.endswith(b"Ada\n")


anyio.run(main)

import sys

import anyio

from skillwire import DriveClient
from skillwire.drive import LiveRequest, Options

SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}


async def main(url: str) -> None:
    client = DriveClient(url, id="shop", name="Web shop")

    @client.expose("/orders", method="POST", description="Place an order.", input_schema=SCHEMA)
    async def place(request: LiveRequest) -> dict[str, str]:
        match request.body:
            case {"item": str(item)}:
                return {"placed": item}
            case _:
                raise ValueError("the body must have an `item`")

    client.expose("/orders/:id", Options("Cancel an order.", method="DELETE"), lambda: None)
    client.expose("/orders/summary/prompt.md", "Summarize the open orders in three sentences.")
    async with client:
        await client.until_ended()


if len(sys.argv) > 1:
    anyio.run(main, sys.argv[1])

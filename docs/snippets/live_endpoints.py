from skillwire import DriveClient
from skillwire.drive import LiveContext, LiveRequest, Options

client = DriveClient("ws://127.0.0.1:8765", id="shop", name="Web shop")


@client.expose("/orders", method="POST", description="Place an order.", input_schema={"type": "object"})
async def place(request: LiveRequest, context: LiveContext) -> str:
    return f"{context.path}: placed {request.body}"


client.expose("/orders/:number", Options("Cancel an order.", method="DELETE"), lambda: None)
client.expose("/orders/summary/prompt.md", "Summarize the open orders in three sentences.")

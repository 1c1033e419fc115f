import sys

import anyio

from skillwire import DriveClient
from skillwire.drive import LiveContext, LiveRequest, Options

ORDERS = {"17": "paid", "18": "waiting for stock"}


def one_order(request: LiveRequest, context: LiveContext) -> str:
    number = request.params["id"]
    asked = f"Asked as `{context.path}`, with {dict(request.queries)}."
    return f"# Order {number}\n\nIt is {ORDERS[number]}. {asked}\n"


async def main(url: str) -> None:
    client = DriveClient(url, id="shop", name="Web shop")

    # A text. Its first paragraph that is no heading becomes its description.
    client.expose(
        "/orders/returns/skill.md", "# Returns\n\nHow to take an order back.\n\nAsk for the number…\n"
    )

    # A resolver, called for each reading. It may be `async`, and take less.
    client.expose("/orders/:id/skill.md", Options(description="One order, by its number."), one_order)

    # The same as a decorator.
    @client.expose("/orders/skill.md", description="All orders as they are now. Begin here.")
    async def all_orders() -> str:
        listed = "\n".join(f"- `/orders/{number}/skill.md`: {state}" for number, state in ORDERS.items())
        return f"# Orders\n\n{listed}\n\nFor returns, read `/orders/returns/skill.md`.\n"

    async with client:  # connected; and again, with everything, whenever the connection breaks
        await client.until_ended()


if len(sys.argv) > 1:
    anyio.run(main, sys.argv[1])

import sys

import anyio

from skillwire import DriveClient
from skillwire.drive import LiveRequest, RefusedByServerError

ORDERS = {"17": "paid", "18": "waiting for stock"}


async def main(url: str) -> None:
    client = DriveClient(url, id="shop", name="Web shop")

    @client.expose("/orders/skill.md", description="All orders. Start here.")
    def all_orders() -> str:
        lines = [f"- {number}: {state}" for number, state in ORDERS.items()]
        return "\n".join(["# Orders", "", *lines, "", "For one order, read `/orders/<number>/skill.md`."])

    @client.expose("/orders/:number/skill.md", description="One order, by its number.")
    def one_order(request: LiveRequest) -> str:
        number = request.params["number"]
        state = ORDERS.get(number)
        if state is None:
            return f"# Order {number}\n\nThere is no order {number}.\n"
        return f"# Order {number}\n\nThe order is {state}.\n"

    client.expose("/orders/returns/skill.md", "# Returns\n\nHow to return an order.\n\nAsk for the number…\n")

    async with client:
        print(f"connected to {url}", file=sys.stderr)
        await client.until_ended()


if len(sys.argv) > 1:
    try:
        anyio.run(main, sys.argv[1])
    except KeyboardInterrupt:
        pass  # Ctrl-C ends the program
    except RefusedByServerError:
        sys.exit(1)  # the client has logged the reason

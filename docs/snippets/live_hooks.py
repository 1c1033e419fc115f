import os

import anyio

from skillwire import Library, ServeOptions
from skillwire.drive import (
    Auth,
    ClientInfo,
    DeniedError,
    Hooks,
    Invocation,
    LiveSkills,
    bridge_tools,
    drive_mount,
)
from skillwire.server import Address, HostPolicy, http_app, skills_server


class ShopHooks(Hooks):
    """Require a password from the programs of the shop. Allow only reads."""

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        given = auth or transport_auth
        known = given is not None and given.token == os.environ["SHOP_PASSWORD"]
        if client.id.startswith("shop-") and not known:
            raise DeniedError("programs of the shop need the password as the token of `auth`")

    async def authorize_invocation(self, invocation: Invocation) -> None:
        if invocation.request.method != "GET":
            raise DeniedError("this server only allows reads")


live = LiveSkills(hooks=ShopHooks())
library = Library([live.source()])
anyio.run(library.load)

token = os.environ.get("SKILLS_TOKEN")
app = http_app(
    skills_server(library, options=ServeOptions(tools=bridge_tools(live.hub))),
    HostPolicy(Address("127.0.0.1", 8765)),
    token=token,
    mount=drive_mount(live, token),
)

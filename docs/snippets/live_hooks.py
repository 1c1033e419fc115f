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


class OurHooks(Hooks):
    """Programs of the shop say a word, and nobody calls what is not read."""

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        said = auth or transport_auth
        if client.id.startswith("shop-") and (said is None or said.token != os.environ.get("SHOP_WORD")):
            raise DeniedError("programs of the shop say the word, as the token of their `auth`")

    async def authorize_invocation(self, invocation: Invocation) -> None:
        if invocation.request.method != "GET":
            raise DeniedError("this server only reads")


live = LiveSkills(hooks=OurHooks())
library = Library([live.source()])
anyio.run(library.load)

token = os.environ.get("SKILLS_TOKEN")
app = http_app(
    skills_server(library, options=ServeOptions(tools=bridge_tools(live.hub))),
    HostPolicy(Address("127.0.0.1", 8765)),
    token=token,
    mount=drive_mount(live, token),
)

import os

import anyio

from skillwire.catalog.library import Library
from skillwire.drive.bridge import bridge_tools
from skillwire.drive.errors import DeniedError
from skillwire.drive.hooks import Hooks, Invocation
from skillwire.drive.live import LiveSkills
from skillwire.drive.registration import Auth, ClientInfo
from skillwire.server.address import Address, HostPolicy
from skillwire.server.drive import drive_annex
from skillwire.server.http import http_app
from skillwire.server.skills import ServeOptions, skills_server


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
    annex=drive_annex(live, token),
)

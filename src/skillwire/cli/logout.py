"""`skillwire logout`: have a login forgotten, here and by whoever issued it."""

import os
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.cli.output import print_error, talk
from skillwire.config.clients.choosing import is_address, label_in
from skillwire.config.settings import state_folder_from
from skillwire.host.login.errors import LoginError, UnansweredError
from skillwire.host.login.renewing import revoke
from skillwire.host.login.store import Logins
from skillwire.host.reaching.target import Target
from skillwire.model.display import quoted
from skillwire.model.errors import StateError, UsageError


def logout(
    server: Annotated[str, Parameter(name="SERVER", help="A server's label or URL.")],
    /,
) -> int:
    """Log out of a server: its tokens are revoked at the login server, and removed here.

    The label may be one that no file names any more. Exit code 1 if the login server did not confirm that the
    tokens are revoked; they are removed here all the same.

    For example:

    ```
    skillwire logout github
    skillwire logout https://example.com/mcp
    ```
    """
    target = Target.parse(server) if is_address(server) else None
    label = (label_in(server) if target is None else target.label) or ""
    logins = Logins(state_folder_from(os.environ))
    return anyio.run(_log_out, logins, label, server)


async def _log_out(logins: Logins, label: str, server: str) -> int:
    async with logins.locked(label):
        try:
            record = logins.find(label)
            record = record and logins.with_tokens(label, record.identity)
        except StateError:  # it is damaged, and goes
            record = None
        if not logins.remove(label):
            hint = "`skillwire servers` shows where you are logged in"
            raise UsageError(f"you are not logged in to {quoted(server)}", hint=hint)
    talk().print(f"logged out of {quoted(label)}: its tokens are removed")
    if record is None or record.tokens is None:
        return 0
    try:
        if not await revoke(record, record.server):
            talk().print("the login server offers no way to revoke them; they end when they expire")
    except (UnansweredError, LoginError) as error:
        print_error(f"the login server did not confirm that they are revoked: {error}")
        return 1
    return 0

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from skillwire import Host, State, Target
from skillwire.errors import LoginError
from skillwire.host import browser_login


async def main(folder: Path) -> None:
    acme = Target("acme", url="http://127.0.0.1:9/mcp")  # a URL of yours
    with State.open(folder) as state:
        async with browser_login() as login, Host([acme], state=state, login=login) as host:
            registry = await host.discover()  # opens a login page for each server that requires it
            assert not any(problem.rule == "login-required" for problem in registry.problems)
            with suppress(LoginError):  # no server listens there
                await host.log_in("acme", login, scope="read")


with TemporaryDirectory() as folder:
    anyio.run(main, Path(folder))

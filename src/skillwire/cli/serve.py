"""`skillwire serve`: folders of skills as an MCP server."""

import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
from cyclopts import Parameter
from mcp.server.lowlevel.server import Server

from skillwire.cli.contract.starting import terms_of
from skillwire.cli.gateway import Gateway, open_gateway
from skillwire.cli.options import BlockKey
from skillwire.cli.output import talk
from skillwire.cli.starting import start
from skillwire.config.file import ConfigFile, default_config
from skillwire.config.opening import LibraryOptions
from skillwire.config.settings import max_file_bytes_from, token_from
from skillwire.contract.subject import BLOCK_KEY
from skillwire.drive.bridge import bridge_tools
from skillwire.drive.live import LiveSkills
from skillwire.model.errors import UsageError
from skillwire.server.address import Address, HostPolicy, check_host, check_origin
from skillwire.server.annexes import joined
from skillwire.server.descriptors import allow_connections
from skillwire.server.drive import drive_annex
from skillwire.server.http import MCP_PATH, http_app, listen, serve_http
from skillwire.server.pages import page_annex
from skillwire.server.signals import on_stop_signal
from skillwire.server.skills import Channel, Offering, skills_server
from skillwire.server.stdio import serve_stdio
from skillwire.surfaces.apps import AppPages, app_tools
from skillwire.surfaces.catalog_text import DEFAULT_TOKENS
from skillwire.wire.messages import LIVE_TTL_MS, STATIC_TTL_MS, Freshness


def serve(
    sources: Annotated[
        list[str] | None,
        Parameter(
            name="SOURCE",
            help="Folders, archives, repositories or web sites with skills; without one, `SKILLS_DIR`.",
        ),
    ] = None,
    /,
    *,
    http: Annotated[
        str | None,
        Parameter(
            name="--http", help="Serve over HTTP at `[HOST:]PORT` instead of stdio; loopback without a HOST."
        ),
    ] = None,
    static: Annotated[
        bool,
        Parameter(help="Freeze the set of skills: only what is in their files follows the disk."),
    ] = False,
    prefix: Annotated[
        str | None, Parameter(help="Publish the skills of these sources below this path.")
    ] = None,
    follow_links: Annotated[
        bool, Parameter(help="Also serve what links outside the folders lead to.")
    ] = False,
    catalog: Annotated[
        Literal["instructions", "tool-description"], Parameter(help="Where models find the list of skills.")
    ] = "instructions",
    catalog_tokens: Annotated[int, Parameter(help="How long that list may be, in tokens.")] = DEFAULT_TOKENS,
    no_drafts: Annotated[bool, Parameter(help="Leave out the index for hosts of early drafts.")] = False,
    archives: Annotated[bool, Parameter(help="Let every skill be read as one archive, too.")] = False,
    legacy_uris: Annotated[
        bool, Parameter(help="Answer at addresses from before the extension: `skill://NAME`.")
    ] = False,
    contract: Annotated[
        bool, Parameter(help="Hold the skills to the repository contract, and publish its addresses, too.")
    ] = False,
    tolerant: Annotated[
        bool, Parameter(help="With `--contract`: leave out what breaks it, instead of refusing to start.")
    ] = False,
    block_key: BlockKey = BLOCK_KEY,
    config: Annotated[
        Path | None, Parameter(help="The configuration file to use instead of your own.")
    ] = None,
    no_config: Annotated[bool, Parameter(help="Use no configuration file.")] = False,
    allow_config: Annotated[
        bool, Parameter(help="Let pages and their tools change what is served, and the configuration file.")
    ] = False,
    drive: Annotated[
        bool, Parameter(help="Let running programs connect and offer live skills. Needs `--http`.")
    ] = False,
    token_env: Annotated[
        str | None,
        Parameter(help="The environment variable with the bearer token that HTTP clients must send."),
    ] = None,
    allow_public: Annotated[bool, Parameter(help="Bind a public address without a token.")] = False,
    allow_host: Annotated[
        list[str] | None, Parameter(help="A further name that clients reach this server by.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, Parameter(help="A web page's origin that may call this server.")
    ] = None,
) -> int:
    """Serve skills to MCP clients, over stdio or HTTP, and tell them of changes.

    The sources named here are served together with those that `skillwire sources` has added.

    Without `--http` the server speaks on stdin and stdout: put it into your client's configuration.
    It ends when the client closes its side.

    For example:

    ```
    skillwire serve ./skills
    skillwire serve ./skills github:acme/skills --http 8765
    skillwire serve ./skills --http 0.0.0.0:8765 --token-env SKILLS_TOKEN
    skillwire serve ./skills --contract
    skillwire serve --http 8765 --drive
    ```
    """
    terms = terms_of(block_key, contract=contract, tolerant=tolerant)
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(levelname)s: %(name)s: %(message)s"
    )
    file = _configuration(config, no_config=no_config, allow_config=allow_config)
    live = _live_skills(http, static=static) if drive else None
    options = LibraryOptions(
        follow_links=follow_links,
        prefix=prefix,
        live=not static,
        frozen=static,
        may_be_none=live is not None or allow_config,
    )
    gateway = open_gateway(sources or [], options, file, terms=terms, live=live, editable=allow_config)
    ttl = STATIC_TTL_MS if static else LIVE_TTL_MS
    offering = Offering(
        Channel(catalog),
        _budget(catalog_tokens),
        max_file_bytes_from(os.environ),
        drafts=not no_drafts,
        archives=archives,
        legacy_uris=legacy_uris,
        contract=terms,
        tools=[*([] if live is None else bridge_tools(live.hub)), *app_tools(gateway.overview())],
        unlisted=[AppPages()],
    )
    if http is None:
        _refuse_without_http(token_env, allow_host, allow_origin, allow_public=allow_public)
        server = skills_server(gateway.library, freshness=Freshness(ttl), offering=offering)
        _run(lambda: _over_stdio(gateway, server))
        return 0
    token = token_from(token_env, os.environ)
    address = Address.parse(http)
    if (live is not None or allow_config) and not address.is_loopback and token is None:
        lets = (
            "`--drive` lets programs in" if live is not None else "`--allow-config` lets pages change things"
        )
        raise UsageError(
            f"{lets}, and `{address.host}` can be reached from other machines",
            hint="set a token with `--token-env VAR`, or bind a loopback address",
        )
    if not address.is_loopback and token is None and not allow_public:
        raise UsageError(
            f"`{address.host}` can be reached from other machines, and there is no token",
            hint="set one with `--token-env VAR`, or insist with `--allow-public`",
        )
    hosts = frozenset(map(check_host, allow_host or []))
    origins = frozenset(map(check_origin, allow_origin or []))
    listening, bound = listen(address)
    policy = HostPolicy(bound, hosts, origins)
    freshness = Freshness(ttl, private=token is not None)
    server = skills_server(gateway.library, freshness=freshness, offering=offering)
    endpoint = _Endpoint(listening, policy, token)
    _run(lambda: _over_http(gateway, server, endpoint))
    return 0


def _budget(tokens: int) -> int:
    if tokens < 0:
        raise UsageError(f"`--catalog-tokens` is {tokens}", hint="say how many tokens, 0 for an empty list")
    return tokens


def _configuration(config: Path | None, *, no_config: bool, allow_config: bool) -> ConfigFile | None:
    """Return the configuration file to use, if any. Raises `UsageError`."""
    if no_config and allow_config:
        hint = "leave one of them out: what is changed is kept in the configuration file"
        raise UsageError("`--allow-config` and `--no-config` contradict each other", hint=hint)
    if config is not None and no_config:
        raise UsageError("`--config` and `--no-config` contradict each other", hint="leave one of them out")
    if no_config:
        return None
    if config is not None and not config.exists():
        talk().print(f"the configuration file `{config}` does not exist; nothing is configured")
    return ConfigFile(config or default_config())


def _live_skills(http: str | None, *, static: bool) -> LiveSkills:
    if http is None:
        hint = "programs connect over the network: add `--http 8765`"
        raise UsageError("`--drive` needs `--http`", hint=hint)
    if static:
        hint = "live skills come and go: leave one of them out"
        raise UsageError("`--drive` and `--static` contradict each other", hint=hint)
    return LiveSkills()


@dataclass(frozen=True, slots=True)
class _Endpoint:
    listening: socket.socket
    policy: HostPolicy
    token: str | None


def _refuse_without_http(
    token_env: str | None, allow_host: list[str] | None, allow_origin: list[str] | None, *, allow_public: bool
) -> None:
    given = {
        "--token-env": token_env,
        "--allow-public": allow_public,
        "--allow-host": allow_host,
        "--allow-origin": allow_origin,
    }
    if option := next((option for option, value in given.items() if value), None):
        hint = "stdio has one client, and that one started the server"
        raise UsageError(f"`{option}` needs `--http`", hint=hint)


def _run(serving: Callable[[], Awaitable[None]]) -> None:
    """Run the event loop; uvloop where it is to be had."""
    anyio.run(serving, backend_options={"use_uvloop": find_spec("uvloop") is not None})


async def _over_stdio(gateway: Gateway, server: Server[Any]) -> None:
    await start(gateway)
    if sys.stdin.isatty():
        talk().print("waiting for an MCP client on stdin; end with Ctrl-D. To look around, add `--http 8765`")
    with anyio.CancelScope() as scope:
        async with on_stop_signal(scope.cancel):
            await serve_stdio(server)


async def _over_http(gateway: Gateway, server: Server[Any], endpoint: _Endpoint) -> None:
    await start(gateway)
    live = gateway.live
    private = endpoint.token is not None or endpoint.policy.bound.is_loopback
    annexes = [page_annex(gateway.overview(show_places=private), endpoint.token)]
    if live is not None:
        annexes.append(drive_annex(live, endpoint.token))
    annex = joined(annexes)
    app = http_app(server, endpoint.policy, endpoint.token, annex)
    authority = endpoint.policy.bound.authority

    def announce() -> None:
        if live is not None:
            talk().print(f"programs connect to ws://{authority}")
        talk().print(f"open http://{authority}/ in a browser to see the skills")
        talk().print(f"serving on http://{authority}{MCP_PATH}")

    if live is not None:
        allow_connections(annex.connections)
    await serve_http(app, endpoint.listening, announce, annex)

"""`skillwire bridge`: expose the skills of several MCP servers through one."""

import os
import shlex
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from skillwire.app.areas import bridge_parts, with_area_additions
from skillwire.app.bridge_admin import BridgeAdmin
from skillwire.app.gateway import ServedLibrary, report_selection
from skillwire.app.http import Endpoint
from skillwire.app.live_report import live_lines, report_changes
from skillwire.app.process import log_to_stderr, run_loop
from skillwire.app.service import HttpOptions, Service, serve_at
from skillwire.area import ServerContext
from skillwire.cli.state import state_or_error
from skillwire.config.clients.known import KnownServers, is_address, known_servers
from skillwire.config.file import ConfigFile, default_config
from skillwire.config.library import load
from skillwire.config.server_targets import Allow, resolve_targets
from skillwire.config.settings import BRIDGES, max_file_bytes_from
from skillwire.core.patterns import Selection
from skillwire.core.problem import Rule
from skillwire.errors import StateError, UsageError
from skillwire.features.catalog_text import DEFAULT_TOKENS
from skillwire.features.prompt_messages import PromptContent
from skillwire.features.resources import catalog_problems
from skillwire.host.bridge import approve_command, bridge_library
from skillwire.host.connections.target import Target
from skillwire.host.servers.link import ServerLink
from skillwire.host.session.model_text import bridged_text
from skillwire.host.store.state import State
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.protocol.messages import LIVE_TTL_MS, Freshness
from skillwire.safe_text import escape_invisible, quoted
from skillwire.server.serve_options import Channel, ServeOptions
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import (
    COMPATIBILITY,
    MODELS,
    SERVERS,
    AccessLog,
    AllowHost,
    AllowOrigin,
    AllowPublic,
    BridgedPromptContents,
    ClientTokenEnv,
    Exclude,
    Http,
    ListNonconforming,
    NoWellKnown,
    Only,
    validate_budget,
)
from skillwire.terminal.output import stderr_console

_MAX_BRIDGES = 4
"""Maximum number of bridges in a chain.

Without a limit, a bridge that leads back to itself would start processes forever.
"""
_SHOWN = 5
"""Maximum number of skills that are printed at startup for each reason why they are not offered.

`skillwire://problems` lists all of them.
"""


def bridge(
    servers: Annotated[
        list[str] | None,
        Parameter(name="SERVER", help="Label or URL of a server, or `--` and the command that starts it."),
    ] = None,
    /,
    *,
    trust: Annotated[
        list[str] | None,
        Parameter(
            group=SERVERS,
            name="--trust",
            metavar="LABEL",
            help="Offer all skills from this server to every client, without approval (repeatable).",
        ),
    ] = None,
    only: Only = None,
    exclude: Exclude = None,
    http: Http = None,
    catalog: Annotated[
        Literal["instructions", "tool-description"],
        Parameter(
            group=MODELS, metavar="PLACE", show_default=True, help="Where models find the list of skills."
        ),
    ] = "instructions",
    catalog_tokens: Annotated[
        int,
        Parameter(
            group=MODELS, metavar="N", show_default=True, help="Maximum length of that list, in tokens."
        ),
    ] = DEFAULT_TOKENS,
    prompt_content: BridgedPromptContents = "resource",
    no_drafts: Annotated[
        bool,
        Parameter(
            group=COMPATIBILITY,
            help="Do not serve the index and manifests of earlier drafts of the extension.",
        ),
    ] = False,
    list_nonconforming: ListNonconforming = False,
    allow: Allow = None,
    server_token_env: Annotated[
        str | None,
        Parameter(
            group=SERVERS,
            metavar="VARIABLE",
            help="Environment variable with the bearer token to send to the server's URL.",
        ),
    ] = None,
    token_env: ClientTokenEnv = None,
    allow_public: AllowPublic = False,
    allow_host: AllowHost = None,
    allow_origin: AllowOrigin = None,
    no_well_known: NoWellKnown = False,
    access_log: AccessLog = False,
) -> int:
    """Expose the skills of several MCP servers through one.

    Hosts that support the Skills extension get every verified skill, at a URI that begins with its server's
    label (`skill://LABEL/…`). These hosts ask their users for approval themselves. All other clients use
    tools, prompts and instructions, which offer only the skills that you approved with `skillwire approve`,
    and all skills from servers that you `--trust`.

    With `--http`, pages in a browser show the servers, their skills, and which skills are not approved.

    If a server cannot be reached, `skillwire://problems` reports it. The skills appear when the server is
    back.

    For example:

    ```
    skillwire bridge github acme
    skillwire bridge https://example.com/mcp --trust example.com-mcp
    skillwire bridge acme --http 8765
    skillwire bridge -- python server.py
    ```
    """
    log_to_stderr()
    targets = _targets(servers or [], allow, server_token_env)
    trusted = _trusted(trust or [], targets)
    serve_options = ServeOptions(
        Channel(catalog),
        validate_budget(catalog_tokens),
        max_file_bytes_from(os.environ),
        prompt_content=PromptContent(prompt_content),
        drafts=not no_drafts,
        frame=bridged_text,
        list_nonconforming=list_nonconforming,
    )
    serve_options = with_area_additions(serve_options, ConfigFile(default_config()))
    selection = Selection(only or (), exclude or ())
    endpoint = HttpOptions(http, token_env, allow_public, allow_host, allow_origin, access_log).endpoint()
    os.environ[BRIDGES] = f"{os.environ.get(BRIDGES, '')}+"  # one character for each bridge in the chain
    with state_or_error() as state:
        run_loop(_Bridge(targets, state, trusted, serve_options, endpoint, not no_well_known, selection).run)
    return 0


@dataclass(frozen=True, slots=True)
class _Bridge:
    """A bridge with checked options. `run` serves clients until the process ends."""

    targets: Sequence[Target]
    state: State | StateError
    """The stored approvals and logins, or the error that prevents their use.

    The bridge serves in both cases.
    """
    trusted: Collection[str]
    serve_options: ServeOptions
    endpoint: Endpoint | None
    well_known: bool
    selection: Selection

    async def run(self) -> None:
        async with AsyncExitStack() as stack:
            links = [
                await stack.enter_async_context(ServerLink(target, drafts=True)) for target in self.targets
            ]
            format_command = _approve_command_for(known_servers(os.environ))
            state, failure = (self.state, None) if isinstance(self.state, State) else (None, self.state)
            library = await bridge_library(
                links, state, self.trusted, format_command, failure, selection=self.selection
            )
            _print_summary(await load(library), len(links))
            report_selection(library)
            report_changes(library, catalog_problems, live_lines())
            # Only each server knows who may see its skills, so shared caches must not store any response.
            freshness = Freshness(LIVE_TTL_MS, private=True)
            service = Service.of(
                library,
                self.serve_options,
                freshness,
                name="skillwire-bridge",
                gateway=None if self.endpoint is None else self._with_pages(library),
                well_known=self.well_known,
            )
            await serve_at(self.endpoint, service)

    def _with_pages(self, library: Library) -> ServedLibrary:
        """Return the library with what areas add to a bridge over HTTP, such as its pages."""
        admin = BridgeAdmin(library, self.targets, self.trusted)
        return ServedLibrary(ServerContext(library, admin, catalog_problems, bridge=True), bridge_parts())


def _targets(
    servers: Sequence[str], allow: Sequence[str] | None, server_token_env: str | None
) -> list[Target]:
    """Return the targets of the named servers. Raises `UsageError`, also for too long a chain of bridges."""
    if not servers:
        hint = "`skillwire servers` lists the configured ones; a URL, or `--` and a command, works as well"
        raise UsageError("name at least one server", hint=hint)
    if server_token_env is not None and (len(servers) > 1 or not is_address(servers[0])):
        hint = "name one URL, or configure the headers of each server in its client's file"
        raise UsageError("`--server-token-env` requires exactly one server, given by URL", hint=hint)
    if len(os.environ.get(BRIDGES, "")) >= _MAX_BRIDGES:
        hint = "remove the server that is this bridge itself, or leads back to it"
        raise UsageError(f"a chain of bridges is longer than {_MAX_BRIDGES}", hint=hint)
    return resolve_targets(servers, allow, server_token_env)


def _trusted(labels: Sequence[str], targets: Sequence[Target]) -> frozenset[str]:
    known = [target.label for target in targets]
    if unknown := next((label for label in labels if label not in known), None):
        named = ", ".join(map(quoted, known))
        raise UsageError(
            f"`--trust {escape_invisible(unknown)}` is not the label of a named server",
            hint=f"the labels are {named}",
        )
    return frozenset(labels)


def _approve_command_for(known: KnownServers) -> Callable[[Target, str], str]:
    """Return a function that formats the command to approve a skill.

    If no client's file names the server, the command contains the server's URL or command. `COMMAND` stands
    for a command with words that may be secret.
    """

    def command(target: Target, skill: str) -> str:
        approve = approve_command(target, skill)
        if target.label in known.labels:
            return approve
        if target.url is not None:
            return f"{approve} --from {shlex.quote(target.as_written)}"
        # Clients see this text. Any word that is not a file name may be a secret.
        is_public = all(Path(target.cwd or "", word).is_file() for word in target.command[1:])
        return f"{approve} -- {target.as_written if is_public else 'COMMAND'}"

    return command


def _print_summary(catalog: Catalog, servers: int) -> None:
    """Print the numbers of skills, the errors of servers and state, and why some skills are not offered."""
    console = stderr_console()
    withheld = [catalog.withheld_report(entry) for entry in catalog.withheld]
    offered = len(catalog.entries) - len(withheld)
    every = f"{pluralize(len(catalog.entries), 'skill')} of {pluralize(servers, 'server')}"
    console.print(f"{every}; {offered:,} offered to models and people")
    for problem in catalog.problems:
        if problem.rule in {Rule.SOURCE_FAILED, Rule.SERVER_LIST, Rule.STATE_FAILED}:
            console.print(Text(str(problem)))
    held_back = [problem for problem in catalog.problems if problem.rule is Rule.NOT_PASSED_ON]
    for problem in held_back[:_SHOWN]:
        console.print(Text(escape_invisible(f"{problem.path}: {problem.message}; {problem.hint}")))
    if len(held_back) > _SHOWN:
        console.print(f"and {len(held_back) - _SHOWN:,} more, all in `skillwire://problems`")
    for report in withheld[:_SHOWN]:
        console.print(Text(escape_invisible(f"{report['path']}: {report['message']}; {report['hint']}")))
    if len(withheld) > _SHOWN:
        console.print(f"and {len(withheld) - _SHOWN:,} more, all in `skillwire://problems`")

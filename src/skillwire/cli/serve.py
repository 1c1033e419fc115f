"""`skillwire serve`: folders of skills as an MCP server."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from skillwire.catalog.library import Library
from skillwire.catalog.register import Terms
from skillwire.catalog.visibility import VisibilityPolicy
from skillwire.cli.contract.starting import hold_to_contract, terms_of
from skillwire.cli.endpoint import AllowHost, AllowOrigin, AllowPublic, ClientTokenEnv, Http, Reachable
from skillwire.cli.library import LibraryOptions, keep_out_of_the_collector, load, open_library
from skillwire.cli.options import BlockKey
from skillwire.cli.output import NO_SKILLS, check_shows, counted, talk
from skillwire.cli.running import checked_budget, log_to_stderr, run, serve_at
from skillwire.cli.service import Service
from skillwire.config.file import ConfigFile, default_config
from skillwire.config.settings import max_file_bytes_from
from skillwire.config.visibility import overrides_in
from skillwire.contract.subject import BLOCK_KEY
from skillwire.model.display import visible
from skillwire.model.errors import UsageError
from skillwire.model.problem import Rule, Severity
from skillwire.server.offering import Channel, Offering
from skillwire.sources.unavailable import UnavailableSource
from skillwire.surfaces.catalog_text import DEFAULT_TOKENS
from skillwire.wire.messages import LIVE_TTL_MS, STATIC_TTL_MS, Freshness

if TYPE_CHECKING:
    from skillwire.drive.live import LiveSkills

_SWITCH_SECONDS = 0.001
"""How long a request waits, at most, for each turn of a thread that looks at folders meanwhile."""
_OF_A_SOURCE = {Rule.SOURCE_FAILED, Rule.SOURCE_STALE}
"""What is said of a source at the start, in full: it concerns all of its skills."""


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
    http: Http = None,
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
    no_lane: Annotated[
        bool, Parameter(help="Answer every request through the MCP SDK, keeping no answers ready.")
    ] = False,
    drive: Annotated[
        bool, Parameter(help="Let running programs connect and offer live skills. Needs `--http`.")
    ] = False,
    token_env: ClientTokenEnv = None,
    allow_public: AllowPublic = False,
    allow_host: AllowHost = None,
    allow_origin: AllowOrigin = None,
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
    log_to_stderr()
    file = _configuration(config, no_config=no_config)
    live = _live_skills(http, static=static) if drive else None
    options = LibraryOptions(
        follow_links=follow_links,
        prefix=prefix,
        live=not static,
        frozen=static,
        may_be_none=live is not None,
    )
    library = open_library(sources or [], options, file, None if live is None else live.source)
    offering = Offering(
        Channel(catalog),
        checked_budget(catalog_tokens),
        max_file_bytes_from(os.environ),
        VisibilityPolicy() if file is None else VisibilityPolicy(overrides_in(file)),
        drafts=not no_drafts,
        archives=archives,
        legacy_uris=legacy_uris,
        contract=terms,
        tools=() if live is None else import_module("skillwire.drive.bridge").bridge_tools(live.hub),
    )
    reachable = Reachable(http, token_env, allow_public, allow_host, allow_origin)
    endpoint = reachable.endpoint(lets_programs_in=live is not None)
    private = endpoint is not None and endpoint.token is not None
    freshness = Freshness(STATIC_TTL_MS if static else LIVE_TTL_MS, private)
    service = Service.of(library, offering, freshness, with_lane=not no_lane, live=live)

    async def serving() -> None:
        await _start(library, terms, expecting=live is not None)
        await serve_at(endpoint, service)

    run(serving)
    return 0


def _configuration(config: Path | None, *, no_config: bool) -> ConfigFile | None:
    """Return the configuration file to use, if any. Raises `UsageError`."""
    if config is not None and no_config:
        raise UsageError("`--config` and `--no-config` contradict each other", hint="leave one of them out")
    if no_config:
        return None
    if config is not None and not config.exists():
        talk().print(f"the configuration file `{config}` does not exist; nothing is configured")
    return ConfigFile(config or default_config())


def _live_skills(http: str | None, *, static: bool) -> "LiveSkills":
    if http is None:
        hint = "programs connect over the network: add `--http 8765`"
        raise UsageError("`--drive` needs `--http`", hint=hint)
    if static:
        hint = "live skills come and go: leave one of them out"
        raise UsageError("`--drive` and `--static` contradict each other", hint=hint)
    from skillwire.drive.live import LiveSkills  # noqa: PLC0415 - most servers have none

    return LiveSkills()


async def _start(library: Library, terms: Terms | None, *, expecting: bool = False) -> None:
    """Load the library and say what there is. With `expecting`, skills come later."""
    catalog = await load(library)
    if terms is not None:
        hold_to_contract(library, terms)
    library.listen(lambda _: keep_out_of_the_collector())
    sys.setswitchinterval(_SWITCH_SECONDS)
    console = talk()
    console.print(counted(len(catalog.entries), "skill"))
    for source in library.waited_for:
        console.print(f"waiting for `{visible(source.place)}`, which does not exist")
    for source in library.sources:
        if isinstance(source, UnavailableSource):
            console.print(f"`{visible(source.place)}` is not served: {visible(source.reason)}")
    for problem in catalog.problems:
        if problem.rule in _OF_A_SOURCE:
            console.print(visible(problem.message))
    if library.frozen and any(problem.rule is Rule.SOURCE_FAILED for problem in catalog.problems):
        hint = "with `--static` nobody would ask again; mend the source, or leave `--static` out"
        raise UsageError("a source has no skills to freeze", hint=hint)
    told = [problem for problem in catalog.problems if problem.rule is not Rule.SOURCE_WAITING]
    errors = sum(problem.severity is Severity.ERROR for problem in told)
    warnings = len(told) - errors
    if errors or warnings:
        counts = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
        console.print(f"{counts}; {check_shows(library)} them")
    elif not catalog.entries and not library.waited_for and not expecting:
        console.print(NO_SKILLS)

"""`skillwire serve`: folders of skills as an MCP server."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from cyclopts import Parameter

from skillwire.app.areas import serve_parts
from skillwire.app.gateway import open_served_library, start
from skillwire.app.process import log_to_stderr
from skillwire.app.service import HttpOptions, Service, serve_service
from skillwire.area import ServeRequest
from skillwire.config.file import ConfigFile, default_config
from skillwire.config.settings import ServeChoices, max_file_bytes_from, serve_choices
from skillwire.config.source_config import LibraryOptions
from skillwire.errors import UsageError
from skillwire.features.catalog_text import DEFAULT_TOKENS
from skillwire.features.prompts import PromptContent
from skillwire.features.tools import SkillTools
from skillwire.protocol.messages import LIVE_TTL_MS, STATIC_TTL_MS, Freshness
from skillwire.safe_text import escape_invisible
from skillwire.server.serve_options import Channel, ServeOptions
from skillwire.terminal.messages import print_notice
from skillwire.terminal.options import (
    AllowHost,
    AllowOrigin,
    AllowPublic,
    ClientTokenEnv,
    Http,
    ListNonconforming,
    NoWellKnown,
    PromptContents,
    validate_budget,
)


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
        Literal["instructions", "tool-description"] | None,
        Parameter(help="Where models find the list of skills."),
    ] = None,
    catalog_tokens: Annotated[int, Parameter(help="How long that list may be, in tokens.")] = DEFAULT_TOKENS,
    tools: Annotated[
        Literal["always", "auto", "never"] | None,
        Parameter(help="Who gets the tools that load skills; `auto`: clients without the extension."),
    ] = None,
    prompt_content: PromptContents = "resource",
    no_drafts: Annotated[bool, Parameter(help="Leave out the index and manifests for early hosts.")] = False,
    archives: Annotated[bool, Parameter(help="Let every skill be read as one archive, too.")] = False,
    list_nonconforming: ListNonconforming = False,
    legacy_uris: Annotated[
        bool, Parameter(help="Answer at addresses from before the extension: `skill://NAME`.")
    ] = False,
    config: Annotated[
        Path | None, Parameter(help="The configuration file to use instead of your own.")
    ] = None,
    no_config: Annotated[bool, Parameter(help="Use no configuration file.")] = False,
    allow_config: Annotated[
        bool, Parameter(help="Let pages and their tools change what is served, and the configuration file.")
    ] = False,
    no_cache: Annotated[
        bool, Parameter(help="Answer every request through the MCP SDK, keeping no answers ready.")
    ] = False,
    token_env: ClientTokenEnv = None,
    allow_public: AllowPublic = False,
    allow_host: AllowHost = None,
    allow_origin: AllowOrigin = None,
    no_well_known: NoWellKnown = False,
    areas: Annotated[Mapping[str, object], Parameter(parse=False)] = MappingProxyType({}),
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
    ```
    """
    log_to_stderr()
    choices = _choices(static=static, catalog=catalog, tools=tools, http=http)
    static, http = choices.static, choices.http
    parts = serve_parts(areas, ServeRequest(http is not None, static, allow_config))
    file = _configuration(config, no_config=no_config, allow_config=allow_config)
    options = LibraryOptions(
        follow_links=follow_links,
        prefix=prefix,
        live=not static,
        frozen=static,
        allow_empty=allow_config,
    )
    gateway = open_served_library(sources or [], options, file, parts=parts, editable=allow_config)
    serve_options = ServeOptions(
        Channel(choices.catalog),
        validate_budget(catalog_tokens),
        max_file_bytes_from(os.environ),
        skill_tools=SkillTools(choices.tools),
        prompt_content=PromptContent(prompt_content),
        drafts=not no_drafts,
        archives=archives,
        list_nonconforming=list_nonconforming,
        legacy_uris=legacy_uris,
        additions=gateway.additions,
    )
    reachable = HttpOptions(http, token_env, allow_public, allow_host, allow_origin)
    endpoint = reachable.endpoint(lets_in=next((part.lets_in for part in parts if part.lets_in), ""))
    private = endpoint is not None and endpoint.token is not None
    freshness = Freshness(STATIC_TTL_MS if static else LIVE_TTL_MS, private)
    service = Service.of(
        gateway.library,
        serve_options,
        freshness,
        cache=not no_cache,
        gateway=gateway,
        well_known=not no_well_known,
    )
    serve_service(service, endpoint, before=partial(start, gateway))
    return 0


def _choices(*, static: bool, catalog: str | None, tools: str | None, http: str | None) -> ServeChoices:
    """Return what the options and the environment say, and report what the latter changed."""
    choices = serve_choices(os.environ, static=static, catalog=catalog, tools=tools, http=http)
    for line in choices.told:
        print_notice(line)
    if choices.tools == "never" and choices.catalog == "tool-description":
        raise UsageError(
            "`--catalog tool-description` needs the tool `load-skill`, which `--tools never` removes",
            hint="drop one of the two options",
        )
    return choices


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
        print_notice(
            f"the configuration file `{escape_invisible(str(config))}` does not exist; nothing is configured"
        )
    return ConfigFile(config or default_config())

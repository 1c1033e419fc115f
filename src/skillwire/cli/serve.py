"""`skillwire serve`: serve skills to MCP clients."""

import os
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Literal

from cyclopts import Parameter

from skillwire.app.areas import serve_parts
from skillwire.app.gateway import open_served_library, start
from skillwire.app.process import log_to_stderr
from skillwire.app.service import HttpOptions, Service, serve_service
from skillwire.area import ServeRequest
from skillwire.config.choice import ConfigChoice, ConfigFlags, ConfigOptions
from skillwire.config.file import SourceSettings
from skillwire.config.settings import ServeChoices, max_file_bytes_from, serve_choices
from skillwire.config.source_config import LibraryOptions
from skillwire.config.typed_sources import typed_sources
from skillwire.core.patterns import Selection
from skillwire.errors import UsageError
from skillwire.features.catalog_text import DEFAULT_TOKENS
from skillwire.features.prompt_messages import PromptContent, PromptScope
from skillwire.features.tools import SkillTools
from skillwire.features.whole_prompts import DEFAULT_PROMPT_TOKENS
from skillwire.protocol.messages import LIVE_TTL_MS, STATIC_TTL_MS, Freshness
from skillwire.server.serve_options import Channel, ServeOptions
from skillwire.terminal.messages import pluralize, print_notice
from skillwire.terminal.options import (
    COMPATIBILITY,
    CONFIGURATION,
    MODELS,
    SELECTION,
    AccessLog,
    AllowHost,
    AllowOrigin,
    AllowPublic,
    ClientTokenEnv,
    Exclude,
    Http,
    ListNonconforming,
    NoWellKnown,
    Only,
    Pin,
    PromptContents,
    validate_budget,
)


def serve(
    sources: Annotated[
        list[str] | None,
        Parameter(
            name="SOURCE",
            help="Folder, archive, repository, website or server with skills. Default: `SKILLS_DIR` and the "
            "configuration file.",
        ),
    ] = None,
    /,
    *,
    http: Http = None,
    static: Annotated[
        bool,
        Parameter(
            group=SELECTION,
            help="Do not change the list of skills after startup. Changed files are still served.",
        ),
    ] = False,
    prefix: Annotated[
        str | None,
        Parameter(
            group=SELECTION, metavar="PATH", help="Add this path before the URI paths of these skills."
        ),
    ] = None,
    follow_links: Annotated[
        bool, Parameter(group=SELECTION, help="Follow symbolic links that lead outside the folders.")
    ] = False,
    include_evals: Annotated[
        bool,
        Parameter(group=SELECTION, help="Serve the folder `evals` of each skill, too. Only for folders."),
    ] = False,
    only: Only = None,
    exclude: Exclude = None,
    catalog: Annotated[
        Literal["instructions", "tool-description"] | None,
        Parameter(
            group=MODELS,
            metavar="PLACE",
            show_default="instructions",
            help="Where models find the list of skills.",
        ),
    ] = None,
    catalog_tokens: Annotated[
        int,
        Parameter(
            group=MODELS, metavar="N", show_default=True, help="Maximum length of that list, in tokens."
        ),
    ] = DEFAULT_TOKENS,
    pin: Pin = None,
    tools: Annotated[
        Literal["always", "auto", "never"] | None,
        Parameter(
            group=MODELS,
            metavar="WHEN",
            show_default="always",
            help="Which clients get the tools that load skills. `auto`: clients without the extension.",
        ),
    ] = None,
    prompt_content: PromptContents = "resource",
    prompts: Annotated[
        Literal["document", "whole"],
        Parameter(
            group=MODELS,
            metavar="SCOPE",
            show_default=True,
            help="What a prompt contains: the `SKILL.md`, or the whole skill for clients with prompts only.",
        ),
    ] = "document",
    prompt_tokens: Annotated[
        int | None,
        Parameter(
            group=MODELS,
            metavar="N",
            show_default=f"{DEFAULT_PROMPT_TOKENS}",
            help="Maximum tokens of a prompt with a whole skill. A larger skill's prompt is its `SKILL.md`.",
        ),
    ] = None,
    no_drafts: Annotated[
        bool,
        Parameter(
            group=COMPATIBILITY,
            help="Do not serve the index and manifests of earlier drafts of the extension.",
        ),
    ] = False,
    archives: Annotated[
        bool, Parameter(group=COMPATIBILITY, help="Also offer every skill as one archive.")
    ] = False,
    list_nonconforming: ListNonconforming = False,
    legacy_uris: Annotated[
        bool,
        Parameter(
            group=COMPATIBILITY, help="Also accept `skill://NAME`, the form of URIs before the extension."
        ),
    ] = False,
    scheme: Annotated[
        str | None,
        Parameter(
            group=COMPATIBILITY,
            metavar="NAME",
            show_default="skill",
            help="Scheme of all skill URIs, such as `github`.",
        ),
    ] = None,
    authority: Annotated[
        str | None,
        Parameter(
            group=COMPATIBILITY,
            metavar="PATH",
            help="What follows that scheme, before the skill: `OWNER/REPO`.",
        ),
    ] = None,
    config: ConfigOptions = None,
    allow_config: Annotated[
        bool,
        Parameter(
            group=CONFIGURATION,
            help="Let the pages and their tools change the configuration file and what is served. Implies "
            "`--with-config`.",
        ),
    ] = False,
    no_cache: Annotated[
        bool, Parameter(help="Do not cache responses. The MCP SDK answers every request.")
    ] = False,
    token_env: ClientTokenEnv = None,
    allow_public: AllowPublic = False,
    allow_host: AllowHost = None,
    allow_origin: AllowOrigin = None,
    no_well_known: NoWellKnown = False,
    access_log: AccessLog = False,
    areas: Annotated[Mapping[str, object], Parameter(parse=False)] = MappingProxyType({}),
) -> int:
    """Serve skills to MCP clients over stdio or HTTP, and notify clients of changes.

    Serves the sources that you name. If you name none, serves those in `SKILLS_DIR` and those that you added
    with `skillwire sources`. Follows changes to the configuration file.

    Without `--http`, the server uses stdin and stdout. Add this command to your client's configuration, so
    that the client starts the server. The server stops when the client closes stdin.

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
    chosen = _configuration(config, named=bool(sources), allow_config=allow_config)
    options = LibraryOptions(
        follow_links=follow_links,
        include_evals=include_evals,
        prefix=prefix,
        live=not static,
        frozen=static,
        configured_sources=chosen.sources,
        allow_empty=allow_config,
    )
    gateway = open_served_library(
        typed_sources(sources or []),
        options,
        chosen.file,
        parts=parts,
        editable=allow_config,
        selection=Selection(only or (), exclude or ()),
    )
    configured = () if chosen.file is None else SourceSettings.read(chosen.file).pinned
    pinned = [*(pin or ()), *configured]
    serve_options = ServeOptions(
        Channel(choices.catalog),
        validate_budget(catalog_tokens),
        max_file_bytes_from(os.environ),
        skill_tools=SkillTools(choices.tools),
        prompt_content=PromptContent(prompt_content),
        prompt_scope=PromptScope(prompts),
        prompt_tokens=_prompt_tokens(prompts, prompt_tokens),
        drafts=not no_drafts,
        archives=archives,
        list_nonconforming=list_nonconforming,
        legacy_uris=legacy_uris,
        scheme=scheme,
        authority=authority,
        pinned=pinned,
        additions=gateway.additions,
    )
    reachable = HttpOptions(http, token_env, allow_public, allow_host, allow_origin, access_log)
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
    serve_service(service, endpoint, before=partial(start, gateway, pinned))
    return 0


def _prompt_tokens(prompts: str, tokens: int | None) -> int:
    """Return the size limit of a prompt in tokens. Raises `UsageError`."""
    if tokens is None:
        return DEFAULT_PROMPT_TOKENS
    if prompts != "whole":
        raise UsageError("`--prompt-tokens` has no effect", hint="add `--prompts whole`, or remove it")
    if tokens < 0:
        raise UsageError(f"`--prompt-tokens` is {tokens}, which is negative", hint="use a number from 0 on")
    return tokens


def _choices(*, static: bool, catalog: str | None, tools: str | None, http: str | None) -> ServeChoices:
    """Return the settings from options and environment. Print each variable that changed a setting.

    Raises `UsageError` for invalid values and settings that contradict each other.
    """
    choices = serve_choices(os.environ, static=static, catalog=catalog, tools=tools, http=http)
    for line in choices.messages:
        print_notice(line)
    if choices.tools == "never" and choices.catalog == "tool-description":
        raise UsageError(
            "`--catalog tool-description` needs the tool `load-skill`, which `--tools never` removes",
            hint="remove one of the two options",
        )
    return choices


def _configuration(flags: ConfigFlags | None, *, named: bool, allow_config: bool) -> ConfigChoice:
    """Return what to take from the configuration file. Raises `UsageError`.

    With `allow_config`, the sources in the file are served, because the pages add sources to it.
    """
    flags = flags or ConfigFlags()
    if flags.no_config and allow_config:
        hint = "remove one of them: changes are saved in the configuration file"
        raise UsageError("`--allow-config` and `--no-config` contradict each other", hint=hint)
    chosen = flags.choose(named=named and not allow_config)
    if chosen.file is not None and not chosen.sources:
        configured = len(SourceSettings.read(chosen.file).sources)
        if configured:
            not_served = f"{pluralize(configured, 'source')} in the configuration file not served"
            print_notice(f"{not_served}, because you name others; add `--with-config` to serve them too")
    return chosen

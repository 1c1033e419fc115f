"""A server that is built on first use, and functions that serve it over stdio or HTTP."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio

from skillwire import __version__
from skillwire.app.process import run_loop
from skillwire.config.settings import DEFAULT_ADDRESS, DEFAULT_PORT
from skillwire.core.problem import Rule
from skillwire.core.process import freeze_survivors, is_ours, keep_until_end
from skillwire.errors import UnreadError, UsageError
from skillwire.features.base import Feature
from skillwire.library.library import Library
from skillwire.protocol.messages import Freshness
from skillwire.safe_text import escape_invisible, quoted
from skillwire.server.response_cache import ResponseCache
from skillwire.server.serve_options import NAME, ServeOptions, all_features
from skillwire.server.signals import on_stop_signal
from skillwire.server.stdio.serve import serve_following
from skillwire.terminal.messages import pluralize, print_notice

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from skillwire.app.gateway import ServedLibrary
    from skillwire.app.http import Endpoint
    from skillwire.authoring.skill import Skill


_SHOWN_PROBLEMS = 10
"""Maximum number of problems that are printed at startup."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """The options for serving over HTTP."""

    http: str | None = None
    """`[HOST:]PORT`, `DEFAULT_ADDRESS` for the default port, or None for stdio."""
    token_env: str | None = None
    allow_public: bool = False
    allow_host: list[str] | None = None
    allow_origin: list[str] | None = None
    access_log: bool = False

    def endpoint(self, lets_in: str = "") -> "Endpoint | None":
        """Start listening and return the HTTP endpoint; None for stdio. Raises `UsageError`.

        `lets_in` describes what clients without a token could do besides reading skills. Empty if they could
        do nothing else.
        """
        if self.http is None:
            self._refuse_without_http()
            return None
        from skillwire.app.http import bind_endpoint  # noqa: PLC0415 - not needed for stdio

        address = str(DEFAULT_PORT) if self.http == DEFAULT_ADDRESS else self.http
        return bind_endpoint(address, self, lets_in)

    def _refuse_without_http(self) -> None:
        """Raise `UsageError` if an HTTP option is set for a server over stdio."""
        http_options = {
            "--token-env": self.token_env,
            "--allow-public": self.allow_public,
            "--allow-host": self.allow_host,
            "--allow-origin": self.allow_origin,
            "--access-log": self.access_log,
        }
        if option := next((option for option, value in http_options.items() if value), None):
            hint = "on stdio, the only client is the program that started the server"
            raise UsageError(f"`{option}` needs `--http`", hint=hint)


def program_endpoint(
    http: str | None,
    token: str | None = None,
    allow_hosts: Sequence[str] = (),
    allow_origins: Sequence[str] = (),
) -> "Endpoint | None":
    """Start listening, with settings from Python code, and return the HTTP endpoint; None for stdio.

    Raises `UsageError`.
    """
    if http is None:
        http_options = {"token": token, "allow_hosts": allow_hosts, "allow_origins": allow_origins}
        if option := next((option for option, value in http_options.items() if value), None):
            hint = "on stdio, the only client is the program that started the server"
            raise UsageError(f"`{option}` needs `http`", hint=hint)
        return None
    from skillwire.app.http import bind_for_program  # noqa: PLC0415 - not needed for stdio

    return bind_for_program(http, token, allow_hosts, allow_origins)


@dataclass(slots=True)
class _SdkServer:
    """Holds the SDK's server once it is built."""

    made: "Server[Any] | None" = None


@dataclass(frozen=True, slots=True)
class Service:
    """A server that is built on first use. The MCP SDK is not loaded before then."""

    library: Library
    features: Sequence[Feature]
    freshness: Freshness = Freshness()  # noqa: RUF009 - a frozen value
    name: str = NAME
    version: str = __version__
    instructions: str | None = None
    cache: ResponseCache | None = None
    gateway: "ServedLibrary | None" = None
    """The served library with its product areas, for their HTTP routes; None if there are no areas."""
    well_known: bool = True
    """Whether skills can be installed over HTTP from `/.well-known/agent-skills/`."""
    sdk: _SdkServer = field(default_factory=_SdkServer, repr=False)

    @classmethod
    def of(
        cls,
        library: Library,
        options: ServeOptions | None,
        freshness: Freshness | None = None,
        *,
        name: str = NAME,
        version: str = __version__,
        instructions: str | None = None,
        prompts: "Mapping[str, Skill] | None" = None,
        cache: bool = True,
        gateway: "ServedLibrary | None" = None,
        well_known: bool = True,
    ) -> "Service":
        """Return a service for a library. If `options` is None, the service has no features."""
        features = [] if options is None else all_features(library, options, prompts)
        service = cls(
            library,
            features,
            freshness or Freshness(),
            name,
            version,
            instructions,
            gateway=gateway,
            well_known=well_known,
        )
        return service.for_run(cache=cache)

    def for_run(self, *, cache: bool, private: bool = False) -> "Service":
        """Return a copy with a new response cache, or with none if `cache` is False or there are no features.

        With `private`, shared HTTP caches must not store responses.
        """
        freshness = replace(self.freshness, private=True) if private else self.freshness
        made: ResponseCache | None = None
        if cache and self.features:
            made = ResponseCache(self.features, freshness, name=self.name, version=self.version)
        return replace(self, freshness=freshness, cache=made)

    def server(self) -> "Server[Any]":
        """Return the SDK's server. The first call loads the SDK and builds the server."""
        if (made := self.sdk.made) is None:
            made = self.sdk.made = import_module("skillwire.server.build").skills_server(
                self.library,
                name=self.name,
                version=self.version,
                instructions=self.instructions,
                freshness=self.freshness,
                features=self.features,
                cache=self.cache,
            )
        return made

    def usable_cache(self) -> ResponseCache | None:
        """Return the response cache.

        Return None if there is none, or if the SDK's server was changed after it was built.
        """
        made = self.sdk.made
        if made is not None and import_module("skillwire.server.build").cached_skills(made) is None:
            return None
        return self.cache


def serve_service(
    service: Service, endpoint: "Endpoint | None", *, before: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Configure the process, and serve until the client disconnects or a signal to stop arrives.

    `before` is called first. If it is None, the library is loaded and its problems are reported.
    """

    async def load() -> None:
        await service.library.ensure_loaded()
        _report_problems(service.library)
        if is_ours():
            freeze_survivors()

    async def serving() -> None:
        await (before or load)()
        await serve_at(endpoint, service)

    keep_until_end(service)
    run_loop(serving)


def _report_problems(library: Library) -> None:
    """Print the sources that do not exist, and the first problems in the catalog."""
    for source in library.pending_sources:
        print_notice(f"waiting for {quoted(source.place)}, which does not exist")
    problems = [each for each in library.catalog.problems if each.rule is not Rule.SOURCE_WAITING]
    for problem in problems[:_SHOWN_PROBLEMS]:
        print_notice(
            f"{problem.severity}: {problem}" + (f"; {escape_invisible(problem.hint)}" if problem.hint else "")
        )
    if (more := len(problems) - _SHOWN_PROBLEMS) > 0:
        print_notice(f"and {pluralize(more, 'more problem')}")


async def serve_at(endpoint: "Endpoint | None", service: Service) -> None:
    """Serve over HTTP at the endpoint, or over stdio if `endpoint` is None.

    Loads the library first if it is not loaded yet.
    """
    await service.library.ensure_loaded()
    stop_listening = service.library.listen(lambda _: freeze_survivors()) if is_ours() else None
    failure: Exception | None = None
    try:
        async with anyio.create_task_group() as tasks:
            if service.gateway is not None:
                tasks.start_soon(service.gateway.admin.follow)
            try:
                if endpoint is None:
                    await _over_stdio(service)
                else:
                    await import_module("skillwire.app.http").serve_over_http(service, endpoint)
            except Exception as error:  # noqa: BLE001 - the task group would wrap it in an exception group
                failure = error
            tasks.cancel_scope.cancel()
    finally:
        if stop_listening is not None:
            stop_listening()
    if failure is not None:
        raise failure


async def _over_stdio(service: Service) -> None:
    if sys.stdin.isatty():
        hint = "add `--http 8765`" if service.gateway else "serve over HTTP"
        print_notice(
            f"waiting for an MCP client on stdin; stop with Ctrl-D. To use a browser instead, {hint}"
        )
    unread: UnreadError | None = None
    with anyio.CancelScope() as scope:
        async with on_stop_signal(scope.cancel):
            try:
                await serve_following(service.library, service.server, service.usable_cache())
            except UnreadError as error:  # the task group would wrap it in an exception group
                unread = error
    if unread is not None:
        raise unread

"""`AdminService`: show and change a running server.

A change of a source or setting is first written to the configuration file, then applied. A change that others
make to the file is applied as well.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

import anyio
import anyio.to_thread

from skillwire.app.config_watch import config_problem, file_changes, read_settled, same_settings, same_sources
from skillwire.area import AddedSource
from skillwire.config.file import (
    ConfigFile,
    ConfiguredSource,
    FileSettings,
    SourceSettings,
    add_source,
    decide,
    read_overrides,
    remove_source,
    write_allowed_origins,
    write_static,
)
from skillwire.config.source_config import (
    LibraryOptions,
    OpenedSource,
    SpecOrigin,
    absolute,
    check_source_opens,
    open_sources,
    spelled,
)
from skillwire.config.source_kinds import canonical_place, is_local, is_on_github, kind_of, local_path
from skillwire.core.problem import Problem
from skillwire.errors import SkillwireError, SourceError, UsageError
from skillwire.library.library import Library
from skillwire.library.visibility import VisibilityPolicy
from skillwire.safe_text import escape_invisible, quoted, redact_secrets
from skillwire.server.admin import ServerSettings, SourceFacts
from skillwire.sources.base import Source
from skillwire.sources.placeholder import UnavailableSource

_GITHUB = "github:"
_log = logging.getLogger(__name__)


class AdminService:
    """Implements `Admin`. Sources come from arguments or the environment, a configuration file and areas."""

    def __init__(
        self,
        library: Library,
        opened: Sequence[OpenedSource],
        *,
        arguments: Sequence[str],
        options: LibraryOptions,
        file: ConfigFile | None,
        editable: bool = False,
        more: Sequence[tuple[Source, AddedSource]] = (),
        static_by_flag: bool = False,
    ) -> None:
        """Manage `library` and its sources.

        `more` are the sources that product areas add. They come after all other sources.
        """
        self._library = library
        self._opened = list(opened)
        self._arguments = arguments
        self._options = options
        self._file = file
        self._editable = editable
        self._more = more
        self._static_by_flag = static_by_flag
        self._applied = FileSettings(SourceSettings(), {}) if file is None else FileSettings.read(file)
        """The settings in the file that the library serves."""
        self._limits = self._applied.sources.limits
        self._had_file = file is not None and file.path.exists()
        self._problem: Problem | None = None
        self._listeners: list[Callable[[], None]] = []
        self._changing = anyio.Lock()

    @property
    def editable(self) -> bool:
        return self._editable and self._file is not None

    def sources(self) -> list[SourceFacts]:
        configured = [_facts(each, editable=self.editable) for each in self._opened]
        added = [
            SourceFacts(each.label, facts.kind, each.place, each.label, facts.given_by, removable=False)
            for each, facts in self._more
        ]
        return [*configured, *added]

    def settings(self) -> ServerSettings:
        return ServerSettings(
            self._library.frozen,
            "command line" if self._static_by_flag else "",
            self._applied.sources.allowed_origins,
            "" if self._file is None else escape_invisible(str(self._file.path)),
        )

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def add_source(self, source: str, label: str | None, prefix: str | None) -> None:
        file = self._editable_file()
        argument = source.strip()
        if is_local(argument) and not local_path(argument).is_absolute():
            raise UsageError(
                f"{quoted(argument)} is not an absolute path",
                hint="write a path such as `/home/you/skills` or `~/skills`",
            )
        async with self._changing:
            added = ConfiguredSource(argument, label or None, prefix or None)
            await anyio.to_thread.run_sync(check_source_opens, added)
            added = ConfiguredSource(spelled(argument), label or None, prefix or None)
            self._refuse_twice(added)
            await anyio.to_thread.run_sync(add_source, file, added)
            await self._serve_configured(file)

    async def remove_source(self, label: str) -> None:
        file = self._editable_file()
        async with self._changing:
            opened = self._named(label)
            if opened.wanted.given_by is not SpecOrigin.CONFIGURATION:
                raise UsageError(
                    f"the source {quoted(label)} comes from the {opened.wanted.given_by}",
                    hint="only sources in the configuration file can be removed here",
                )
            await anyio.to_thread.run_sync(partial(_remove, file, opened))
            await self._serve_configured(file)

    async def sync_source(self, label: str) -> None:
        self._editable_file()
        source = self._named(label).source
        try:
            await source.fetch()
        except SourceError as error:
            raise UsageError(
                f"{quoted(label)} cannot be fetched: {error}", hint="the last good copy is served"
            ) from error
        finally:
            await self._library.rescan_source(source)
            self._notify()

    async def set_visibility(self, uri: str, sides: Mapping[str, bool | None]) -> None:
        file = self._editable_file()
        if uri not in self._library.catalog.entries:
            raise UsageError(
                f"there is no skill {quoted(uri)}", hint="it may have been removed; reload the page"
            )
        async with self._changing:
            await anyio.to_thread.run_sync(decide, file, uri, sides)
            overrides = read_overrides(file)
            await self._library.set_visibility(VisibilityPolicy(overrides))
            self._applied = replace(self._applied, overrides=overrides)
            self._notify()

    async def set_allowed_origins(self, origins: Sequence[str]) -> None:
        from skillwire.sources.web.address import allowed_origin  # noqa: PLC0415 - rarely needed

        file = self._editable_file()
        checked = tuple(dict.fromkeys(allowed_origin(each.strip()) for each in origins if each.strip()))
        async with self._changing:
            await anyio.to_thread.run_sync(write_allowed_origins, file, checked)
            await self._serve_configured(file)

    async def set_static(self, *, static: bool) -> None:
        file = self._editable_file()
        if self._static_by_flag:
            raise UsageError(
                "static mode was set on the command line", hint="start the server without `--static`"
            )
        async with self._changing:
            await anyio.to_thread.run_sync(partial(write_static, file, static=static))
            await self._library.freeze(frozen=static)
            self._notify()
        if not static:
            await self.reload()  # the file was not followed until now

    async def follow(self) -> None:
        """Apply every change that others make to the configuration file, until cancelled.

        Returns at once with `--static`, or without a file.
        """
        if self._file is None or self._static_by_flag:
            return
        async with aclosing(file_changes(self._file.path)) as changes:
            async for _ in changes:
                try:
                    await self.reload()
                except Exception:  # noqa: BLE001 - the failure of a custom source must not end the service
                    _log.exception("the changed configuration file could not be applied")

    async def reload(self) -> None:
        """Apply the configuration file if it has changed, except for its limits and its static mode.

        If the file cannot be used, nothing changes, and a problem is reported. While the set of skills is
        frozen, nothing is applied.
        """
        if self._file is None or self._library.frozen:
            return
        async with self._changing:
            try:
                settings = await read_settled(self._file)
                if settings is None:
                    if not self._had_file:
                        return
                    raise UsageError("it does not exist any more", hint="create it again")
                self._had_file = True
                if not same_settings(settings, self._applied):
                    await self._apply(settings)
            except SkillwireError as error:
                await self._set_file_problem(config_problem(self._file, error))
            else:
                await self._set_file_problem(None)

    async def _set_file_problem(self, problem: Problem | None) -> None:
        """Replace the reported problem with the configuration file. None means that the file can be used."""
        if problem == self._problem:
            return
        self._problem = problem
        if problem is not None:
            _log.warning("%s", problem.message)
        else:
            _log.warning("the configuration file can be used again, and is applied")
        await self._library.report([] if problem is None else [problem], reporter="configuration")
        self._notify()

    async def _serve_configured(self, file: ConfigFile) -> None:
        """Read the configuration file again, and serve the sources in it together with all other sources."""
        await self._apply(await anyio.to_thread.run_sync(FileSettings.read, file))
        self._had_file = True
        await self._set_file_problem(None)

    async def _apply(self, settings: FileSettings) -> None:
        """Serve the sources in the file together with all other sources, with the visibility in the file.

        A source whose configuration is unchanged stays open, unless `_is_outdated` returns True for it.
        """
        visibility = VisibilityPolicy(settings.overrides)
        if same_sources(settings, self._applied):
            await self._library.set_visibility(visibility)
            self._applied = settings
            self._notify()
            return
        sources = replace(settings.sources, limits=self._limits)
        known = {
            each.wanted: each for each in self._opened if not self._is_outdated(each, sources.allowed_origins)
        }
        opened = await anyio.to_thread.run_sync(
            partial(open_sources, self._arguments, self._options, sources, known=known)
        )
        served = [*(each.source for each in opened), *(each for each, _ in self._more)]
        await self._library.serve(served, visibility=visibility)
        self._opened, self._applied = opened, settings
        self._notify()

    def _is_outdated(self, opened: OpenedSource, origins: tuple[str, ...]) -> bool:
        """Return whether a source must be opened again although its configuration is unchanged.

        This is the case if it could not be opened, or if other origins are now allowed for its downloads.
        """
        if isinstance(opened.source, UnavailableSource):
            return True
        return (
            origins != self._applied.sources.allowed_origins
            and kind_of(opened.wanted.argument).follows_origins
        )

    def _refuse_twice(self, added: ConfiguredSource) -> None:
        """Raise `UsageError` if the source is already served with the same prefix."""
        place = canonical_place(added.source)
        for each in self._opened:
            if (canonical_place(each.wanted.argument), each.wanted.prefix) == (place, added.prefix):
                raise UsageError(
                    f"{quoted(added.source)} is already served, from the {each.wanted.given_by}",
                    hint=f"its label is {quoted(each.source.label)}",
                )

    def _named(self, label: str) -> OpenedSource:
        """Return the source with this label. Raises `UsageError` if there is none."""
        opened = next((each for each in self._opened if each.source.label == label), None)
        if opened is None:
            raise UsageError(
                f"there is no source {quoted(label)}", hint="it may have been removed; reload the page"
            )
        return opened

    def _editable_file(self) -> ConfigFile:
        """Return the configuration file. Raises `UsageError` if there is none or it must not be changed."""
        if self._file is None or not self._editable:
            raise UsageError("this server cannot be changed", hint="start the server with `--allow-config`")
        return self._file

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()


def _facts(opened: OpenedSource, *, editable: bool) -> SourceFacts:
    """Return what pages show about a source."""
    wanted, source = opened.wanted, opened.source
    unavailable = isinstance(source, UnavailableSource)
    return SourceFacts(
        source.label,
        "unavailable" if unavailable else kind_of(wanted.argument).name,
        escape_invisible(source.place if is_local(wanted.argument) else redact_secrets(source.place)),
        _origin(wanted.argument, source.label),
        wanted.given_by,
        removable=editable and wanted.given_by is SpecOrigin.CONFIGURATION,
        fetched=source.fetched,
    )


def _origin(argument: str, label: str) -> str:
    """Return who provides the skills: `OWNER/REPOSITORY` on GitHub, else the source's label."""
    if is_on_github(argument) and not is_local(argument):
        place = canonical_place(argument).removeprefix(_GITHUB)
        return escape_invisible("/".join(place.partition("@")[0].split("/")[:2]))
    return label


def _remove(file: ConfigFile, opened: OpenedSource) -> None:
    """Remove a source from the configuration file, if the file still contains it."""
    wanted, folder = opened.wanted, file.path.absolute().parent
    for at, each in enumerate(SourceSettings.read(file).sources):
        if (absolute(each.source, folder), each.prefix) == (wanted.argument, wanted.prefix):
            remove_source(file, at)
            return

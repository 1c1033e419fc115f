"""The table of source kinds: which arguments each kind accepts, and how its sources are opened."""

import errno
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from skillwire.config.program_hint import program_hint
from skillwire.config.settings import state_folder_from
from skillwire.core.names import name_fault
from skillwire.core.record import Limits
from skillwire.errors import InvalidValueError, SourceError, UsageError
from skillwire.protocol.delivery import detect_archive_format
from skillwire.safe_text import quoted
from skillwire.sources.base import Source
from skillwire.sources.cache_folder import cache_folder_from
from skillwire.sources.folder.source import FolderSource

if TYPE_CHECKING:
    from skillwire.sources.fetched import Fetcher


SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # two letters or more: `C:/skills` is a folder
_GITHUB, _SERVER, _WEB = "github:", "mcp+", "web+"
_MCP_URL = re.compile(r"(?:mcp\+)?https?://[^?#]*/mcp/?(?:\?[^#]*)?|mcp\+https?://.*", re.IGNORECASE)
"""Matches the URL of an MCP server: its path ends in `mcp`, or it has the prefix `mcp+`."""
_LAST_SLASH = re.compile(r"\A([^?]*/mcp)/(?=\?|\Z)", re.IGNORECASE)
_WEB_URLS = ("https://", "http://", f"{_WEB}https://", f"{_WEB}http://")
_REGISTRY = re.compile(r"registry(?:\+[a-z0-9]+)?:", re.IGNORECASE)
_FILE_URL = re.compile(r"file:/+", re.IGNORECASE)
_PATH_HINT = "for example `./skills`, `~/skills` or `/home/you/skills`"
_GITHUB_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN")
"""The environment variables from which GitHub's own tools read a token. The token is sent only to GitHub."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Options that apply to all sources of a run."""

    follow_links: bool = False
    include_evals: bool = False
    """Whether folders serve the eval cases of their skills."""
    limits: Limits = field(default_factory=Limits)
    live: bool = False
    """Whether the sources are watched. A watched source may be missing at first."""
    serving: bool = False
    """Whether clients are served.

    If so, folders have a scan cache, and if an edit breaks a skill, its last good version stays.
    """
    cache: Path = field(default_factory=lambda: cache_folder_from({}))
    """The folder for copies of fetched sources, and for scan caches."""
    allowed_origins: tuple[str, ...] = ()
    """Further origins from which web sources may download."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class SourceArgument:
    """A source to open: the argument, its label, and its token if it needs one."""

    text: str
    label: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source: its name, the arguments that it accepts, and how to label and open a source."""

    name: str
    example: str
    accepts: Callable[[str], bool]
    label: Callable[[str], str]
    open: Callable[[SourceArgument, SourceOptions], Source]
    public: bool = False
    """Whether anyone may see the source's address.

    Addresses of other kinds may contain a local path or a secret.
    """
    follows_origins: bool = False
    """Whether a source of this kind is opened again when the allowed origins change."""


def is_local(argument: str) -> bool:
    """Return whether an argument is a local path.

    An argument is a local path if it begins with `.`, `/` or `~`, if it exists as a path, or if it is neither
    a URL nor the name of a repository.
    """
    if argument.startswith((".", "/", "~")) or os.path.exists(argument):  # noqa: PTH110 - `Path` raises
        return True
    return SCHEME.match(argument) is None and not names_repository(argument)


def is_folder(place: str) -> bool:
    """Return whether a source is a local folder that exists."""
    return is_local(place) and Path(place).is_dir()


def names_repository(argument: str) -> bool:
    """Return whether an argument names a git repository. Does not check for a local path with that name."""
    from skillwire.sources.git import pages  # noqa: PLC0415 - rarely needed

    return pages.names_repository(argument)


def is_on_github(argument: str) -> bool:
    """Return whether an argument names a repository on GitHub.

    Does not check for a local path with that name.
    """
    if not names_repository(argument):
        return False
    try:
        return _repository_place(argument).startswith(_GITHUB)
    except InvalidValueError:
        return False


def names_registry(argument: str) -> bool:
    """Return whether an argument is the address of a registry, such as `registry:`."""
    return _REGISTRY.match(argument) is not None


def is_server_url(argument: str) -> bool:
    """Return whether an argument is the URL of an MCP server: it ends in `/mcp`, or begins with `mcp+`."""
    return _MCP_URL.fullmatch(argument) is not None


def explicit_server(argument: str) -> str:
    """Return the URL of an MCP server with the prefix `mcp+`.

    Without the prefix, `/mcp/` becomes `/mcp`. A URL with the prefix stays as it is.
    """
    if argument.lower().startswith(_SERVER):
        return argument
    return _SERVER + _LAST_SLASH.sub(r"\1", argument)


def local_path(argument: str) -> Path:
    """Return the path that an argument names, with `~` expanded. The path need not exist.

    Raises `UsageError` if the argument cannot be a path.
    """
    path = Path(argument)
    try:
        path = path.expanduser()
        path.lstat()
    except (RuntimeError, ValueError) as error:  # an unknown home directory, or a NUL
        reason = "it contains a NUL" if "\0" in argument else "there is no such home directory"
        raise UsageError(f"{quoted(argument)} is not a path: {reason}", hint=_PATH_HINT) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(f"{quoted(argument)} is not a path: it is too long", hint=_PATH_HINT) from error
    return path


def canonical_place(argument: str) -> str:
    """Return a source's location in one form, so that other spellings of it can be recognized.

    Resolves local paths, and converts the addresses of repositories to `github:…` or `git+…`. The URL of a
    server gets its prefix `mcp+`; the URL of a website has none.
    """
    try:
        if is_local(argument):
            return str(local_path(argument).resolve())
        if is_server_url(argument):
            return explicit_server(argument)
        return _repository_place(argument) if names_repository(argument) else _without_web(argument)
    except (UsageError, InvalidValueError):  # reported when it is opened
        return argument


def _is_archive(argument: str) -> bool:
    return (
        is_local(argument)
        and detect_archive_format(argument) is not None
        and not local_path(argument).is_dir()
    )


def _local_label(argument: str) -> str:
    name = local_path(argument).resolve().name
    return "skills" if name_fault(name) else name


def _archive_label(argument: str) -> str:
    name = _local_label(argument)
    return name.removesuffix(".gz").rpartition(".")[0] or "skills"


def _open_folder(address: SourceArgument, options: SourceOptions) -> Source:
    path = local_path(address.text)
    if path.is_file():
        hint = f"name its folder, {quoted(str(path.parent))}"
        if server := program_hint(address.text):
            hint = f"for `list`, {server}; else {hint}"
        raise UsageError(f"{quoted(address.text)} is a file", hint=hint)
    if _is_bare_repository(path):
        fault = f"{quoted(address.text)} is a bare git repository, and not a folder with skills"
        raise UsageError(fault, hint=f"write {quoted(f'git+{path.absolute().as_uri()}')} to use its skills")
    if not path.is_dir() and not options.live:
        from skillwire.config.meant_address import github_spelling  # noqa: PLC0415 - rarely needed

        hint = "name a folder that contains skills"
        if repository := github_spelling(address.text):
            hint += f", or write {quoted(repository)} for a repository on GitHub"
        raise UsageError(f"the folder {quoted(address.text)} does not exist", hint=hint)
    return FolderSource(
        path,
        label=address.label,
        limits=options.limits,
        follow_links=options.follow_links,
        include_evals=options.include_evals,
        keep_good=options.serving,
        digests=options.cache / "digests" if options.serving else None,
    )


def _is_bare_repository(path: Path) -> bool:
    """Return whether a folder is the inside of a git repository, which contains no files of skills."""
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _open_archive(address: SourceArgument, options: SourceOptions) -> Source:
    from skillwire.sources.archive import ArchiveFetcher  # noqa: PLC0415 - loaded only for this kind

    path = local_path(address.text)
    if not path.exists() and not options.live:
        raise UsageError(f"the archive {quoted(address.text)} does not exist", hint="correct its name")
    return _fetched_source(ArchiveFetcher(path, options.cache), address, options)


def _repository_place(argument: str) -> str:
    """Return the canonical location of a repository."""
    from skillwire.sources.git.address import Repository  # noqa: PLC0415 - as above

    return Repository.parse(argument).place


def _repository_label(argument: str) -> str:
    from skillwire.sources.git.address import Repository  # noqa: PLC0415 - as above

    return Repository.parse(argument).label


def _open_repository(address: SourceArgument, options: SourceOptions) -> Source:
    from skillwire.sources.git.address import Repository  # noqa: PLC0415
    from skillwire.sources.git.source import GitFetcher  # noqa: PLC0415 - as above

    repository = Repository.parse(address.text)
    known = (options.environment.get(name) for name in _GITHUB_TOKENS if is_on_github(address.text))
    token = address.token or next((token for token in known if token), None)
    fetcher = GitFetcher(repository, options.cache, token, limits=options.limits)
    return _fetched_source(fetcher, address, options)


def _web_label(argument: str) -> str:
    return re.sub(r"^https?://|[:/].*$", "", _without_web(argument), flags=re.IGNORECASE) or "web"


def _without_web(argument: str) -> str:
    """Return the URL of a website without the prefix `web+`."""
    return argument[len(_WEB) :] if argument.lower().startswith(_WEB) else argument


def _open_web(address: SourceArgument, options: SourceOptions) -> Source:
    from skillwire.sources.web.source import WebFetcher  # noqa: PLC0415 - as above

    origins = options.allowed_origins
    url = _without_web(address.text)
    fetcher = WebFetcher(url, options.cache, allowed_origins=origins, token=address.token)
    return _fetched_source(fetcher, address, options)


def _server_label(argument: str) -> str:
    from skillwire.host.connections.labels import url_slug  # noqa: PLC0415 - as above

    return url_slug(explicit_server(argument)[len(_SERVER) :])


def _open_server(address: SourceArgument, options: SourceOptions) -> Source:
    from skillwire.sources.placeholder import DeferredSource  # noqa: PLC0415 - as above
    from skillwire.sources.web.address import WebAddress  # noqa: PLC0415

    try:
        url = WebAddress.parse(explicit_server(address.text)[len(_SERVER) :]).url
    except SourceError as error:
        hint = (
            "for example `mcp+https://example.com/mcp`; pass a token with `skillwire sources add --token-env`"
        )
        raise UsageError(str(error), hint=hint) from error

    def make() -> Source:
        from skillwire.host.connections.target import Target  # noqa: PLC0415
        from skillwire.host.login.tokens import with_login  # noqa: PLC0415
        from skillwire.host.servers.link import ServerLink  # noqa: PLC0415 - loads the MCP SDK
        from skillwire.host.servers.source import ServerSource  # noqa: PLC0415
        from skillwire.host.store.logins import Logins  # noqa: PLC0415

        target = Target(address.label, url=url, token=address.token, typed=True)
        target = with_login(target, Logins(state_folder_from(options.environment)))
        return ServerSource(ServerLink(target, limits=options.limits), live=options.live, trusted=True)

    return DeferredSource(address.label, explicit_server(address.text).partition("?")[0], make)


def _open_registry(address: SourceArgument, options: SourceOptions) -> Source:
    try:
        # The registry is an area above this package. Like other areas, it may be missing.
        area = import_module("skillwire.registry.source_kind")
    except ModuleNotFoundError as error:
        raise UsageError("this installation of Skillwire has no registry") from error
    return area.open_source(address, options)


def _fetched_source(fetcher: "Fetcher", address: SourceArgument, options: SourceOptions) -> Source:
    from skillwire.sources.fetched import FetchedSource  # noqa: PLC0415 - as above

    return FetchedSource(fetcher, label=address.label, limits=options.limits, live=options.live)


KINDS: tuple[SourceKind, ...] = (
    SourceKind("archive", "./skills.zip", _is_archive, _archive_label, _open_archive),
    SourceKind("folder", "./skills", is_local, _local_label, _open_folder),
    SourceKind(
        "repository",
        "github:owner/repo",
        names_repository,
        _repository_label,
        _open_repository,
        public=True,
    ),
    SourceKind(
        "registry",
        "registry:",
        names_registry,
        lambda _argument: "registry",
        _open_registry,
    ),
    SourceKind("server", "mcp+https://example.com/mcp", is_server_url, _server_label, _open_server),
    SourceKind(
        "web",
        "https://example.com",
        lambda argument: argument.lower().startswith(_WEB_URLS),
        _web_label,
        _open_web,
        public=True,
        follows_origins=True,
    ),
)


def kind_of(argument: str) -> SourceKind:
    """Return the kind of source that an argument names. Raises `UsageError`."""
    kind = next((kind for kind in KINDS if kind.accepts(argument)), None)
    if kind is None:
        if _FILE_URL.match(argument):
            path = unquote(_FILE_URL.sub("/", argument))
            hint = f"write {quoted(path)} for a folder, or {quoted(f'git+{argument}')} for a repository"
            raise UsageError(f"{quoted(argument)} is not a known kind of source", hint=hint)
        known = ", ".join(f"{kind.name} ({kind.example})" for kind in KINDS)
        raise UsageError(f"{quoted(argument)} is not a known kind of source", hint=f"known kinds: {known}")
    return kind


def open_source(address: SourceArgument, options: SourceOptions) -> Source:
    """Open the source at an address, without scanning it. Raises `UsageError`."""
    try:
        return kind_of(address.text).open(address, options)
    except InvalidValueError as error:
        raise address_error(address.text, error) from error


def address_error(argument: str, error: InvalidValueError) -> UsageError:
    """Return the error for an invalid address: its fix as the hint, else an example."""
    fault = str(error).removesuffix(f"; {error.fix}") if error.fix else str(error)
    return UsageError(fault, hint=error.fix or f"for example `{kind_of(argument).example}`")

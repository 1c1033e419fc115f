"""A repository on its server: look up refs and fetch commits."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from skillwire.errors import InvalidValueError, SourceError
from skillwire.safe_text import quoted
from skillwire.sources.git.address import TOKEN_PROTOCOLS, Repository
from skillwire.sources.git.command import Git, GitError, GitTimeoutError, Login, Output

ASK_SECONDS = 30.0
"""Timeout for listing the refs of a server, in seconds."""
FETCH_SECONDS = 300.0
"""Timeout for a fetch, in seconds."""

_ANY_USER = "x-access-token"
"""User name to send with a token. GitHub documents this name; other servers ignore it."""
_MAX_REDIRECTS = 3
_INFO = "/info/refs?service=git-upload-pack"
"""The path of git's first request, below the repository's URL."""
_REDIRECTED = re.compile(r"returned error: 30[12378]")
_LOCATION = re.compile(r"<= Recv header: location: *(\S+)", re.IGNORECASE)
_SHOW_HEADERS = {"GIT_TRACE_CURL": "1", "GIT_TRACE_CURL_NO_DATA": "1", "GIT_TRACE_REDACT": "1"}
_LOGIN_REQUIRED = re.compile(
    r"returned error: 401|Authentication failed|could not read (?:Username|Password)"
)
_NOT_THERE = re.compile(r"repository .* not found|does not appear to be a git repository|returned error: 404")


@dataclass(frozen=True, slots=True)
class RemoteRef:
    """A ref on the server, and the commit to which it points now. `name` may also be a commit hash."""

    name: str
    commit: str


class GitRemote:
    """Runs git commands that contact a repository on its server."""

    def __init__(self, repository: Repository, token: str | None) -> None:
        self._named = repository.url
        self._url = repository.url
        self._user = repository.user
        self._token = repository.token or token or ""
        self._with_token = repository.protocol in TOKEN_PROTOCOLS

    async def first_tip(self, refs: Sequence[str], folder: Path) -> tuple[int, RemoteRef]:
        """Return the first of `refs` that exists, with its current commit, and its index.

        An empty ref is the default branch. A branch takes precedence over a tag with the same name. Raises
        `SourceError` if no ref exists.
        """
        candidates = [_candidate_refs(ref) for ref in refs]
        names = [name for each in candidates for name in each]
        peeled = (f"{name}^{{}}" for name in names)  # the commit of an annotated tag
        commits = await self._list_refs((*names, *peeled), folder)
        for at, each in enumerate(candidates):
            for name in each:
                if name in commits:
                    return at, RemoteRef(name, commits.get(f"{name}^{{}}", commits[name]))
        if refs[0]:
            raise self.missing_ref_error(refs[0])
        raise SourceError(f"{quoted(self._named)} has no default branch; name one, as in `@main`")

    async def check_reachable(self, folder: Path) -> None:
        """Raise `SourceError` if the server does not answer or refuses access."""
        await self._list_refs(("HEAD",), folder)

    async def fetch(
        self,
        *specs: str,
        into: Path,
        inherit: tuple[int, ...],
        is_over_limit: Callable[[], bool],
        whole: bool = False,
    ) -> bool:
        """Fetch `specs` into a bare repository. Return False if the download exceeds the limit.

        Only the newest commit of each ref is fetched or, with `whole`, the complete history. Raises
        `GitError` if git fails, for example because the server does not have a ref, and `SourceError` after
        a timeout or too many redirects.
        """
        depth = "2147483647" if whole else "1"  # git's value for infinite depth
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow", f"--depth={depth}")
        output = await self._ask(
            "fetch",
            *quiet,
            names=specs,
            folder=into,
            inherit=inherit,
            is_over_limit=is_over_limit,
            seconds=FETCH_SECONDS,
        )
        return not output.cut

    def missing_ref_error(self, ref: str) -> SourceError:
        return SourceError(f"{quoted(self._named)} has no branch, tag or commit {quoted(ref)}{_short(ref)}")

    def translate_error(self, error: GitError) -> SourceError:
        """Convert a git error to an error that explains the reason."""
        name = quoted(self._named)
        if _LOGIN_REQUIRED.search(error.stderr_text):
            if self._token or self._user:
                return SourceError(
                    f"{name} does not accept the token; check that it may read this repository"
                )
            return SourceError(f"{name} requires a token: it is private, or does not exist")
        if _NOT_THERE.search(error.stderr_text):
            return SourceError(f"{name} does not exist, or requires a token")
        return SourceError(f"{name} cannot be fetched: {error.reason}")

    async def _list_refs(self, names: tuple[str, ...], folder: Path) -> dict[str, str]:
        """Return the commit of each of these refs that exists on the server, by name."""
        self._url = self._named  # forget an earlier redirect
        listing = await self._ask("ls-remote", names=names, folder=folder)
        lines = (line.partition("\t") for line in listing.text.splitlines())
        return {name: commit for commit, _, name in lines}

    async def _ask(
        self,
        command: str,
        *options: str,
        names: tuple[str, ...],
        folder: Path,
        inherit: tuple[int, ...] = (),
        is_over_limit: Callable[[], bool] | None = None,
        seconds: float = ASK_SECONDS,
    ) -> Output:
        """Run a command that contacts the server, following redirects on the same host."""
        for _ in range(_MAX_REDIRECTS):
            git = Git.network(self._login())
            arguments = (f"--git-dir={folder}", command, *options, "--", self._url, *names)
            try:
                return await git.run(
                    *arguments, folder=folder, seconds=seconds, is_over_limit=is_over_limit, inherit=inherit
                )
            except GitTimeoutError:
                message = f"{quoted(self._named)} did not answer within {seconds:g} seconds"
                raise SourceError(message) from None
            except GitError as error:
                if not _REDIRECTED.search(error.stderr_text):
                    raise
            self._url = await self._find_redirect(git, folder)
        raise SourceError(f"{quoted(self._named)} redirects too many times; write the final address instead")

    async def _find_redirect(self, git: Git, folder: Path) -> str:
        """Return the address to which the server redirects. Raises `SourceError` if it is on another host."""
        arguments = (f"--git-dir={folder}", "ls-remote", "--", self._url, "HEAD")
        try:
            await git.run(*arguments, folder=folder, seconds=ASK_SECONDS, variables=_SHOW_HEADERS)
        except GitError as error:
            found = _LOCATION.findall(error.stderr_text)
        else:
            return self._url  # the server no longer redirects
        moved = _parse_redirect(self._url, found[-1]) if found else None
        if moved is None:
            raise SourceError(f"{quoted(self._named)} redirects to something that is not a repository")
        old, new = urlsplit(self._url), urlsplit(moved.url)
        upgraded = (old.scheme, new.scheme, old.port, new.port) == ("http", "https", None, None)
        if old.hostname == new.hostname and (upgraded or _origin(self._url) == _origin(moved.url)):
            return moved.url
        raise SourceError(
            f"{quoted(self._named)} redirects to another host; if you trust it, write {quoted(moved.place)}"
        )

    def _login(self) -> Login | None:
        """Return the credentials, or None. Raises `SourceError` if they would be sent unencrypted."""
        if not self._with_token or not (self._user or self._token):
            return None
        split = urlsplit(self._url)
        if split.scheme == "http" and not _is_loopback(split.hostname or ""):
            raise SourceError(f"{quoted(self._named)} would send the token unencrypted; write `https://`")
        return Login(_origin(self._url), self._user or _ANY_USER, self._token)


def _parse_redirect(url: str, location: str) -> Repository | None:
    """Return the repository to which a redirect of git's first request leads, or None."""
    target = urljoin(url + _INFO, location)
    try:
        return Repository.parse(f"git+{target.removesuffix(_INFO)}") if target.endswith(_INFO) else None
    except InvalidValueError:
        return None


def _candidate_refs(ref: str) -> tuple[str, ...]:
    """Return the full names that `ref` may have on the server, the preferred one first."""
    if ref in {"", "HEAD"}:
        return ("HEAD",)
    return (ref,) if ref.startswith("refs/") else (f"refs/heads/{ref}", f"refs/tags/{ref}")


def _short(ref: str) -> str:
    hexadecimal = re.fullmatch(r"[0-9a-fA-F]{7,63}", ref) is not None
    return "; write the full hash of a commit" if hexadecimal and len(ref) != 40 else ""


def _origin(url: str) -> str:
    split = urlsplit(url)
    return f"{split.scheme}://{split.netloc.lower()}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

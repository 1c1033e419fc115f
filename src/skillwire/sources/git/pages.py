"""Addresses of repositories as people copy them: web pages of GitHub, GitLab and Bitbucket, and clone URLs.

`canonical_address` converts such an address to `github:…` or `git+…`. It makes no connections. If a branch
has slashes in its name, a page does not show where the name ends, so the first part is taken for the whole
name. `GitFetcher` finds the real end. No address leads to another host than the one written, except that
`raw.githubusercontent.com` stands for `github.com`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from skillwire.errors import InvalidValueError

_SCP = re.compile(r"[A-Za-z_][\w.-]*@[A-Za-z0-9][\w.-]*:(?!//)[^\s\\]", re.ASCII)
"""Matches the start of the short form of an ssh address, `git@host:owner/repo`."""
_CLONE_URL = re.compile(r"(?:ssh|git)://", re.ASCII | re.IGNORECASE)
_HTTP = re.compile(r"https?://", re.ASCII | re.IGNORECASE)
_WITHOUT_SCHEME = re.compile(
    r"(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)/[a-z0-9][\w-]*/[\w.-]", re.ASCII | re.IGNORECASE
)
_DATA_CENTER = re.compile(r"((?:/[^/]+)*?)/(projects|users)/([^/]+)/repos/([^/]+)((?:/.*)?)", re.ASCII)
"""Matches the path of a page of Bitbucket Data Center."""
_NAME = re.compile(r"[A-Za-z0-9_.~][\w.~-]*", re.ASCII)
_BEFORE_REF = re.compile(r"(?<!/)@")
_SKILL_FILE = "skill.md"
_FOLDER, _FILES = "tree", ("blob", "raw")
# fmt: off
_GITHUB_PAGES = frozenset({
    "actions", "activity", "archive", "blame", "branches", "commit", "commits", "compare",
    "deployments", "discussions", "edit", "find", "forks", "graphs", "issues", "labels", "milestones",
    "network", "new", "packages", "projects", "pull", "pulls", "pulse", "releases", "search",
    "security", "settings", "stargazers", "tags", "watchers", "wiki",
})
# fmt: on
_DEFAULT_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class _Page:
    """A URL with its scheme, and the host without `www.`."""

    text: str
    split: SplitResult
    host: str
    bare: bool
    """Whether the address was written without a scheme."""

    @property
    def segments(self) -> list[str]:
        return self.split.path.strip("/").split("/")

    def refused(self, rule: str, fix: str) -> InvalidValueError:
        """Return an error that shows the address without user, query and fragment."""
        shown = f"{self.split.netloc.rpartition('@')[2]}{self.split.path}"
        return InvalidValueError(
            "repository", shown if self.bare else f"{self.split.scheme}://{shown}", rule, fix
        )


_Reader = Callable[[_Page], str]


def names_repository(text: str) -> bool:
    """Return whether an address names a git repository. Does not check for a local path with that name."""
    if text.startswith(("github:", "git+")) or _SCP.match(text) or _CLONE_URL.match(text):
        return True
    return (page := _page(text)) is not None and _reader(page) is not None


def canonical_address(text: str) -> str | None:
    """Return an address as `github:…` or `git+…`; None if it is already in this form, or no repository.

    Raises `InvalidValueError`, whose message contains no secret, for a page that names no folder of a
    repository.
    """
    if _SCP.match(text) or _CLONE_URL.match(text):
        return f"git+{text.rstrip('/')}"
    if (page := _page(text)) is None or (reader := _reader(page)) is None:
        return None
    if "@" in page.split.netloc:
        fix = (
            f"remove it: {page.split.scheme}://{page.host}{page.split.path}; name a token with `--token-env`"
        )
        raise page.refused("is not allowed to contain a user name or a token", fix)
    if "\\" in text or any(character.isspace() for character in text):
        raise page.refused("is not a URL: it contains a space or a backslash", "correct it")
    return reader(page)


def _page(text: str) -> _Page | None:
    """Return the parts of a URL, or None for any other text."""
    bare = _HTTP.match(text) is None
    if bare and _WITHOUT_SCHEME.match(text) is None:
        return None
    try:
        split = urlsplit(f"https://{text}" if bare else text)
        host, port = split.hostname or "", split.port
    except ValueError:
        return None
    if not host:
        return None
    if port not in {None, _DEFAULT_PORTS[split.scheme]}:
        host = f"{host}:{port}"
    return _Page(text, split, host, bare)


def _reader(page: _Page) -> _Reader | None:
    """Return the function that reads a page of this host, or None if the page is of no repository."""
    first, *rest = page.segments
    if (known := _HOSTS.get(page.host.removeprefix("www."))) is not None:
        return known if first and not first.startswith(".") else None
    if "-" in rest[1:]:
        return _gitlab
    if _DATA_CENTER.fullmatch(page.split.path):
        return _data_center
    return _clone_url if page.segments[-1].endswith(".git") else None


def _github(page: _Page) -> str:
    owner, repo, *rest = [*page.segments, ""] if len(page.segments) == 1 else page.segments
    if not rest or not repo:
        return f"github:{owner}/{repo}"
    repo = _without_git(repo)
    kind, *inside = rest
    if kind == _FOLDER or kind in _FILES:
        return _spelled(page, f"https://github.com/{owner}/{repo}.git", inside, kind in _FILES)
    if page.bare and kind not in _GITHUB_PAGES:  # the form of skilljack, `github.com/owner/repo/path@ref`
        return f"github:{owner}/{repo}/{'/'.join(rest)}"
    raise page.refused("is not a page with files of a repository", f"write `github:{owner}/{repo}`")


def _raw_github(page: _Page) -> str:
    if len(page.segments) < 4:
        raise page.refused("is not a file of a repository", "write `github:owner/repo`")
    owner, repo, *inside = page.segments
    return _spelled(page, f"https://github.com/{owner}/{repo}.git", inside, is_file=True)


def _gitlab(page: _Page) -> str:
    segments = page.segments
    markers = ("-", _FOLDER, *_FILES) if page.host.removeprefix("www.") == "gitlab.com" else ("-",)
    end = next((at for at, each in enumerate(segments) if at > 1 and each in markers), len(segments))
    project, rest = segments[:end], segments[end:]
    if rest[:1] == ["-"]:
        rest = rest[1:]
    if len(project) < 2:
        raise page.refused("is not a project", "write `https://gitlab.com/group/project`")
    url = f"{_origin(page)}/{'/'.join(map(_without_git, project))}.git"
    if not rest:
        return f"git+{url}"
    if rest[0] != _FOLDER and rest[0] not in _FILES:
        raise page.refused("is not a page with files of a repository", f"write `git+{url}`")
    return _spelled(page, url, rest[1:], rest[0] in _FILES)


def _bitbucket(page: _Page) -> str:
    owner, repo, *rest = [*page.segments, ""] if len(page.segments) == 1 else page.segments
    url = f"https://bitbucket.org/{owner}/{_without_git(repo)}.git"
    if not rest:
        return f"git+{url}" if repo else "git+https://bitbucket.org/"
    if rest[0] not in {"src", "raw"}:
        raise page.refused("is not a page with files of a repository", f"write `git+{url}`")
    return _spelled(page, url, rest[1:], rest[0] == "raw")


def _data_center(page: _Page) -> str:
    found = _DATA_CENTER.fullmatch(page.split.path)
    assert found is not None, "this function reads such paths only"
    context, owners, owner, repo, rest = found.groups()
    owner = f"~{owner.removeprefix('~')}" if owners == "users" else owner
    url = f"{_origin(page)}{context}/scm/{owner}/{_without_git(repo)}.git"
    kind, *inside = rest.strip("/").split("/")
    if kind not in {"", "browse", "raw"}:
        raise page.refused("is not a page with files of a repository", f"write `git+{url}`")
    ref = parse_qs(page.split.query).get("at", [""])[0]
    for prefix in ("refs/heads/", "refs/tags/"):
        ref = ref.removeprefix(prefix)
    return _address(page, url, ref, _folder(page, url, ref, inside, kind == "raw"))


def _clone_url(page: _Page) -> str:
    return _address(page, f"{_origin(page)}{page.split.path.rstrip('/')}", "", "")


_HOSTS: Mapping[str, _Reader] = {
    "github.com": _github,
    "raw.githubusercontent.com": _raw_github,
    "gitlab.com": _gitlab,
    "bitbucket.org": _bitbucket,
}


def _origin(page: _Page) -> str:
    """Return the scheme and host to fetch from. Known hosts are reached over `https`."""
    host = page.host.removeprefix("www.")
    return f"https://{host}" if host in _HOSTS else f"{page.split.scheme}://{_bracketed(page)}"


def _bracketed(page: _Page) -> str:
    """Return the host and port as written, with the brackets of an IPv6 address."""
    return page.split.netloc.rpartition("@")[2]


def _spelled(page: _Page, url: str, inside: Sequence[str], is_file: bool) -> str:  # noqa: FBT001 - from a comparison
    """Return the address of the folder that a page shows. `inside` is a ref, followed by a path."""
    named = list(inside)
    if named[:1] == ["refs"] and named[1:2] in (["heads"], ["tags"]):
        named = named[2:]
    ref, *path = named or [""]
    ref = unquote(ref)
    return _address(page, url, ref, _folder(page, url, ref, path, is_file))


def _folder(page: _Page, url: str, ref: str, path: Sequence[str], is_file: bool) -> str:  # noqa: FBT001 - as above
    """Return the folder that a page shows, or that contains the `SKILL.md` that it shows."""
    names = [unquote(each) for each in path]
    if any("/" in name for name in names):
        raise page.refused("is not a path in a repository", "write the path without `%2F`")
    if names and names[-1].lower() == _SKILL_FILE:
        names.pop()
    elif is_file and names:
        folder = _address(page, url, ref, "/".join(names[:-1]))
        raise page.refused("is not a folder or a `SKILL.md`", f"name its folder, `{folder}`")
    return "/".join(names)


def _address(page: _Page, url: str, ref: str, path: str) -> str:
    """Return the canonical form of an address."""
    if not all(_NAME.fullmatch(each) for each in urlsplit(url).path.strip("/").split("/")):
        raise page.refused("is not the address of a repository", "write `git+URL`")
    at_ref = f"@{ref}" if ref else ""
    in_path = f"/{path}" if path else ""
    github = url.removeprefix("https://github.com/").removesuffix(".git")
    if github != url.removesuffix(".git") and not _BEFORE_REF.search(in_path):
        return f"github:{github}{in_path}{at_ref}"
    if "#" in ref:
        raise page.refused("is not an address of a branch without `#`", "name another branch")
    return f"git+{url}{at_ref}" + (f"#{path}" if path else "")


def _without_git(name: str) -> str:
    while name.endswith(".git"):
        name = name.removesuffix(".git")
    return name

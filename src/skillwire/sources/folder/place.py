"""Tell the path of a folder from the address of another source, which a program may pass by mistake."""

import os
import re

from skillwire.errors import InvalidValueError
from skillwire.protocol.delivery import detect_archive_format
from skillwire.safe_text import quoted, redact_secrets

# `Path("https://example.com")` has only one slash.
_URL = re.compile(r"(?:mcp\+|web\+)?https?://", re.IGNORECASE)
_HOSTS = r"(?:[^/]*@)?(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)/"
_REPOSITORY = re.compile(
    rf"github:|git\+|(?:ssh|git)://|[\w.-]+@[\w.-]+:\S|https?://{_HOSTS}|https?://[^?#]*\.git\Z",
    re.IGNORECASE,
)
_FILE_URL = re.compile(r"file:/+", re.IGNORECASE)
_SERVER = re.compile(r"mcp\+|.*/mcp/?\Z", re.IGNORECASE)
_PREFIX = re.compile(r"(?:mcp|web)\+", re.IGNORECASE)
_SLASHES = re.compile(r":/+")


def check_is_path(root: str | os.PathLike[str]) -> None:
    """Raise `InvalidValueError` if `root` is an address, or an archive, and not the path of a folder.

    The error names the class of the right source. An existing folder is always accepted.
    """
    text = os.fspath(root)
    if os.path.isdir(text) or (fix := _fix(text)) is None:  # noqa: PTH112 - `Path` raises
        return
    raise InvalidValueError("the folder", redact_secrets(text), "is not a path", fix)


def _fix(text: str) -> str | None:
    """Return the source to use instead, or None if `text` can be the path of a folder."""
    url = _SLASHES.sub("://", text, count=1)
    shown = redact_secrets(url)
    if _FILE_URL.match(url):
        repository = quoted(f"GitSource({_git(shown)!r})")
        return f"pass the path without `file://` or, for a repository, {repository}"
    if _REPOSITORY.match(url):
        return f"pass {quoted(f'GitSource({shown!r})')}"
    if _URL.match(url):
        plain = _PREFIX.sub("", shown, count=1)
        server = quoted(f"ServerSource(Target('label', url={plain!r}))")
        site = f"{quoted(f'WebSource({plain!r})')} for a website, or {server} for an MCP server"
        return f"pass {server if _SERVER.match(url) else site}"
    is_archive = detect_archive_format(text) is not None and os.path.isfile(text)  # noqa: PTH113 - as above
    return f"pass {quoted(f'ArchiveSource({text!r})')}" if is_archive else None


def _git(url: str) -> str:
    return f"git+file:///{_FILE_URL.sub('', url)}"

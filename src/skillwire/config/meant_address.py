"""What an argument probably means that is neither a path nor an address: the hint for what was pasted."""

import os
import re
from urllib.parse import unquote, urlsplit

from skillwire.errors import InvalidValueError, UsageError
from skillwire.protocol.delivery import detect_archive_format
from skillwire.safe_text import quoted

_URL = re.compile(
    r"https?://[^\s<>\"'`()\[\]]+|\w[\w.-]*@[\w-][\w.-]*:[\w~][^\s<>\"'`()\[\]]*", re.IGNORECASE
)
_END = ".,;:!?"
"""Characters that end a sentence, and not an address in it."""
_OPENING, _CLOSING = " \t\r\n\"'`<([", " \t\r\n\"'`>)]"
_HOST = re.compile(
    r"(?P<host>localhost|(?:\d{1,3}\.){3}\d{1,3}|(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,})"
    r"(?P<port>:\d{1,5})?(?P<path>/\S*)?",
    re.IGNORECASE | re.ASCII,
)
_SHORT = re.compile(r"(?P<host>gh|gitlab|gl|bitbucket|bb):/*(?P<path>[^/\s:]+/\S+)", re.IGNORECASE | re.ASCII)
_HOSTS = {
    "gh": "github.com",
    **dict.fromkeys(("gl", "gitlab"), "gitlab.com"),
    **dict.fromkeys(("bb", "bitbucket"), "bitbucket.org"),
}
_IN_GITHUB = re.compile(
    r"(?P<repository>[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*)"
    r"(?P<page>/(?:tree|blob|raw)/)?(?P<path>(?(page)|/)[^@#\s]+)?(?:[@#](?P<ref>\S+))?",
    re.ASCII,
)


def check_address(argument: str, *, may_be_folder: bool = True) -> None:
    """Raise `UsageError` with the right spelling if an argument that does not exist is a mistyped address.

    For example: `localhost:8765` without `http://`, an address in quotes, `gh:owner/repo`.
    """
    if argument.lower().startswith("file://"):
        folder = quoted(unquote(urlsplit(argument).path))
        raise UsageError(
            f"{quoted(argument)} is not an address",
            hint=f"write {folder} for a folder, or {quoted(f'git+{argument}')} for a repository",
        )
    if found := _around(argument) or _short_form(argument):
        raise UsageError(f"{quoted(argument)} is not an address", hint=f"did you mean {quoted(found)}?")
    if found := url_of_host(argument):
        if not may_be_folder:
            raise UsageError(f"{quoted(argument)} is not a URL", hint=f"did you mean {quoted(found)}?")
        raise UsageError(
            f"{quoted(argument)} does not exist, and a URL begins with `http://` or `https://`",
            hint=f"write {quoted(f'./{argument}')} for a folder, or {quoted(found)} for the URL",
        )


def _around(argument: str) -> str:
    """Return the address in a text with more than that, such as quotes, spaces or `git clone`."""
    found = _URL.search(argument)
    if found is None:
        return ""
    before, after = argument[: found.start()], argument[found.end() :]
    if (before and before[-1] not in _OPENING) or (not before and after.strip(_CLOSING)):
        return ""
    return found[0].rstrip(_END) if before or after else ""


def _short_form(argument: str) -> str:
    """Return the address for a short form of another tool."""
    if found := _SHORT.fullmatch(argument):
        return f"https://{_HOSTS[found['host'].lower()]}/{found['path']}"
    return ""


def url_of_host(argument: str) -> str:
    """Return the URL for a host with a port or path that was written without `http://`; else an empty text.

    A host alone could as well be the label of a server or the name of a folder.
    """
    found = _HOST.fullmatch(argument)
    if found is None or not (found["port"] or found["path"]) or detect_archive_format(argument) is not None:
        return ""
    is_here = found["host"].lower() == "localhost" or found["host"][0].isdigit()
    return f"{'http' if is_here else 'https'}://{argument}"


def github_spelling(argument: str) -> str:
    """Return how a folder in a repository on GitHub is written, for a text such as `owner/repo/skills`.

    Return an empty text for any other text. If the first part is an existing folder, it is no owner.
    """
    from skillwire.sources.git.address import Repository  # noqa: PLC0415 - needed only for an error

    found = _IN_GITHUB.fullmatch(argument)
    if found is None or os.path.exists(argument.partition("/")[0]):  # noqa: PTH110 - `Path` raises
        return ""
    try:
        if found["page"]:
            return Repository.parse(f"https://github.com/{argument}").place
        ref = f"@{found['ref']}" if found["ref"] else ""
        return Repository.parse(f"github:{found['repository']}{found['path'] or ''}{ref}").place
    except InvalidValueError:
        return ""

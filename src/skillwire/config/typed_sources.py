"""What a source means that a person types: `owner/repo`, and the URL of a host without a path.

Only arguments of the command line are read this way, never the configuration file, `SKILLS_DIR` or the pages.
The result has one meaning everywhere, so it can be stored.
"""

import os
import re
import shlex
from collections.abc import Sequence

from skillwire.config.source_config import source_parts
from skillwire.config.source_kinds import names_repository
from skillwire.errors import UsageError
from skillwire.protocol.delivery import detect_archive_format
from skillwire.safe_text import quoted
from skillwire.terminal.messages import print_notice

_OWNER_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*", re.ASCII)
_HOST_ONLY = re.compile(r"https?://[^/?#@\\\s]+/?(?:#\S*)?", re.IGNORECASE)
_MAX_WORDS = 16
"""Maximum number of words of a path with spaces that was written without quotes."""


def typed_sources(arguments: Sequence[str], *, with_token: bool = False) -> list[str]:
    """Return the sources in the arguments of a command, each in a form with one meaning.

    Reports on stderr what an argument means if it could mean something else. A host without a path is asked
    whether it is an MCP server; it gets no token. `with_token` tells whether a token will be sent to the
    source, which must then be written in full. Raises `UsageError` for an argument with two meanings.
    """
    check_spaces(arguments)
    return [
        typed_source(part, with_token=with_token)
        for argument in arguments
        for part in source_parts(argument) or [argument]
    ]


def check_spaces(arguments: Sequence[str]) -> None:
    """Raise `UsageError` if arguments side by side are the words of one path with spaces."""
    for start in range(len(arguments)):
        for end in range(start + 2, min(start + _MAX_WORDS, len(arguments)) + 1):
            words = arguments[start:end]
            path = " ".join(words)
            if not all(_exists(word) for word in words) and _exists(path):
                raise UsageError(
                    f"{quoted(path)} was given as {len(words)} arguments",
                    hint=f"put quotes around a path with spaces: {quoted(shlex.quote(path), None)}",
                )


def _exists(argument: str) -> bool:
    return os.path.exists(os.path.expanduser(argument))  # noqa: PTH110, PTH111 - `Path` raises


def typed_source(argument: str, *, with_token: bool = False) -> str:
    """Return one source in a form with one meaning, as `typed_sources` does. Raises `UsageError`."""
    if _exists(argument):
        if names_repository(argument):
            print_notice(
                f"{quoted(argument)} is a folder here; the repository is written "
                f"{quoted(f'https://{argument}' if ':' not in argument else f'git+{argument}')}"
            )
        return argument
    if _OWNER_REPO.fullmatch(argument) and detect_archive_format(argument) is None:
        return _owner_repo(argument)
    if _HOST_ONLY.fullmatch(argument):
        return _host(argument, with_token=with_token)
    if not names_repository(argument):
        _check_address(argument)
    return argument


def typed_server(argument: str, *, with_token: bool = False) -> str:
    """Return the server that an argument names, as `typed_source` does for a host without a path.

    If there is no server at `/mcp`, the argument stays unchanged. Raises `UsageError`.
    """
    if not _HOST_ONLY.fullmatch(argument):
        if not _exists(argument):
            _check_address(argument, may_be_folder=False)
        return argument
    found = _host(argument, with_token=with_token)
    return argument if found.startswith("web+") else found


def _check_address(argument: str, *, may_be_folder: bool = True) -> None:
    from skillwire.config.meant_address import check_address  # noqa: PLC0415 - rarely needed

    check_address(argument, may_be_folder=may_be_folder)


def _owner_repo(argument: str) -> str:
    """Return the repository on GitHub. Raises `UsageError` if a folder may be meant."""
    owner = argument.partition("/")[0]
    repository = f"github:{argument}"
    if os.path.isdir(owner):  # noqa: PTH112 - as above
        raise UsageError(
            f"the folder {quoted(argument)} does not exist, and a repository could have this name, too",
            hint=f"write `./{argument}` for the folder, or {quoted(repository)} for the repository",
        )
    print_notice(f"there is no folder {quoted(argument)}, so it means {quoted(repository)}")
    return repository


def _host(argument: str, *, with_token: bool) -> str:
    """Return the MCP server at a host if there is one at `/mcp`, else its website.

    Raises `UsageError` if a token would be sent to the server, because its address is only a guess.
    """
    from skillwire.config.server_probe import is_mcp_server  # noqa: PLC0415 - loads an HTTP client

    address = argument.partition("#")[0].rstrip("/")  # the pages add a fragment to their address
    if not is_mcp_server(f"{address}/mcp", may_need_token=with_token):
        return f"web+{address}"
    server = f"mcp+{address}/mcp"
    if with_token:
        raise UsageError(
            f"{quoted(argument)} has an MCP server at `/mcp`, and no token is sent to a completed address",
            hint=f"write `{address}/mcp` for the server, or `web+{address}` for the website",
        )
    print_notice(f"{quoted(argument)} means the server {quoted(server)}; its website is `web+{address}`")
    return server

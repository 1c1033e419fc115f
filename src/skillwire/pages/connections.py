"""How people connect MCP clients to this server, for the pages. Nothing here contains a token."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from skillwire.core.record import Json
from skillwire.errors import BadParamsError
from skillwire.features.base import Call
from skillwire.server.admin import SourceFacts

_MAX_URL = 2000
_PLATFORMS = ("linux", "darwin", "win32")
_LOCAL_KINDS = frozenset({"folder", "archive"})
_STARTED_WITH = frozenset({"command line", "environment"})
"""Who may have named the sources for which a client can start its own server."""


class ConnectGuide:
    """Describes how to connect each known client to a server."""

    def __init__(
        self, sources: Callable[[], Sequence[SourceFacts]], *, needs_token: bool, on_this_machine: bool
    ) -> None:
        """Describe the server that has these sources.

        `on_this_machine` tells whether everyone who sees the pages may see local paths.
        """
        self._sources = sources
        self._needs_token = needs_token
        self._on_this_machine = on_this_machine

    def describe(self, call: Call) -> dict[str, Json]:
        """Return the entry of each client for the server at the parameter `url`. Raises `BadParamsError`.

        Only the page knows the address at which the person reaches the server.
        """
        from skillwire.config.clients.connect import connect_choices  # noqa: PLC0415 - loads every client's format

        url, platform = _checked_url(call.text("url")), call.params.get("platform")
        choices = connect_choices(url, platform=platform if platform in _PLATFORMS else None)
        folders = self._local_folders()
        return {
            "url": url,
            "token": self._needs_token,
            "clients": [
                {
                    "client": each.client,
                    "title": each.title,
                    "file": each.file,
                    "format": each.format,
                    "text": each.text,
                    "link": each.link,
                    "note": each.note,
                    "nextStep": each.next_step,
                    "command": _install_command(folders, each.client),
                }
                for each in choices
            ],
        }

    def _local_folders(self) -> list[str]:
        """Return the absolute paths of the folders and archives with which the server was started.

        Empty if it also has other sources, because a client's own server would then have other skills.
        """
        sources = self._sources() if self._on_this_machine else ()
        local = [each for each in sources if each.kind in _LOCAL_KINDS and each.given_by in _STARTED_WITH]
        return [str(Path(each.place).absolute()) for each in local] if len(local) == len(sources) else []


def _checked_url(url: str) -> str:
    """Return `url` if it can be the address of this server. Raises `BadParamsError`."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
    except ValueError:
        usable = False
    if not usable or len(url) > _MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise BadParamsError("the parameter `url` must be the address of this server")
    return url


def _install_command(folders: Sequence[str], client: str) -> str:
    return shlex.join(["skillwire", "install", *folders, "--client", client]) if folders else ""

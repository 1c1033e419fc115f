"""What git is told before it starts, all of it by the environment, which neither `ps` nor the disk shows."""

import os
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

MOST_MEMORY = 512 * 1024 * 1024
"""Bytes that git may take at once, for one object. Git packs no larger object as a delta of another."""

_SETTINGS: Mapping[str, str] = {
    # nothing of anybody's runs
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    # nobody is asked
    "core.askPass": "",
    "credential.interactive": "false",
    # what arrives is sound; the faults that old tools left in good repositories are forgiven
    "fetch.fsckObjects": "true",
    "fetch.unpackLimit": "1",  # it arrives as one file, whose growth can be watched
    "core.bigFileThreshold": "16m",  # what is larger is streamed, and never held in memory
    "fetch.fsck.zeroPaddedFilemode": "ignore",
    "fetch.fsck.missingSpaceBeforeDate": "ignore",
    "fetch.fsck.badTimezone": "ignore",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    # after a redirect git sends its extra headers, and so the token, to the new host: it follows none
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    # the same bytes on every machine, and work only when it is asked for
    "core.autocrlf": "false",
    "core.eol": "lf",
    "maintenance.auto": "false",
    "gc.autoDetach": "false",
    "gc.pruneExpire": "now",
}
_ENVIRONMENT: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "http:https:ssh:git:file",
    "GIT_ASKPASS": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",  # its messages are read by this program
    "SSH_ASKPASS_REQUIRE": "never",
}
_NOBODYS_SETTINGS: Mapping[str, str] = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_OPERATORS = ("GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_HTTP_", "GIT_PROXY_", "GIT_SSH", "GIT_SSL_")
"""Variables by which an operator says how to reach the network. No other of git's is passed on."""
_OUTRANKING = "GIT_CONFIG_PARAMETERS"
"""Settings that would win over ours."""
_SHORTEST_SECRET_USER = 4
"""A shorter user is no token, and cutting it out would make a riddle of a message."""


@dataclass(frozen=True, slots=True)
class Login:
    """Who asks, at one origin: no other host hears of it."""

    origin: str
    user: str = field(repr=False)
    token: str = field(repr=False)

    @property
    def setting(self) -> tuple[str, str]:
        """The setting by which git shows it."""
        return f"http.{self.origin}/.extraHeader", f"Authorization: Basic {self._pair}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every spelling that must not be repeated, longest first."""
        user = self.user if len(self.user) >= _SHORTEST_SECRET_USER else ""
        spellings = {self._pair, self.token, quote(self.token, safe=""), user, quote(user, safe="")}
        return tuple(sorted(filter(None, spellings), key=len, reverse=True))

    @property
    def _pair(self) -> str:
        return b64encode(f"{self.user}:{self.token}".encode()).decode()


def local_environment() -> dict[str, str]:
    """Return the environment for work on this machine: no settings count but ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, **_ENVIRONMENT, **_memory(), **_NOBODYS_SETTINGS, **_numbered(_SETTINGS.items(), first=0)}


def network_environment(login: Login | None) -> dict[str, str]:
    """Return the environment for the network: the operator's proxies, keys and helpers count too."""
    kept = {name: value for name, value in os.environ.items() if _is_passed_on(name)}
    if "GIT_SSH_COMMAND" not in kept and "GIT_SSH" not in kept:
        kept["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
    there = kept.get("GIT_CONFIG_COUNT", "")
    settings = (*_SETTINGS.items(), *((login.setting,) if login else ()))
    return {
        **kept,
        **_ENVIRONMENT,
        **_memory(),
        **_numbered(settings, first=int(there) if there.isdecimal() else 0),
    }


def _memory() -> dict[str, str]:
    return {"GIT_ALLOC_LIMIT": str(MOST_MEMORY)}


def _is_passed_on(name: str) -> bool:
    return not name.startswith("GIT_") or (name.startswith(_OPERATORS) and name != _OUTRANKING)


def _numbered(settings: Iterable[tuple[str, str]], first: int) -> dict[str, str]:
    """Return settings as git reads them from the environment, after the `first` that are there already."""
    numbered = dict(enumerate(settings, start=first))
    keys = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in numbered.items()}
    values = {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered.items()}
    return {**keys, **values, "GIT_CONFIG_COUNT": str(first + len(numbered))}

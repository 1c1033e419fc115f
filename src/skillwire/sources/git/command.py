"""Run `git` with safe settings: it never prompts, never prints secrets, and always ends."""

import math
import os
import re
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import quote

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process

from skillwire.errors import SourceError
from skillwire.safe_text import MAX_SHOWN_CHARACTERS, escape_invisible
from skillwire.sources.folder.files import raise_if_exhausted

MAX_MEMORY = 512 * 1024 * 1024
"""Maximum number of bytes that git may allocate at once.

By default, git stores larger objects without deltas, so it can read them in pieces.
"""

_SETTINGS: Mapping[str, str] = {
    # run no hooks, helpers or filters
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    # never prompt
    "core.askPass": "",
    "credential.interactive": "false",
    # check every object that arrives; ignore the harmless faults of old tools
    "fetch.fsckObjects": "true",
    "fetch.unpackLimit": "1",  # one pack file, whose size can be watched
    "core.bigFileThreshold": "16m",  # larger files are streamed and never loaded into memory
    "fetch.fsck.zeroPaddedFilemode": "ignore",
    "fetch.fsck.missingSpaceBeforeDate": "ignore",
    "fetch.fsck.badTimezone": "ignore",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    # after a redirect, git would send its extra headers, and therefore the token, to the new host
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    # the same bytes on every machine, and no background work
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
    "LC_ALL": "C",  # messages in English, because they are parsed here
    "SSH_ASKPASS_REQUIRE": "never",
}
_WITHOUT_USER_CONFIG: Mapping[str, str] = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_PASSED_VARIABLES = ("GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_HTTP_", "GIT_PROXY_", "GIT_SSH", "GIT_SSL_")
"""Prefixes of the `GIT_` variables that are passed on, with which an operator configures the network."""
_OVERRIDING_VARIABLE = "GIT_CONFIG_PARAMETERS"
"""A variable that is not passed on, because it contains settings that would override Skillwire's."""
_SHORTEST_SECRET_USER = 4
"""Minimum length of a user name that counts as secret.

A shorter name is not a token, and removing it would make messages unreadable.
"""

if sys.platform == "linux":
    import resource

MIN_VERSION = (2, 32)
"""The first version of git that supports `GIT_CONFIG_COUNT` and `GIT_CONFIG_GLOBAL`, used here."""
LOCAL_SECONDS = 120.0
"""Timeout of git commands that do not use the network, in seconds."""
MAX_PROCESS_MEMORY = 2 * 1024 * 1024 * 1024
"""Maximum memory of one git process in bytes, on Linux."""
_MAX_OUTPUT = 1024 * 1024
_MAX_STDERR = 64 * 1024
_POLL_SECONDS = 0.1
_POLL_SHARE = 5
"""The minimum pause after a check, as a multiple of the time that the check takes."""
_PREFIX = re.compile(r"^(?:fatal|error|remote): *")
_NOISE = re.compile(r"warning:|hint:|From |Please make sure you have|and the repository exists")
_USER_INFO = re.compile(r"//[^/\s@]*@")


@dataclass(frozen=True, slots=True)
class Login:
    """Credentials for one origin. They are sent to no other host."""

    origin: str
    user: str = field(repr=False)
    token: str = field(repr=False)

    @property
    def setting(self) -> tuple[str, str]:
        """The git setting that sends the credentials."""
        return f"http.{self.origin}/.extraHeader", f"Authorization: Basic {self._pair}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every form of the credentials that must not appear in messages, longest first."""
        user = self.user if len(self.user) >= _SHORTEST_SECRET_USER else ""
        forms = {self._pair, self.token, quote(self.token, safe=""), user, quote(user, safe="")}
        return tuple(sorted(filter(None, forms), key=len, reverse=True))

    @property
    def _pair(self) -> str:
        return b64encode(f"{self.user}:{self.token}".encode()).decode()


def local_environment() -> dict[str, str]:
    """Return the environment for local commands. User and system settings are ignored."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **inherited,
        **_ENVIRONMENT,
        **_memory(),
        **_WITHOUT_USER_CONFIG,
        **_to_config_variables(_SETTINGS.items(), first=0),
    }


def network_environment(login: Login | None) -> dict[str, str]:
    """Return the environment for network commands. The operator's proxies, keys and helpers are used."""
    inherited = {name: value for name, value in os.environ.items() if _is_passed_on(name)}
    if "GIT_SSH_COMMAND" not in inherited and "GIT_SSH" not in inherited:
        inherited["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
    count = inherited.get("GIT_CONFIG_COUNT", "")
    settings = (*_SETTINGS.items(), *((login.setting,) if login else ()))
    return {
        **inherited,
        **_ENVIRONMENT,
        **_memory(),
        **_to_config_variables(settings, first=int(count) if count.isdecimal() else 0),
    }


def _memory() -> dict[str, str]:
    return {"GIT_ALLOC_LIMIT": str(MAX_MEMORY)}


def _is_passed_on(name: str) -> bool:
    return not name.startswith("GIT_") or (
        name.startswith(_PASSED_VARIABLES) and name != _OVERRIDING_VARIABLE
    )


def _to_config_variables(settings: Iterable[tuple[str, str]], first: int) -> dict[str, str]:
    """Convert settings to environment variables for git, numbered from `first` on."""
    numbered = dict(enumerate(settings, start=first))
    keys = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in numbered.items()}
    values = {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered.items()}
    return {**keys, **values, "GIT_CONFIG_COUNT": str(first + len(numbered))}


class GitError(SourceError):
    """A git command failed."""

    def __init__(self, reason: str, stderr_text: str) -> None:
        self.reason = reason
        """The reason, which is safe to show."""
        self.stderr_text = stderr_text
        """Everything that git wrote to stderr, without secrets."""
        super().__init__(f"git failed: {reason}")


class GitTimeoutError(SourceError):
    """A git command took too long and was killed."""


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a git command."""

    content: bytes
    cut: bool
    """Whether git was killed because it exceeded a limit."""

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace").strip()


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git commands in one environment, never through a shell and never with a secret in an argument."""

    environment: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def local(cls) -> Self:
        """Return git for local commands."""
        return cls(local_environment())

    @classmethod
    def network(cls, login: Login | None) -> Self:
        """Return git for commands that use the network."""
        return cls(network_environment(login), login.secrets if login else ())

    async def run(
        self,
        *arguments: str,
        folder: Path,
        variables: Mapping[str, str] | None = None,
        seconds: float = LOCAL_SECONDS,
        most: int = _MAX_OUTPUT,
        is_over_limit: Callable[[], bool] | None = None,
        inherit: Sequence[int] = (),
    ) -> Output:
        """Run git in `folder`. Raises `GitError` if it fails, `GitTimeoutError` after `seconds`.

        If git writes more than `most` bytes or `is_over_limit` returns true, git and every process that it
        started are killed, and the output is marked as `cut`. They are also killed if the caller is
        cancelled. Raises `SourceError` if git cannot be started.
        """
        process = await self._start(arguments, folder, {**self.environment, **(variables or {})}, inherit)
        _limit(process.pid, seconds)
        async with process:
            run = _Run(process, most, is_over_limit)
            try:
                with anyio.fail_after(seconds):
                    code = await run.end()
            except TimeoutError:
                raise GitTimeoutError(f"git did not end within {seconds:g} seconds") from None
            finally:
                run.kill()
        if code != 0 and not run.cut:
            stderr_text = self._redact(run.stderr_text, folder)
            raise GitError(_reason(stderr_text) or f"it ended with exit code {code}", stderr_text)
        return Output(bytes(run.output), run.cut)

    async def check_version(self, folder: Path) -> None:
        """Raise `SourceError` if git is too old."""
        version = (await self.run("version", folder=folder)).text
        found = re.search(r"(\d+)\.(\d+)", version)
        if found is not None and (int(found[1]), int(found[2])) < MIN_VERSION:
            required = ".".join(map(str, MIN_VERSION))
            raise SourceError(f"git {found.group()} is too old; install git {required} or newer")

    async def _start(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], inherit: Sequence[int]
    ) -> Process:
        try:
            process = await anyio.open_process(
                ["git", *arguments],
                stdin=subprocess.DEVNULL,
                cwd=folder,
                env=environment,
                start_new_session=True,  # no terminal for prompts, and one process group to kill
                pass_fds=inherit,
            )
        except OSError as error:
            raise_if_exhausted(error)
            reason = (error.strerror or type(error).__name__).lower()
            hint = "install git, and make sure that it is on the `PATH`"
            raise SourceError(f"`git` cannot be started: {reason}; {hint}") from error
        return process

    def _redact(self, stderr_text: bytearray, folder: Path) -> str:
        """Return git's messages without secrets and local paths."""
        text = stderr_text.decode(errors="replace").replace(str(folder), "…")
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return _USER_INFO.sub("//", text)


class _Run:
    """Reads the output of a running process, and kills the process if it exceeds a limit."""

    def __init__(self, process: Process, most: int, is_over_limit: Callable[[], bool] | None) -> None:
        self.output = bytearray()
        self.stderr_text = bytearray()
        self.cut = False
        self._process = process
        self._most = most
        self._is_over_limit = is_over_limit

    async def end(self) -> int:
        """Wait until the process ends. Return its exit code."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        async with anyio.create_task_group() as polling:
            if self._is_over_limit is not None:
                polling.start_soon(self._poll_limit, self._is_over_limit)
            async with anyio.create_task_group() as reading:
                reading.start_soon(self._collect_stderr, self._process.stderr)
                await self._collect(self._process.stdout)
            polling.cancel_scope.cancel()
        return await self._process.wait()

    def kill(self) -> None:
        """Kill the process and, except on Windows, everything it started. Does nothing if it has ended."""
        if self._process.returncode is not None:
            return
        if sys.platform == "win32":
            self._process.kill()
            return
        # macOS refuses to signal a group that has ended but was not waited for.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _collect(self, stream: ByteReceiveStream) -> None:
        async for chunk in stream:
            if len(self.output) + len(chunk) > self._most:
                self._stop()
                return
            self.output += chunk

    async def _collect_stderr(self, stream: ByteReceiveStream) -> None:
        async for chunk in stream:
            self.stderr_text += chunk
            del self.stderr_text[:-_MAX_STDERR]

    async def _poll_limit(self, is_over_limit: Callable[[], bool]) -> None:
        """Check the limit in a thread until it is exceeded. A slow check runs less often."""
        started = anyio.current_time()
        while not await anyio.to_thread.run_sync(is_over_limit):
            await anyio.sleep(max(_POLL_SECONDS, _POLL_SHARE * (anyio.current_time() - started)))
            started = anyio.current_time()
        self._stop()

    def _stop(self) -> None:
        self.cut = True
        self.kill()


def _limit(process: int, seconds: float) -> None:
    """Limit the memory and CPU time of a process and its child processes. Works only on Linux.

    Two reasons: a small pack can expand to any size, and a repository's attributes can keep git busy forever
    if this program is killed and cannot stop it. On other systems, only `GIT_ALLOC_LIMIT` limits each
    allocation.
    """
    if sys.platform == "linux":
        cpu_seconds = math.ceil(seconds) * (os.cpu_count() or 1)  # of all threads together
        for kind, limit in ((resource.RLIMIT_DATA, MAX_PROCESS_MEMORY), (resource.RLIMIT_CPU, cpu_seconds)):
            with suppress(OSError, ValueError):  # the process has ended, or already has a lower limit
                resource.prlimit(process, kind, (limit, limit))


def _reason(stderr_text: str) -> str:
    lines = (line.strip() for line in stderr_text.splitlines())
    reasons = [_PREFIX.sub("", line).rstrip(".") for line in lines if line and not _NOISE.match(line)]
    return escape_invisible("; ".join(reasons), MAX_SHOWN_CHARACTERS)

"""Running `git` so that it asks nobody, repeats no secret, and always ends."""

import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process

from skillwire.model.display import SHOWN, visible
from skillwire.model.errors import SourceError
from skillwire.sources.folder.files import raise_if_exhausted
from skillwire.sources.git.settings import Login, local_environment, network_environment

if sys.platform == "linux":
    import resource

OLDEST = (2, 32)
"""The first git that takes its settings, and so a token, from the environment."""
LOCAL_SECONDS = 120.0
"""How long git may work on this machine alone."""
MOST_PROCESS_MEMORY = 2 * 1024 * 1024 * 1024
"""Bytes of memory that one process of git may take, on Linux."""

_MOST_OUTPUT = 1024 * 1024
_MOST_TALK = 64 * 1024
_LOOK_SECONDS = 0.1
_LOOK_SHARE = 5
"""How many times longer than a look the pause after it is."""
_PREFIX = re.compile(r"^(?:fatal|error|remote): *")
_NOISE = re.compile(r"warning:|hint:|From |Please make sure you have|and the repository exists")
_USER_INFO = re.compile(r"//[^/\s@]*@")


class GitError(SourceError):
    """Git said no."""

    def __init__(self, told: str, talk: str) -> None:
        self.told = told
        """Its reason, fit to be shown."""
        self.talk = talk
        """All that it said, without secrets; to look things up in."""
        super().__init__(f"git failed: {told}")


class GitTimeoutError(SourceError):
    """Git did not end in time, and was ended."""


@dataclass(frozen=True, slots=True)
class Output:
    """What git wrote, and whether it was ended because that was too much."""

    content: bytes
    cut: bool

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace").strip()


@dataclass(frozen=True, slots=True)
class Git:
    """One way of starting git. Never through a shell, and never with a secret among the arguments."""

    environment: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def local(cls) -> Self:
        """Return git for work on this machine."""
        return cls(local_environment())

    @classmethod
    def network(cls, login: Login | None) -> Self:
        """Return git for talking to a server."""
        return cls(network_environment(login), login.secrets if login else ())

    async def run(
        self,
        *arguments: str,
        folder: Path,
        variables: Mapping[str, str] | None = None,
        seconds: float = LOCAL_SECONDS,
        most: int = _MOST_OUTPUT,
        too_much: Callable[[], bool] | None = None,
        inherit: Sequence[int] = (),
    ) -> Output:
        """Run git in `folder`. Raises `GitError` if it fails, `GitTimeoutError` if it does not end.

        It is ended, with every program that it started, when it writes more than `most`, when `too_much` says
        so, and when whoever waits for it is cancelled.
        """
        process = await self._start(arguments, folder, {**self.environment, **(variables or {})}, inherit)
        _limit(process.pid, seconds)
        async with process:
            run = _Run(process, most, too_much)
            try:
                with anyio.fail_after(seconds):
                    code = await run.end()
            except TimeoutError:
                raise GitTimeoutError(f"git did not end within {seconds:g} seconds") from None
            finally:
                run.kill()
        if code != 0 and not run.cut:
            talk = self._harmless(run.talk, folder)
            raise GitError(_reason(talk) or f"it ended with exit code {code}", talk)
        return Output(bytes(run.output), run.cut)

    async def must_be_new_enough(self, folder: Path) -> None:
        """Raise `SourceError` if git is too old."""
        told = (await self.run("version", folder=folder)).text
        found = re.search(r"(\d+)\.(\d+)", told)
        if found is not None and (int(found[1]), int(found[2])) < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise SourceError(f"git {found.group()} is too old; install git {wanted} or newer")

    async def _start(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], inherit: Sequence[int]
    ) -> Process:
        try:
            process = await anyio.open_process(
                ["git", *arguments],
                stdin=subprocess.DEVNULL,
                cwd=folder,
                env=environment,
                start_new_session=True,  # no terminal to ask at, and one group that can be ended as a whole
                pass_fds=inherit,
            )
        except OSError as error:
            raise_if_exhausted(error)
            reason = (error.strerror or type(error).__name__).lower()
            hint = "install git, and see that it is on the `PATH`"
            raise SourceError(f"`git` cannot be started: {reason}; {hint}") from error
        return process

    def _harmless(self, talk: bytearray, folder: Path) -> str:
        """Return what git said, without secrets and without where things are on this machine."""
        text = talk.decode(errors="replace").replace(str(folder), "…")
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return _USER_INFO.sub("//", text)


class _Run:
    """A process that runs: what it wrote so far, and how to end it."""

    def __init__(self, process: Process, most: int, too_much: Callable[[], bool] | None) -> None:
        self.output = bytearray()
        self.talk = bytearray()
        self.cut = False
        self._process = process
        self._most = most
        self._too_much = too_much

    async def end(self) -> int:
        """Wait for the end; return the exit code."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        async with anyio.create_task_group() as looking:
            if self._too_much is not None:
                looking.start_soon(self._look, self._too_much)
            async with anyio.create_task_group() as reading:
                reading.start_soon(self._listen, self._process.stderr)
                await self._collect(self._process.stdout)
            looking.cancel_scope.cancel()
        return await self._process.wait()

    def kill(self) -> None:
        """End the process and all that it started, if it has not ended."""
        if self._process.returncode is not None:
            return
        if sys.platform == "win32":
            self._process.kill()
            return
        # macOS refuses to signal a group that has ended and that no one has waited for yet.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _collect(self, stream: ByteReceiveStream) -> None:
        async for chunk in stream:
            if len(self.output) + len(chunk) > self._most:
                self._stop()
                return
            self.output += chunk

    async def _listen(self, stream: ByteReceiveStream) -> None:
        async for chunk in stream:
            self.talk += chunk
            del self.talk[:-_MOST_TALK]

    async def _look(self, too_much: Callable[[], bool]) -> None:
        """Ask again and again, outside the event loop. A question that takes long is asked less often."""
        started = anyio.current_time()
        while not await anyio.to_thread.run_sync(too_much):
            await anyio.sleep(max(_LOOK_SECONDS, _LOOK_SHARE * (anyio.current_time() - started)))
            started = anyio.current_time()
        self._stop()

    def _stop(self) -> None:
        self.cut = True
        self.kill()


def _limit(process: int, seconds: float) -> None:
    """Bound what a process, and all that it starts, takes in memory: a small pack may expand to anything.

    So it is with time: if this program is killed, nobody else ends git, and an attribute of a repository can
    keep it busy for ever. Elsewhere than on Linux, only `GIT_ALLOC_LIMIT` bounds each piece of memory.
    """
    if sys.platform == "linux":
        most = math.ceil(seconds) * (os.cpu_count() or 1)  # of all threads together
        for kind, limit in ((resource.RLIMIT_DATA, MOST_PROCESS_MEMORY), (resource.RLIMIT_CPU, most)):
            with suppress(OSError, ValueError):  # it has ended, or has less already
                resource.prlimit(process, kind, (limit, limit))


def _reason(talk: str) -> str:
    lines = (line.strip() for line in talk.splitlines())
    told = [_PREFIX.sub("", line).rstrip(".") for line in lines if line and not _NOISE.match(line)]
    return visible("; ".join(told), SHOWN)

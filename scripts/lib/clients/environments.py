"""Installs a client into an environment of its own, once: complete or absent."""

import asyncio
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from table import Client

INSTALL = 420  # seconds for one installation
GRACE = 10  # seconds from SIGTERM to SIGKILL
MARKER = "complete.json"  # written last: without it, or with other pins in it, the environment is made anew


class CannotRunError(Exception):
    """Why a client cannot be tried on this machine. It is then reported as not run."""


@dataclass(frozen=True)
class Environment:
    """Where a client is installed, and the Python of it, if it has one."""

    folder: Path
    python: Path | None = None


async def run(
    command: Sequence[str | Path],
    *,
    patience: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> tuple[int, str, str]:
    """Run a command in its own process group, and end the whole group. Return its code, stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
        cwd=cwd,
        start_new_session=True,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), patience)
    except TimeoutError:
        return -1, "", f"still running after {patience:g} s"
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError, TimeoutError):
                os.killpg(process.pid, signal.SIGTERM)
                await asyncio.wait_for(process.wait(), GRACE)
        # The group may outlive its leader, for instance as a server that the client left running.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")


async def installed(client: Client, cache: Path) -> Environment:
    """Return the client's environment, after making it if need be. Raises `CannotRunError`."""
    folder = cache / f"{client.name}-{client.version}"
    if client.npm:
        if not is_complete(folder, npm_wants(client)):
            await install_npm(client, folder)
        return Environment(folder)
    python = await find_python(client.pythons)
    wants = {"pip": sorted(client.pip), "python": str(python)}
    if not is_complete(folder, wants):
        await install_pip(client, folder, python)
        mark(folder, wants)
    return Environment(folder, folder / "bin/python")


def npm_wants(client: Client) -> dict[str, object]:
    return {"npm": dict(client.npm), "overrides": dict(client.overrides)}


def is_complete(folder: Path, wants: Mapping[str, object]) -> bool:
    try:
        return (folder / MARKER).read_text("utf-8") == spelled(wants)
    except FileNotFoundError:
        return False


def mark(folder: Path, wants: Mapping[str, object]) -> None:
    (folder / MARKER).write_text(spelled(wants), "utf-8")


def spelled(wants: Mapping[str, object]) -> str:
    return json.dumps(wants, sort_keys=True)


async def install_npm(client: Client, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotRunError("npm was not found")
    folder.parent.mkdir(parents=True, exist_ok=True)
    half = Path(tempfile.mkdtemp(prefix=".half.", dir=folder.parent))
    try:
        wanted = {"private": True, "dependencies": dict(client.npm), "overrides": dict(client.overrides)}
        (half / "package.json").write_text(json.dumps(wanted), "utf-8")
        options = ("--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
        await install(client, [npm, "install", *options], half)
        mark(half, npm_wants(client))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(half, folder)
    finally:
        shutil.rmtree(half, ignore_errors=True)


async def install_pip(client: Client, folder: Path, python: Path) -> None:
    """A virtual environment cannot be moved, so it is made in its place, and marked when it is complete."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        await install(client, [python, "-m", "venv", folder], folder.parent)
        pip = (folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        await install(client, [*pip, *client.pip], folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


async def install(client: Client, command: Sequence[str | Path], cwd: Path) -> None:
    env = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}
    env |= {"PIP_USER": "0", "PIP_NO_INPUT": "1"}
    status, out, err = await run(command, patience=INSTALL, env=env, cwd=cwd)
    if status:
        raise CannotRunError(f"{client.shown} {client.version} cannot be installed: {last_words(err or out)}")


def last_words(text: str) -> str:
    """Return the line of an installer's output that says most, without the addresses of registries."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"(?i)\berror\b|no matching|still running", line)]
    said = errors[:2] or lines[-1:]
    return re.sub(r"https?://\S+", "…", " ".join(said))[:300] or "no reason given"


async def find_python(versions: Sequence[str]) -> Path:
    """Return a Python of the best version that this machine has. CLIENTS_PYTHON wins within a version."""
    for version in versions:
        for candidate in candidates(version):
            if await version_of(candidate) == version:
                return Path(candidate)
    raise CannotRunError(f"no Python {' or '.join(versions)} was found")


def candidates(version: str) -> Iterator[str]:
    if chosen := os.environ.get("CLIENTS_PYTHON"):
        yield chosen
    yield sys.executable
    for name in (f"python{version}", "python3"):
        if found := shutil.which(name):
            yield found
    # pyenv puts programs on PATH that refuse to run unless their version is selected.
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))


async def version_of(python: str) -> str:
    """Return the `3.x` of a Python that can make virtual environments, or nothing."""
    code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        status, out, _ = await run([python, "-I", "-c", code], patience=30)
    except OSError:
        return ""
    return out.strip() if status == 0 else ""

"""Install each client once, into its own environment. An incomplete installation is never used."""

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
MARKER = "complete.json"  # written last; if it is missing or has other pins, the client is installed again


class CannotRunError(Exception):
    """Why a client cannot run on this machine. It is then reported as not run."""


@dataclass(frozen=True)
class Environment:
    """Where a client is installed, and its Python if it is a Python package."""

    folder: Path
    python: Path | None = None


async def run(
    command: Sequence[str | Path],
    *,
    patience: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> tuple[int, str, str]:
    """Run a command, and end its whole process group. Return its exit code, stdout and stderr."""
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
        # The client may have left a process running, for instance a server.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")


async def installed(client: Client, cache: Path) -> Environment:
    """Return the client's environment, installing it if necessary. Raises `CannotRunError`."""
    folder = cache / f"{client.name}-{client.version}"
    if client.npm:
        if not is_complete(folder, npm_requirements(client)):
            await install_npm(client, folder)
        return Environment(folder)
    python = await find_python(client.pythons)
    requirements = {"pip": sorted(client.pip), "python": str(python)}
    if not is_complete(folder, requirements):
        await install_pip(client, folder, python)
        mark(folder, requirements)
    return Environment(folder, folder / "bin/python")


def npm_requirements(client: Client) -> dict[str, object]:
    return {"npm": dict(client.npm), "overrides": dict(client.overrides)}


def is_complete(folder: Path, requirements: Mapping[str, object]) -> bool:
    try:
        return (folder / MARKER).read_text("utf-8") == as_json(requirements)
    except FileNotFoundError:
        return False


def mark(folder: Path, requirements: Mapping[str, object]) -> None:
    (folder / MARKER).write_text(as_json(requirements), "utf-8")


def as_json(requirements: Mapping[str, object]) -> str:
    return json.dumps(requirements, sort_keys=True)


async def install_npm(client: Client, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotRunError("npm was not found")
    folder.parent.mkdir(parents=True, exist_ok=True)
    half = Path(tempfile.mkdtemp(prefix=".half.", dir=folder.parent))
    try:
        package = {"private": True, "dependencies": dict(client.npm), "overrides": dict(client.overrides)}
        (half / "package.json").write_text(json.dumps(package), "utf-8")
        options = ("--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
        await install(client, [npm, "install", *options], half)
        mark(half, npm_requirements(client))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(half, folder)
    finally:
        shutil.rmtree(half, ignore_errors=True)


async def install_pip(client: Client, folder: Path, python: Path) -> None:
    """Install with pip, in place, because a virtual environment cannot be moved."""
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
    """Return the error line of an installer's output, without registry addresses."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"(?i)\berror\b|no matching|still running", line)]
    chosen = errors[:2] or lines[-1:]
    return re.sub(r"https?://\S+", "…", " ".join(chosen))[:300] or "no reason given"


async def find_python(versions: Sequence[str]) -> Path:
    """Return a Python of the first of `versions` that this machine has. Prefers $CLIENTS_PYTHON."""
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
    # pyenv's programs on PATH refuse to run unless their version is selected.
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))


async def version_of(python: str) -> str:
    """Return the `3.x` of a Python that can make virtual environments, or an empty string."""
    code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        status, out, _ = await run([python, "-I", "-c", code], patience=30)
    except OSError:
        return ""
    return out.strip() if status == 0 else ""

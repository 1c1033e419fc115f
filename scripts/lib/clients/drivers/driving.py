"""For drivers in Python: read the target, collect the checks, print the report. Standard library only."""

import asyncio
import hashlib
import json
import signal
import subprocess
import sys
import traceback
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any


class Target:
    """The server and the environment to use, from run.py. See its docstring."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.client: str = values["client"]
        self.version: str = values["version"]
        self.transport: str = values["transport"]
        self.command: list[str] = values.get("command", [])
        self.env: dict[str, str] = values.get("env", {})
        self.url: str = values.get("url", "")
        self.site: str = values.get("site", "")
        self.environment = Path(values["environment"])
        self.scratch = Path(values["scratch"])
        self.node: str = values["node"]
        expected = values["expected"]
        self.skills: list[dict[str, Any]] = expected["skills"]
        self.ambiguous: list[dict[str, Any]] = expected["ambiguous"]
        self.nonconforming: list[dict[str, Any]] = expected["nonconforming"]
        self.folder: dict[str, Any] = expected["folder"]
        self.executable: dict[str, str] = expected["executable"]

    @property
    def listed(self) -> list[dict[str, Any]]:
        """The skills that `skills/list` must return: the conforming ones, also those with ambiguous YAML."""
        return [*self.skills, *self.ambiguous]

    @property
    def served(self) -> list[dict[str, Any]]:
        """The skills that resources, tools and prompts must offer: all of them."""
        return [*self.listed, *self.nonconforming]

    def skill(self, path: str) -> dict[str, Any]:
        return next(skill for skill in self.served if skill["path"] == path)


class Report:
    """The checks of one run, in order."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.checks: list[dict[str, Any]] = []
        self.supports: list[str] = []

    @asynccontextmanager
    async def check(self, name: str) -> AsyncGenerator[None]:
        """Record one check. It passes unless the body raises."""
        try:
            yield
        except Exception as problem:  # noqa: BLE001 - any exception of the client is a failed check
            detail = "".join(traceback.format_exception_only(problem)).strip()
            if isinstance(problem, ExceptionGroup):
                detail = f"{detail}: {problem.exceptions[0]!r}"
            self.checks.append({"name": name, "ok": False, "detail": detail[:2000]})
        else:
            self.checks.append({"name": name, "ok": True, "detail": ""})

    def support(self, *words: str) -> None:
        """Name what was checked, for the README."""
        self.supports += [word for word in words if word not in self.supports]


def drive(
    body: Callable[[Target, Report], Coroutine[Any, Any, None]], version: Callable[[Target], str]
) -> None:
    """Run a driver: `body` makes the checks, `version` returns the client's version."""
    target = Target(json.loads(Path(sys.argv[1]).read_text("utf-8")))
    report = Report(target)
    signal.signal(signal.SIGTERM, _end)  # clean up when run.py stops the driver
    asyncio.run(body(target, report))
    result = {"client": target.client, "version": version(target), "checks": report.checks}
    print(json.dumps({**result, "supports": report.supports}), flush=True)


def npm_version(package: str) -> Callable[[Target], str]:
    """Return a function that reads the version of an npm package in the client's environment."""

    def read(target: Target) -> str:
        path = target.environment / "node_modules" / package / "package.json"
        return json.loads(path.read_text("utf-8"))["version"]

    return read


def program(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a program of the client. It has no time limit of its own: run.py ends the whole process group."""
    return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _end(*_: object) -> None:
    raise SystemExit("the time is up")


def same(actual: object, expected: object, what: str) -> None:
    if actual != expected:
        raise AssertionError(f"{what}: got {actual!r}, expected {expected!r}")


def contains(actual: Iterable[str], expected: Iterable[str], what: str) -> None:
    if missing := sorted(set(expected) - set(actual)):
        raise AssertionError(f"{what}: missing {missing!r}")


def has(answer: object, text: str) -> None:
    """Check that an answer of the server contains a text."""
    if text not in (shown := json.dumps(answer, ensure_ascii=False)):
        raise AssertionError(f"{text!r} is not in {shown[:500]}")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def same_bytes(data: bytes, file: Mapping[str, Any]) -> None:
    """Check that data has the size and digest of the fixture's file."""
    same((len(data), sha256(data)), (file["size"], file["sha256"]), f"size and digest of {file['uri']}")

"""Test real clients with a real `skillwire serve`, each in its own environment. For scripts/conformance.

A driver is a program in `drivers/`. It uses only the client's public API. Its argument is a JSON file:

    {"client", "version", "transport": "stdio" | "http" | "site",
     "command": [...], "env": {...},          stdio: how to start the server
     "url", "site",                           http: the MCP endpoint, and the address of the server
     "site",                                  site: the address of a site made by `skillwire publish`
     "environment", "scratch", "node",        the client's environment, an empty folder, the Node program
     "expected": {...}}                       what the server offers: see fixtures.py

The last line of its output is one JSON object:

    {"client", "version", "checks": [{"name", "ok", "detail"}], "supports": [...]}

`supports` lists for the README what was checked. results.py decides whether the client passes.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import results
from environments import CannotRunError, Environment, installed, run
from fixtures import write_fixture
from results import Outcome, read_report
from table import CLIENTS, DRIVERS, Client

START = 30  # seconds until a server prints its address
STOP = 10  # seconds from SIGTERM to exit
AT_ONCE = 2  # clients that are installed or tested at the same time
ADDRESS = re.compile(rb"http://127\.0\.0\.1:\d+|(?<=127\.0\.0\.1 port )\d+")


class ServerError(Exception):
    """A server of Skillwire did not start."""


class Trial:
    """The servers and the skills that every client is tested with."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch = scratch.resolve()
        self.skills = scratch / "skills"
        self.expected = write_fixture(self.skills)
        self.site = ""
        self.http: dict[tuple[str, ...], str] = {}  # by the options of `skillwire serve`
        self._seats = asyncio.Semaphore(AT_ONCE)
        # The user's settings, proxy and colours must not change the outcome.
        self.env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("XDG_", "SKILL", "PYTHON")) and "proxy" not in key.casefold()
        }
        self.env |= {
            "NO_COLOR": "1",
            "CI": "1",
            "DO_NOT_TRACK": "1",
            "DISABLE_TELEMETRY": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.env |= dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        self.env["PATH"] = f"{options.node.parent}{os.pathsep}{os.environ['PATH']}"

    def home(self, name: str) -> dict[str, str]:
        """Return the environment variables, with the home folder `name`."""
        home = self.scratch / "homes" / name
        home.mkdir(parents=True, exist_ok=True)
        return self.env | {"HOME": str(home)}

    @asynccontextmanager
    async def serving(self, clients: Sequence[Client]) -> AsyncGenerator[None]:
        """Serve the fixture over HTTP as each client needs it, and publish it as a site."""
        site = self.scratch / "site"
        # Some skills cannot be published. The others are, and the exit code is 1.
        publish = [self.options.skillwire, "publish", self.skills, "--out", site]
        status, _, err = await run(publish, patience=START, env=self.home("publisher"))
        if status not in {0, 1} or not site.is_dir():
            raise ServerError(f"`skillwire publish` ended with exit code {status}: {err.strip()[-500:]}")
        server = [self.options.skillwire, "serve", self.skills, "--http", "127.0.0.1:0"]
        files = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", site]
        async with AsyncExitStack() as stack:
            for options in {tuple(client.serve) for client in clients if "http" in client.transports}:
                started = listening([*server, *options], self.home("server"))
                self.http[options] = await stack.enter_async_context(started)
            self.site = await stack.enter_async_context(listening(files, self.home("site")))
            yield

    async def drive(self, client: Client, transport: str, environment: Environment) -> tuple[int, str, str]:
        """Run the client's driver once."""
        scratch = self.scratch / "runs" / f"{client.name}-{transport}"
        scratch.mkdir(parents=True)
        env = self.home(f"{client.name}-{transport}")
        target = {
            "client": client.name,
            "version": client.version,
            "transport": transport,
            "environment": str(environment.folder),
            "scratch": str(scratch),
            "node": str(self.options.node),
            "expected": self.expected,
        }
        if transport == "stdio":
            target["command"] = [str(self.options.skillwire), "serve", str(self.skills), *client.serve]
            target["env"] = {"HOME": env["HOME"], "PATH": env["PATH"]}
        elif transport == "http":
            address = self.http[tuple(client.serve)]
            target |= {"url": f"{address}/mcp", "site": address}
        else:
            target["site"] = self.site
        path = self.scratch / "runs" / f"{client.name}-{transport}.json"
        path.write_text(json.dumps(target), "utf-8")
        driver = DRIVERS / client.driver
        program = self.options.node if driver.suffix == ".mjs" else environment.python or sys.executable
        return await run([program, driver, path], patience=client.patience, env=env, cwd=scratch)

    async def try_out(self, client: Client) -> Outcome:
        """Install the client, and run its driver once for each transport."""
        outcome = Outcome()
        async with self._seats:
            try:
                environment = await self.environment(client)
            except CannotRunError as problem:
                outcome.reason = str(problem)
                return outcome
            for transport in client.transports:
                read_report(client, transport, await self.drive(client, transport, environment), outcome)
        return outcome

    async def environment(self, client: Client) -> Environment:
        if not client.provided:
            return await installed(client, self.options.cache)
        folder = getattr(self.options, client.provided)
        if folder is None or not folder.is_dir():
            raise CannotRunError(f"--{client.provided} was not given")
        return Environment(folder)


@asynccontextmanager
async def listening(command: Sequence[str | Path], env: dict[str, str]) -> AsyncGenerator[str]:
    """Start a server on a free port, and yield the address that it prints."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=env,
    )
    assert process.stdout
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    reader = asyncio.create_task(follow(process.stdout, address))
    try:
        yield await asyncio.wait_for(address, START)
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP)
        except TimeoutError:
            process.kill()
            await process.wait()
        await reader


async def follow(stream: asyncio.StreamReader, address: asyncio.Future[str]) -> None:
    """Find the address in a server's output, and go on reading so that the pipe never fills."""
    last: list[str] = []
    async for line in stream:
        last = [*last[-9:], line.decode(errors="replace").rstrip()]
        if not address.done() and (found := ADDRESS.search(line)):
            text = found[0].decode()
            address.set_result(text if text.startswith("http") else f"http://127.0.0.1:{text}")
    if not address.done():
        address.set_exception(ServerError("\n  ".join(["a server ended before it listened:", *last])))


async def try_all(options: argparse.Namespace, clients: Sequence[Client]) -> dict[str, Outcome]:
    with tempfile.TemporaryDirectory(prefix="skillwire-clients-") as scratch:
        trial = Trial(options, Path(scratch))
        async with trial.serving(clients), asyncio.TaskGroup() as group:
            tasks = {client.name: group.create_task(trial.try_out(client)) for client in clients}
    return {name: task.result() for name, task in tasks.items()}


def judge(options: argparse.Namespace, clients: Sequence[Client], outcomes: dict[str, Outcome]) -> int:
    """Print each client's result, compare it with the stored one or store it, and return the exit code."""
    kept = results.load(options.results)
    failed = False
    for client in clients:
        outcome = outcomes[client.name]
        title = f"{client.shown} {client.version}"
        if not outcome.ran:
            before = kept.get(client.name)
            note = f"its row in the README is from {before['date']}" if before else "as in the README"
            print(f"----  {title}: NOT RUN: {outcome.reason} ({note})", flush=True)
            continue
        if outcome.passed and options.write:
            kept[client.name] = outcome.record(client.version, datetime.now(UTC).date().isoformat())
            results.save(options.results, client.name, kept[client.name])
        elif outcome.passed:
            outcome.complaints += [
                f"{each}; run `scripts/conformance --clients --write`"
                for each in results.differences(client, outcome, kept.get(client.name))
            ]
        failed |= not outcome.passed
        counts = [
            f"{transport} {list(checks.values()).count(results.OK)}/{len(checks)}"
            for transport, checks in outcome.transports.items()
        ]
        print(f"{'ok' if outcome.passed else 'FAIL':4}  {title}: {', '.join(counts)}", flush=True)
        for complaint in outcome.complaints:
            print(f"      {complaint}", flush=True)
    if options.write:
        results.write_table(options.readme, results.render(options.table, kept))
    print(summary(clients, outcomes, failed=failed), flush=True)
    return int(failed)


def summary(clients: Sequence[Client], outcomes: dict[str, Outcome], *, failed: bool) -> str:
    ran = [client for client in clients if outcomes[client.name].ran]
    passed = [client for client in ran if outcomes[client.name].passed]
    missing = [client.name for client in clients if client not in ran]
    text = f"clients{' FAILED' if failed else ''}: {len(passed)} of {len(ran)} passed"
    return f"{text}; {len(missing)} NOT RUN: {', '.join(missing)}" if missing else f"{text}, none left out"


def absolute(path: str) -> Path:
    """Return an absolute path, because drivers run in other folders."""
    return Path(path).absolute()


def main(arguments: Sequence[str], table: Sequence[Client] = CLIENTS) -> int:
    parser = argparse.ArgumentParser(prog="scripts/conformance --clients")
    for program in ("node", "skillwire"):
        parser.add_argument(f"--{program}", type=absolute, required=True)
    parser.add_argument("--inspector", type=absolute, help="the folder where the Inspector is installed")
    parser.add_argument("--cache", type=absolute, default=results.README.parent / ".cache/clients")
    parser.add_argument("--results", type=absolute, default=results.KEPT)
    parser.add_argument("--readme", type=absolute, default=results.README)
    parser.add_argument("--only", action="append", choices=[client.name for client in table], metavar="NAME")
    parser.add_argument(
        "--write", action="store_true", help="store the results, and write the README's table"
    )
    options = parser.parse_args(arguments)
    options.table = table
    clients = [client for client in table if not options.only or client.name in options.only]
    return judge(options, clients, asyncio.run(interruptible(options, clients)))


async def interruptible(options: argparse.Namespace, clients: Sequence[Client]) -> dict[str, Outcome]:
    task = asyncio.current_task()
    assert task
    # As with Ctrl-C: end every started process first.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await try_all(options, clients)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except* (ServerError, TimeoutError) as problems:
        sys.exit(f"clients FAILED: {problems.exceptions[0] or 'a server did not print its address'}")
    except* (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit("clients: interrupted")

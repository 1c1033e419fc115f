"""Run the external conformance tools on real servers and on our client. For scripts/conformance.

The conformance suite tests servers over HTTP. The Inspector reads every file of every skill, over HTTP and
stdio, and compares it with the listing. Both connect to our server, which listens on loopback. To test our
client, the suite is the server; loopback.mjs keeps it on loopback too. Every check must pass.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from grades import (
    CLIENT_EXAMS,
    EXAMS,
    NEWEST,
    OLDER,
    SKILLS,
    Exam,
    Grade,
    grade_checks,
    grade_client,
    grade_reports,
    total,
    unknown_scenarios,
    verified_files,
)

PATIENCE = 180  # seconds for one run of a tool
START = 30  # seconds until the server prints its address
STOP = 10  # seconds from SIGTERM to exit
BESIDE = Path(__file__).parent
EXAMINEE = '"$EXAMINEE_PYTHON" "$EXAMINEE"'  # quoted: the suite passes it to a shell
IN_CODE = ("code", "mcpserver", "fastmcp")  # the servers of in_code.py


class ServerError(Exception):
    """The server did not start or stop in time."""


class Court:
    """Runs the tools, at most two at a time, with their own home folder, and records the results."""

    def __init__(self, programs: argparse.Namespace, scratch: Path) -> None:
        self.programs = programs
        self.scratch = scratch
        self.log = scratch / "server.log"
        self.failed = False
        self._seats = asyncio.Semaphore(2)
        # The user's settings, proxy and colours must not change the outcome.
        self._env = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
        self._env |= {"HOME": str(scratch), "NO_COLOR": "1"}
        self._env |= dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        self._env |= {"EXAMINEE_PYTHON": sys.executable, "EXAMINEE": str(BESIDE / "examinee.py")}

    def record(self, title: str, result: Grade) -> None:
        self.failed |= bool(result.complaints)
        print(
            f"{'FAIL' if result.complaints else 'ok':4}  {title}: {result.passed}/{result.asked}", flush=True
        )
        for complaint in result.complaints:
            print(f"      {complaint}", flush=True)

    async def node(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Run a tool in Node. Return its exit code, stdout and stderr."""
        async with self._seats:
            process = await asyncio.create_subprocess_exec(
                self.programs.node,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._env,
            )
            try:
                out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
            except TimeoutError:
                return -1, "", f"still running after {PATIENCE} s"
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")

    @asynccontextmanager
    async def http_server(self, *command: str | Path) -> AsyncGenerator[str]:
        """Start a server on a free port, yield its address, and check that it stops on SIGTERM."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=self._env,
        )
        assert process.stderr
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        listener = asyncio.create_task(listen(process.stderr, self.log, address))
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
                raise ServerError(f"the server still ran {STOP} s after SIGTERM") from None
            finally:
                await listener

    async def sit(self, exam: Exam, url: str, candidate: str = "serve") -> Grade:
        results = self.scratch / f"{candidate}-{exam.protocol}-{exam.scenario}"
        status, out, err = await self.node(
            *(self.programs.conformance, "server", "--url", url, "--scenario", exam.scenario),
            # Without --force the suite skips extensions and still exits with code 0.
            *("--spec-version", exam.protocol, "--force", "--timeout", "60000", "--output-dir", results),
        )
        written = list(results.glob("*/checks.json"))
        if len(written) == 1:
            result = grade_checks(json.loads(written[0].read_text("utf-8")), exam.excused)
        else:
            result = Grade(0, 0, [f"no result, exit code {status}", *(out + err).strip().splitlines()[-5:]])
        self.record(f"{candidate} {exam.protocol} {exam.scenario}", result)
        return result

    async def sit_as_client(self, exam: Exam) -> Grade:
        """Test our client in one scenario, with the suite as the server."""
        results = self.scratch / f"client-{exam.protocol}-{exam.scenario}"
        status, out, err = await self.node(
            *(
                "--import",
                BESIDE / "loopback.mjs",
                self.programs.conformance,
                "client",
                "--command",
                EXAMINEE,
            ),
            *("--scenario", exam.scenario, "--spec-version", exam.protocol, "--force"),
            *("--timeout", "60000", "--output-dir", results),
        )
        written = list(results.glob("*/checks.json"))
        if len(written) == 1:
            output = written[0].with_name("stdout.txt").read_text("utf-8", "replace")
            result = grade_client(exam, json.loads(written[0].read_text("utf-8")), output)
        else:
            result = Grade(0, 0, [f"no result, exit code {status}", *(out + err).strip().splitlines()[-5:]])
        self.record(f"client {exam.protocol} {exam.scenario}", result)
        return result

    async def inspect(self, target: Iterable[str | Path], *method: str) -> list[dict[str, Any]]:
        """Return the Inspector's reports on the skills in the answer to `method`."""
        status, out, err = await self.node(
            *(self.programs.inspector, "--cli", "--protocol-era", "modern", "--format", "json", "--quiet"),
            *("--method", *method, "--verify", "--require-digests", *target),
        )
        reports = [json.loads(line) for line in out.splitlines()]
        if status:
            self.record(
                f"inspector {' '.join(method)}", Grade(0, 0, [f"exit code {status}", err.strip()[-500:]])
            )
        return reports

    async def inspect_all(self, transport: str, target: Sequence[str | Path]) -> int:
        """Verify every file, through the list and skill by skill. Return how many passed both."""
        listed = await self.inspect(target, "skills/list")
        expected = files_below(self.programs.skills)
        self.record(f"inspector skills/list over {transport}", grade_reports(listed, expected))

        gets = (self.inspect(target, "skills/get", "--uri", report["uri"]) for report in listed)
        got = [report for reports in await asyncio.gather(*gets) for report in reports]
        self.record(f"inspector skills/get over {transport}", grade_reports(got, expected))
        return len(verified_files(listed) & verified_files(got))


async def listen(stream: asyncio.StreamReader, log: Path, address: asyncio.Future[str]) -> None:
    """Write the server's output to `log`, and find its address in it."""
    with log.open("wb") as copy:
        async for line in stream:
            copy.write(line)
            found = re.search(rb"http://127\.0\.0\.1:\d+/mcp", line)
            if found and not address.done():
                address.set_result(found[0].decode())
    if not address.done():
        address.set_exception(ServerError("the server ended before it printed its address"))


def files_below(skills: Path) -> set[str]:
    """Return the URI of every file in the folder that must be served: all but hidden files and evals."""
    paths = [path.relative_to(skills) for path in skills.rglob("*") if path.is_file()]
    paths = [path for path in paths if "__pycache__" not in path.parts]  # left by tests that ran an example
    return {
        f"skill://{quote(path.as_posix())}"
        for path in paths
        if not any(part.startswith(".") or part == "evals" for part in path.parts)
    }


async def judge(court: Court) -> str:
    """Run every check. Return the summary line."""
    serve = [court.programs.skillwire, "serve", court.programs.skills]
    stdio = ["--transport", "stdio", "--", *serve]
    async with court.http_server(*serve, "--http", "127.0.0.1:0") as url, asyncio.TaskGroup() as group:
        exams = [(exam, group.create_task(court.sit(exam, url))) for exam in EXAMS]
        over_http = group.create_task(court.inspect_all("http", ["--transport", "http", url]))
        over_stdio = group.create_task(court.inspect_all("stdio", stdio))

    scores = [f"serve {added_up(court, 'serve', [(exam, task.result()) for exam, task in exams])}"]
    for kind in IN_CODE:
        command = [sys.executable, BESIDE / "in_code.py", kind, court.programs.skills]
        scores.append(f"{kind} {await judge_skills(court, kind, command)}")
    bridge = [court.programs.skillwire, "bridge", "--http", "127.0.0.1:0", "--", *serve, "--no-config"]
    scores.append(f"bridge {await judge_skills(court, 'bridge', bridge)}")
    scores.append(f"client {await judge_client(court)}")
    files = f"inspector {over_http.result()} files over http, {over_stdio.result()} over stdio"
    return f"{', '.join(scores)}, {files}"


async def judge_skills(court: Court, candidate: str, command: Sequence[str | Path]) -> str:
    """Test a server in the skills scenarios. Return its scores."""
    async with court.http_server(*command) as url, asyncio.TaskGroup() as group:
        exams = [
            (exam, group.create_task(court.sit(exam, url, candidate)))
            for exam in EXAMS
            if exam.scenario in SKILLS
        ]
    return added_up(court, candidate, [(exam, task.result()) for exam, task in exams])


async def judge_client(court: Court) -> str:
    """Test our client in every scenario for clients of skills. Return its scores."""
    async with asyncio.TaskGroup() as group:
        listed = group.create_task(court.node(court.programs.conformance, "list", "--client"))
        exams = [(exam, group.create_task(court.sit_as_client(exam))) for exam in CLIENT_EXAMS]
    court.record("client scenarios are complete", unknown_scenarios(listed.result()[1]))
    passed = [exam.protocol for exam, task in exams if not task.result().complaints]
    asked = [exam.protocol for exam in CLIENT_EXAMS]
    return " and ".join(f"{passed.count(each)}/{asked.count(each)}" for each in (NEWEST, OLDER))


def added_up(court: Court, candidate: str, graded: Sequence[tuple[Exam, Grade]]) -> str:
    """Return the scores of the skills scenarios, one for each protocol version."""
    sums = {protocol: total(graded, protocol) for protocol in (NEWEST, OLDER)}
    for protocol, result in sums.items():
        court.record(f"{candidate} {protocol} skills scenarios together", result)
    return " and ".join(f"{result.passed}/{result.asked}" for result in sums.values())


async def main(programs: argparse.Namespace) -> int:
    task = asyncio.current_task()
    assert task
    # As with Ctrl-C: end every started process first.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with tempfile.TemporaryDirectory(prefix="skillwire-judges-") as scratch:
        court = Court(programs, Path(scratch))
        try:
            summary = await judge(court)
        except (ServerError, TimeoutError) as problem:
            court.failed = True
            summary = str(problem) or f"the server did not print its address within {START} s"
        if court.failed and court.log.exists():
            print(
                "the last lines of the server's log:",
                *court.log.read_text("utf-8", "replace").splitlines()[-20:],
                sep="\n  ",
            )
    print(f"conformance{' FAILED' if court.failed else ''}: {summary}")
    return int(court.failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for program in ("node", "conformance", "inspector", "skillwire", "skills"):
        parser.add_argument(f"--{program}", type=Path, required=True)
    try:
        sys.exit(asyncio.run(main(parser.parse_args())))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit("conformance: interrupted")

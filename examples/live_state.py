"""A small program that exposes its own live state as skills: a queue of jobs, as it is at each reading.

Start a server, then this, then read:

    skillwire serve --http 8765 --drive
    python examples/live_state.py ws://127.0.0.1:8765
    curl http://127.0.0.1:8765/skills/queue/jobs
    skillwire drive list http://127.0.0.1:8765
"""

import sys
import time
from dataclasses import dataclass

import anyio

from skillwire.drive.client import DriveClient
from skillwire.drive.exposed_paths import LiveRequest
from skillwire.drive.transports import RefusedByServerError
from skillwire.errors import NotFoundError


@dataclass
class Job:
    """Something to do."""

    name: str
    state: str = "waiting"
    error: str = ""


STARTED = time.monotonic()
JOBS = [Job("import-orders"), Job("send-invoices"), Job("rebuild-index")]


async def work() -> None:
    """Do the jobs, one after the other. The second always fails."""
    for job in JOBS:
        job.state = "running"
        await anyio.sleep(0.2)
        job.state = "done"
        if job.name == "send-invoices":
            job.state, job.error = "failed", "the mail server answered 451; try again after ten minutes"


def overview() -> str:
    """The root: useful on its own, and it says where to read on."""
    counts = {
        state: sum(job.state == state for job in JOBS) for state in ("waiting", "running", "done", "failed")
    }
    lines = [f"- {count} {state}" for state, count in counts.items() if count]
    on = "Read `/jobs/failed/skill.md` for what to do about failures, `/jobs/<name>/skill.md` for one job."
    return "\n".join(
        ["# The job queue", "", f"Up for {time.monotonic() - STARTED:.0f} s.", *lines, "", on, ""]
    )


def failures() -> str:
    """Narrower: what to do about the jobs that failed."""
    failed = [f"- `{job.name}`: {job.error}" for job in JOBS if job.state == "failed"]
    return "\n".join(["# Failed jobs", "", *(failed or ["Nothing has failed."]), ""])


def one_job(request: LiveRequest) -> str:
    """Narrower still: one job, by its name in the path."""
    wanted = request.params["name"]
    for job in JOBS:
        if job.name == wanted:
            return f"# {job.name}\n\nIt is {job.state}. {job.error}\n"
    names = ", ".join(f"`{job.name}`" for job in JOBS)
    raise NotFoundError(f"there is no job `{wanted}`; there are {names}")


async def main(url: str) -> None:
    client = DriveClient(url, id="queue", name="Job queue", description="Runs jobs, one after the other.")
    client.expose("/jobs/skill.md", description="What the job queue is doing now. Begin here.")(overview)
    client.expose("/jobs/failed/skill.md", description="Jobs that failed, and what to do.")(failures)
    client.expose("/jobs/:name/skill.md", description="One job of the queue, by its name.")(one_job)
    async with client, anyio.create_task_group() as tasks:
        print(f"exposed on {url}; end with Ctrl-C", file=sys.stderr)
        tasks.start_soon(work)
        await client.until_ended()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} URL, as in ws://127.0.0.1:8765")
    try:
        anyio.run(main, sys.argv[1])
    except* RefusedByServerError as refused:
        sys.exit(f"error: {refused.exceptions[0]}")
    except* KeyboardInterrupt:
        pass

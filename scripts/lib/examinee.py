"""Our host as a client under test. The conformance suite runs it, started by judges.py.

examinee.py URL    the environment has the scenario and the protocol version

It discovers skills. If the scenario is about loading, it approves and loads each skill and reads its files.
It prints what it found; grades.py evaluates that.
"""

import os
import sys
from functools import partial

import anyio
from grades import NEWEST, NO_PREFETCH

from skillwire import Host, ServerSource, Target
from skillwire.errors import VerificationError
from skillwire.host.approvals.questions import Answer, Request
from skillwire.host.connections.connect import connected
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.servers.link import ServerLink


async def approve(_: Request) -> Answer:
    return Answer.ONCE


async def main(url: str) -> None:
    newest = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] == NEWEST
    target = Target("suite", url=url)
    connect = partial(connected, target, "auto" if newest else "legacy")
    link = ServerLink(target, connect=connect)
    async with link, Host(sources=[ServerSource(link)], approve=approve) as host:
        registry = await host.discover()
        print(f"listed: {len(registry.skills)}")
        if os.environ["MCP_CONFORMANCE_SCENARIO"] != NO_PREFETCH:
            for skill in registry.skills:
                await load(host, skill)


async def load(host: Host, skill: HostedSkill) -> None:
    """Load a skill and read all its files. Print the problems for which the host refuses it."""
    session = host.session()
    try:
        await session.load(skill.handle)
        for file in skill.files or ():
            await session.read_file(skill.handle, file.uri)
    except VerificationError as error:
        for problem in error.problems:
            print(f"found: {problem.rule}")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])

"""Our client, driven as the scenarios of the conformance suite want it. Run by the suite, for judges.py.

examinee.py URL    the scenario and the protocol version are in the environment

It does what a host does: it lists skills, and where the scenario is about loading one, reads its `SKILL.md`
and goes on to the other files only if that is what was listed. It says what it found, for the grade.
"""

import os
import sys
from collections.abc import Iterator

import anyio
from grades import NEWEST, NO_PREFETCH

from skillwire.host.client import SkillsClient
from skillwire.host.connecting import connected
from skillwire.host.target import Target
from skillwire.wire.findings import Finding
from skillwire.wire.remote import RemoteFile, RemoteSkill
from skillwire.wire.verify import file_faults, frontmatter_faults


async def main(url: str) -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    newest = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] == NEWEST
    async with connected(Target(url, url=url), "auto" if newest else "legacy") as connection:
        client = SkillsClient(connection)
        listing = await client.list()
        print(f"listed: {len(listing.skills)}")
        for skill in listing.skills if scenario != NO_PREFETCH else ():
            await load(client, skill)


async def load(client: SkillsClient, skill: RemoteSkill) -> None:
    """Read every file of a skill, its document first, until one is not what was listed (H13)."""
    for file in sorted(skill.files or (), key=lambda each: each.uri != skill.uri):
        content = await client.read(file.uri, file.size)
        if found := list(faults(skill, file, content)):
            for finding in found:
                print(f"found: {finding.fault}")
            return


def faults(skill: RemoteSkill, file: RemoteFile, content: bytes) -> Iterator[Finding]:
    yield from file_faults(file, content)
    if file.uri == skill.uri:
        yield from frontmatter_faults(skill, content)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])

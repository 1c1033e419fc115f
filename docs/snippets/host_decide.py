from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from mcp import Client

from skillwire import Host, ServerSource, Skill, SkillServer, State
from skillwire.errors import NotApprovedError
from skillwire.host import ConnectedServer

SKILLS = Path(__file__).parents[2] / "examples/skills"
REFUNDS = "---\nname: refunds\ndescription: Decides refunds.\n---\n# Steps\n"


async def main(folder: Path) -> None:
    server = SkillServer("theirs").add(Skill("refunds", REFUNDS))
    async with Client(server.build()) as client:
        acme = ConnectedServer("acme", client, identity="https://acme.example/mcp")
        with State.open(folder) as state:
            async with Host(folders={"mine": SKILLS}, sources=[ServerSource(acme)], state=state) as host:
                registry = await host.discover()
                (problem,) = registry.problems
                assert str(problem).endswith("; `refunds` alone means your own")

                skill = registry.resolve("acme:refunds")
                seen = await host.inspect(skill)  # nothing was read of it
                assert [(file.path, file.size) for file in seen.files or ()] == [("SKILL.md", 60)]

                session = host.session()
                with suppress(NotApprovedError):  # nobody was asked, so nobody said yes
                    await session.load("acme:refunds")
                assert session.acting == ()

                await host.approve(skill)  # of this version, until it is another
                assert "# Steps" in (await session.load("acme:refunds")).text
                await host.revoke(skill)


with TemporaryDirectory() as folder:
    anyio.run(main, Path(folder))

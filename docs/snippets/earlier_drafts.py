import anyio
from mcp import Client
from mcp.server.mcpserver import MCPServer

from skillwire.host import DraftsClient, SkillsClient

server = MCPServer("older")


@server.resource("skill://refunds/SKILL.md", description="Refunds orders.")
def refunds() -> str:
    return "---\nname: refunds\ndescription: Refunds orders.\n---\n\n# Refunds\n"


async def main() -> None:
    async with Client(server) as client:
        skills = DraftsClient(SkillsClient(client))
        listing = await skills.list()
        (skill,) = listing.skills
        assert (listing.dialect, skill.integrity, skill.lasting) == ("scan", "none", False)
        assert b"# Refunds" in await skills.read(skill.uri)


anyio.run(main)

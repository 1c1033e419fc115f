from mcp.server.mcpserver import MCPServer

server = MCPServer("older")


@server.resource("skill://refunds/SKILL.md", description="Refunds orders.")
def refunds() -> str:
    return "---\nname: refunds\ndescription: Refunds orders.\n---\n\n# Refunds\n"


if __name__ == "__main__":
    server.run()

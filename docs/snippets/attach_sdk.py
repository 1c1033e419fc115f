from mcp.server.mcpserver import MCPServer

from skillwire import attach

mcp = MCPServer("bills")


@mcp.tool()
def add(a: int, b: int) -> int:
    return a + b


attach(mcp, "skills")

if __name__ == "__main__":
    mcp.run()

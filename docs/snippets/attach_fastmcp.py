from fastmcp import FastMCP

from skillwire import attach

mcp = FastMCP("bills")


@mcp.tool
def add(a: int, b: int) -> int:
    return a + b


attach(mcp, "skills")

if __name__ == "__main__":
    mcp.run()

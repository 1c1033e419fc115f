"""A FastMCP server whose skills have versions and tags."""

from fastmcp import FastMCP

from skillwire import ServeOptions, attach
from skillwire.contract import ContractOptions

mcp = FastMCP("support")
attach(mcp, "team", options=ServeOptions(additions=[ContractOptions()]))

if __name__ == "__main__":
    mcp.run()

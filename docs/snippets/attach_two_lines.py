from fastmcp import FastMCP
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer

from skillwire import attach

attach(FastMCP("bills"), "skills")
attach(MCPServer("bills"), "skills")
attach(Server("bills"), "skills")

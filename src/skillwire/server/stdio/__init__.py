"""An MCP server on standard input and output: stdout carries the protocol and nothing else.

What the cache knows is answered on the spot. The SDK, which takes longer to load than most folders of skills,
is loaded when the first line comes that the cache leaves to it.
"""

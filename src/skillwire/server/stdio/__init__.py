"""Serve MCP on standard input and output. Stdout carries only the protocol.

Requests in the response cache are answered at once. The SDK takes longer to load than most folders of skills,
so it is loaded only when the first request needs it.
"""

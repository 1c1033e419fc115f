"""Serve MCP on standard input and output. Stdout carries only the protocol.

Requests with a cached response are answered at once. Loading the SDK takes longer than loading most folders
of skills, so the SDK is loaded only when a request needs it.
"""

"""TODO skillwire.server.attaching.fastmcp"""

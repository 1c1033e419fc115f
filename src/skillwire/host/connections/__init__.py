"""Connections to other servers: targets, transports, limits on what comes in."""

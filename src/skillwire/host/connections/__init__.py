"""Connections to other servers: targets, transports, and limits on received data."""

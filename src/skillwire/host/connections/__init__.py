"""Connections to other servers: targets, labels, transports, and limits on received data."""

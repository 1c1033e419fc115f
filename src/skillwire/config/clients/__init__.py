"""Servers named in files that people already have, one small file for each client. Nothing is written."""

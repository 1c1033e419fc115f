"""Ranking by meaning: vectors of skills from a local model or an endpoint, compared with that of a query."""

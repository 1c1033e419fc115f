"""Evals of skills: whether a model would find and use a skill for a request."""

"""The registry: published versions of skills in a database, with channels and a history."""

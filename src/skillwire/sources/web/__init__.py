"""Skills of a web site with `/.well-known/agent-skills/`."""

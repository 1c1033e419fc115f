"""Skills from websites that publish `/.well-known/agent-skills/`."""

"""The smallest skill server: one document, three lines.

python examples/servers/hello_world.py    serve over stdio until the client disconnects
"""

from skillwire import Skill, SkillServer

HELLO_WORLD = """---
name: hello-world
description: Demonstrates the simplest possible MCP skill
---

# Hello World Skill

When the user greets the agent, respond warmly and offer to help.
"""

server = SkillServer("hello-world-demo", version="0.1.0")
server.add(Skill("hello-world", HELLO_WORLD))

if __name__ == "__main__":
    server.run()

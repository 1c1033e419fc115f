from pathlib import Path

import skillwire

SKILLS = Path(__file__).parents[2] / "examples/skills"

skillwire.serve(SKILLS, name="acme-skills", version="1.0")  # over stdio, until the client closes its side

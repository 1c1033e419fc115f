"""From the bytes of a `SKILL.md` to fields, rules and positions, and back."""

"""From the bytes of a `SKILL.md` to its frontmatter and its problems. Standard library and PyYAML only."""

"""Read a `SKILL.md` into fields, problems and positions, and write frontmatter."""

"""Read and check the frontmatter and body of a `SKILL.md`, and write frontmatter."""

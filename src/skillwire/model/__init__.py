"""Values: what a skill, a file, a digest, a problem is. Standard library only."""

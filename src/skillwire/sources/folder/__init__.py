"""Find, read and watch the skills in a folder on this machine."""

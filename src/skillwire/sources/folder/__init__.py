"""Find, read and watch the skills in a local folder."""

"""Live skills: running programs connect, register paths, and answer reads (Model Drive Protocol)."""

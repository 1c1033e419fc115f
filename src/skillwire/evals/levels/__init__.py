"""The levels of evidence, one file each. A higher level needs more, and may claim more."""

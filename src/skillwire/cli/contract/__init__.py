"""What the verbs of the repository contract share: skills on this machine, changes since a commit, fixes."""

"""Every rule for one skill, in the order in which problems are told."""

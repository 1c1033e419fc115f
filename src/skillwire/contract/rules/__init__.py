"""The contract's rules for one skill, by subject."""

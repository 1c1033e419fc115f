"""What a person is asked about a skill, what they said, and whether it still counts."""

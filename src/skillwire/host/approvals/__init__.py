"""What a person is asked about a skill, what they answered, and what changed since."""

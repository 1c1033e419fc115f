"""What the operator decided: environment variables and defaults."""

"""Other people's implementations, asked for a second opinion."""

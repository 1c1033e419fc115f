"""Session tools for agent frameworks. Each module imports only its own framework."""

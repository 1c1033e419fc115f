"""`skillwire doctor`: what each known client shows of the skills, and how to improve their descriptions."""

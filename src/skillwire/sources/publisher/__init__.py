"""Web sites that publish skills at a well-known place: their addresses, and copies of what they publish."""

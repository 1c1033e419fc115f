"""Log in to servers that require OAuth, and renew and revoke tokens."""

"""The data that a host stores between runs: labels, approvals, cached files and logins."""

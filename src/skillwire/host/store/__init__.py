"""What a host stores between runs: labels, approvals, cached files, logins."""

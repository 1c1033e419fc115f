"""Approval of skills: what the user is asked, the answers of a session, and stored approvals."""

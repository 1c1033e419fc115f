"""Approval of skills: the questions to the user, the answers in a session, and access to stored approvals."""

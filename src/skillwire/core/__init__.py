"""The data types of skills, templates and problems, and helpers for files, locks, JSON and HTTP bodies."""

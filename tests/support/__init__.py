"""What several test files share: skills on disk, and clients that say exactly what a test wants said."""

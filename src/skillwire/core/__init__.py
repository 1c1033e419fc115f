"""What a skill is: record, file, digest, URI, names, problems. Also small helpers that all packages share."""

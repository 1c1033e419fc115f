"""What a skill is: record, file, digest, URI, names, problems. Also helpers that all packages use."""

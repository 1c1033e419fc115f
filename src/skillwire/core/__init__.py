"""What a skill is: record, file, digest, URI, names, problems. Values, and a few helpers of the process."""

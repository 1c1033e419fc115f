"""The benchmark of search: how well and how fast it finds, beside plain FTS5 and a linear scan."""

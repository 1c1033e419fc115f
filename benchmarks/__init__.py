"""Benchmarks. Run them with `scripts/bench`."""

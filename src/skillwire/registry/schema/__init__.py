"""The tables of a registry, as numbered migrations: one module for each number."""

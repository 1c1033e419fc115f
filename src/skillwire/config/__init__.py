"""The operator's configuration, from arguments, environment and files, and the report of `check`."""

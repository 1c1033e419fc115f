"""The operator's configuration: command line, environment variables, configuration file and defaults."""

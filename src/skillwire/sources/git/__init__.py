"""Skills in git repositories, fetched with the `git` program."""

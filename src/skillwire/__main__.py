"""`python -m skillwire` and the `skillwire` command."""

import sys

from skillwire.cli.app import run


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()

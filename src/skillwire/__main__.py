"""`python -m skillwire` and the `skillwire` command."""

import gc
import os
import sys

from skillwire.core.process import gc_paused


def main() -> None:
    """Run the command line and exit with its code."""
    _open_what_is_closed()
    with gc_paused():
        from skillwire.cli.main import run  # noqa: PLC0415 - the parser is much to load

        gc.collect()  # once: what is left over from making it would stay for good

    sys.exit(run(sys.argv[1:]))


def _open_what_is_closed() -> None:
    """Give every standard stream a descriptor: else the next file to be opened would become stdout."""
    nothing = os.open(os.devnull, os.O_RDWR)
    while nothing <= 2:
        nothing = os.dup(nothing)
    os.close(nothing)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main()

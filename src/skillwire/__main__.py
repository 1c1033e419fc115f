"""`python -m skillwire` and the `skillwire` command."""

import gc
import os
import sys

from skillwire.core.process import gc_paused


def main() -> None:
    """Run the command line and exit with its code."""
    _open_closed_streams()
    with gc_paused():
        from skillwire.cli.main import run  # noqa: PLC0415 - with the collector paused

        gc.collect()  # frozen garbage would never be freed

    sys.exit(run(sys.argv[1:]))


def _open_closed_streams() -> None:
    """Point closed standard streams at the null device.

    Otherwise, the next file to be opened would get the file descriptor of stdin, stdout or stderr.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.dup(descriptor)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - never closed
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main()

"""`python -m skillwire` and the `skillwire` command."""

import atexit
import gc
import os
import sys
import threading
from typing import NoReturn

from skillwire.core.process import end_after_command, gc_paused


def main() -> None:
    """Run the command line and exit with its code."""
    _open_closed_streams()
    with gc_paused():
        from skillwire.cli.main import run  # noqa: PLC0415 - with the collector paused

        gc.collect()  # frozen garbage would never be freed

    end_after_command()
    _end(run(sys.argv[1:]))


def _end(code: int) -> NoReturn:
    """Exit with this code, as `sys.exit` does, but let the system free the memory at once."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # reported by the interpreter
        sys.exit(code)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - there is no public way
    os._exit(code)


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

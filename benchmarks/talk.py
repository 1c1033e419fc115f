"""Progress messages on stderr. Results go to stdout."""

import sys


def say(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)

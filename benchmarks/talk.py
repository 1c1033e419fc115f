"""What is told while a run goes on. Its results go to stdout, and this does not."""

import sys


def say(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)

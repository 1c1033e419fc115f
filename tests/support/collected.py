"""Print what `pytest` would run, as JSON: the id of each test, and the names of its marks.

python -m tests.support.collected
"""

import json
import sys
from contextlib import redirect_stdout

import pytest


class Collected:
    """A plugin that remembers the collected tests."""

    def __init__(self) -> None:
        self.marks: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self.marks[item.nodeid] = sorted({mark.name for mark in item.iter_markers()})


def main() -> int:
    found = Collected()
    with redirect_stdout(sys.stderr):
        code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider"], plugins=[found])
    sys.stdout.write(json.dumps(found.marks))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())

"""What a program says on its standard error: read to the end, so that it never waits, and the tail kept."""

import os
import threading
import time
from typing import Self

from skillwire.model.display import visible

_KEPT = 2000
"""Bytes that are kept."""
_CHUNK = 65_536
_BREATH = 0.005
"""Seconds after each full chunk: a program that writes without end is slowed down, and takes no core."""
_PATIENCE = 1.0
"""Seconds for the rest to arrive once the program has ended. A child of it may hold the pipe for ever."""


class LastWords:
    """A pipe for a program to write to. Nothing of it reaches the terminal: it may hold anything."""

    def __init__(self) -> None:
        self._tail = b""
        self._ours, theirs = os.pipe()
        self.file = os.fdopen(theirs, "w", encoding="utf-8")
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def last_line(self) -> str:
        """Return the last line that was written, visible and capped. Nothing can be written afterwards."""
        self.file.close()
        self._thread.join(_PATIENCE)
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return visible(lines[-1], 300) if lines else ""

    def _follow(self) -> None:
        with os.fdopen(self._ours, "rb", buffering=0) as pipe:
            while chunk := pipe.read(_CHUNK):
                self._tail = (self._tail + chunk)[-_KEPT:]
                if len(chunk) == _CHUNK:
                    time.sleep(_BREATH)

"""Lines that differ from an earlier one in nothing but their id, understood without being parsed again."""

import re

from skillwire.server.lane import BEFORE_ID, BEFORE_RESULT, Lane, Question

_BEFORE = rb'(\{"jsonrpc": ?"2\.0", ?"id": ?|.*"id": ?)'
"""All up to the id. Where it comes first, as often, the rest of the line need not be searched for it."""
_WHOLE = rb"(0|[1-9][0-9]{0,14})"
"""An id that is recognised: a whole number, as JSON spells it. Nobody counts further."""
_parted = re.compile(rb"^" + _BEFORE + _WHOLE + rb"(.*)\n", re.MULTILINE).findall
"""Returns of each line that has such an id what stands before it, the id, and what stands behind it.

Only for what ends with a newline: without one, lines full of ids would be searched again and again.
"""
_ID = b'"id"'
_ESCAPE = b"\\"
"""Lets a name be spelled in many ways."""
_MOST = 8192
_LONGEST = 1024
"""Bytes of a line that is remembered, with its newline."""


class Repeated:
    """Remembers the question of each line by all that stands around the id.

    Where nothing else in a line is named `id`, another whole number in that place makes it the same request
    with another id.
    """

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._known: dict[bytes, Question] = {}

    def answered(self, chunk: bytes, enough: int) -> tuple[bytes, bytes]:
        """Return the answers to the first lines of a chunk, and the rest of it, which was left alone.

        The rest begins with a line that is not known, or not ready, or for which there was more than `enough`
        already. It is everything, if a line is cut off. To take each line by itself would cost much more.
        """
        number = chunk.count(b"\n")
        if not self._known or len(chunk) > number * _LONGEST or not chunk.endswith(b"\n"):
            return b"", chunk
        lines = _parted(chunk)
        if len(lines) != number:
            return b"", chunk
        pieces: list[bytes] = []
        for at, (before, identity, behind) in enumerate(lines):
            question = self._known.get(before + behind)
            if enough < 0 or question is None or (result := self._lane.ready(question)) is None:
                return b"".join(pieces), chunk.split(b"\n", at)[at]
            pieces += (BEFORE_ID, identity, BEFORE_RESULT, result, b"}\n")
            enough -= len(result)
        return b"".join(pieces), b""

    def note(self, line: bytes, identity: bytes, question: Question) -> None:
        """Remember what a line meant, if it can be told from its spelling alone."""
        if len(line) >= _LONGEST or _ESCAPE in line:
            return
        for before, spelled, behind in _parted(line + b"\n"):
            rest = before + behind
            # Of several ids the last one counts, and one that is deeper inside is not the request's.
            if rest.count(_ID) == 1 and spelled == identity:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known[rest] = question

"""Lines that differ from an earlier one in nothing but their id, understood without being parsed again."""

from skillwire.server.lane import Question

_FRONTS = (b'{"jsonrpc":"2.0","id":', b'{"jsonrpc": "2.0", "id": ')
_BACK = b',"id":'
_ID = b'"id"'
_ESCAPE = b"\\"
"""Lets a name be spelled in many ways."""
_DIGITS = 15
"""Of an id that is recognised. Nobody counts further."""
_MOST = 8192
_LONGEST = 1024
"""Bytes of a line that is remembered."""


class Repeated:
    """Remembers the question of each line by all that stands around the id.

    The id is the first member behind the version, or the last of all: there it cannot be anybody else's. With
    another whole number in its place, a line is the same request with another id.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, Question] = {}

    def find(self, line: bytes) -> tuple[bytes, Question] | None:
        """Return the id, as it is spelled, and the question of a line that is known."""
        identity, rest = _parted(line)
        question = self._known.get(rest)
        return None if question is None or not _is_whole(identity) else (identity, question)

    def note(self, line: bytes, identity: str | int, question: Question) -> None:
        """Remember what a line meant, if it can be told from its spelling alone."""
        spelled, rest = _parted(line)
        if len(line) > _LONGEST or not _is_whole(spelled) or spelled != str(identity).encode():
            return
        if _ID in rest or _ESCAPE in rest:  # there may be another id, which the last one overrules
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[rest] = question


def _parted(line: bytes) -> tuple[bytes, bytes]:
    """Return what stands where an id would be, and the rest of the line."""
    for front in _FRONTS:
        if line.startswith(front):
            end = line.find(b",", len(front))
            return line[len(front) : end], line[end:]
    at = line.rfind(_BACK)
    return (line[at + len(_BACK) : -1], line[:at]) if line.endswith(b"}") else (b"", b"")


def _is_whole(identity: bytes) -> bool:
    """Whether this is how JSON spells a whole number that is not negative."""
    return identity.isdigit() and len(identity) <= _DIGITS and (identity[0] != 0x30 or len(identity) == 1)

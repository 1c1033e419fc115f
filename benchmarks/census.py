"""Check when a server lists everything that was written, over a connection that is also used otherwise."""

from collections.abc import Mapping
from typing import Any

from benchmarks.listening import Arrival, ListeningClient
from benchmarks.writing import Burst

_EVERY = 0.05


class Census:
    """Polls for the last written skill, and then lists all skills.

    These requests read no files, because a read would make the server rescan them.
    """

    def __init__(self, burst: Burst) -> None:
        tree = burst.tree
        self._last = tree.uri(burst.added[-1])
        self._revised = {tree.uri(index) for index in (*burst.rewritten, *burst.added)}
        self._others = {tree.uri(index) for index in range(tree.size)} - self._revised
        self._mark = f", revision {burst.revision} "
        self._asked: int | None = None
        self._next = 0.0
        self._begun: float | None = None
        """When the current listing began; None while polling."""
        self._cursor: str | None = None
        self._found: dict[str, str] = {}
        self.complete_at: float | None = None

    def ask(self, client: ListeningClient, now: float) -> None:
        """Send the next request, if it is due."""
        if self.complete_at is not None or self._asked is not None or now < self._next:
            return
        if self._begun is None:
            self._asked = client.send("skills/get", uri=self._last)
        else:
            page = {} if self._cursor is None else {"cursor": self._cursor}
            self._asked = client.send("skills/list", **page)

    def take(self, arrival: Arrival) -> None:
        """Process an answer, if it belongs to the census."""
        if self._asked is None or arrival.body.get("id") != self._asked:
            return
        self._asked = None
        result: Mapping[str, Any] | None = arrival.body.get("result")
        if result is None:  # not listed yet, or the list changed and the cursor is invalid
            self._start_again(arrival.at)
        elif self._begun is None:
            self._begun = arrival.at
        else:
            self._page(result, arrival.at)

    def _page(self, result: Mapping[str, Any], at: float) -> None:
        self._found |= {skill["uri"]: skill["frontmatter"]["description"] for skill in result["skills"]}
        self._cursor = result.get("nextCursor")
        if self._cursor is not None:
            return
        if self._found.keys() >= self._others | self._revised and all(
            self._mark in self._found[uri] for uri in self._revised
        ):
            self.complete_at = self._begun
        else:
            self._start_again(at)

    def _start_again(self, at: float) -> None:
        self._begun, self._cursor, self._found = None, None, {}
        self._next = at + _EVERY

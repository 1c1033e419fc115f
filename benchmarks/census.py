"""Whether a server lists all that was written: asked on a pipe that others use at the same time."""

from collections.abc import Mapping
from typing import Any

from benchmarks.listening import Arrival, ListeningClient
from benchmarks.writing import Burst

_EVERY = 0.05


class Census:
    """First asks for the skill that is written last, every now and then; once that is there, lists all.

    To read a file would make the server look at it; these questions do not.
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
        """When the list was begun that is being read; None before."""
        self._cursor: str | None = None
        self._found: dict[str, str] = {}
        self.complete_at: float | None = None

    def ask(self, client: ListeningClient, now: float) -> None:
        """Ask the next question, if it is time."""
        if self.complete_at is not None or self._asked is not None or now < self._next:
            return
        if self._begun is None:
            self._asked = client.send("skills/get", uri=self._last)
        else:
            page = {} if self._cursor is None else {"cursor": self._cursor}
            self._asked = client.send("skills/list", **page)

    def take(self, arrival: Arrival) -> None:
        """Take an answer, if it is ours."""
        if self._asked is None or arrival.body.get("id") != self._asked:
            return
        self._asked = None
        result: Mapping[str, Any] | None = arrival.body.get("result")
        if result is None:  # not there yet; or a cursor of a list that has changed
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

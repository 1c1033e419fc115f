"""Other ways to search the same skills: plain FTS5, and a linear scan."""

import re
import sqlite3
from array import array
from collections.abc import Iterable
from heapq import nlargest
from typing import NamedTuple, Protocol

LIMIT = 10
_WORD = re.compile(r"\w+")


class Text(NamedTuple):
    """What contestants know about a skill."""

    uri: str
    name: str
    description: str
    body: str


class Contestant(Protocol):
    """A way to search."""

    def search(self, query: str) -> list[str]:
        """Return the URIs of the best skills, at most `LIMIT`."""
        ...


class PlainFts5:
    """SQLite FTS5 with Porter stemming, any word, and BM25 with weights 8, 4 and 1."""

    def __init__(self, texts: Iterable[Text], path: str = ":memory:") -> None:
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute(
            "CREATE VIRTUAL TABLE skill USING fts5"
            "(uri UNINDEXED, name, description, body, tokenize = 'porter unicode61')"
        )
        with self._db:
            self._db.executemany("INSERT INTO skill VALUES (?, ?, ?, ?)", texts)

    def search(self, query: str) -> list[str]:
        words = dict.fromkeys(each.lower() for each in _WORD.findall(query))
        if not words:
            return []
        rows = self._db.execute(
            "SELECT uri FROM skill WHERE skill MATCH ? ORDER BY bm25(skill, 0, 8, 4, 1), uri LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), LIMIT),
        )
        return [uri for (uri,) in rows]

    def close(self) -> None:
        self._db.close()


class LinearScan:
    """Counts how often each word of the query occurs as a part of each text."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._uris: list[str] = []
        self._texts: list[str] = []
        for each in texts:
            self._uris.append(each.uri)
            self._texts.append(f"{each.name}\n{each.description}\n{each.body}".lower())

    def search(self, query: str) -> list[str]:
        words = list(dict.fromkeys(each.lower() for each in _WORD.findall(query)))
        counts = array("I", (sum(text.count(word) for word in words) for text in self._texts))
        best = nlargest(LIMIT, range(len(counts)), key=lambda at: (counts[at], -at))
        return [self._uris[at] for at in best if counts[at]]

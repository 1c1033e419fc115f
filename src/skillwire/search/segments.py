"""The stored part of an index: an SQLite database that is written once and then only read.

It contains the identity of each document, the documents and weights of each term, and the words to which
spelling is corrected. Documents are added in segments, so that building needs little memory.
"""

import sqlite3
import sys
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, repeat
from pathlib import Path
from typing import NamedTuple

from skillwire.search.document import MAX_WEIGHT, Document

FORMAT = 2
"""Changes whenever the tables, the terms or their weights change. An index of another format is rebuilt."""
_SEGMENT_POSTINGS = 3_000_000
"""Number of postings that are kept in memory before they are written as a segment."""
MAX_SEGMENT = 65_536
"""Maximum number of documents of a segment. Their numbers in it fit into 16 bits."""
_LOOKUP = 20
"""How much longer it takes to look up one posting than to read one."""
_SCHEMA = """
CREATE TABLE document (id INTEGER PRIMARY KEY, uri TEXT, identity BLOB, words TEXT);
CREATE TABLE posting (term TEXT, first INTEGER, packed BLOB, PRIMARY KEY (term, first)) WITHOUT ROWID;
CREATE TABLE word (initial TEXT, length INTEGER, word TEXT, documents INTEGER,
  PRIMARY KEY (initial, length, word)) WITHOUT ROWID;
"""

_INSERT = "INSERT INTO posting VALUES (?, ?, ?)"
_LOW, _HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)


class Postings(NamedTuple):
    """The documents with a term in one segment, and the weight of the term in each.

    A posting is one integer of 32 bits: the number of the document in its segment, then the weight. Postings
    are in ascending order.
    """

    first: int
    """The number of the segment's first document."""
    packed: "array[int]"

    def unpacked(self) -> Iterator[tuple[int, int]]:
        """Return the number of each document, and the weight of the term in it."""
        halves = array("H")
        halves.frombytes(memoryview(self.packed).cast("B"))
        return zip(map(self.first.__add__, halves[_HIGH::2]), halves[_LOW::2], strict=True)

    def among(self, numbers: frozenset[int]) -> list[int]:
        """Return those of the numbers that are documents with the term."""
        if len(numbers) * _LOOKUP < len(self.packed):
            return [number for number in numbers if self.weight(number)]
        return [number for number, _ in self.unpacked() if number in numbers]

    def weight(self, number: int) -> int:
        """Return the weight of the term in a document, or 0 if the document does not contain it."""
        wanted = number - self.first
        if not 0 <= wanted < MAX_SEGMENT:
            return 0
        at = bisect_left(self.packed, wanted << 16)
        found = self.packed[at] if at < len(self.packed) else 0
        return found & MAX_WEIGHT if found >> 16 == wanted else 0


def _stored(first: int, stored: bytes) -> Postings:
    if first < 0 or not stored:
        raise sqlite3.DatabaseError("the postings are damaged")
    packed = array("I")
    packed.frombytes(stored)
    return Postings(first, packed)


def pack(weights: Iterable[tuple[int, int]]) -> Iterator[Postings]:
    """Return postings of documents and weights, which are in ascending order, as few segments."""
    for segment, found in groupby(weights, key=lambda each: each[0] // MAX_SEGMENT):
        first = segment * MAX_SEGMENT
        yield Postings(first, array("I", [number - first << 16 | weight for number, weight in found]))


class Segments:
    """An index database. Errors of SQLite are raised as `sqlite3.Error`.

    Generators do not close their cursors, because they may outlive the connection.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open a new database at `path`, which must be an empty file, or in memory."""
        self._db = _open(":memory:" if path is None else str(path))
        self._db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_SCHEMA}")
        self._db.execute(f"PRAGMA user_version = {FORMAT}")

    @classmethod
    def load(cls, path: Path) -> "Segments":
        """Open a finished database. Raises `sqlite3.Error`, also if it has another format."""
        segments = object.__new__(cls)
        segments._db = _open(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            (found,) = segments._db.execute("PRAGMA user_version").fetchone()
            if found != FORMAT:
                raise sqlite3.DatabaseError("the index has another format")
        except sqlite3.Error:
            segments.close()
            raise
        return segments

    def documents(self) -> Iterator[tuple[int, str, bytes]]:
        """Yield the number, URI and identity of each document."""
        yield from self._db.execute("SELECT id, uri, identity FROM document ORDER BY id")

    def all_words(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each document, and its vocabulary separated by spaces."""
        yield from self._db.execute("SELECT id, words FROM document ORDER BY id")

    def all_postings(self) -> Iterator[tuple[str, Postings]]:
        """Yield each term with its postings in each segment, in ascending order."""
        for term, first, packed in self._db.execute(
            "SELECT term, first, packed FROM posting ORDER BY term, first"
        ):
            yield term, _stored(first, packed)

    def words_of(self, number: int) -> list[str]:
        """Return the vocabulary of a document."""
        found = self._db.execute("SELECT words FROM document WHERE id = ?", (number,)).fetchone()
        return found[0].split() if found else []

    def postings(self, term: str) -> list[Postings]:
        """Return the postings of a term in each segment, in ascending order."""
        rows = self._db.execute("SELECT first, packed FROM posting WHERE term = ? ORDER BY first", (term,))
        return [_stored(first, packed) for first, packed in rows]

    def terms_from(self, prefix: str) -> Iterator[str]:
        """Yield the terms that begin with `prefix`, in ascending order."""
        rows = self._db.execute(
            "SELECT DISTINCT term FROM posting WHERE term >= ? AND term < ? ORDER BY term",
            (prefix, prefix + "\U0010ffff"),
        )
        for (term,) in rows:
            yield term

    def words_like(self, initial: str, lengths: range) -> Iterator[tuple[str, int]]:
        """Yield the words with this first letter and these lengths, and the number of documents of each."""
        rows = self._db.execute(
            "SELECT word, documents FROM word WHERE initial = ? AND length >= ? AND length < ?",
            (initial, lengths.start, lengths.stop),
        )
        yield from rows

    def count_of_word(self, word: str) -> int:
        """Return the number of documents to whose vocabulary a word belongs."""
        found = self._db.execute(
            "SELECT documents FROM word WHERE initial = ? AND length = ? AND word = ?",
            (word[0], len(word), word),
        ).fetchone()
        return found[0] if found else 0

    def finish(self, words: Mapping[str, int]) -> None:
        """Write the vocabulary. Call this once, after the last document."""
        self._db.executemany(
            "INSERT INTO word VALUES (?, ?, ?, ?)",
            ((word[0], len(word), word, count) for word, count in words.items()),
        )
        self._db.commit()

    def add_documents(self, documents: Iterable[tuple[int, str, bytes, str]]) -> None:
        """Write the number, URI, identity and vocabulary of documents."""
        self._db.executemany("INSERT INTO document VALUES (?, ?, ?, ?)", documents)

    def add_postings(self, postings: Iterable[tuple[str, Postings]]) -> None:
        """Write the postings of terms, in ascending order."""
        self._db.executemany(_INSERT, ((term, first, packed) for term, (first, packed) in postings))

    def add_packed(self, terms: Iterable[str], first: int, packed: Iterable["array[int]"]) -> None:
        """Write the postings of terms, in ascending order, in one segment."""
        self._db.executemany(_INSERT, zip(terms, repeat(first), packed, strict=False))

    def close(self) -> None:
        self._db.close()


_NO_POSTINGS = array("I")
_APPEND: Callable[["array[int]", int], None] = getattr(array, "append")  # noqa: B009 - a method of any array


class SegmentWriter:
    """Adds documents to a new database, one segment after the other."""

    def __init__(self, segments: Segments) -> None:
        self.segments = segments
        self.words: Counter[str] = Counter()
        """How many documents contain each word of the vocabulary."""
        self.next_number = 0
        self._first = 0
        self._documents: list[tuple[int, str, bytes, str]] = []
        self._packed: defaultdict[str, array[int]] = defaultdict(_NO_POSTINGS.__copy__)
        self._size = 0

    def add(self, uri: str, identity: bytes, document: Document) -> None:
        """Add a document."""
        if self._size >= _SEGMENT_POSTINGS or self.next_number - self._first >= MAX_SEGMENT:
            self._flush()
        if not self._documents:
            self._first = self.next_number
        number = (self.next_number - self._first) << 16
        self._append(document.fields, map(number.__or__, document.fields.values()))
        by_count = [number | weight for weight in document.by_count]
        self._append(document.body, map(by_count.__getitem__, document.body.values()))
        self._documents.append((self.next_number, uri, identity, joined(document.vocabulary)))
        self.words.update(document.vocabulary)
        self.next_number += 1
        self._size += len(document.fields) + len(document.body)

    def _append(self, terms: Iterable[str], postings: Iterable[int]) -> None:
        """Add one posting to each term. This runs in C, since it is done for every word of every skill."""
        deque(map(_APPEND, map(self._packed.__getitem__, terms), postings), maxlen=0)

    def finish(self) -> None:
        """Write what is left, and the vocabulary."""
        self._flush()
        self.segments.finish(self.words)

    def _flush(self) -> None:
        if not self._documents:
            return
        self.segments.add_documents(self._documents)
        packed = self._packed
        terms = sorted(packed)
        self.segments.add_packed(terms, self._first, map(packed.__getitem__, terms))
        self._documents, self._size = [], 0
        packed.clear()


def joined(vocabulary: Iterable[str]) -> str:
    """Return a vocabulary as it is stored."""
    return " ".join(sorted(vocabulary))


def _open(database: str, *, uri: bool = False) -> sqlite3.Connection:
    # One thread at a time uses the connection, but not always the same thread.
    return sqlite3.connect(database, uri=uri, check_same_thread=False, isolation_level="DEFERRED")

"""The stored part of an index: an SQLite database that is written once and then only read.

It contains the identity of each document, the documents and weights of each term, and the words to which
spelling is corrected. Documents are added in segments, so that building needs little memory.
"""

import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from skillwire.search.document import Document

FORMAT = 1
"""Changes whenever the tables, the terms or their weights change. An index of another format is rebuilt."""
_SEGMENT_POSTINGS = 1_500_000
"""Number of postings that are kept in memory before they are written as a segment."""
_SCHEMA = """
CREATE TABLE document (id INTEGER PRIMARY KEY, uri TEXT, identity BLOB, words TEXT);
CREATE TABLE posting (term TEXT, segment INTEGER, documents BLOB, weights BLOB, PRIMARY KEY (term, segment))
  WITHOUT ROWID;
CREATE TABLE word (initial TEXT, length INTEGER, word TEXT, documents INTEGER,
  PRIMARY KEY (initial, length, word)) WITHOUT ROWID;
"""

Postings = tuple["array[int]", "array[int]"]
"""The numbers of the documents with a term, in ascending order, and the weight of the term in each."""
NO_POSTINGS: Postings = (array("I"), array("H"))


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
        """Yield each term, in ascending order, with its postings."""
        rows = self._db.execute("SELECT term, documents, weights FROM posting ORDER BY term, segment")
        for term, parts in groupby(rows, key=itemgetter(0)):
            documents, weights = array("I"), array("H")
            for _, each, weighted in parts:
                documents.frombytes(each)
                weights.frombytes(weighted)
            yield term, (documents, weights)

    def words_of(self, number: int) -> list[str]:
        """Return the vocabulary of a document."""
        found = self._db.execute("SELECT words FROM document WHERE id = ?", (number,)).fetchone()
        return found[0].split() if found else []

    def postings(self, term: str) -> Postings:
        """Return the postings of a term."""
        rows = self._db.execute(
            "SELECT documents, weights FROM posting WHERE term = ? ORDER BY segment", (term,)
        )
        documents, weights = array("I"), array("H")
        for each, weighted in rows:
            documents.frombytes(each)
            weights.frombytes(weighted)
        return documents, weights

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

    def add_postings(self, segment: int, postings: Iterable[tuple[str, Postings]]) -> None:
        """Write the postings of a segment, in ascending order of the terms."""
        self._db.executemany(
            "INSERT INTO posting VALUES (?, ?, ?, ?)",
            ((term, segment, numbers.tobytes(), weights.tobytes()) for term, (numbers, weights) in postings),
        )

    def close(self) -> None:
        self._db.close()


class SegmentWriter:
    """Adds documents to a new database, one segment after the other."""

    def __init__(self, segments: Segments) -> None:
        self.segments = segments
        self.words: Counter[str] = Counter()
        """How many documents contain each word of the vocabulary."""
        self.next_number = self.next_segment = 0
        self._documents: list[tuple[int, str, bytes, str]] = []
        self._numbers: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        self._weights: defaultdict[str, array[int]] = defaultdict(lambda: array("H"))
        self._size = 0

    def add(self, uri: str, identity: bytes, document: Document) -> None:
        """Add a document."""
        numbers, weights, number = self._numbers, self._weights, self.next_number
        for term, weight in document.weights.items():
            numbers[term].append(number)
            weights[term].append(weight)
        self._documents.append((number, uri, identity, joined(document.vocabulary)))
        self.words.update(document.vocabulary)
        self.next_number += 1
        self._size += len(document.weights)
        if self._size >= _SEGMENT_POSTINGS:
            self._flush()

    def finish(self) -> None:
        """Write what is left, and the vocabulary."""
        self._flush()
        self.segments.finish(self.words)

    def _flush(self) -> None:
        if not self._documents:
            return
        postings = ((term, (self._numbers[term], self._weights[term])) for term in sorted(self._numbers))
        self.segments.add_documents(self._documents)
        self.segments.add_postings(self.next_segment, postings)
        self._documents, self._size, self.next_segment = [], 0, self.next_segment + 1
        self._numbers.clear()
        self._weights.clear()


def joined(vocabulary: Iterable[str]) -> str:
    """Return a vocabulary as it is stored."""
    return " ".join(sorted(vocabulary))


def _open(database: str, *, uri: bool = False) -> sqlite3.Connection:
    # One thread at a time uses the connection, but not always the same thread.
    return sqlite3.connect(database, uri=uri, check_same_thread=False, isolation_level="DEFERRED")

"""The index: stored segments, and the documents that changed since they were written."""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge, nlargest
from itertools import groupby, islice
from operator import itemgetter

from skillwire.search.document import MAX_WEIGHT, Document
from skillwire.search.query import Query, QueryTerm
from skillwire.search.segments import Postings, Segments, SegmentWriter, joined, pack
from skillwire.search.spelling import is_misspelled_common_word, similar_words
from skillwire.search.text import term_of_word

MAX_RESULTS = 200
"""Maximum number of results of one query."""
_MAX_POSTINGS = 20_000
"""Number of postings after which the other, more common terms only order the documents found so far."""
_MAX_CANDIDATES = 300
"""Number of documents that are ordered by all terms."""
_FEWEST = 1_000
"""The number of documents from which rare terms count more than common ones.

With fewer documents, a term that is in a third of them still counts as rare.
"""
_WEAKEST = 0.1
"""Results whose score is less than this share of the best score are left out."""
_WEAK = 0.18
"""A result is weak if it has less than this share of what the query's most important terms could count."""
_IMPORTANT_TERMS = 10
_CORRECTED, _BEGUN = 0.8, 0.7
"""What a corrected word counts, and a word that only begins like the typed one."""
_MAX_PREFIX_TERMS = 1_000
"""Maximum number of terms with the same beginning that are compared."""
_MAX_BEGUN = 20
"""Maximum number of terms that a typed word may be the beginning of."""
_MAX_CORRECTED, _MAX_WORDS = 4, 16
"""How many words are corrected, and the length of a query from which none is."""
_EXACT = 1_000.0
"""The score of a document whose whole name is the query. It is more than all terms can count."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The documents that match a query, the best first."""

    uris: tuple[str, ...] = ()
    terms: frozenset[str] = frozenset()
    """The terms that were searched for, after corrections."""
    corrections: Mapping[str, str] = field(default_factory=dict[str, str])
    is_weak: bool = False
    """Whether even the best document matches only a small part of the query."""


@dataclass(frozen=True, slots=True)
class _Weighted:
    """A term of a query with its postings."""

    term: str
    amount: float
    is_light: bool
    postings: Sequence[Postings]
    documents: int
    """The number of visible documents that contain the term."""


class Index:
    """An index of documents by URI. Not safe for use by several threads at the same time."""

    def __init__(self, segments: Segments | None = None) -> None:
        """Create an index of stored documents, or an empty index."""
        self._segments = segments
        self._identities: dict[str, bytes] = {}
        self._numbers: dict[str, int] = {}
        self._uris: list[str | None] = []
        self._removed: set[int] = set()
        """The stored documents that were removed or replaced."""
        self._first_added = 0
        self._added: dict[int, Document] = {}
        """The documents that are not stored, by number."""
        self._added_terms: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._added_words: Counter[str] = Counter()
        """How many documents more, or fewer, than stored contain a word."""
        self._words_by_initial: defaultdict[str, set[str]] = defaultdict(set)
        if segments is not None:
            for number, uri, identity in segments.documents():
                self._uris.extend([None] * (number - len(self._uris)))
                self._uris.append(uri)
                self._numbers[uri], self._identities[uri] = number, identity
        self._first_added = len(self._uris)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def unstored(self) -> int:
        """The number of documents that were added or removed since the index was stored."""
        return len(self._added) + len(self._removed)

    def identity(self, uri: str) -> bytes | None:
        """Return the identity of the document at `uri`, or None if there is none."""
        return self._identities.get(uri)

    @property
    def uris(self) -> Collection[str]:
        return self._numbers.keys()

    def put(self, uri: str, identity: bytes, document: Document) -> None:
        """Add a document, or replace the one with this URI."""
        self.remove(uri)
        number = len(self._uris)
        self._uris.append(uri)
        self._numbers[uri], self._identities[uri] = number, identity
        self._added[number] = document
        for term, weight in document.weights.items():
            self._added_terms[term][number] = weight
        self._count_words(document.vocabulary, 1)

    def remove(self, uri: str) -> None:
        """Remove the document with this URI, if there is one."""
        if (number := self._numbers.pop(uri, None)) is None:
            return
        del self._identities[uri]
        self._uris[number] = None
        if (document := self._added.pop(number, None)) is None:
            assert self._segments is not None, "only a stored document is not in `_added`"
            self._removed.add(number)
            self._count_words(self._segments.words_of(number), -1)
            return
        for term in document.weights:
            numbers = self._added_terms[term]
            del numbers[number]
            if not numbers:
                del self._added_terms[term]
        self._count_words(document.vocabulary, -1)

    def numbers_of(self, uris: Iterable[str]) -> frozenset[int]:
        """Return the numbers of the documents with these URIs. They are valid until the next change."""
        numbers = (self._numbers.get(uri) for uri in uris)
        return frozenset(each for each in numbers if each is not None)

    def rank(self, query: Query, hidden: frozenset[int], place: Callable[[str], int]) -> Ranking:
        """Return the documents that match, except those in `hidden`, which do not affect the result at all.

        `place` returns the position of a document among all. It orders documents with equal scores.
        """
        return _Search(self, hidden, place).rank(query)

    def copy_to(self, writer: SegmentWriter, left_out: Collection[str] = ()) -> None:
        """Write all documents except those in `left_out` to a new database."""
        new = self._renumber(frozenset(left_out))
        words: dict[int, str] = {} if self._segments is None else dict(self._segments.all_words())
        words |= {number: joined(document.vocabulary) for number, document in self._added.items()}
        documents: list[tuple[int, str, bytes, str]] = []
        for old, number in new.items():
            uri = self._uris[old]
            assert uri is not None, "a removed document has no new number"
            documents.append((number, uri, self._identities[uri], words[old]))
            writer.words.update(words[old].split())
        writer.segments.add_documents(documents)
        writer.segments.add_postings(self._renumbered_postings(new))
        writer.next_number = len(new)

    def _renumber(self, left_out: frozenset[str]) -> dict[int, int]:
        """Return a new number for each document that is not in `left_out`, by its number."""
        kept = (number for uri, number in self._numbers.items() if uri not in left_out)
        return {old: new for new, old in enumerate(sorted(kept))}

    def _renumbered_postings(self, new: Mapping[int, int]) -> Iterator[tuple[str, Postings]]:
        stored = iter(()) if self._segments is None else self._segments.all_postings()
        added = ((term, each) for term in sorted(self._added_terms) for each in self._added_postings(term))
        for term, parts in groupby(merge(stored, added, key=itemgetter(0)), key=itemgetter(0)):
            weights = (each for _, postings in parts for each in postings.unpacked())
            for postings in pack((new[number], weight) for number, weight in weights if number in new):
                yield term, postings

    def close(self) -> None:
        """Close the stored documents. The index cannot be used afterwards."""
        if self._segments is not None:
            self._segments.close()

    # For a search

    def uri_of(self, number: int) -> str | None:
        return self._uris[number]

    def postings(self, term: str) -> list[Postings]:
        """Return the postings of a term: those that are stored, then those of added documents."""
        stored = [] if self._segments is None else self._segments.postings(term)
        return [*stored, *self._added_postings(term)] if term in self._added_terms else stored

    def _added_postings(self, term: str) -> list[Postings]:
        return list(pack(sorted(self._added_terms[term].items())))

    @property
    def removed(self) -> Collection[int]:
        return self._removed

    def terms_from(self, prefix: str) -> Iterator[str]:
        """Yield the terms that begin with `prefix`, in ascending order."""
        stored = iter(()) if self._segments is None else self._segments.terms_from(prefix)
        added = sorted(term for term in self._added_terms if term.startswith(prefix))
        return (term for term, _ in groupby(merge(stored, added)))

    def words_like(self, initial: str, lengths: range) -> Iterator[str]:
        """Yield the words with this first letter and these lengths."""
        seen: set[str] = set()
        if self._segments is not None:
            for word, count in self._segments.words_like(initial, lengths):
                seen.add(word)
                if count + self._added_words.get(word, 0) > 0:
                    yield word
        for word in self._words_by_initial.get(initial, ()):
            if word not in seen and len(word) in lengths and self._added_words[word] > 0:
                yield word

    def vocabulary_of(self, number: int) -> Collection[str]:
        """Return the words of a document to which spelling is corrected."""
        if (document := self._added.get(number)) is not None:
            return document.vocabulary
        return [] if self._segments is None else self._segments.words_of(number)

    def count_of_word(self, word: str) -> int:
        """Return the number of documents to whose vocabulary a word belongs."""
        stored = 0 if self._segments is None else self._segments.count_of_word(word)
        return stored + self._added_words.get(word, 0)

    def _count_words(self, words: Collection[str], number: int) -> None:
        for word in words:
            self._added_words[word] += number
            self._words_by_initial[word[0]].add(word)


class _Search:
    """One search: ranks the documents of an index that are not excluded."""

    def __init__(self, index: Index, hidden: frozenset[int], place: Callable[[str], int]) -> None:
        self._index = index
        self._hidden = hidden
        self._excluded = hidden.union(index.removed)
        self._visible = len(index) - len(hidden)
        self._place = place
        self._completed = set[str]()
        """The terms that an unfinished word may be the beginning of."""

    def rank(self, query: Query) -> Ranking:
        corrections: dict[str, str] = {}
        terms = list(self._weighted(query, corrections))
        scores = self._score([each for each in terms if each.documents])
        exact = self._postings_of(query.exact) if query.exact else None
        if exact is not None:
            self._add_all(replace(exact, amount=_EXACT), scores, 1 / MAX_WEIGHT)
        best = self._best(scores, MAX_RESULTS)
        strongest = scores[best[0]] if best else 0
        # Of a whole name, what else matches is compared with the best of the others.
        names = () if exact is None else exact.postings
        named = {number for each in names for number, _ in each.unpacked()}
        compared = max((scores[each] for each in best if each not in named), default=0)
        best = [each for each in best if scores[each] >= _WEAKEST * compared]
        return Ranking(
            tuple(uri for each in best if (uri := self._index.uri_of(each)) is not None),
            frozenset(each.term for each in terms if each.documents) | self._completed,
            corrections,
            is_weak=bool(best) and strongest < _WEAK * self._possible(terms),
        )

    def _weighted(self, query: Query, corrections: dict[str, str]) -> Iterator[_Weighted]:
        """Yield the terms of a query with their postings. Unknown words are completed or corrected."""
        corrected = 0
        for each in query.terms:
            found = self._postings_of(each.term, each)
            if not found.documents and not each.is_light:
                if len(query.terms) <= _MAX_WORDS and corrected < _MAX_CORRECTED:
                    corrected += 1
                    if is_misspelled_common_word(each.word):
                        continue
                    word, found = self._corrected(each, found)
                    if word:
                        corrections[each.word] = word
                if not found.documents and each.word == query.last:
                    found = self._begun(each) or found
            yield found

    def _corrected(self, term: QueryTerm, unknown: _Weighted) -> tuple[str, _Weighted]:
        """Return the most similar word with its postings; an empty text and `unknown` if there is none.

        Of equally similar words, the one in most visible documents is chosen.
        """
        chosen, nearest = ("", unknown), 0
        for distance, word in similar_words(term.word, self._index.words_like):
            if chosen[0] and distance > nearest:
                break
            found = self._postings_of(term_of_word()[word], term, _CORRECTED)
            if found.documents > chosen[1].documents and self._is_visible(word, found):
                chosen, nearest = (word, found), distance
        return chosen

    def _is_visible(self, word: str, of: _Weighted) -> bool:
        """Return whether a word belongs to the vocabulary of a visible document."""
        hidden = (number for each in of.postings for number in each.among(self._hidden))
        having = sum(word in self._index.vocabulary_of(number) for number in hidden)
        return self._index.count_of_word(word) > having

    def _begun(self, term: QueryTerm) -> _Weighted | None:
        """Return the documents with a term that begins with the typed word, or None if there is none."""
        # Terms of hidden and removed documents do not count, so that they do not affect the result.
        terms = (self._postings_of(each) for each in self._index.terms_from(term.word))
        begun = list(islice((each for each in terms if each.documents), _MAX_PREFIX_TERMS))
        begun.sort(key=lambda each: (-each.documents, each.term))
        self._completed.update(each.term for each in begun[:_MAX_BEGUN])
        best: dict[int, int] = {}
        for each in begun[:_MAX_BEGUN]:
            for postings in each.postings:
                for number, weight in postings.unpacked():
                    if weight > best.get(number, 0) and number not in self._excluded:
                        best[number] = weight
        if not best:
            return None
        found = list(pack(sorted(best.items())))
        return _Weighted(term.term, term.amount * _BEGUN, term.is_light, found, len(best))

    def _postings_of(self, term: str, of: QueryTerm | None = None, share: float = 1) -> _Weighted:
        postings = self._index.postings(term)
        documents = sum(len(each.packed) for each in postings)
        if self._excluded:
            documents -= sum(len(each.among(self._excluded)) for each in postings)
        amount = 0.0 if of is None else of.amount * share
        return _Weighted(term, amount, of is not None and of.is_light, postings, documents)

    def _score(self, terms: list[_Weighted]) -> dict[int, float]:
        """Return the score of each document that may be a result.

        Rare terms find documents. Common and light terms only order those.
        """
        terms.sort(key=lambda each: (each.is_light, each.documents, each.term))
        finding = [each for each in terms if not each.is_light] or terms
        scores: dict[int, float] = {}
        used = taken = 0
        for each in finding:
            if taken and used + each.documents > _MAX_POSTINGS:
                break
            self._add_all(each, scores, self._rarity(each.documents) / MAX_WEIGHT)
            used += each.documents
            taken += 1
        if taken == len(terms):
            return scores
        chosen = self._best(scores, _MAX_CANDIDATES)
        kept = {number: scores[number] for number in chosen}
        numbers = sorted(kept)
        for each in terms[taken:]:
            self._add_to(each, kept, numbers)
        return kept

    def _add_all(self, term: _Weighted, scores: dict[int, float], rarity: float) -> None:
        factor = term.amount * rarity
        excluded, get = self._excluded, scores.get
        for postings in term.postings:
            if excluded:
                for number, weight in postings.unpacked():
                    if number not in excluded:
                        scores[number] = get(number, 0.0) + factor * weight
            else:
                for number, weight in postings.unpacked():
                    scores[number] = get(number, 0.0) + factor * weight

    def _add_to(self, term: _Weighted, scores: dict[int, float], numbers: Sequence[int]) -> None:
        """Add what a term counts to the documents that have a score. `numbers` are these, ascending."""
        factor = term.amount * (self._rarity(term.documents) / MAX_WEIGHT)
        start = 0
        for postings in term.postings:
            first, packed = postings
            last = first + (packed[-1] >> 16)
            start = bisect_left(numbers, first, start)
            end = bisect_right(numbers, last, start)
            at = 0
            for number in numbers[start:end]:
                wanted = number - first
                at = bisect_left(packed, wanted << 16, at)
                if (found := packed[at]) >> 16 == wanted:
                    scores[number] += factor * (found & MAX_WEIGHT)
            start = end

    def _rarity(self, documents: int) -> float:
        """Return what a term in this number of documents counts (the idf of BM25)."""
        number = max(self._visible, _FEWEST)
        return math.log(1 + (number - documents + 0.5) / (max(documents, 1) + 0.5))

    def _possible(self, terms: Sequence[_Weighted]) -> float:
        """Return what the most important terms of the query could count together."""
        counts = sorted((each.amount * self._rarity(each.documents) for each in terms), reverse=True)
        return sum(counts[:_IMPORTANT_TERMS])

    def _best(self, scores: Mapping[int, float], number: int) -> list[int]:
        """Return the best documents, the best first. Equal scores are in the order of the library."""
        if len(scores) > number:
            lowest = nlargest(number, scores.values())[-1]
            candidates = [each for each, score in scores.items() if score >= lowest]
        else:
            candidates = list(scores)
        order: list[tuple[float, int, str, int]] = []
        for each in candidates:
            uri = self._index.uri_of(each) or ""
            order.append((-scores[each], self._place(uri), uri, each))
        return [each for *_, each in sorted(order)[:number]]

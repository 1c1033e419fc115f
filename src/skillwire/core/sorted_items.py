"""An immutable sequence in sorted order. A changed copy shares all unchanged parts with the original."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Generic, Self, TypeVar, cast, overload

Item = TypeVar("Item")

_CHUNK = 256
"""Number of items in a new chunk. A chunk is split when it has twice as many."""


class SortedItems(Sequence[Item], Generic[Item]):
    """Items in the order of their keys. No two items have the same key.

    The items are kept in chunks. A change copies only the chunks that it affects, so its cost hardly depends
    on the number of items.
    """

    __slots__ = ("_chunks", "_ends", "_firsts", "_key")

    def __init__(self, items: Iterable[Item], key: Callable[[Item], str]) -> None:
        """Sort `items` by `key`. Of several items with the same key, the last one is kept."""
        unique = {key(item): item for item in items}
        chunks = _split([unique[each] for each in sorted(unique)])
        self._set(chunks, [key(chunk[0]) for chunk in chunks], key)

    def _set(self, chunks: Sequence[tuple[Item, ...]], firsts: list[str], key: Callable[[Item], str]) -> None:
        self._key = key
        self._chunks = chunks
        self._firsts = firsts
        self._ends = list(accumulate(map(len, chunks)))

    def updated(self, gone: Iterable[str], new: Iterable[Item]) -> Self:
        """Return a copy without the items with the keys in `gone`, and with the items in `new`.

        A new item replaces the item with the same key. Raises `KeyError` if a key in `gone` is unknown.
        """
        changes: defaultdict[int, dict[str, Item | None]] = defaultdict(dict)
        for key in gone:
            if self.position(key) is None:
                raise KeyError(key)
            changes[self._chunk_of(key)][key] = None
        for item in new:
            changes[self._chunk_of(key := self._key(item))][key] = item
        if not changes:
            return self
        chunks, firsts = list(self._chunks), list(self._firsts)
        for at in sorted(changes, reverse=True):
            before = chunks[at] if chunks else ()
            items = {self._key(item): item for item in before} | changes[at]
            kept = [item for _, item in sorted(items.items()) if item is not None]
            changed = _split(kept) if len(kept) > 2 * _CHUNK else [tuple(kept)] if kept else []
            chunks[at : at + 1] = changed
            firsts[at : at + 1] = [self._key(chunk[0]) for chunk in changed]
        copy = object.__new__(type(self))
        copy._set(chunks, firsts, self._key)
        return copy

    def replaced(self, gone: Iterable[Item], new: Iterable[Item]) -> Self:
        """Return a copy without the items in `gone`, and with those in `new`. See `updated`."""
        return self.updated([self._key(item) for item in gone], new)

    def differences(self, before: "SortedItems[Item]") -> tuple[tuple[Item, ...], tuple[Item, ...]]:
        """Return the items that only `before` has, and those that only this sequence has, by identity.

        Parts that the two sequences share are skipped. So the cost follows the changes that lead from one to
        the other.
        """
        chunks = before._chunks  # noqa: SLF001 - of the same class
        old, new = set(map(id, chunks)), set(map(id, self._chunks))
        gone = [item for chunk in chunks if id(chunk) not in new for item in chunk]
        added = [item for chunk in self._chunks if id(chunk) not in old for item in chunk]
        were, are = set(map(id, gone)), set(map(id, added))
        return tuple(each for each in gone if id(each) not in are), tuple(
            each for each in added if id(each) not in were
        )

    def position_of(self, item: Item) -> int | None:
        """Return the index of the item that has the same key as `item`, or None if there is none."""
        return self.position(self._key(item))

    def position(self, key: str) -> int | None:
        """Return the index of the item with this key, or None if there is none."""
        if not self._chunks:
            return None
        at = self._chunk_of(key)
        chunk = self._chunks[at]
        place = bisect_right(chunk, key, key=self._key) - 1
        found = place >= 0 and self._key(chunk[place]) == key
        return (self._ends[at - 1] if at else 0) + place if found else None

    def position_after(self, key: str) -> int:
        """Return the number of items whose keys are at most `key`."""
        if not self._chunks:
            return 0
        at = self._chunk_of(key)
        before = self._ends[at - 1] if at else 0
        return before + bisect_right(self._chunks[at], key, key=self._key)

    def _chunk_of(self, key: str) -> int:
        """Return the index of the chunk that has this key, or that it must be added to."""
        return max(0, bisect_right(self._firsts, key) - 1)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return tuple(self[each] for each in range(start, stop, step))
            return self._between(start, stop)
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        at = bisect_right(self._ends, index)
        return self._chunks[at][index - (self._ends[at - 1] if at else 0)]

    def _between(self, start: int, stop: int) -> tuple[Item, ...]:
        if start >= stop:
            return ()
        first, last = bisect_right(self._ends, start), bisect_left(self._ends, stop)
        skipped = self._ends[first - 1] if first else 0
        items = tuple(chain.from_iterable(self._chunks[first : last + 1]))
        return items[start - skipped : stop - skipped]

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(self._chunks)

    def __reversed__(self) -> Iterator[Item]:
        return chain.from_iterable(map(reversed, reversed(self._chunks)))

    def __eq__(self, other: object) -> bool:
        """Compare with another sequence of this class, or with a tuple."""
        if not isinstance(other, SortedItems | tuple):
            return NotImplemented
        others = cast("Sequence[object]", other)
        return self is other or (len(self) == len(others) and all(map(_equal, self, others)))

    __hash__ = None  # type: ignore[assignment] - as it compares its items, which may not be hashable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


def _equal(one: object, other: object) -> bool:
    return one is other or one == other


def _split(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    return [tuple(items[at : at + _CHUNK]) for at in range(0, len(items), _CHUNK)]

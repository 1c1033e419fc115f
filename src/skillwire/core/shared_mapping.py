"""An immutable mapping without an order. A changed copy shares all unchanged parts with the original."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import chain
from typing import Generic, Self, TypeVar, cast, overload

Key = TypeVar("Key")
Value = TypeVar("Value")
Default = TypeVar("Default")

_PART = 256
"""Average number of items in a part. There are more parts when it is twice as many."""
_MISSING = object()


class SharedMapping(Mapping[Key, Value], Generic[Key, Value]):
    """A mapping that is kept in parts, by the hash of the key.

    A change copies only the parts that it affects, and a comparison skips the parts that two mappings share.
    So the costs of both hardly depend on the number of items.
    """

    __slots__ = ("_count", "_mask", "_parts")

    def __init__(self, items: Mapping[Key, Value] | Iterable[tuple[Key, Value]] = ()) -> None:
        known = dict(items)
        self._count = len(known)
        number = 1 << (len(known) // _PART).bit_length()
        self._mask = mask = number - 1
        self._parts: list[dict[Key, Value]] = [known]
        if mask:
            parts: list[dict[Key, Value]] = [{} for _ in range(number)]
            for key, value in known.items():
                parts[hash(key) & mask][key] = value
            self._parts = parts

    def updated(self, gone: Iterable[Key], new: Mapping[Key, Value]) -> Self:
        """Return a copy without the keys in `gone`, and with the items in `new`. Unknown keys are ignored."""
        parts, mask = list(self._parts), self._mask
        copied: set[int] = set()
        count = self._count
        for key in (*gone, *new):
            if (at := hash(key) & mask) not in copied:
                copied.add(at)
                parts[at] = dict(parts[at])
        for key in gone:
            count -= parts[hash(key) & mask].pop(key, _MISSING) is not _MISSING
        for key, value in new.items():
            part = parts[hash(key) & mask]
            count += key not in part
            part[key] = value
        if not copied:
            return self
        if count > 2 * _PART * len(parts):
            return type(self)(chain.from_iterable(part.items() for part in parts))
        copy = object.__new__(type(self))
        copy._parts, copy._mask, copy._count = parts, mask, count
        return copy

    def changed_keys(self, before: "SharedMapping[Key, Value]") -> set[Key]:
        """Return the keys that only one of two mappings has, or that have another object as their value."""
        parts = before._parts  # noqa: SLF001 - of the same class
        same_size = len(parts) == len(self._parts)
        pairs = zip(parts, self._parts, strict=True) if same_size else [(dict(before), dict(self))]
        return {
            key
            for old, new in pairs
            if old is not new
            for key in old.keys() | new.keys()
            if old.get(key, _MISSING) is not new.get(key, _MISSING)
        }

    def __getitem__(self, key: Key) -> Value:
        return self._parts[hash(key) & self._mask][key]

    @overload
    def get(self, key: Key, /) -> Value | None: ...
    @overload
    def get(self, key: Key, /, default: Value | Default) -> Value | Default: ...
    def get(self, key: Key, /, default: object = None) -> object:
        return self._parts[hash(key) & self._mask].get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._parts[hash(key) & self._mask]

    def values(self) -> ValuesView[Value]:
        return _Values(self)

    def parts(self) -> Sequence[Mapping[Key, Value]]:
        """Return the parts in which the items are kept."""
        return self._parts

    def __iter__(self) -> Iterator[Key]:
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        if isinstance(other, SharedMapping):
            parts = cast("SharedMapping[object, object]", other)._parts
            if len(parts) == len(self._parts):
                return all(map(_equal, self._parts, parts))
        return dict(self.items()) == cast("Mapping[object, object]", other)

    __hash__ = None  # type: ignore[assignment] - as it compares its values, which may not be hashable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


class _Values(ValuesView[Value]):
    _mapping: SharedMapping[object, Value]

    def __iter__(self) -> Iterator[Value]:
        return chain.from_iterable(part.values() for part in self._mapping.parts())


def _equal(one: object, other: object) -> bool:
    return one is other or one == other

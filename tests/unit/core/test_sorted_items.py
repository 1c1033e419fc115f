"""The sorted sequence: after any changes it equals a new one, and positions and slices agree with a list."""

from hypothesis import given
from hypothesis import strategies as st

from skillwire.core.sorted_items import SortedItems

Pair = tuple[str, int]


def key(pair: Pair) -> str:
    return pair[0]


PAIRS = st.lists(
    st.tuples(st.integers(0, 3000).map(lambda each: f"{each:x}"), st.integers(0, 3)), max_size=40
)
LARGE = st.integers(0, 1500).map(lambda count: [(f"{each:x}", 0) for each in range(count)])


@given(LARGE, st.lists(st.tuples(st.lists(st.integers(0, 2000), max_size=30), PAIRS), max_size=4))
def test_changes_give_the_same_as_a_new_sequence(
    pairs: list[Pair], changes: list[tuple[list[int], list[Pair]]]
) -> None:
    items, expected = SortedItems(pairs, key), dict(pairs)
    for removed, added in changes:
        gone = [known for index in set(removed) if (known := f"{index:x}") in expected]
        before, as_before = items, list(items)
        items = items.updated(gone, added)
        expected = {name: value for name, value in expected.items() if name not in gone} | dict(added)
        assert list(before) == as_before
    assert list(items) == sorted(expected.items())
    assert items == SortedItems(expected.items(), key) == tuple(sorted(expected.items()))
    assert list(reversed(items)) == sorted(expected.items(), reverse=True)


@given(LARGE, PAIRS, st.integers(-1600, 1600), st.integers(-1600, 1600), st.sampled_from([None, 1, 2, -1]))
def test_indexes_and_slices_agree_with_a_list(
    pairs: list[Pair], added: list[Pair], start: int, stop: int, step: int | None
) -> None:
    items = SortedItems(pairs, key).updated((), added)
    listed = list(items)
    assert items[start:stop:step] == tuple(listed[start:stop:step])
    assert all(items[at] == listed[at] for at in range(-len(items), len(items), 7))


@given(LARGE, st.integers(0, 2000).map(lambda each: f"{each:x}"))
def test_positions_agree_with_a_list(pairs: list[Pair], asked: str) -> None:
    items = SortedItems(pairs, key)
    names = [name for name, _ in items]
    assert items.position(asked) == (names.index(asked) if asked in names else None)
    assert items.position_after(asked) == sum(name <= asked for name in names)


@given(LARGE, PAIRS, PAIRS, st.sampled_from(["related", "separate"]))
def test_differences_are_those_of_the_objects(
    pairs: list[Pair], earlier: list[Pair], later: list[Pair], kind: str
) -> None:
    before = SortedItems(pairs, key).updated((), earlier)
    start = before if kind == "related" else SortedItems(before, key)
    after = start.replaced(before[::7], later)
    gone, new = after.differences(before)
    were, are = set(map(id, before)), set(map(id, after))
    assert list(map(id, gone)) == [id(each) for each in before if id(each) not in are]
    assert list(map(id, new)) == [id(each) for each in after if id(each) not in were]
    assert [after.position_of(each) for each in after] == list(range(len(after)))

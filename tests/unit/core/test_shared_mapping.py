"""The shared mapping: after any changes it equals a dictionary, and it tells how two mappings differ."""

from hypothesis import given
from hypothesis import strategies as st

from skillwire.core.shared_mapping import SharedMapping

KEYS = st.integers(0, 3000).map(str)
ITEMS = st.dictionaries(KEYS, st.integers(0, 3).map(lambda each: [each]), max_size=40)
LARGE = st.integers(0, 1500).map(lambda count: {str(each): [0] for each in range(count)})
CHANGES = st.lists(st.tuples(st.lists(KEYS, max_size=30), ITEMS), max_size=4)


@given(LARGE, CHANGES)
def test_changes_give_the_same_as_a_dictionary(
    items: dict[str, list[int]], changes: list[tuple[list[str], dict[str, list[int]]]]
) -> None:
    found, expected = SharedMapping(items), dict(items)
    for gone, new in changes:
        before, as_before = found, dict(found)
        found = found.updated(gone, new)
        expected = {key: value for key, value in expected.items() if key not in gone} | new
        assert found.changed_keys(before) == {
            key for key in as_before.keys() | expected.keys() if as_before.get(key) is not expected.get(key)
        }
        assert dict(before) == as_before
        assert dict(found) == expected
    assert found == expected == SharedMapping(expected) == found
    assert len(found) == len(expected)
    assert all(key in found and found.get(key) is value is found[key] for key, value in expected.items())
    assert "none" not in found
    assert found.get("none") is None
    assert found.get("none", 7) == 7


@given(LARGE, LARGE, ITEMS)
def test_unrelated_mappings_are_compared_too(
    one: dict[str, list[int]], other: dict[str, list[int]], more: dict[str, list[int]]
) -> None:
    first, second = SharedMapping(one), SharedMapping(other).updated((), more)
    expected = other | more
    assert second.changed_keys(first) == {
        key for key in one.keys() | expected.keys() if one.get(key) is not expected.get(key)
    }
    assert (first == second) == (one == expected)


def test_changed_copy_shares_most_items_with_the_original() -> None:
    before = SharedMapping((str(each), [each]) for each in range(5000))
    after = before.updated(["7"], {"8": [0], "new": [1]})
    assert after.changed_keys(before) == {"7", "8", "new"}
    assert after.updated((), {}) is after

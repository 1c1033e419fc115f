"""Pages of a list that changes under the reader's feet."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.errors import BadParamsError
from skillwire.features.base import Page, page

pytestmark = pytest.mark.rule("S11")

keys = st.lists(st.text(max_size=12), unique=True, max_size=60)


def turn(items: Sequence[str], cursor: str | None, size: int, of: str = "list") -> Page:
    where = {item: position for position, item in enumerate(items)}
    return page(items, where.get, of=of, cursor=cursor, size=size)


@given(keys, st.integers(1, 7))
def test_the_pages_together_are_the_list(items: list[str], size: int) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        shown = turn(items, cursor, size)
        assert len(shown.keys) <= size
        seen += shown.keys
        cursor = shown.next_cursor
        if cursor is None:
            break
    assert seen == items


@given(keys, keys, st.integers(1, 7))
def test_paging_never_skips_or_repeats_unchanged_items(
    before: list[str], after: list[str], size: int
) -> None:
    before, after = sorted(before), sorted(after)
    first = turn(before, None, size)
    seen = list(first.keys)
    cursor = first.next_cursor
    while cursor is not None:
        try:
            shown = turn(after, cursor, size)
        except BadParamsError:
            assert seen[-1] not in after
            return
        seen += shown.keys
        cursor = shown.next_cursor
    assert len(seen) == len(set(seen))
    if first.next_cursor is not None:
        assert set(before) & set(after) <= set(seen)


@given(st.text(max_size=80))
def test_any_text_is_an_issued_cursor_or_refused(cursor: str) -> None:
    items = [f"key-{number}" for number in range(10)]
    given_out = {turn(items, None, size).next_cursor for size in range(1, 10)}
    if cursor in given_out:
        return
    with pytest.raises(BadParamsError):
        turn(items, cursor, 3)


def test_a_cursor_with_other_padding_or_noise_is_refused() -> None:
    cursor = turn(["a", "b", "c"], None, 1).next_cursor
    assert cursor is not None
    for forged in (cursor + "=", cursor + "\n", " " + cursor, cursor.rstrip("=") + "!" * 4):
        with pytest.raises(BadParamsError):
            turn(["a", "b", "c"], forged, 1)

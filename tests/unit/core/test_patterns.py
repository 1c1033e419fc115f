"""Patterns that select skills by name, path, tag or text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.core.patterns import Selection, TextFilter, is_pattern, matches, tags_of
from skillwire.errors import UsageError

WORD = st.text("abcd-", min_size=1, max_size=6)
PATH = st.lists(WORD, min_size=1, max_size=3).map("/".join)
SELECTOR = st.one_of(
    st.text("abc*?-/", min_size=1, max_size=5), WORD.map(lambda tag: f"tag:{tag}"), st.just("*")
)
SKILL = st.tuples(WORD, PATH, st.lists(WORD, max_size=2))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("*", True), ("a?c", True), ("[ab]", True), ("refunds", False), ("skill://a?/SKILL.md", False)],
)
def test_only_a_text_with_wildcards_is_a_pattern(text: str, expected: object) -> None:
    assert is_pattern(text) is expected


def test_a_pattern_matches_the_whole_name_or_path() -> None:
    assert matches("team/*", "a", "team/deep/a")
    assert matches("a*", "ab", "x/ab")
    assert not matches("a", "ab", "x/ab")
    assert not matches("A*", "ab", "x/ab")


def test_tags_are_read_from_every_usual_place() -> None:
    assert tags_of({"x-skillwire": {"id": "a", "tags": ["one", 2]}}) == {"one"}
    assert tags_of({"metadata": {"tags": "two"}, "tags": ["three"]}) == {"two", "three"}
    assert tags_of({"metadata": {"x-skillwire": {"tags": ["four"]}}}) == {"four"}
    assert tags_of({"metadata": {"x-skillwire.tags": '["five","six"]'}}) == {"five", "six"}
    assert tags_of({"metadata": {"x.tags": "{"}, "tags": None}) == {"{"}


@given(skills=st.lists(SKILL), only=st.lists(SELECTOR, max_size=2), exclude=st.lists(SELECTOR, max_size=2))
def test_a_selection_takes_only_without_exclude(
    skills: list[tuple[str, str, list[str]]], only: list[str], exclude: list[str]
) -> None:
    def alone(selector: str, skill: tuple[str, str, list[str]]) -> bool:
        return Selection([selector]).accepts(skill[0], skill[1], {"tags": list(skill[2])})

    selection = Selection(only, exclude)
    for skill in skills:
        named = not only or any(alone(each, skill) for each in only)
        left = any(alone(each, skill) for each in exclude)
        assert selection.accepts(skill[0], skill[1], {"tags": list(skill[2])}) == (named and not left)
    every = dict.fromkeys([*only, *exclude])
    assert selection.unused() == [each for each in every if not any(alone(each, one) for one in skills)]


@pytest.mark.parametrize("selector", ["", " ", "tag:", "x" * 1001])
def test_a_selector_that_cannot_match_is_refused(selector: str) -> None:
    with pytest.raises(UsageError):
        Selection([selector])


@given(text=WORD, before=st.text(max_size=4), after=st.text(max_size=4))
def test_a_filter_finds_text_in_any_case(text: str, before: str, after: str) -> None:
    assert TextFilter(text.upper()).accepts("", f"{before}{text}{after}")
    assert TextFilter(f"*{text}*").accepts("", f"{before}{text.upper()}{after}")

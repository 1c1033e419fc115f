"""How texts are split into words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.search.text import words, words_by_line

texts = st.text(st.sampled_from("aZ9 .#+c\n\r\x0b\u2028éß中文\ud800"), max_size=60)


@given(texts)
def test_words_of_lines_equal_those_of_each_line(text: str) -> None:
    lines = text.splitlines()
    assert list(words_by_line(lines)) == [words(line) for line in lines]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fill-in PDF_forms!", ["fill", "in", "pdf", "forms"]),
        ("C++ and C#", ["c", "and", "c", "c++", "c#"]),
        ("Über", ["uber"]),
        ("日本語", ["日本", "本語"]),
        ("", []),
    ],
)
def test_words_are_in_lower_case_without_accents(text: str, expected: list[str]) -> None:
    assert words(text) == expected

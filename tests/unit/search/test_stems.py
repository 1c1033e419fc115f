"""Stems equal those of the reference implementation of Snowball."""

import string
from importlib import import_module
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillwire.search.stem import stem

STARTS = (
    "arsen commun emerg gener inter later organ past univers succ proc exc even cann inn earr herr out y yy"
)
ENDINGS = (
    "ed ing eed edly eedly ingly s ies ied sses ss us y ly e l ll at bl iz bb tt past tional enci anci abli "
    "entli izer ization ational ation ator alism aliti alli fulness fulli ousli ousness iveness iviti biliti "
    "bli ogist ogi logi lessli li icate ative alize iciti ical ful ness ance ence able ible ant ement ment "
    "ent ism ate iti ous ive ize ion sion tion er ic al"
)
KNOWN = {
    "testing": "test",
    "tests": "test",
    "generously": "generous",
    "dying": "die",
    "hopping": "hop",
    "hoping": "hope",
    "agreed": "agre",
    "skies": "sky",
    "news": "news",
    "naïveté": "naïveté",
    "": "",
}

reference: Any = import_module("snowballstemmer.english_stemmer").EnglishStemmer()


@st.composite
def words(draw: st.DrawFn) -> str:
    """Return a word that is more likely than others to have endings and exceptions."""
    start = draw(st.sampled_from(["", *STARTS.split()]))
    middle = draw(st.text(string.ascii_lowercase + "aeiouyyéß", max_size=8))
    return start + middle + "".join(draw(st.lists(st.sampled_from(ENDINGS.split()), max_size=3)))


@pytest.mark.parametrize(("word", "expected"), KNOWN.items())
def test_endings_are_removed(word: str, expected: str) -> None:
    assert stem(word) == expected


@given(words())
@example("add")
@example("yyyy")
@example("ying")
def test_stems_equal_those_of_the_reference(word: str) -> None:
    assert stem(word) == reference.stemWord(word)

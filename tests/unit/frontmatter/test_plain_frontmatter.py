"""Frontmatter that is read without the YAML parser means what the parser says, line by line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire.core.record import Json
from skillwire.frontmatter.simple_yaml import read_simple_yaml
from skillwire.frontmatter.yaml12 import load
from tests.support.oracles.yaml_corpus import CORPUS

PLAIN = [
    "name: refunds\ndescription: Settles a refund. Use when money goes back.\n",
    "name: a\ndescription: Folded over\n  several lines, and\n  3 more (of them).\nlicense: MIT\n",
    'name: a\nmetadata:\n  owner: desk\n  version: "1.0"\n  release: 1.20.3\nlicense: MIT\n',
    "name: a\nurl: https://example.com/a:b?c=d&e\n",
    "name: a\nflag: true\nnothing: null\nnumber: 12\nfloat: 1.5\nzero: 0\n",
    "name: 'it is: # quoted'\nother: \"a: b # c\"\nempty: ''\n",
    "name: a\nallowed-tools: Bash(git add, git commit) Read\n",
    "name: a\nlast:\n",
]
LEFT_TO_THE_PARSER = [
    "name: yes\n",
    "yes: name\n",
    "name: 0755\n",
    "name: 2024-01-02\n",
    "name: 12:30:45\n",
    "name: 1e3\n",
    "",
    "name: a \n",
    "name: a # comment\n",
    "# comment\nname: a\n",
    "name: a\nname: b\n",
    "name:\nother: b\n",
    "name: é\n",
    "name: a\tb\n",
    "name: [a]\n",
    "name: {a: b}\n",
    "name: |\n  a\n",
    "name: >-\n  a\n",
    "name: &a b\n",
    "name: *a\n",
    "name: !a b\n",
    'name: "a\\n"\n',
    "name: 'it''s'\n",
    "name: a\n\nother: b\n",
    "name: a\n  other: b\n",
    "metadata:\n  a: b\n   c: d\n",
    "metadata:\n  a:\n    b: c\n",
    "metadata:\n  a:\n  b: c\n",
    "list:\n  - a\n",
    "list:\n- a\n",
    "? a\n: b\n",
    "null: a\n",
    "name: .inf\n",
    "name: 1e999\n",
    "a\n",
    "name: a: b\n",
    "name: a:\n",
    "name : a\n",
    "name:a\n",
    "...\n",
]


def exact(value: Json) -> object:
    """Return a value in which `1`, `1.0` and `true` are different things."""
    if isinstance(value, dict):
        return {key: exact(each) for key, each in value.items()}
    return [exact(each) for each in value] if isinstance(value, list) else (type(value), value)


def assert_means_the_same(text: str) -> bool:
    """Compare with the parser; return whether there was something to compare."""
    document = f"---\n{text}"
    plain = read_simple_yaml(document)
    if plain is None:
        return False
    parsed = load(document)
    assert exact(plain.values) == exact(parsed.values)
    assert list(plain.values) == list(parsed.values)
    assert plain.lines == parsed.lines
    return True


@pytest.mark.parametrize("text", PLAIN)
def test_plain_fields_need_no_parser(text: str) -> None:
    assert assert_means_the_same(text)


@pytest.mark.parametrize("text", LEFT_TO_THE_PARSER)
def test_everything_else_is_left_to_the_parser(text: str) -> None:
    assert read_simple_yaml(f"---\n{text}") is None


@pytest.mark.parametrize("text", [text for text, _ in CORPUS.values()])
def test_the_plain_reader_agrees_with_yaml_on_the_corpus(text: str) -> None:
    assert_means_the_same(text)


WORDS = st.sampled_from(
    [
        "a",
        "B2",
        "use:",
        "x:y",
        "- ",
        "-",
        "it's",
        '"q"',
        "#",
        "(c)",
        "true",
        "null",
        "12",
        "1.5",
        "0x1F",
        "{",
        "]",
        "?",
        "|",
        "é",
    ]
)
VALUES = st.lists(WORDS, max_size=4).map(" ".join) | st.text(
    st.characters(min_codepoint=32, max_codepoint=126), max_size=12
)
KEYS = st.sampled_from(["name", "description", "metadata", "a-b", "c_d", "null", "true", "on", "x1"])
LINES = st.one_of(
    st.tuples(st.sampled_from(["", "  ", "   "]), KEYS, st.just(": "), VALUES).map("".join),
    st.tuples(st.sampled_from(["", "  "]), KEYS, st.just(":")).map("".join),
    st.tuples(st.sampled_from(["", " ", "  ", "    "]), VALUES).map("".join),
)


@settings(max_examples=300)
@given(st.lists(LINES, min_size=1, max_size=6).map(lambda lines: "\n".join(lines) + "\n"))
def test_the_plain_reader_agrees_with_yaml_on_any_text(text: str) -> None:
    assert_means_the_same(text)

"""Frontmatter that we write: every reader of YAML finds the same fields in it."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skillwire.frontmatter.document import read_document
from skillwire.frontmatter.writer import format_scalar, write_frontmatter

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
TRAPS = [
    "yes",
    "No",
    "on",
    "OFF",
    "y",
    "null",
    "~",
    "2020-01-01",
    "12:30:45",
    "1_0",
    "0777",
    "0x1F",
    "1e3",
    ".inf",
    "=",
    "<<",
    "",
]


@pytest.mark.parametrize("text", TRAPS)
def test_text_with_yaml_syntax_is_quoted(text: str) -> None:
    assert yaml.safe_load(format_scalar(text)) == text  # a reader of YAML 1.1
    document = read_document(f"---\nkey: {format_scalar(text)}\n---\n".encode(), "SKILL.md", None)
    assert (document.frontmatter or {})["key"] == text


@given(texts)
def test_both_generations_of_yaml_read_the_same_text(text: str) -> None:
    written = write_frontmatter({"key": text, "list": [text], "map": {"inner": text}})
    expected: dict[str, Any] = {"key": text, "list": [text], "map": {"inner": text}}
    assert read_document(written.encode(), "SKILL.md", None).frontmatter == expected
    assert yaml.safe_load(written.removeprefix("---\n").removesuffix("---\n")) == expected

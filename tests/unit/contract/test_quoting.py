"""Quotes around values that YAML refuses: only where nothing could be read before."""

from hypothesis import given
from hypothesis import strategies as st

from skillwire.contract.quoting import quote_refused_values
from skillwire.frontmatter.document import read_document


@given(
    st.text(st.sampled_from("ab:#'\"[]{}&*!|>%@`-?,\\ ")), st.sampled_from(["", "license: a: b\n", "  c\n"])
)
def test_quotes_never_change_what_can_be_read(value: str, more: str) -> None:
    content = f"---\nname: skill\ndescription: {value}\n{more}---\nBody\n".encode()
    before = read_document(content, "skill/SKILL.md", "skill").frontmatter
    if (after := quote_refused_values(content)) is not None:
        assert before is None
        found = read_document(after, "skill/SKILL.md", "skill").frontmatter
        assert found is not None
        line = f"\ndescription: {value}\n".encode()
        assert line in after or found["description"] == value.strip()

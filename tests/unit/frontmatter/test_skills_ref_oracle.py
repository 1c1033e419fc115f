"""What we have nothing to say about, the public validator `skills-ref` accepts too."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref import validate  # pyright: ignore[reportMissingTypeStubs] - it has annotations, but no marker

from skillwire.frontmatter.document import read_document

Validate = Callable[[str, str], tuple[bool, list[str]]]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Validate:
    """Return a judge: whether we are content with a skill, and what skills-ref complains about."""
    root = tmp_path_factory.mktemp("skills")

    def judge(folder: str, content: str) -> tuple[bool, list[str]]:
        path = root / folder / "SKILL.md"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode())
        return not read_document(content.encode(), "SKILL.md", folder).problems, validate(path.parent)

    return judge


# Quirks: skills-ref refuses these, and they are fine.
QUIRKS = {
    "flow mappings": "name: a\ndescription: b\nmetadata: {author: acme}\n",
    "empty flow mappings": "name: a\ndescription: b\nmetadata: {}\n",
    "fields of one's own": "name: a\ndescription: b\nmodel: opus\n",
    "three dashes inside a value": "name: a\ndescription: 'b --- c'\n",
}


@pytest.mark.parametrize("fields", QUIRKS.values(), ids=QUIRKS)
def test_a_known_quirk_of_skills_ref_is_still_one(fields: str, verdicts: Validate) -> None:
    content, complaints = verdicts("a", f"---\n{fields}---\n")
    assert content
    assert complaints


def test_only_skills_ref_refuses_a_byte_order_mark(verdicts: Validate) -> None:
    content, complaints = verdicts("a", "\ufeff---\nname: a\ndescription: b\n---\n")
    assert content
    assert complaints


# Quirks the other way round: skills-ref accepts these, and we have something to say.
LENIENT = {
    "names that are not ASCII": ("é", "name: é\ndescription: b\n"),
    "nested metadata": ("a", "name: a\ndescription: b\nmetadata:\n  deep:\n    er: c\n"),
    "an empty compatibility": ("a", "name: a\ndescription: b\ncompatibility: ''\n"),
    "tools with commas": ("a", "name: a\ndescription: b\nallowed-tools: c, d\n"),
    "a number for a name": ("12", "name: 12\ndescription: b\n"),
}


@pytest.mark.parametrize(("folder", "fields"), LENIENT.values(), ids=LENIENT)
def test_we_refuse_what_lenient_skills_ref_accepts(folder: str, fields: str, verdicts: Validate) -> None:
    content, complaints = verdicts(folder, f"---\n{fields}---\n")
    assert not content
    assert not complaints


NAMES = st.one_of(
    st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True),
    st.text(alphabet="aB1-_ ", min_size=1, max_size=8).filter(lambda name: name.strip() == name),
    st.sampled_from(["a" * 64, "a" * 65, "12", "1e3", "null", "true"]),
)
TEXTS = st.one_of(
    st.text(alphabet="ab é😀:#-,.'\"()!?%&*@[]{}|>", max_size=40),
    st.sampled_from(["x" * 500, "x" * 501, "x" * 1024, "x" * 1025, "yes", "1.0", "2024-01-02", ""]),
)
STYLES = st.sampled_from(["{}", "'{}'", '"{}"', ">-\n  {}", "|\n  {}", "\n  {}"])
VALUES = st.builds(str.format, STYLES, TEXTS).filter(lambda value: "---" not in value)
OPTIONAL = st.dictionaries(
    st.sampled_from(["license", "compatibility", "allowed-tools", "metadata:\n  author", "metadata:\n  x-y"]),
    VALUES,
    max_size=3,
)


@settings(deadline=None)
@given(
    name=NAMES,
    quote=st.sampled_from(["", "'", '"']),
    same=st.booleans(),
    description=VALUES,
    optional=OPTIONAL,
)
def test_skills_ref_accepts_what_we_accept(
    name: str, quote: str, *, same: bool, description: str, optional: dict[str, str], verdicts: Validate
) -> None:
    fields = {f"name: {quote}{name}{quote}\ndescription": description, **optional}
    text = "".join(f"{field}: {value}\n" for field, value in fields.items())
    content, complaints = verdicts(name if same else "other", f"---\n{text}---\nbody\n")
    if content:
        assert complaints == []

"""Where the frontmatter begins and ends, and what is not text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import Problem
from skillwire.frontmatter.document import SkillDocument, read_document
from skillwire.sources import Rule, Severity

FIELDS = b"name: a\ndescription: b\n"
READ = {"name": "a", "description": "b"}
LIMIT = 64 * 1024


def document(content: bytes) -> SkillDocument:
    return read_document(content, "x/SKILL.md", None)


def only_problem(content: bytes) -> Problem:
    (problem,) = document(content).problems
    return problem


@pytest.mark.parametrize(
    "content",
    [
        b"---\n" + FIELDS + b"---\nbody\n",
        b"---\n" + FIELDS + b"---",
        b"\xef\xbb\xbf---\n" + FIELDS + b"---\n",
        (b"---\n" + FIELDS + b"---\nbody\n").replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + (b"---\n" + FIELDS + b"---\n").replace(b"\n", b"\r\n"),
        b"---\n" + FIELDS + b"---\n---\nname: c\n---\n",
        b"---\n" + FIELDS + b"---\n\n- \xc3\xa9 \xf0\x9f\x98\x80\n",
        b"---\n\n" + FIELDS + b"\n---\n",
    ],
    ids=[
        "plain",
        "no line break at the end",
        "a byte order mark",
        "CRLF",
        "a byte order mark and CRLF",
        "fences in the body",
        "text that is not ASCII",
        "empty lines",
    ],
)
def test_a_frontmatter_stands_between_two_fences(content: bytes) -> None:
    assert document(content) == SkillDocument(READ, ())


def test_spaces_and_tabs_behind_the_fences_are_only_a_warning() -> None:
    found = document(b"--- \t\n" + FIELDS + b"---\t \nbody")
    assert found.frontmatter == READ
    assert [(each.rule, each.severity) for each in found.problems] == [
        (Rule.YAML_AMBIGUOUS, Severity.WARNING)
    ]


@pytest.mark.parametrize("inside", [b" ---\n", b"  --- \n", b"  ----\n", b"  a ---\n", b"  ---a\n"])
def test_dashes_inside_a_value_do_not_close(inside: bytes) -> None:
    found = document(b"---\n" + FIELDS + b"more: |\n  a\n" + b" " + inside + b"---\n").frontmatter
    assert found
    assert set(found) == {"name", "description", "more"}
    assert "---" in str(found["more"])


@pytest.mark.rule("S7")
def test_line_break_before_closing_fence_belongs_to_last_value() -> None:
    found = document(b"---\nname: a\ndescription: |\n  b\n---\n").frontmatter
    assert found == {"name": "a", "description": "b\n"}


@pytest.mark.parametrize(
    ("content", "rule", "line"),
    [
        (b"", Rule.FRONTMATTER_MISSING, 1),
        (b"# Title\n", Rule.FRONTMATTER_MISSING, 1),
        (b"\n---\n" + FIELDS + b"---\n", Rule.FRONTMATTER_MISSING, 1),
        (b" ---\n" + FIELDS + b"---\n", Rule.FRONTMATTER_MISSING, 1),
        (b"----\n" + FIELDS + b"---\n", Rule.FRONTMATTER_MISSING, 1),
        (b"--- name: a\n---\n", Rule.FRONTMATTER_MISSING, 1),
        (b"---\r" + FIELDS + b"---\r", Rule.FRONTMATTER_MISSING, 1),
        (b"---", Rule.FRONTMATTER_UNCLOSED, 1),
        (b"---\n", Rule.FRONTMATTER_UNCLOSED, 1),
        (b"---\n" + FIELDS, Rule.FRONTMATTER_UNCLOSED, 1),
        (b"---\n" + FIELDS + b" ---\n", Rule.FRONTMATTER_UNCLOSED, 1),
        (b"---\n" + FIELDS + b"---x\n----\n", Rule.FRONTMATTER_UNCLOSED, 1),
        (b"---\n---\n", Rule.FRONTMATTER_NOT_MAPPING, 1),
        (b"---\n# nothing\n---\n", Rule.FRONTMATTER_NOT_MAPPING, 1),
        (b"---\n- a\n---\n", Rule.FRONTMATTER_NOT_MAPPING, 1),
        (b"---\njust text\n---\n", Rule.FRONTMATTER_NOT_MAPPING, 1),
        (b"---\nname: a\ndescription: \xe9\n---\n", Rule.FRONTMATTER_ENCODING, 3),
        (b"---\nname: \xed\xa0\x80\n---\n", Rule.FRONTMATTER_ENCODING, 2),
        (("---\nname: a\n---\n").encode("utf-16"), Rule.FRONTMATTER_ENCODING, 1),
        (("---\nname: a\n---\n").encode("utf-16-le"), Rule.FRONTMATTER_ENCODING, 1),
        (("---\nname: a\n---\n").encode("utf-16-be"), Rule.FRONTMATTER_ENCODING, 1),
        (("---\nname: a\n---\n").encode("utf-32"), Rule.FRONTMATTER_ENCODING, 1),
        (b"---\n" + b"#" * LIMIT + b"\n---\n", Rule.FRONTMATTER_SIZE, 1),
    ],
)
def test_unusable_frontmatter_is_an_error_with_rule_line_and_hint(
    content: bytes, rule: Rule, line: int
) -> None:
    problem = only_problem(content)
    assert (problem.path, problem.rule, problem.line) == ("x/SKILL.md", rule, line)
    assert problem.severity is Severity.ERROR
    assert problem.hint
    assert document(content).frontmatter is None
    assert not document(content).is_servable


def test_frontmatter_size_limit_is_inclusive() -> None:
    filled = FIELDS + b"#" * (LIMIT - len(FIELDS) - 1) + b"\n"
    assert document(b"--- \n" + filled + b"---\n").frontmatter == READ
    assert only_problem(b"--- \n#" + filled + b"---\n").rule is Rule.FRONTMATTER_SIZE


def test_late_frontmatter_and_missing_frontmatter_get_different_hints() -> None:
    assert "before the first `---`" in only_problem(b"\n\n---\n" + FIELDS + b"---\n").hint
    assert "start the file" in only_problem(b"# Title\n").hint


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"a\x00b", 5),
        (b"\n\n\xff", 7),
        ("é".encode()[:1], 5),
        (b"\xed\xa0\x80", 5),
        ("é".encode() * 40_000 + b"\n\xfe", 6),
        (b"x" * (64 * 1024 - 1) + "é\n".encode() + b"\x80", 6),
    ],
    ids=["NUL", "a stray byte", "half a character", "a surrogate", "far away", "across the chunks"],
)
def test_body_that_is_not_text_is_only_a_warning(body: bytes, line: int) -> None:
    read = document(b"---\n" + FIELDS + b"---\n" + body)
    (problem,) = read.problems
    assert (problem.rule, problem.severity, problem.line) == (Rule.BODY_ENCODING, Severity.WARNING, line)
    assert read.is_servable


def test_the_body_is_checked_even_where_the_yaml_is_wrong() -> None:
    rules = [problem.rule for problem in document(b"---\na: [\n---\n\xff").problems]
    assert rules == [Rule.FRONTMATTER_YAML, Rule.BODY_ENCODING]


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00")))
def test_a_body_of_any_text_is_fine(body: str) -> None:
    assert document(b"---\n" + FIELDS + b"---\n" + body.encode()) == SkillDocument(READ, ())


SHAPES = st.lists(
    st.one_of(
        st.sampled_from(
            [b"---", b"\n", b"\r\n", b"\r", b" ", b"\t", b"name: a", b": ", b"\xef\xbb\xbf", b"\xff", b"\x00"]
        ),
        st.binary(max_size=8),
    ),
    max_size=20,
).map(b"".join)


@given(st.one_of(st.binary(), SHAPES, SHAPES.map(lambda inside: b"---\n" + inside + b"\n---\n")))
def test_reading_never_raises_and_unservable_files_have_an_error(content: bytes) -> None:
    read = document(content)
    if not read.is_servable:
        assert any(problem.severity is Severity.ERROR for problem in read.problems)
    if read.frontmatter is None:
        assert all(problem.line for problem in read.problems)
    assert all(problem.path == "x/SKILL.md" and problem.hint for problem in read.problems)

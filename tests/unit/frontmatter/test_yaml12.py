"""Frontmatter is YAML 1.2: what it says, and what it may not hold."""

import json
import math
from typing import cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skillwire import Problem
from skillwire.core.record import Json
from skillwire.frontmatter import pyyaml as loader
from skillwire.frontmatter.document import read_document
from skillwire.sources import Rule, Severity
from tests.support.oracles.yaml_corpus import CORPUS


def read(text: str) -> Json:
    found = read_document(f"---\n{text}---\n".encode(), "SKILL.md", None).frontmatter
    return None if found is None else dict(found)


def refusal(text: str) -> Problem:
    document = read_document(f"---\n{text}---\n".encode(), "SKILL.md", None)
    assert document.frontmatter is None
    return document.problems[0]


@pytest.fixture
def pure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read as a PyYAML does that was built without libyaml."""
    monkeypatch.setattr(loader, "LOADER", yaml.Loader)


@pytest.mark.rule("S7")
@pytest.mark.parametrize(("text", "value"), CORPUS.values(), ids=CORPUS)
def test_yaml_is_read_as_version_1_2(text: str, value: Json) -> None:
    assert exact(read(text)) == exact(value)


@pytest.mark.usefixtures("pure")
@pytest.mark.parametrize(("text", "value"), CORPUS.values(), ids=CORPUS)
def test_without_libyaml_the_same_is_read_or_nothing(text: str, value: Json) -> None:
    found = read(text)
    assert found is None or exact(found) == exact(value)


REFUSED: dict[str, tuple[str, Rule, int]] = {
    "an anchor": ("a: &x b\n", Rule.YAML_ANCHOR, 2),
    "an anchor on a mapping": ("a: &x\n  b: c\n", Rule.YAML_ANCHOR, 2),
    "an anchor on a key": ("&x a: b\n", Rule.YAML_ANCHOR, 2),
    "an alias": ("a: b\nc: *x\n", Rule.YAML_ANCHOR, 3),
    "an alias as a key": ("*x : b\n", Rule.YAML_ANCHOR, 2),
    "a billion laughs": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", Rule.YAML_ANCHOR, 2),
    "a tag": ("a: !x b\n", Rule.YAML_TAG, 2),
    "a standard tag": ("a: b\nc: !!str 1\n", Rule.YAML_TAG, 3),
    "a tag without a name": ("a: ! b\n", Rule.YAML_TAG, 2),
    "a tag on a list": ("a: !!set [b]\n", Rule.YAML_TAG, 2),
    "a Python object": ("a: !!python/object/apply:os.system [b]\n", Rule.YAML_TAG, 2),
    "a directive": ("%YAML 1.2\n", Rule.YAML_DIRECTIVE, 2),
    "a directive before the fields": ("# c\n%TAG ! x\na: b\n", Rule.YAML_DIRECTIVE, 3),
    "a directive after the fields": ("a: b\n%x y\n", Rule.YAML_DIRECTIVE, 3),
    "a second document": ("a: b\n--- c\n", Rule.YAML_DOCUMENTS, 3),
    "a document that ends": ("a: b\n...\n", Rule.YAML_DOCUMENTS, 3),
    "a document that ends at once": ("...\na: b\n", Rule.YAML_DOCUMENTS, 2),
    "a key that is given twice": ("a: 1\nb: 2\na: 3\n", Rule.YAML_DUPLICATE_KEY, 4),
    "a key that is given twice in two spellings": ("a: 1\n'a':\n", Rule.YAML_DUPLICATE_KEY, 3),
    "a key that is given twice, deep down": ("a:\n  - b: {c: 1, c: 1}\n", Rule.YAML_DUPLICATE_KEY, 3),
    "a number as a key": ("a: b\n1: c\n", Rule.YAML_KEY, 3),
    "null as a key": ("~: a\n", Rule.YAML_KEY, 2),
    "true as a key": ("a:\n  true: b\n", Rule.YAML_KEY, 3),
    "nothing as a key": ("? \n: a\n", Rule.YAML_KEY, 2),
    "a list as a key": ("? [a]\n: b\n", Rule.YAML_KEY, 2),
    "a mapping as a key": ("{a: b}: c\n", Rule.YAML_KEY, 2),
    "infinity": ("a: .inf\n", Rule.YAML_NUMBER, 2),
    "minus infinity": ("a: -.INF\n", Rule.YAML_NUMBER, 2),
    "not a number": ("a: b\nc: [.nan]\n", Rule.YAML_NUMBER, 3),
    "a float too large": ("a: 1e999\n", Rule.YAML_NUMBER, 2),
    "an integer too large": (f"a: {'9' * 400}\n", Rule.YAML_NUMBER, 2),
    "an integer too long for Python": (f"a: {'9' * 5000}\n", Rule.YAML_NUMBER, 2),
    "a hexadecimal too large": (f"a: 0x{'f' * 5000}\n", Rule.YAML_NUMBER, 2),
    "NUL": ("a: b\nc: \x00\n", Rule.YAML_CHARACTER, 3),
    "U+0085": ("a: b\x85c\n", Rule.YAML_CHARACTER, 2),
    "U+2028": ("a: b\u2028c\n", Rule.YAML_CHARACTER, 2),
    "U+2029 in quotes": ("a: '\u2029'\n", Rule.YAML_CHARACTER, 2),
    "a lone CR": ("a: b\rc: d\n", Rule.YAML_CHARACTER, 2),
    "a CR before CRLF": ("a: b\r\r\n", Rule.YAML_CHARACTER, 2),
    "U+FEFF at the first field": ("\ufeffa: b\n", Rule.YAML_CHARACTER, 2),
    "a control character": ("a: \x1b[31m\n", Rule.YAML_CHARACTER, 2),
    "a noncharacter": ("a: \uffff\n", Rule.YAML_CHARACTER, 2),
    "a lone surrogate": ('a: "\\ud800"\n', Rule.YAML_CHARACTER, 2),
    "a surrogate pair": ('a: b\nc: "\\ud83d\\ude00"\n', Rule.YAML_CHARACTER, 3),
    "an escape beyond Unicode": ('a: "\\UFFFFFFFF"\n', Rule.YAML_CHARACTER, 2),
    "65 lists": (f"a: {'[' * 64}{']' * 64}\n", Rule.YAML_DEPTH, 2),
    "nested block lists": (f"a:\n  {'- ' * 200}b\n", Rule.YAML_DEPTH, 3),
    "thousands of brackets": (f"a: {'[' * 60_000}\n", Rule.YAML_DEPTH, 2),
    "a colon in plain text": ("a: b: c\n", Rule.FRONTMATTER_YAML, 2),
    "a tab for indentation": ("a:\n\tb: c\n", Rule.FRONTMATTER_YAML, 3),
    "a bracket that is never closed": ("a: b\nc: [d,\n  e\n", Rule.FRONTMATTER_YAML, 3),
    "quotes that are never closed": ('a: b\nc: "d\n', Rule.FRONTMATTER_YAML, 3),
    "an unknown escape": ('a: "C:\\Windows"\n', Rule.FRONTMATTER_YAML, 2),
    "a reserved character": ("a: @b\n", Rule.FRONTMATTER_YAML, 2),
    "a list on the line of its field": ("a: - b\n", Rule.FRONTMATTER_YAML, 2),
}


@pytest.mark.rule("H26")
@pytest.mark.parametrize(("text", "rule", "line"), REFUSED.values(), ids=REFUSED)
def test_forbidden_yaml_is_an_error_with_rule_and_line(text: str, rule: Rule, line: int) -> None:
    problem = refusal(text)
    assert (problem.rule, problem.line, problem.severity) == (rule, line, Severity.ERROR)
    assert problem.hint
    assert problem.message.isprintable()


@pytest.mark.usefixtures("pure")
@pytest.mark.parametrize("text", [text for text, _, _ in REFUSED.values()], ids=REFUSED)
def test_without_libyaml_the_same_is_refused(text: str) -> None:
    assert refusal(text).severity is Severity.ERROR


# libyaml reads all of these. npm `yaml` refuses them, or reads something else.
DISPUTED: dict[str, tuple[str, int]] = {
    "quotes that go on at the left": ("a: 'b\nc'\n", 3),
    "quotes with a line that holds a tab": ("a: 'b\n\t\n  c'\n", 3),
    "quotes deep down that go on too far left": ('a:\n  b: "c\n d"\n', 4),
    "brackets that go on at the left": ("a: [b,\nc]\n", 3),
    "a bracket inside that ends at the left": ("a: {b: [\n]}\n", 3),
    "a comment between brackets at the left": ("a: [b: c\n# d\n  ]\n", 3),
    "a block at the left": ("a:\n|\n", 3),
    "a comment right after quotes": ("a: 'b'#c\n", 2),
    "a comment right after a bracket": ("a: [b]#c\n", 2),
    "a comment right after a comma": ("a: [b,#c\n  d]\n", 2),
    "a comment right after a block's header": ("a: |-#c\n  b\n", 2),
    "a comment at the left, above a plain value": ("a:\n# b\n  c\nd: e\n", 4),
    "a comment under an empty block": ("a: |\n    \n  # b\n", 2),
    "a block that ends in spaces": ("a: |1\n b\n  \n", 2),
    "an empty line after a hidden line break": ('a: "b\\\n\n  c"\n', 2),
    "a question mark that touches its key": ("a: [?b]\n", 2),
    "a dash alone between brackets": ("a: {b: -, c: d}\n", 2),
}


@pytest.mark.rule("S7")
@pytest.mark.parametrize(("text", "line"), DISPUTED.values(), ids=DISPUTED)
def test_what_other_implementations_read_differently_is_refused(text: str, line: int) -> None:
    problem = refusal(text)
    assert (problem.rule, problem.line) == (Rule.FRONTMATTER_YAML, line)
    assert problem.hint


def test_64_levels_of_nesting_are_allowed() -> None:
    assert isinstance(read(f"a: {'[' * 63}{']' * 63}\n"), dict)


def test_hash_inside_a_value_is_text() -> None:
    text = "a: ['#b', \"c,#d\", e-#f]\ng: |\n  1#\n  -#\nh: x-#y # z\n"
    assert read(text) == {"a": ["#b", "c,#d", "e-#f"], "g": "1#\n-#\n", "h": "x-#y"}


def test_a_problem_names_the_right_line_with_crlf() -> None:
    assert refusal("a: b\r\n\r\nc: &d e\r\n").line == 4


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(st.text(max_size=20), JSON, min_size=1, max_size=5)


@pytest.mark.rule("S7")
@given(MAPPINGS)
def test_any_json_mapping_written_as_yaml_reads_back_unchanged(mapping: dict[str, Json]) -> None:
    fields = "".join(f"{written(key)}: {written(value)}\n" for key, value in mapping.items())
    assert exact(read(fields)) == exact(mapping)
    assert exact(read(written(mapping) + "\n")) == exact(mapping)


@given(st.text(alphabet="ab:-?,[]{}#&*!|>'\"%@` \n\t\\0.e~", max_size=60))
def test_every_value_that_is_read_is_json(text: str) -> None:
    found = read(text + "\n")
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert_json(found)


def written(value: Json) -> str:
    """Return `value` as YAML between quotes and brackets."""
    match value:
        case str():
            plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in value)
            return f'"{"".join(plain)}"'
        case list():
            return f"[{', '.join(map(written, value))}]"
        case dict():
            return f"{{{', '.join(f'{written(key)}: {written(item)}' for key, item in value.items())}}}"
        case None | bool() | int() | float():
            return json.dumps(value)


def exact(value: Json) -> object:
    """Return `value` so that 1, 1.0 and True differ."""
    match value:
        case list():
            return [exact(item) for item in value]
        case dict():
            return {key: exact(item) for key, item in value.items()}
        case None | bool() | int() | float() | str():
            return (type(value), value)


def assert_json(value: object) -> None:
    match value:
        case None | bool():
            pass
        case int():
            assert -(2**63) <= value < 2**64
        case float():
            assert math.isfinite(value)
        case str():
            value.encode()
        case list():
            for item in cast("list[object]", value):
                assert_json(item)
        case _:
            assert isinstance(value, dict)
            for key, item in cast("dict[object, object]", value).items():
                assert isinstance(key, str)
                assert_json(key)
                assert_json(item)


def test_a_colon_in_plain_text_is_explained_without_parser_words() -> None:
    content = b"---\nname: refunds\ndescription: Refunds: who gets what\n---\n"
    (problem,) = read_document(content, "SKILL.md", "refunds").problems
    assert problem.message == "not YAML: a colon followed by a space begins another field here"
    assert problem.hint == "put quotes around a value that contains `: `"

"""What we read from a frontmatter, npm `yaml` reads too: clients compare the two (S7)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire.core.record import Json
from skillwire.frontmatter.document import read_document
from tests.support.oracles.npm_yaml import NpmYaml, running
from tests.support.oracles.yaml_corpus import CORPUS
from tests.support.paths import ROOT

pytestmark = pytest.mark.rule("S7")


@pytest.fixture(scope="session")
def npm() -> Iterator[NpmYaml]:
    with running() as oracle:
        yield oracle


@pytest.mark.parametrize("text", [text for text, _ in CORPUS.values()], ids=CORPUS)
def test_npm_yaml_reads_every_known_trap_as_we_do(text: str, npm: NpmYaml) -> None:
    assert read(text) is not None
    assert_agreement(text, npm)


def test_npm_yaml_agrees_on_every_served_test_skill(served_tree: Path, npm: NpmYaml) -> None:
    examples = ROOT / "examples/skills"
    documents = [*served_tree.rglob("SKILL.md"), *examples.rglob("SKILL.md")]
    assert len(documents) > 10
    for path in documents:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        assert_agreement(text.removeprefix("---\n").partition("\n---")[0] + "\n", npm)


# What YAML gives a meaning to, put together without sense. `_` stands for a space, `/` for a line break.
PIECES = r"""
    a b_c é 😀 1 ~ << : :_ - -_ ? ?_ , ,_ [ ] { } " ' "a" 'b' '' | > |- >+ |2 # _# _#_c \ \n \/ _ __ ... --
    % @ ! &a *a ` = / / / // /_ /__ /__ /____ /-_ /__-_ a:_ /b:_ /c:/__
"""
NONSENSE = (
    st.lists(
        st.sampled_from([piece.replace("_", " ").replace("/", "\n") for piece in PIECES.split()]), max_size=16
    )
    .map(lambda pieces: "".join(pieces) + "\n")
    .filter(lambda text: "---" not in text)  # a fence would end our part of the text, and only ours
)

# The same, in the shape of a frontmatter: fields whose values go on over several lines.
WORDS = "a b# c:d yes 1 -x http://x/#y it's é . e,f [z] #n x: - %p | > 1e3 ~ { 😀 ! @ ?"
PHRASES = st.lists(st.sampled_from(WORDS.split(" ")), min_size=1, max_size=4).map(" ".join)
INDENTS = st.sampled_from(["  ", "  ", "  ", "    ", " ", "", "\t"])
BREAKS = st.sampled_from(["\n", "\n", "\n", "\n\n", "\n  \n", "\n# c\n", "\n  # c\n", "\n\t\n"])
ENDS = st.sampled_from(["", "", "", " # c", "#c", " ", "\t"])
LINES = st.lists(st.tuples(BREAKS, INDENTS, PHRASES).map("".join), max_size=3).map("".join)
ITEMS = st.lists(
    st.one_of(PHRASES, st.sampled_from(["a: b", '"x":y', "[b, c]", "{d: e}", "'s'", "? k : v", ""])),
    max_size=4,
)
VALUES = st.one_of(
    st.builds(" {}{}".format, PHRASES, LINES),
    st.builds("{}{}".format, st.sampled_from([" |", " >", " |-", " >-", " |+", " >+", " |2", " >1-"]), LINES),
    st.builds(' "{}{}"{}'.format, PHRASES, LINES, ENDS),
    st.builds(" '{}{}'{}".format, PHRASES.map(lambda text: text.replace("'", "''")), LINES, ENDS),
    st.builds(" [{}{}{}]{}".format, ITEMS.map(", ".join), BREAKS, INDENTS, ENDS),
    st.builds(" {{{}{}{}}}{}".format, ITEMS.map(",\n  ".join), BREAKS, INDENTS, ENDS),
    st.builds("{}{}- {}\n  - {}".format, BREAKS, INDENTS, PHRASES, ITEMS.map("\n  - ".join)),
    st.builds("{}{}a:{}".format, BREAKS, INDENTS, PHRASES),
)
FIELDS = st.lists(VALUES, min_size=1, max_size=3).map(
    lambda values: "".join(f"k{number}:{value}\n" for number, value in enumerate(values))
)
TEXTS = st.one_of(NONSENSE, FIELDS, FIELDS.map(lambda text: text.replace("\n", "\r\n")))


@settings(deadline=None, max_examples=60)
@given(texts=st.lists(TEXTS, min_size=20, max_size=40))
def test_npm_yaml_reads_whatever_we_read_and_finds_the_same(texts: list[str], npm: NpmYaml) -> None:
    for text in texts:
        if read(text) is not None:
            assert_agreement(text, npm)


def assert_agreement(text: str, npm: NpmYaml) -> None:
    answer = npm.read(text)
    assert "ok" in answer, (text, answer)
    assert comparable(read(text)) == comparable(answer["ok"]), text


def read(text: str) -> Json:
    document = read_document(f"---\n{text}---\n".encode(), "SKILL.md", None)
    return None if document.frontmatter is None else dict(document.frontmatter)


def comparable(value: Json) -> object:
    """Return `value` with the numbers that JavaScript has, and with True told from 1."""
    match value:
        case bool() | str() | None:
            return (type(value), value)
        case int() | float():
            return float(value)
        case list():
            return [comparable(item) for item in value]
        case dict():
            return {key: comparable(item) for key, item in value.items()}

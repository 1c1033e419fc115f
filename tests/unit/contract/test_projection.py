"""Projections: what strict uploaders take, made the same way every time, and undone exactly."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from skills_ref import validate  # pyright: ignore[reportMissingTypeStubs] - it has annotations, but no marker

from skillwire.contract.projection import project, projection_problems, restore_block
from skillwire.contract.rules.skill import BLOCK_KEY, STANDARD
from skillwire.frontmatter.document import read_document
from skillwire.sources import Rule, Severity
from tests.support.contracts import block, check, frontmatter, skill_md, sound_frontmatters


def fields(content: bytes) -> dict[str, Any]:
    document = read_document(content, "SKILL.md", None)
    assert document.frontmatter is not None, document.problems
    return dict(document.frontmatter)


def complaints(root: Path, name: str, content: bytes) -> list[str]:
    """Return what the public validator says of a skill."""
    folder = root / name
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_bytes(content)
    return validate(folder)


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uploads")


@given(raw=sound_frontmatters())
def test_skills_ref_accepts_the_projection_of_any_valid_skill(raw: dict[str, Any], uploads: Path) -> None:
    source = skill_md(raw)
    assert fields(source) == raw
    assert check(
        raw, path=f"{raw['name']}/SKILL.md", files=("references/policy.md", "references/a/b.md")
    ).frontmatter
    projected = project(source, BLOCK_KEY)
    assert complaints(uploads, raw["name"], projected.content) == []
    assert complaints(uploads, raw["name"], source) != []
    assert set(fields(projected.content)) <= set(STANDARD)
    assert projected.dropped == tuple(sorted(set(raw) - {*STANDARD, BLOCK_KEY}))


@given(raw=sound_frontmatters())
def test_a_projection_is_deterministic_idempotent_and_reversible(raw: dict[str, Any]) -> None:
    source = skill_md(raw)
    once = project(source, BLOCK_KEY).content
    assert project(source, BLOCK_KEY).content == once
    assert project(once, BLOCK_KEY).content == once
    assert restore_block(fields(once), BLOCK_KEY)[BLOCK_KEY] == raw[BLOCK_KEY]
    shuffled = dict(reversed(raw.items())) | {BLOCK_KEY: dict(reversed(raw[BLOCK_KEY].items()))}
    assert project(skill_md(shuffled), BLOCK_KEY).content == once


def test_a_projection_holds_the_block_as_the_contract_says() -> None:
    inner = block(
        tags=["billing", "money back"], depends_on=["orders"], references={"p": {"path": "references/p.md"}}
    )
    raw = frontmatter(
        "refunds",
        inner,
        model="opus",
        license="MIT",
        allowed_tools=["Read", "Bash(git add)"],
        metadata={"owner": 7},
    )
    assert project(skill_md(raw, "# Body\n"), BLOCK_KEY).content.decode() == (
        "---\n"
        "name: refunds\n"
        "description: Does refunds.\n"
        "license: MIT\n"
        "allowed-tools: Read Bash(git add)\n"
        "metadata:\n"
        "  owner: '7'\n"
        "  x-skillwire.id: refunds\n"
        "  x-skillwire.version: '1.0.0'\n"
        '  x-skillwire.tags: \'["billing","money back"]\'\n'
        "  x-skillwire.capabilities: '[\"resource://skills/refunds/document\"]'\n"
        "  x-skillwire.depends_on: '[\"orders\"]'\n"
        '  x-skillwire.references: \'{"p":{"path":"references/p.md"}}\'\n'
        "---\n"
        "\n# Body\n"
    )


BODIES = {
    "nothing": b"---\nname: refunds\ndescription: x\n---",
    "a line break": b"---\nname: refunds\ndescription: x\n---\n",
    "windows": b"---\r\nname: refunds\r\ndescription: x\r\n---\r\n\r\n# Body\r\n",
    "bytes": b"---\nname: refunds\ndescription: x\n---\nbody \xff\x00 --- \n---\nno line break",
}


@pytest.mark.parametrize("source", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_the_body_is_unchanged_and_a_byte_order_mark_goes(source: bytes, mark: bytes) -> None:
    projected = project(mark + source, BLOCK_KEY).content
    body = source.split(b"---", 2)[2].removeprefix(b"\r").removeprefix(b"\n")
    assert (
        projected
        == b"---\nname: refunds\ndescription: x\n---"
        + (b"\n" if source.count(b"---\n") + source.count(b"---\r") > 1 else b"")
        + body
    )
    assert fields(projected) == {"name": "refunds", "description": "x"}


def test_empty_metadata_is_never_written(uploads: Path) -> None:
    raw: dict[str, Any] = {
        "name": "refunds",
        "description": "x",
        "metadata": {},
        "allowed-tools": [],
        "compatibility": "",
    }
    projected = project(skill_md(raw), BLOCK_KEY).content
    assert b"metadata" not in projected
    assert complaints(uploads, "refunds", projected) == []


@pytest.mark.parametrize(
    "text", ["a --- b", "---", "x\n---\ny", "tab\tand ---- four", "é😀\u2028\ufeff", " spaces ", "'\"\\"]
)
def test_text_that_could_end_or_break_the_frontmatter_survives(text: str, uploads: Path) -> None:
    raw = frontmatter("refunds", block(note=text), metadata={text: text}, license=text)
    projected = project(skill_md(raw), BLOCK_KEY).content
    assert complaints(uploads, "refunds", projected) == []
    assert fields(projected)["metadata"][text] == text
    assert restore_block(fields(projected), BLOCK_KEY)[BLOCK_KEY]["note"] == text


def test_fields_that_a_projection_drops_are_warnings() -> None:
    raw = {**frontmatter(), "model": "opus", "own-field": 1}
    found = list(projection_problems(raw, BLOCK_KEY, "refunds/SKILL.md"))
    assert [(each.field, each.severity) for each in found] == [
        ("model", Severity.WARNING),
        ("own-field", Severity.WARNING),
    ]
    assert {each.rule for each in found} == {Rule.CONTRACT_PROJECTION_DROPPED}


def test_a_compatibility_too_long_for_uploaders_is_an_error() -> None:
    raw = frontmatter(compatibility="x" * 501)
    assert check(raw).frontmatter is not None
    (found,) = projection_problems(raw, BLOCK_KEY, "refunds/SKILL.md")
    assert (found.field, found.severity) == ("compatibility", Severity.ERROR)


def test_a_key_of_the_author_that_collides_is_an_error() -> None:
    raw = frontmatter(metadata={"x-skillwire.tags": "[]"})
    assert [each.rule for each in check(raw).problems] == [Rule.CONTRACT_METADATA_KEY]


def test_an_edited_projection_is_still_read() -> None:
    raw = {"metadata": {"x-skillwire.id": "refunds", "x-skillwire.tags": "[oops"}}
    assert restore_block(raw, BLOCK_KEY) == {BLOCK_KEY: {"id": "refunds", "tags": "[oops"}}

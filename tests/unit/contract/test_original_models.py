"""The contract against the models that it started as: the same answer, except where the page says so."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.contract import ContractError, SkillFrontmatter, validate_skill_frontmatter
from tests.support.oracles.original_contract import original_frontmatter

KEY = "x-personal-mcp"
DOCUMENT = "resource://skills/refunds/document"
POLICY = "resource://skills/refunds/references/p"


def ours(raw: dict[str, Any]) -> SkillFrontmatter | None:
    try:
        return validate_skill_frontmatter(raw, "refunds")
    except ContractError:
        return None


def raw(**fields: Any) -> dict[str, Any]:
    """Return a valid frontmatter, except for these fields of it or of its block."""
    top = {name: fields.pop(name) for name in ("name", "description", "metadata") if name in fields}
    inner = {"id": "refunds", "version": "1.0.0", "capabilities": [DOCUMENT], **fields}
    return {"name": "refunds", "description": "x", **top, KEY: inner}


def with_path(path: str) -> dict[str, Any]:
    return raw(references={"p": {"path": path}}, capabilities=[DOCUMENT, POLICY])


def with_id(ref_id: str) -> dict[str, Any]:
    uri = f"resource://skills/refunds/references/{ref_id.strip()}"
    return raw(references={ref_id: {"path": "references/a.md"}}, capabilities=[DOCUMENT, uri])


SAME: dict[str, list[dict[str, Any]]] = {
    "suffixes": [with_path(f"references/{name}") for name in ("a.md", "a.MD", "A.Md", ".md", "a.txt", "a")],
    "paths": [
        with_path(path)
        for path in (
            *(
                "./references/a.md",
                "references//a.md",
                "references/./a.md",
                "references/a.md/",
                "references/x/.md",
            ),
            *("references/../references/a.md", "/references/a.md", "references", "References/a.md", "a.md"),
            *(
                " references/a.md ",
                "references/a.md\n",
                "references/a.md.txt",
                "references/.a.md",
                "x/references/a.md",
            ),
        )
    ],
    "reference ids": [with_id(each) for each in ("a", "1a", "-a", "A", "a_b", "a.b", " a ", "a\n", "", "é")],
    "dependencies": [
        raw(depends_on=each)
        for each in (["orders"], ["Orders"], ["1a"], ["-a"], [""], [" orders "], ["a_b"], [1], None, "x", [])
    ],
    "names": [raw(name=each) for each in (" refunds ", "refunds\n", "Refunds", "other", "", 7)],
    "ids": [raw(id=each) for each in (" refunds", "refunds\n", "other", "Refunds", None)],
    "versions": [
        raw(version=each)
        for each in ("1.0.0", " 1.0.0 ", "1.0", "01.0.0", "v1.0.0", "1.0.0-", "1.0.0-a_b", 1.0)
    ],
    "descriptions": [raw(description=each) for each in ("", " ", "x" * 1024, "x" * 1025, f" {'x' * 1024} ")],
    "capabilities": [
        raw(capabilities=each) for each in ([], [f" {DOCUMENT}"], DOCUMENT, [DOCUMENT, 1], None)
    ],
}


@pytest.mark.parametrize("cases", SAME.values(), ids=SAME)
def test_edge_cases_of_the_original_models_have_the_same_answer(cases: list[dict[str, Any]]) -> None:
    answers = [(ours(each) is not None, original_frontmatter(each, "refunds") is not None) for each in cases]
    assert [mine for mine, _ in answers] == [original for _, original in answers]


STRICTER = {
    "a hyphen at the end": with_id("a-"),
    "two hyphens": raw(depends_on=["a--b"]),
    "a dependency on itself": raw(depends_on=["refunds"]),
    "a number with a zero in a pre-release": raw(version="1.0.0-01"),
    "an empty part of a pre-release": raw(version="1.0.0-a..b"),
    "an XML tag": raw(description="<b>x</b>"),
    "a foreign capability": raw(capabilities=[DOCUMENT, "x"]),
    "an empty capability": raw(capabilities=[DOCUMENT, ""]),
    "a NUL": with_path("references/a\0.md"),
    "control characters only": raw(description="\x1f"),
}
LOOSER = {
    "a pre-release with build metadata": raw(version="1.0.0-rc.1+b5"),
    "a number in metadata": raw(metadata={"a": 1}),
    "null in metadata": raw(metadata={"a": None}),
    "a wrong type in a field of Claude Code": {**raw(), "when_to_use": 3},
}


@pytest.mark.parametrize("case", STRICTER.values(), ids=STRICTER)
def test_a_documented_tightening_is_rejected_only_here(case: dict[str, Any]) -> None:
    assert (ours(case), original_frontmatter(case, "refunds") is not None) == (None, True)


@pytest.mark.parametrize("case", LOOSER.values(), ids=LOOSER)
def test_a_documented_loosening_is_accepted_only_here(case: dict[str, Any]) -> None:
    assert (ours(case) is not None, original_frontmatter(case, "refunds")) == (True, None)


@given(
    tags=st.lists(st.text("ab ", max_size=3), max_size=3),
    path=st.text("references/aMmd. ", max_size=20).map(lambda end: f"references/{end}"),
    ref_id=st.text("a1- ", max_size=4),
    needed=st.lists(st.text("a1-A ", max_size=4), max_size=2),
    space=st.text(" \t\n", max_size=2),
)
def test_what_both_accept_has_the_same_values(
    tags: list[str], path: str, ref_id: str, needed: list[str], space: str
) -> None:
    uri = f"resource://skills/refunds/references/{ref_id.strip()}"
    each = raw(
        tags=tags,
        references={ref_id: {"path": path}},
        capabilities=[DOCUMENT + space, uri],
        depends_on=needed,
        description=f"{space}x{space}",
    )
    mine, original = ours(each), original_frontmatter(each, "refunds")
    assert mine is None or original is not None
    if mine is None or original is None:
        return
    block = original.x_personal_mcp
    assert (mine.id, mine.version, mine.description) == (block.id, block.version, original.description)
    assert list(mine.tags) == list(dict.fromkeys(filter(None, block.tags)))
    assert list(mine.depends_on) == list(dict.fromkeys(block.depends_on))
    assert {name: (found.path, found.mime_type) for name, found in mine.references.items()} == {
        name.strip(): (found.path, found.mime_type) for name, found in block.references.items()
    }

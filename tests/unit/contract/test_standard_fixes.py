"""`--fix` for names, and for values that have exactly one right form."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.contract.fixes import apply_fixes
from skillwire.contract.standard_fixes import right_name
from skillwire.frontmatter.document import read_document
from skillwire.frontmatter.split import split
from tests.support.contracts import NAMES, VALUES, skill_md


def fixed(frontmatter: str, folder: str | None = "refunds") -> str:
    """Return the frontmatter after fixing what `check` reports."""
    content = fix(f"---\n{frontmatter}---\nBody\n".encode(), folder).decode()
    return content.removeprefix("---\n").removesuffix("---\nBody\n")


def fix(content: bytes, folder: str | None) -> bytes:
    problems = read_document(content, "x/SKILL.md", folder).problems
    return apply_fixes(content, [each.rule for each in problems], None, folder)


D = "description: Does refunds.\n"
CASES = {
    "no name": (D, f"name: refunds\n{D}"),
    "an empty name": (f"name: # later\n{D}", f"name: refunds # later\n{D}"),
    "null as a name": (f"{D}name: ~\n", f"{D}name: refunds\n"),
    "spaces and upper case": (f'name: "Refund Desk" # ours\n{D}', f"name: refunds # ours\n{D}"),
    "another name": (f"# top\nname: returns\n{D}", f"# top\nname: refunds\n{D}"),
    "a number as a name": (f"name: 2024\n{D}", f"name: refunds\n{D}"),
    "a name in brackets": (f"{{name: Returns, {D.strip()}}}\n", f"{{name: refunds, {D.strip()}}}\n"),
    "an id that agrees with the name": (
        f"name: returns\n{D}x-skillwire: {{id: returns}}\n",
        f"name: returns\n{D}x-skillwire: {{id: returns}}\n",
    ),
    "an id that agrees with the folder": (
        f"name: returns\n{D}x-skillwire: {{id: refunds}}\n",
        f"name: refunds\n{D}x-skillwire: {{id: refunds}}\n",
    ),
    "tools in lines": (
        f"name: refunds\nallowed-tools:\n- Read\n- Bash(git status)\n{D}",
        f"name: refunds\nallowed-tools: Read Bash(git status)\n{D}",
    ),
    "tools in brackets": (
        f"name: refunds\nallowed-tools: [Read,\n  Grep] # why\n{D}",
        f"name: refunds\nallowed-tools: [Read,\n  Grep] # why\n{D}",
    ),
    "tools with a comment that must stay": (
        f"name: refunds\nallowed-tools:\n  - Read # why\n  - Grep\n{D}",
        f"name: refunds\nallowed-tools:\n  - Read # why\n  - Grep\n{D}",
    ),
    "numbers instead of text": (
        f"name: refunds\n{D}license: 2\nmetadata: {{v: 1.10, w: true, x: a}}\ncompatibility: 3.10 # and up\n",
        (
            f'name: refunds\n{D}license: "2"\nmetadata: {{v: "1.10", w: "true", x: a}}\n'
            'compatibility: "3.10" # and up\n'
        ),
    ),
    "truth in quotes": (
        f"name: refunds\n{D}user-invocable: 'False'\ndisable-model-invocation: yes\n",
        f'name: refunds\n{D}user-invocable: false\ndisable-model-invocation: "yes"\n',
    ),
    "text that YAML 1.1 reads differently": (
        f"name: refunds\n{D}since: 2026-01-01\nmode: 0755\nlist: [no, 12:30]\n",
        f'name: refunds\n{D}since: "2026-01-01"\nmode: 0755\nlist: ["no", "12:30"]\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_exactly_the_wrong_value_is_rewritten(before: str, after: str) -> None:
    assert fixed(before) == after
    assert fixed(after) == after


@pytest.mark.parametrize(
    ("name", "folder", "skill_id", "right"),
    [
        ("returns", "refunds", None, "refunds"),
        ("returns", "refunds", "returns", None),
        ("Returns", "refunds", "returns", None),
        (None, "Refund Desk", None, None),
        ("Refund Desk", "Refund Desk", None, "refund-desk"),
        ("refund__desk", None, None, "refund-desk"),
        ("Refunds & Returns", None, None, None),
        ("refunds", "Refunds", None, None),
        ("x" * 65, None, None, None),
    ],
)
def test_a_name_is_fixed_only_with_one_right_answer(
    name: str | None, folder: str | None, skill_id: str | None, right: str | None
) -> None:
    assert right_name(name, folder, skill_id) == right


def test_a_name_that_is_a_word_of_yaml_is_quoted() -> None:
    assert fixed(D, "null") == f"name: 'null'\n{D}"
    assert fixed(D, "2024") == f"name: '2024'\n{D}"


# Any skill

FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.one_of(NAMES, st.sampled_from(["Refund Desk", "a_b", "yes", 2024, None, "é"])),
        "description": VALUES,
        "license": VALUES,
        "compatibility": VALUES,
        "metadata": st.one_of(st.dictionaries(st.text(max_size=6), VALUES, max_size=3), VALUES),
        "allowed-tools": st.one_of(
            st.lists(st.sampled_from(["Read", "Bash(git add, x)", "a b", 1]), max_size=3), VALUES
        ),
        "user-invocable": st.sampled_from(["true", "False", "yes", True, 1]),
        "own": VALUES,
    },
)


@given(raw=FIELDS, folder=st.one_of(NAMES, st.sampled_from(["Refund Desk", "no"]), st.none()))
def test_fixing_twice_is_fixing_once(raw: dict[str, Any], folder: str | None) -> None:
    content = skill_md(raw)
    after = fix(content, folder)
    assert fix(after, folder) == after


@given(raw=FIELDS, folder=NAMES, newline=st.sampled_from([b"\n", b"\r\n"]))
def test_nothing_outside_the_frontmatter_changes(raw: dict[str, Any], folder: str, newline: bytes) -> None:
    content = b"\xef\xbb\xbf" + skill_md(raw).replace(b"\n", newline) + b"\xff\r\n \r"
    after = fix(content, folder)
    if after == content:
        return
    old, new = split(content), split(after)
    assert after[: new.start] == content[: old.start]
    assert after[new.end :] == content[old.end :]
    written = after[new.start : new.end]
    assert written.count(newline) == written.count(b"\n")


@given(raw=FIELDS, folder=NAMES)
def test_a_fix_leaves_no_new_problem(raw: dict[str, Any], folder: str) -> None:
    content = skill_md(raw)
    before = {each.rule for each in read_document(content, "x/SKILL.md", folder).problems}
    after = {each.rule for each in read_document(fix(content, folder), "x/SKILL.md", folder).problems}
    assert after <= before

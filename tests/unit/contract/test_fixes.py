"""`--fix`: the one right answer, and not a byte more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.contract.fixes import ADOPTION_RULES, FIXES, apply_fixes
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.contract.standard_fixes import NAME_RULES
from skillwire.core.problem import Rule
from skillwire.frontmatter.document import read_document
from skillwire.frontmatter.split import split
from tests.support.contracts import skill_md as as_skill_md
from tests.support.contracts import sound_frontmatters

TESTED = [rule for rule in FIXES if rule not in {*NAME_RULES, *ADOPTION_RULES, Rule.METADATA_TYPE}]


def mended(frontmatter: str, body: str = "Body\n") -> str:
    content = apply_fixes(f"---\n{frontmatter}---\n{body}".encode(), TESTED, BLOCK_KEY, "refunds").decode()
    assert content.startswith("---\n")
    assert content.endswith(f"---\n{body}")
    return content.removeprefix("---\n").removesuffix(f"---\n{body}")


DOCUMENT = "resource://skills/refunds/document"
POLICY = "resource://skills/refunds/references/p"
REFERENCE = "x-skillwire:\n  id: refunds\n  references:\n    p: {path: references/p.md}\n"
NOTE = "x-skillwire:\n    id: refunds\n    note: |\n      one\n\n      two\n"
CASES = {
    "tools with commas": ("allowed-tools: Read, Grep # why\n", "allowed-tools: Read Grep # why\n"),
    "tools with arguments": (
        'allowed-tools: "Bash(git add, git commit), Read"\n',
        "allowed-tools: 'Bash(git add, git commit) Read'\n",
    ),
    "tools on lines": (
        "allowed-tools: |\n  Read,\n  Grep\nlicense: MIT\n",
        "allowed-tools: Read Grep\nlicense: MIT\n",
    ),
    "tools folded, with a comment that must stay": (
        "allowed-tools: > # why\n  Read,\n  Grep\n",
        "allowed-tools: > # why\n  Read,\n  Grep\n",
    ),
    "a version that is a number": (
        f"x-skillwire:\n  version: 1.10   # next\n  capabilities: [{DOCUMENT}]\n",
        f'x-skillwire:\n  version: "1.10.0"   # next\n  capabilities: [{DOCUMENT}]\n',
    ),
    "a version that is a whole number": (
        f"x-skillwire: {{version: 2, capabilities: [{DOCUMENT}]}}\n",
        f'x-skillwire: {{version: "2.0.0", capabilities: [{DOCUMENT}]}}\n',
    ),
    "a version that is a number in no way that versions are written": (
        f"x-skillwire: {{version: 0x10, capabilities: [{DOCUMENT}]}}\n",
        f"x-skillwire: {{version: 0x10, capabilities: [{DOCUMENT}]}}\n",
    ),
    "a version that is text": (
        f"x-skillwire: {{version: 1.0.0, capabilities: [{DOCUMENT}]}}\n",
        f"x-skillwire: {{version: 1.0.0, capabilities: [{DOCUMENT}]}}\n",
    ),
    "tags in lines": (
        f"x-skillwire:\n  tags:\n  - a # 1\n  # 2\n  - a # 3\n  - b\n  capabilities: [{DOCUMENT}]\n",
        f"x-skillwire:\n  tags:\n  - a # 1\n  # 2\n  # 3\n  - b\n  capabilities: [{DOCUMENT}]\n",
    ),
    "tags in brackets": (
        f"x-skillwire:\n  tags: [a, 'a', b, a]\n  capabilities: [{DOCUMENT}]\n",
        f"x-skillwire:\n  tags: [a, b]\n  capabilities: [{DOCUMENT}]\n",
    ),
    "tags in brackets with a comment that must stay": (
        f"x-skillwire:\n  tags: [a, # why\n    a]\n  capabilities: [{DOCUMENT}]\n",
        f"x-skillwire:\n  tags: [a, # why\n    a]\n  capabilities: [{DOCUMENT}]\n",
    ),
    "no capabilities": (
        f"{REFERENCE}\n# the rest\nlicense: MIT\n",
        f"{REFERENCE}  capabilities:\n    - {DOCUMENT}\n    - {POLICY}\n\n# the rest\nlicense: MIT\n",
    ),
    "no capabilities, and a text at the end of the block": (
        f"{NOTE}\nlicense: MIT\n",
        f"{NOTE}    capabilities:\n      - {DOCUMENT}\n\nlicense: MIT\n",
    ),
    "capabilities without a value": (
        "x-skillwire:\n  capabilities:\n  id: refunds\n",
        f"x-skillwire:\n  capabilities:\n    - {DOCUMENT}\n  id: refunds\n",
    ),
    "no capabilities in brackets": (
        "x-skillwire: {id: refunds}\n",
        f"x-skillwire: {{id: refunds, capabilities: [{DOCUMENT}]}}\n",
    ),
    "no capabilities in brackets, and a comma at the end": (
        "x-skillwire: {id: refunds, tags: [a,],}\n",
        f"x-skillwire: {{id: refunds, tags: [a,],capabilities: [{DOCUMENT}]}}\n",
    ),
    "no capabilities in brackets, and a comment at the end": (
        "x-skillwire: {id: refunds, # a, b\n  }\n",
        f"x-skillwire: {{id: refunds, # a, b\n  capabilities: [{DOCUMENT}]}}\n",
    ),
    "no id": (
        f"name: refunds\nx-skillwire:\n    version: 1.0.0 # x\n    capabilities: [{DOCUMENT}]\n",
        (
            "name: refunds\nx-skillwire:\n    id: refunds\n    version: 1.0.0 # x\n"
            f"    capabilities: [{DOCUMENT}]\n"
        ),
    ),
    "no id in brackets": (
        f"name: refunds\nx-skillwire: {{capabilities: [{DOCUMENT}]}}\n",
        f"name: refunds\nx-skillwire: {{id: refunds, capabilities: [{DOCUMENT}]}}\n",
    ),
    "an id without a value": (
        f"name: refunds\nx-skillwire:\n  id:\n  capabilities: [{DOCUMENT}]\n",
        f"name: refunds\nx-skillwire:\n  id: refunds\n  capabilities: [{DOCUMENT}]\n",
    ),
    "no id, and another name": (
        f"name: returns\nx-skillwire: {{capabilities: [{DOCUMENT}]}}\n",
        f"name: returns\nx-skillwire: {{capabilities: [{DOCUMENT}]}}\n",
    ),
    "an empty block": ("x-skillwire: {}\n", f"x-skillwire: {{capabilities: [{DOCUMENT}]}}\n"),
    "no block": ("name: refunds\n", "name: refunds\n"),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_a_fix_corrects_the_fault_and_keeps_comments_and_order(before: str, after: str) -> None:
    assert mended(before) == after
    assert mended(after) == after


def test_line_breaks_marks_and_bodies_stay_as_they_are() -> None:
    block = b"x-skillwire:\r\n  id: refunds\r\n  version: 1.0\r\n"
    before = b"\xef\xbb\xbf--- \r\nname: refunds\r\n" + block + b"---\t\r\nbody \xff\n"
    after = before.replace(
        b"1.0\r\n", b'"1.0.0"\r\n  capabilities:\r\n    - resource://skills/refunds/document\r\n'
    )
    assert apply_fixes(before, TESTED, BLOCK_KEY, "refunds") == after


def test_adopting_adds_a_version_to_a_block() -> None:
    for before, after in (
        ("x-skillwire:\n  # ours\n  id: a\n", 'x-skillwire:\n  # ours\n  version: "0.1.0"\n  id: a\n'),
        ("x-skillwire:\n  version: # later\n", 'x-skillwire:\n  version: "0.1.0" # later\n'),
        ("x-skillwire: {version: 3}\n", "x-skillwire: {version: 3}\n"),
    ):
        fixed = apply_fixes(f"---\n{before}---\n".encode(), ADOPTION_RULES, BLOCK_KEY, "a")
        assert fixed.decode() == f"---\n{after}---\n"


def test_only_faults_of_the_given_rules_are_fixed() -> None:
    content = b"---\nallowed-tools: a, b\nx-skillwire: {version: 1}\n---\n"
    assert apply_fixes(content, [], BLOCK_KEY, "refunds") == content


@given(
    raw=sound_frontmatters(),
    tags=st.lists(st.sampled_from(["a", "b", "c d", "#e"]), min_size=1, max_size=5),
    version=st.one_of(st.integers(0, 99), st.floats(0, 99, allow_nan=False)),
    body=st.binary(max_size=20),
)
def test_a_fix_changes_no_other_field_and_no_body(
    raw: dict[str, dict[str, object]], tags: list[str], version: float, body: bytes
) -> None:
    block = raw[BLOCK_KEY]
    block |= {"tags": tags, "version": version}
    del block["capabilities"]
    content = as_skill_md(raw) + body
    tested = [each for each in FIXES if each.startswith("contract-") or each == Rule.ALLOWED_TOOLS_FORMAT]
    after = apply_fixes(content, tested, BLOCK_KEY, "refunds")
    assert after[split(after).body :] == content[split(content).body :]
    found = dict(read_document(after, "SKILL.md", None).frontmatter or {})
    inner = found[BLOCK_KEY]
    assert isinstance(inner, dict)
    assert inner["tags"] == list(dict.fromkeys(tags))
    assert isinstance(inner["capabilities"], list)
    assert {key: inner[key] for key in block if key not in {"tags", "version"}} == {
        key: value for key, value in block.items() if key not in {"tags", "version"}
    }
    rest = {key: value for key, value in raw.items() if key not in {BLOCK_KEY, "allowed-tools"}}
    assert {key: found[key] for key in rest} == rest

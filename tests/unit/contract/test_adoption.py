"""`--adopt`: a block for skills without one, from their `metadata.yaml` if there is one."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.contract.adoption import NotAdoptedError, adopt
from skillwire.contract.rules.skill import BLOCK_KEYS, SkillFacts
from skillwire.frontmatter.split import split
from skillwire.frontmatter.yaml12 import load
from tests.support.contracts import NAMES, VALUES, as_yaml, check

DOCUMENT = "resource://skills/refunds/document"
PLAIN = "name: refunds # short\ndescription: Does refunds.\n# the end\n"


def facts(*files: str, name: str = "refunds") -> SkillFacts:
    return SkillFacts(f"{name}/SKILL.md", name, {}, frozenset(("SKILL.md", *files)))


def adopted(
    frontmatter: str, sidecar: str | None = None, *files: str, key: str = "x-skillwire", name: str = "refunds"
) -> str:
    """Return the frontmatter with its block."""
    content = f"---\n{frontmatter}---\nBody\n".encode()
    told = None if sidecar is None else sidecar.encode()
    after = adopt(content, facts(*files, name=name), key, told)
    assert after.endswith(b"---\nBody\n")
    assert adopt(after, facts(*files, name=name), key, told) == after
    return after.decode().removeprefix("---\n").removesuffix("---\nBody\n")


def refused(frontmatter: str, sidecar: str | None = None, *files: str, name: str = "refunds") -> str:
    with pytest.raises(NotAdoptedError) as caught:
        adopted(frontmatter, sidecar, *files, name=name)
    assert caught.value.hint
    return caught.value.reason


def test_a_skill_without_anything_gets_a_complete_block() -> None:
    files = ("references/policy.md", "references/2024/Late Fees.MD", "references/data.csv", "scripts/x.md")
    assert adopted(PLAIN, None, *files) == (
        f"{PLAIN}x-skillwire:\n"
        "  id: refunds\n"
        '  version: "0.1.0"\n'
        "  capabilities:\n"
        f"    - {DOCUMENT}\n"
        "    - resource://skills/refunds/references/reference-2024-late-fees\n"
        "    - resource://skills/refunds/references/policy\n"
        "  references:\n"
        "    reference-2024-late-fees:\n"
        "      path: references/2024/Late Fees.MD\n"
        "    policy:\n"
        "      path: references/policy.md\n"
    )


def test_two_documents_with_the_same_id_get_numbers() -> None:
    found = block_of(adopted(PLAIN, None, "references/a-b.md", "references/a/b.md"))
    assert found["references"] == {
        "a-b": {"path": "references/a-b.md"},
        "a-b-2": {"path": "references/a/b.md"},
    }


def test_a_sidecar_keeps_its_words_comments_and_unknown_fields() -> None:
    sidecar = (
        "# ours\n---\nversion: 1.10 # next\ntags: [billing, billing]\n"
        "owner:\n  - team: shop # who\nnote: |\n  a\n\n  b\n"
    )
    assert adopted(PLAIN, sidecar) == (
        f"{PLAIN}x-skillwire:\n"
        "  id: refunds\n"
        '  version: "1.10.0" # next\n'
        "  tags: [billing]\n"
        "  owner:\n"
        "    - team: shop # who\n"
        "  note: |\n"
        "    a\n"
        "\n"
        "    b\n"
        "  capabilities:\n"
        f"    - {DOCUMENT}\n"
    )


def test_a_sidecar_in_braces_or_indented_is_rewritten() -> None:
    assert "cannot be taken over" in refused(PLAIN, "{version: 1.10}\n")  # a zero is lost
    for sidecar in ("{version: 1.2.0, owner: shop}\n", "  version: 1.2.0\n  owner: shop\n"):
        assert block_of(adopted(PLAIN, sidecar)) == {
            "id": "refunds",
            "version": "1.2.0",
            "owner": "shop",
            "capabilities": [DOCUMENT],
        }


def test_references_of_a_sidecar_are_declared() -> None:
    sidecar = "id: refunds\nversion: 1.0.0\nreferences:\n  policy: {path: references/policy.md}\n"
    found = block_of(adopted(PLAIN, sidecar, "references/policy.md", "references/other.md"))
    assert found["capabilities"] == [DOCUMENT, "resource://skills/refunds/references/policy"]
    assert list(found["references"]) == ["policy"]


@pytest.mark.parametrize("sidecar", ["tags: [a]\n", "{tags: [a]}\n", "tags: [a] # ours\n\n"])
def test_documents_become_references_with_and_without_a_sidecar(sidecar: str) -> None:
    found = block_of(adopted(PLAIN, sidecar, "references/policy.md"))
    assert found["references"] == {"policy": {"path": "references/policy.md"}}
    assert found["capabilities"] == [DOCUMENT, "resource://skills/refunds/references/policy"]
    assert found["tags"] == ["a"]


def test_a_sidecar_with_capabilities_decides_what_is_published() -> None:
    found = block_of(adopted(PLAIN, f"capabilities: [{DOCUMENT}]\n", "references/policy.md"))
    assert found == {"id": "refunds", "version": "0.1.0", "capabilities": [DOCUMENT]}


def test_line_breaks_and_marks_of_the_file_stay() -> None:
    content = b"\xef\xbb\xbf---\r\nname: refunds\r\ndescription: x\r\n---\r\nbody \xff\n"
    after = adopt(content, facts(), "x-skillwire", b"version: 1.0.0\r\n")
    start = split(content).end
    assert after[:start] == content[:start]
    assert after.endswith(content[start:])
    assert after.count(b"\n") == after[: after.index(b"body")].count(b"\r\n") + 1


@pytest.mark.parametrize("key", [*BLOCK_KEYS, "x-acme"])
def test_the_block_is_written_under_the_given_key(key: str) -> None:
    assert f"{key}:\n  id: refunds\n" in adopted(PLAIN, None, key=key)


# Refusals


@pytest.mark.parametrize(
    ("sidecar", "reason"),
    [
        ("id: other\n", "x-skillwire.id: `other` is not the same as the name, `refunds`"),
        ("version: latest\n", "x-skillwire.version: `latest` is not a version by SemVer 2.0"),
        (
            "references: {p: {path: references/gone.md}}\n",
            "x-skillwire.references.p.path: the skill has no file",
        ),
        (
            "capabilities: [resource://other]\n",
            "x-skillwire.capabilities: the URI of the document is not listed",
        ),
        ("depends_on: [Not An Id]\n", "x-skillwire.depends_on[0]: `Not An Id` is not lowercase words"),
        ("[not a mapping]\n", "`metadata.yaml`"),
        ("a: [\n", "`metadata.yaml`, line 2"),
        ("a: &x 1\n", "`metadata.yaml`, line 1"),
        ("note: " + "x" * 70_000 + "\n", "the frontmatter has"),
    ],
)
def test_a_sidecar_that_breaks_a_rule_is_refused(sidecar: str, reason: str) -> None:
    assert refused(PLAIN, sidecar).startswith(reason)


def test_a_sidecar_that_is_not_text_is_refused() -> None:
    with pytest.raises(NotAdoptedError, match="is not UTF-8"):
        adopt(f"---\n{PLAIN}---\n".encode(), facts(), "x-skillwire", b"a: \xff\n")


@pytest.mark.parametrize(
    ("frontmatter", "reason"),
    [
        ("{name: refunds, description: x}\n", "the frontmatter or `metadata.yaml` cannot be taken over"),
        ("name: refunds\nx-skillwire:\n", "the frontmatter or `metadata.yaml` cannot be taken over"),
        (
            "name: refunds\nx-skillwire: text\n",
            "the frontmatter or `metadata.yaml` cannot be taken over",
        ),
        ("name: refunds\nmetadata: {x-skillwire.id: refunds}\n", "it is a projection"),
        ("name: refunds\nx-own: {id: a, version: b, capabilities: []}\n", "it has a block under `x-own`"),
        ("name: [\n", "the YAML"),
    ],
)
def test_a_frontmatter_that_cannot_take_a_block_is_refused(frontmatter: str, reason: str) -> None:
    assert refused(frontmatter).startswith(reason) or reason == "the YAML"


def test_a_name_that_cannot_be_an_id_is_refused() -> None:
    assert refused("name: 3d-models\n", None, name="3d-models").startswith(
        "`3d-models` is not lowercase words"
    )
    assert refused("name: refunds\n", None, name="returns").startswith("x-skillwire.id: ")


# A block and a sidecar

BLOCK = (
    f'{PLAIN}x-skillwire:\n  id: refunds\n  version: "1.10.0"\n  tags: [a]\n  capabilities: [{DOCUMENT}]\n'
)


def test_a_block_with_everything_of_the_sidecar_stays() -> None:
    assert adopted(BLOCK, "version: 1.10\ntags: [a, a]\n") == BLOCK


def test_a_sidecar_with_more_than_the_block_is_refused() -> None:
    assert (
        refused(BLOCK, "owner: shop\n")
        == "`metadata.yaml` has the field `owner`, which the block does not have"
    )
    assert refused(BLOCK, "version: 2.0.0\n").endswith("have different values for `version`")


# Any sidecar


def block_of(frontmatter: str, key: str = "x-skillwire") -> dict[str, Any]:
    found = load(f"---\n{frontmatter}").values[key]
    assert isinstance(found, dict)
    return found


@given(
    name=NAMES,
    sidecar=st.dictionaries(st.text(max_size=6), VALUES, max_size=4),
    key=st.sampled_from(BLOCK_KEYS),
)
def test_an_adopted_skill_is_valid_and_loses_no_field(
    name: str, sidecar: Mapping[str, Any], key: str
) -> None:
    frontmatter = f"# first\nname: {name}\ndescription: x # why\nown: [1]\n"
    try:
        after = adopted(frontmatter, as_yaml(sidecar), key=key, name=name)
    except NotAdoptedError:
        return
    assert after.startswith(frontmatter)
    block = block_of(after, key)
    for field, value in sidecar.items():
        assert field in {"version", "tags"} or block[field] == value
    raw = dict(load(f"---\n{after}").values)
    inner = raw.pop(key)
    checked = check({**raw, "x-skillwire": inner}, path=f"{name}/SKILL.md")
    assert [each for each in checked.problems if each.severity == "error"] == []

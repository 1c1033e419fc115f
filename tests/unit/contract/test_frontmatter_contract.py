"""The frontmatter under the contract: what is refused, what is taken, and what the typed value holds."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given

from skillwire.contract import ContractError, SkillFrontmatter, validate_skill_frontmatter
from skillwire.contract.rules.block import is_semver
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.contract.rules.standard import CLAUDE_FIELDS
from skillwire.errors import FieldError, SkillwireError
from skillwire.sources import Rule, Severity
from tests.support.contracts import (
    POLICY,
    any_frontmatters,
    block,
    check,
    errors,
    fields_of,
    frontmatter,
    sound_frontmatters,
)


def refused(raw: dict[str, Any], dir_name: str = "refunds") -> dict[str, Rule]:
    """Return the fields that are refused, with the rule of each."""
    with pytest.raises(ContractError) as raised:
        validate_skill_frontmatter(raw, dir_name)
    return {problem.field: problem.rule for problem in raised.value.problems}


def warned(raw: dict[str, Any]) -> dict[str, Rule]:
    found = validate_skill_frontmatter(raw, str(raw["name"])).warnings
    return {problem.field: problem.rule for problem in found}


# The typed value


def test_a_sound_frontmatter_becomes_a_typed_value() -> None:
    references = {"policy": {"path": POLICY, "title": "The policy", "aliases": ["rules"]}}
    uris = ["resource://skills/refunds/document", "resource://skills/refunds/references/policy"]
    inner = block(
        tags=["billing", "money"], depends_on=["orders"], references=references, capabilities=uris, own=1
    )
    raw = frontmatter(
        "refunds",
        inner,
        license="MIT",
        compatibility="Git",
        allowed_tools=["Read"],
        metadata={"a": "b"},
    )
    found = validate_skill_frontmatter(raw, "refunds")
    assert (found.name, found.id, found.version) == ("refunds", "refunds", "1.0.0")
    assert (found.tags, found.depends_on) == (("billing", "money"), ("orders",))
    assert found.capabilities == tuple(uris)
    policy = found.references["policy"]
    assert (policy.path, policy.mime_type, policy.title, policy.aliases) == (
        POLICY,
        "text/markdown",
        "The policy",
        ("rules",),
    )
    assert (found.license, found.compatibility, found.allowed_tools) == ("MIT", "Git", ("Read",))
    assert found.metadata == {"a": "b"}
    assert found.raw is raw
    assert found.warnings == ()


def test_one_group_of_errors_names_every_field() -> None:
    raw = {"name": "Refunds", BLOCK_KEY: {"version": 1.0, "tags": "billing"}}
    with pytest.raises(ContractError) as raised:
        validate_skill_frontmatter(raw, "refunds")
    group = raised.value
    assert isinstance(group, ExceptionGroup)
    assert isinstance(group, SkillwireError)
    assert fields_of(group.problems) == [
        "name",
        "description",
        f"{BLOCK_KEY}.id",
        f"{BLOCK_KEY}.version",
        f"{BLOCK_KEY}.tags",
        f"{BLOCK_KEY}.capabilities",
    ]
    assert all(isinstance(error, FieldError) and error.field in str(error) for error in group.exceptions)


def test_error_group_can_be_split_by_field() -> None:
    with pytest.raises(ContractError) as raised:
        validate_skill_frontmatter({BLOCK_KEY: {}}, "refunds")
    ours, rest = raised.value.split(lambda error: isinstance(error, FieldError) and error.field == "name")
    assert isinstance(ours, ContractError)
    assert isinstance(rest, ContractError)
    assert fields_of(ours.problems) == ["name"]
    assert "name" not in fields_of(rest.problems)


def test_the_key_of_the_block_can_be_another() -> None:
    raw = frontmatter()
    raw["x-acme"] = raw.pop(BLOCK_KEY)
    assert validate_skill_frontmatter(raw, "refunds", key="x-acme").version == "1.0.0"
    assert refused(raw) == {BLOCK_KEY: Rule.CONTRACT_BLOCK_MISSING}
    (problem,) = check(raw).problems
    assert problem.hint.endswith("or name it with `--block-key x-acme`")


# Tightenings against the original model


@pytest.mark.parametrize("name", ["re--funds", "refunds-"])
def test_double_and_trailing_hyphens_are_refused(name: str) -> None:
    assert refused(frontmatter(name), name)["name"] is Rule.NAME_FORMAT


def test_xml_tags_in_the_description_are_refused() -> None:
    assert refused(frontmatter(description="Use <system>this</system>.")) == {
        "description": Rule.CONTRACT_DESCRIPTION_TAGS
    }
    assert warned(frontmatter(description="If a < b and b > c.")) == {}


@pytest.mark.parametrize(
    ("uri", "rule"),
    [
        ("resource://skills/orders/document", Rule.CONTRACT_CAPABILITY_FOREIGN),
        ("https://example.com/refunds", Rule.CONTRACT_CAPABILITY_FOREIGN),
        ("resource://skills/refunds-more/document", Rule.CONTRACT_CAPABILITY_FOREIGN),
        ("resource://skills/refunds/references/none", Rule.CONTRACT_CAPABILITY_UNSERVED),
        ("resource://skills/refunds/", Rule.CONTRACT_CAPABILITY_UNSERVED),
    ],
)
def test_foreign_and_unserved_capabilities_are_refused(uri: str, rule: Rule) -> None:
    raw = frontmatter("refunds", block(capabilities=["resource://skills/refunds/document", uri]))
    assert refused(raw) == {f"{BLOCK_KEY}.capabilities[1]": rule}


def test_a_reference_whose_file_does_not_exist_is_refused() -> None:
    uris = ["resource://skills/refunds/document", "resource://skills/refunds/references/fees"]
    raw = frontmatter(
        "refunds", block(references={"fees": {"path": "references/fees.md"}}, capabilities=uris)
    )
    assert [problem.rule for problem in errors(check(raw).problems)] == [Rule.CONTRACT_REFERENCE_MISSING]
    assert errors(check(raw, files=("references/fees.md",)).problems) == []


@pytest.mark.parametrize(
    "path",
    [
        "",
        "policy.md",
        "/references/policy.md",
        "references/../policy.md",
        "references/./../policy.md",
        "references//",
        "references/.md",
        "references\\policy.md",
        "references/pol\0icy.md",
        "references/policy.txt",
        "references/",
        7,
        None,
    ],
)
def test_a_path_that_could_lead_elsewhere_is_refused(path: Any) -> None:
    inner = block(references={"policy": {"path": path}})
    assert f"{BLOCK_KEY}.references.policy.path" in refused(frontmatter("refunds", inner))


def test_references_in_folders_below_are_fine() -> None:
    uris = ["resource://skills/refunds/document", "resource://skills/refunds/references/fees"]
    inner = block(references={"fees": {"path": "references/eu/de/fees.md"}}, capabilities=uris)
    assert warned(frontmatter("refunds", inner)) == {}


def test_dependencies_are_checked() -> None:
    raw = frontmatter("refunds", block(depends_on=["refunds"]))
    assert refused(raw) == {f"{BLOCK_KEY}.depends_on[0]": Rule.CONTRACT_DEPENDENCY_SELF}


@pytest.mark.parametrize(
    "version", ["1.0.0-01", "1.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0+", "1.0.0-a..b", "1.0.0 1", ""]
)
def test_a_version_that_is_not_semver_is_refused(version: str) -> None:
    raw = frontmatter("refunds", block(version=version))
    assert refused(raw) == {f"{BLOCK_KEY}.version": Rule.CONTRACT_VERSION_FORMAT}


# Loosenings against the original model


@pytest.mark.parametrize(
    "version",
    ["1.0.0-rc.1+b5", "1.0.0-alpha", "1.0.0--", "1.0.0-0A.is.legal", "1.0.0+0.build.1-rc.10000aaa-kk-0.1"],
)
def test_every_legal_version_is_taken(version: str) -> None:
    assert is_semver(version)
    assert warned(frontmatter("refunds", block(version=version))) == {}


def test_scalar_metadata_becomes_text_with_a_warning() -> None:
    raw = frontmatter(metadata={"a": 1, "b": 1.5, "c": True, "d": None, "e": "x"})
    found = validate_skill_frontmatter(raw, "refunds")
    assert found.metadata == {"a": "1", "b": "1.5", "c": "true", "d": "", "e": "x"}
    assert [problem.rule for problem in found.warnings] == [Rule.METADATA_TYPE]
    assert found.raw["metadata"] == {"a": 1, "b": 1.5, "c": True, "d": None, "e": "x"}


@pytest.mark.parametrize("field", CLAUDE_FIELDS)
def test_claude_code_field_of_wrong_type_is_a_warning(field: str) -> None:
    assert warned({**frontmatter(), field: 7.5}) == {field: Rule.CONTRACT_FIELD_TYPE}


@pytest.mark.parametrize("field", ["disable-model-invocation", "user-invocable"])
def test_a_switch_that_is_no_boolean_is_a_warning(field: str) -> None:
    assert warned({**frontmatter(), field: "yes"}) == {field: Rule.INVOCATION_TYPE}


@pytest.mark.parametrize("tools", ["Read Grep", ["Read", "Grep"]])
def test_tools_are_text_or_a_list(tools: Any) -> None:
    assert validate_skill_frontmatter(frontmatter(allowed_tools=tools), "refunds").allowed_tools == (
        "Read",
        "Grep",
    )
    assert warned(frontmatter(allowed_tools=tools)) == {}


# The rest of the table


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"license": 7}, {"license": Rule.LICENSE_TYPE}),
        ({"compatibility": ["git"]}, {"compatibility": Rule.COMPATIBILITY_FORMAT}),
        ({"description": "x" * 1025}, {"description": Rule.DESCRIPTION_LENGTH}),
        ({"metadata": ["a"]}, {"metadata": Rule.CONTRACT_METADATA_VALUE}),
        ({"allowed_tools": 7}, {"allowed-tools": Rule.CONTRACT_TOOLS_TYPE}),
    ],
)
def test_a_standard_field_that_uploaders_would_refuse_is_an_error(
    fields: dict[str, Any], refusal: dict[str, Rule]
) -> None:
    assert refused(frontmatter(**fields)) == refusal


def test_a_folder_of_another_name_is_an_error() -> None:
    assert refused(frontmatter(), "returns") == {
        "name": Rule.NAME_FOLDER,
        f"{BLOCK_KEY}.id": Rule.CONTRACT_ID_NAME,
    }


def test_a_description_is_measured_without_the_spaces_around_it() -> None:
    raw = frontmatter(description=" " * 9 + "x" * 1024 + " ")
    found = validate_skill_frontmatter(raw, "refunds")
    assert len(found.description) == 1024
    assert [(problem.rule, problem.severity) for problem in found.warnings] == [
        (Rule.DESCRIPTION_LENGTH, Severity.WARNING)
    ]


def test_a_long_compatibility_is_only_a_warning() -> None:
    assert warned(frontmatter(compatibility="x" * 501)) == {"compatibility": Rule.COMPATIBILITY_FORMAT}


def test_tags_and_dependencies_count_once() -> None:
    raw = frontmatter("refunds", block(tags=["a", "b", "a"], depends_on=["c", "c"]))
    found = validate_skill_frontmatter(raw, "refunds")
    assert (found.tags, found.depends_on) == (("a", "b"), ("c",))
    assert fields_of(found.warnings) == [f"{BLOCK_KEY}.tags[2]", f"{BLOCK_KEY}.depends_on[1]"]


def test_a_float_is_told_to_be_quoted() -> None:
    (problem,) = errors(check(frontmatter("refunds", block(version=1.0))).problems)
    assert problem.message == "`1.0` is a number, not text"
    assert problem.hint.startswith("quote it")


@pytest.mark.parametrize(
    "icons",
    [{}, ["a.png"], [{}], [{"src": ""}], [{"src": "a", "sizes": "48x48"}], [{"src": "a", "theme": "red"}]],
)
def test_icons_are_as_in_mcp(icons: Any) -> None:
    assert set(refused(frontmatter("refunds", block(icons=icons))).values()) == {Rule.CONTRACT_ICONS}


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 1e20])
def test_number_that_would_lose_digits_is_refused_at_any_depth(number: float) -> None:
    found = refused(frontmatter("refunds", block(own={"a": [1, number]}, other=number)))
    assert found == {
        f"{BLOCK_KEY}.own.a[1]": Rule.CONTRACT_NUMBER_SIZE,
        f"{BLOCK_KEY}.other": Rule.CONTRACT_NUMBER_SIZE,
    }


def test_numbers_of_64_bits_are_kept() -> None:
    raw = frontmatter("refunds", block(own=[2**64 - 1, -(2**63), 0.5]))
    assert validate_skill_frontmatter(raw, "refunds").raw == raw


def test_aliases_are_unique_in_the_whole_skill() -> None:
    references = {
        "a": {"path": POLICY, "aliases": ["old"]},
        "b": {"path": "references/b.md", "aliases": ["old", "a"]},
    }
    uris = [f"resource://skills/refunds/{each}" for each in ("document", "references/a", "references/b")]
    assert refused(frontmatter("refunds", block(references=references, capabilities=uris))) == {
        f"{BLOCK_KEY}.references.b.aliases[0]": Rule.CONTRACT_REFERENCE_ALIAS,
        f"{BLOCK_KEY}.references.b.aliases[1]": Rule.CONTRACT_REFERENCE_ALIAS,
    }


# Whatever people write


@given(raw=sound_frontmatters())
def test_valid_frontmatter_is_typed_and_left_unchanged(raw: dict[str, Any]) -> None:
    before = deepcopy(raw)
    found = validate_skill_frontmatter(raw, raw["name"])
    assert isinstance(found, SkillFrontmatter)
    assert found.raw == before
    assert raw == before


@given(raw=any_frontmatters())
def test_every_problem_has_path_field_and_hint(raw: dict[str, Any]) -> None:
    before = deepcopy(raw)
    checked = check(raw, path="refunds/SKILL.md")
    assert raw == before
    assert (checked.frontmatter is None) == bool(errors(checked.problems))
    for problem in checked.problems:
        assert problem.path == "refunds/SKILL.md"
        assert problem.field
        assert problem.hint
    if errors(checked.problems):
        assert refused(raw)

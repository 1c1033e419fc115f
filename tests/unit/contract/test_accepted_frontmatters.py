"""Which frontmatters the contract takes: its rules in other words, against what it really takes."""

import re
import unicodedata
from copy import deepcopy
from typing import Any, TypeGuard

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillwire.contract import ContractError, validate_skill_frontmatter
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.sources import Rule
from tests.support.contracts import block, check, errors, frontmatter, repository

WORDS = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TAG = re.compile(r"<[/]?[A-Za-z!?][^<>]*>")
DOCUMENT = "resource://skills/refunds/document"
POLICY = "resource://skills/refunds/references/policy"


# The rules in other words


def trimmed(text: str) -> str:
    """Drop what Unicode calls white space, from both ends."""
    while text and is_space(text[0]):
        text = text[1:]
    while text and is_space(text[-1]):
        text = text[:-1]
    return text


def is_space(character: str) -> bool:
    return unicodedata.category(character) in {"Zs", "Zl", "Zp"} or character in "\t\n\v\f\r\x85"


def is_id(value: Any) -> bool:
    return isinstance(value, str) and WORDS.fullmatch(trimmed(value)) is not None


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_mapping(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_texts(value: Any) -> TypeGuard[list[str]]:
    return is_list(value) and all(isinstance(item, str) for item in value)


def is_version(text: str) -> bool:
    core, plus, build = trimmed(text).partition("+")
    core, minus, pre = core.partition("-")
    numbers = core.split(".")
    return (
        len(numbers) == 3
        and all(map(is_number, numbers))
        and (not minus or all(is_number(each) or has_letter(each) for each in pre.split(".")))
        and (not plus or all(re.fullmatch("[0-9A-Za-z-]+", each) for each in build.split(".")))
    )


def is_number(text: str) -> bool:
    return text == "0" or (text.isascii() and text.isdigit() and text[0] != "0")


def has_letter(text: str) -> bool:
    return re.fullmatch("[0-9A-Za-z-]+", text) is not None and not text.isdigit()


def is_reference_path(value: Any) -> bool:
    if not isinstance(value, str) or trimmed(value).startswith("/"):
        return False
    parts = [part for part in trimmed(value).split("/") if part not in {"", "."}]
    fine = not any(unicodedata.category(each) == "Cc" or each == "\\" for part in parts for each in part)
    below = len(parts) > 1 and parts[0] == "references" and ".." not in parts
    return fine and below and parts[-1].lower().endswith(".md") and len(parts[-1]) > 3


def is_reference(value: Any) -> bool:
    return (
        is_mapping(value)
        and is_reference_path(value.get("path"))
        and isinstance(value.get("mime_type", ""), str)
        and isinstance(value.get("title"), (str, type(None)))
    )


def takes_block(inner: Any, name: str) -> bool:
    if not is_mapping(inner) or not is_mapping(references := inner.get("references", {})):
        return False
    if not all(is_id(ref_id) and is_reference(value) for ref_id, value in references.items()):
        return False
    ids = {trimmed(ref_id) for ref_id in references}
    document = f"resource://skills/{name}/document"
    addresses = {document} | {f"resource://skills/{name}/references/{ref_id}" for ref_id in ids}
    skill_id, version = inner.get("id"), inner.get("version")
    listed, needed = inner.get("capabilities"), inner.get("depends_on", [])
    return (
        len(ids) == len(references)
        and isinstance(skill_id, str)
        and trimmed(skill_id) == name
        and isinstance(version, str)
        and is_version(version)
        and is_texts(inner.get("tags", []))
        and is_texts(listed)
        and document in map(trimmed, listed)
        and addresses >= set(map(trimmed, listed))
        and is_texts(needed)
        and all(is_id(each) and trimmed(each) != name for each in needed)
    )


def takes(raw: dict[str, Any], folder: str) -> bool:
    name, description = raw.get("name"), raw.get("description")
    if not is_id(name) or not isinstance(description, str):
        return False
    metadata, tools, size = raw.get("metadata"), raw.get("allowed-tools"), len(trimmed(description))
    return (
        trimmed(str(name)) == folder
        and len(folder) <= 64
        and "claude" not in folder
        and "anthropic" not in folder
        and 1 <= size <= 1024
        and not TAG.search(description)
        and isinstance(raw.get("license", ""), (str, type(None)))
        and isinstance(raw.get("compatibility", ""), (str, type(None)))
        and (tools is None or isinstance(tools, str) or is_texts(tools))
        and (metadata is None or takes_metadata(metadata))
        and takes_block(raw.get(BLOCK_KEY), folder)
    )


def takes_metadata(metadata: Any) -> bool:
    return is_mapping(metadata) and not any(
        isinstance(value, (list, dict)) or name.startswith(f"{BLOCK_KEY}.")
        for name, value in metadata.items()
    )


# What is tried


def whole() -> dict[str, Any]:
    """Return a frontmatter with every field that has a rule."""
    references = {"policy": {"path": "references/policy.md", "title": "Policy", "mime_type": "text/markdown"}}
    inner = block(
        tags=["billing"], depends_on=["orders"], references=references, capabilities=[DOCUMENT, POLICY]
    )
    fields = frontmatter(
        "refunds",
        inner,
        license="MIT",
        compatibility="Git",
        allowed_tools=["Read"],
        metadata={"owner": "billing"},
        when_to_use="Often.",
        arguments=["order"],
    )
    return {**fields, "disable-model-invocation": False}


SPACES = st.text("\t\n\v\f\r \x85\xa0\u2003\u2028\u3000", max_size=2)
NAMES = ["refunds", "orders", "Orders", "or--ders", "orders-", "-orders", "3d", "a", "re_funds", "claude-x"]
VERSIONS = [
    "1.0.0-rc.1+b5",
    "1.0.0-01",
    "1.0",
    "v1.0.0",
    "01.0.0",
    "1.0.0-",
    "1.0.0+",
    "1.0.0-a..b",
    "1.0.0--",
]
PATHS = [
    "references//policy.md",
    "./references/./a/b.MD",
    "references/policy.md/",
    "references/../policy.md",
    "references/.md",
    "references/a.txt",
    "references/a\\b.md",
    "references/a\0.md",
    "/references/a.md",
    "References/a.md",
    "references",
    "policy.md",
]
OTHER: list[Any] = [
    None,
    True,
    False,
    0,
    7,
    1.5,
    "",
    "x",
    [],
    [""],
    ["x"],
    [7],
    [None],
    {},
    {"a": "b"},
    {"a": None},
    {"a": []},
]
TEXTS = [
    *NAMES,
    *VERSIONS,
    *PATHS,
    DOCUMENT,
    POLICY,
    f"{POLICY}s",
    "a <b> c",
    "a < b > c",
    "x" * 1024,
    "x" * 1025,
]
ANYTHING: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(OTHER),
    st.tuples(SPACES, st.sampled_from(TEXTS), SPACES).map("".join),
    st.lists(st.sampled_from([*NAMES, DOCUMENT, POLICY, "", 7, None]), max_size=3),
    st.text(st.characters(exclude_characters="<>\x1c\x1d\x1e\x1f", exclude_categories=("Cs",)), max_size=6),
)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside."""
    inside = value.items() if is_mapping(value) else enumerate(value) if is_list(value) else ()
    return [each for key, item in inside for each in ((*way, key), *places(item, (*way, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A frontmatter with up to three values replaced, removed, or put under another key."""
    raw = whole()
    for _ in range(draw(st.integers(0, 3))):
        if not (known := places(raw)):
            break
        *way, last = draw(st.sampled_from(known))
        target: Any = raw
        for key in way:
            target = target[key]
        action = draw(st.sampled_from(["replace", "replace", "remove", "rename", "pad"]))
        if action == "pad" and isinstance(target[last], str):
            target[last] = draw(SPACES) + target[last] + draw(SPACES)
        elif action == "remove":
            target.pop(last)
        elif action == "rename" and isinstance(last, str) and way:
            target[draw(SPACES) + draw(st.sampled_from([*NAMES, last])) + draw(SPACES)] = target.pop(last)
        else:
            target[last] = deepcopy(draw(ANYTHING))
    return raw


@given(raw=mutated())
@example(raw=whole())
@example(raw=whole() | {"name": " refunds\n"})
def test_exactly_what_the_rules_allow_is_taken(raw: dict[str, Any]) -> None:
    before = deepcopy(raw)
    if takes(raw, "refunds"):
        assert validate_skill_frontmatter(raw, "refunds").raw == before
    else:
        with pytest.raises(ContractError):
            validate_skill_frontmatter(raw, "refunds")
    assert raw == before


# White space, paths, empty text


def test_white_space_around_every_text_is_no_part_of_it() -> None:
    references = {
        " policy\n": {"path": " references/policy.md ", "title": " Policy ", "aliases": [" rules "]}
    }
    inner = {
        "id": " refunds ",
        "version": "\t1.0.0\n",
        "tags": [" billing ", "billing"],
        "capabilities": [f" {DOCUMENT}", f"{POLICY}\u3000"],
        "depends_on": ["orders\n"],
        "references": references,
    }
    raw = frontmatter("\nrefunds ", inner, description=" Does it.\n", license=" MIT ", metadata={"a": " b "})
    found = validate_skill_frontmatter(raw, "refunds")
    assert (found.name, found.id, found.version, found.description) == (
        "refunds",
        "refunds",
        "1.0.0",
        "Does it.",
    )
    assert (found.tags, found.capabilities, found.depends_on) == (
        ("billing",),
        (DOCUMENT, POLICY),
        ("orders",),
    )
    policy = found.references["policy"]
    assert (policy.id, policy.path, policy.title) == ("policy", "references/policy.md", "Policy")
    assert (policy.aliases, found.license, found.metadata) == (("rules",), "MIT", {"a": "b"})
    assert found.raw is raw


@pytest.mark.parametrize(
    ("written", "file"),
    [
        ("./references/policy.md", "references/policy.md"),
        ("references//./policy.md", "references/policy.md"),
        ("references/Policy.MD", "references/Policy.MD"),
        ("references/policy.md/", "references/policy.md"),
    ],
)
def test_a_path_is_read_in_its_plainest_spelling(written: str, file: str) -> None:
    inner = block(references={"policy": {"path": written}}, capabilities=[DOCUMENT, POLICY])
    raw = frontmatter("refunds", inner)
    assert validate_skill_frontmatter(raw, "refunds").references["policy"].path == file
    assert check(raw, files=(file,)).problems == ()
    assert [problem.rule for problem in check(raw, files=()).problems] == [Rule.CONTRACT_REFERENCE_MISSING]


def test_two_spellings_of_one_path_are_one_file() -> None:
    references = {"policy": {"path": "references/policy.md"}, "rules": {"path": "./references//policy.md"}}
    uris = [DOCUMENT, POLICY, "resource://skills/refunds/references/rules"]
    (problem,) = check(frontmatter("refunds", block(references=references, capabilities=uris))).problems
    assert problem.rule is Rule.CONTRACT_REFERENCE_SHARED


@pytest.mark.parametrize(
    "changed",
    [
        {"id": ""},
        {"version": " "},
        {"capabilities": [DOCUMENT, "\n"]},
        {"depends_on": [""]},
        {"references": {"policy": {"path": " "}}, "capabilities": [DOCUMENT]},
        {"references": {" ": {"path": "references/policy.md"}}, "capabilities": [DOCUMENT]},
        {"references": {"policy": {"path": "references/policy.md", "aliases": [""]}}},
        {"icons": [{"src": ""}]},
    ],
    ids=str,
)
def test_empty_text_is_called_empty(changed: dict[str, Any]) -> None:
    found = errors(check(frontmatter("refunds", block(**changed))).problems)
    assert any(problem.message.endswith("is empty") for problem in found)
    assert not any("not text" in problem.message for problem in found)


@pytest.mark.parametrize(
    "changed",
    [
        {"tags": [""]},
        {
            "references": {"policy": {"path": "references/policy.md", "title": "", "mime_type": " "}},
            "capabilities": [DOCUMENT, POLICY],
        },
    ],
    ids=str,
)
def test_empty_text_that_changes_nothing_is_a_warning(changed: dict[str, Any]) -> None:
    checked = check(frontmatter("refunds", block(**changed)))
    assert errors(checked.problems) == []
    assert all("empty" in problem.message for problem in checked.problems)
    assert checked.frontmatter is not None
    assert checked.frontmatter.tags == ()
    assert [each.mime_type for each in checked.frontmatter.references.values()] in ([], ["text/markdown"])


def test_two_ids_that_differ_only_in_spaces_are_refused() -> None:
    references = {"policy": {"path": "references/policy.md"}, "policy ": {"path": "references/b.md"}}
    raw = frontmatter("refunds", block(references=references, capabilities=[DOCUMENT, POLICY]))
    assert [problem.rule for problem in errors(check(raw, files=("references/b.md",)).problems)] == [
        Rule.CONTRACT_REFERENCE_ID
    ]


# Null, and values that no file can hold


@pytest.mark.parametrize("field", ["tags", "depends_on", "references"])
def test_null_in_an_optional_field_of_the_block_is_refused(field: str) -> None:
    (problem,) = errors(check(frontmatter("refunds", {**block(), field: None})).problems)
    assert problem.field == f"{BLOCK_KEY}.{field}"


def test_title_may_be_null_but_mime_type_may_not() -> None:
    reference = {"path": "references/policy.md", "title": None, "mime_type": None}
    raw = frontmatter("refunds", block(references={"policy": reference}, capabilities=[DOCUMENT, POLICY]))
    (problem,) = errors(check(raw).problems)
    assert problem.field == f"{BLOCK_KEY}.references.policy.mime_type"


@pytest.mark.parametrize(
    "raw",
    [
        frontmatter(metadata={1: "a"}),
        frontmatter("refunds", block(references={True: {"path": "references/policy.md"}})),
        {**frontmatter(), None: "x"},
        frontmatter("refunds", block(own=[{2.5: 1}])),
    ],
    ids=str,
)
def test_a_key_that_is_not_text_is_refused_by_name(raw: dict[str, Any]) -> None:
    with pytest.raises(ContractError) as raised:
        validate_skill_frontmatter(raw, "refunds")
    assert Rule.YAML_KEY in {problem.rule for problem in raised.value.problems}


@pytest.mark.parametrize("theme", [["light"], {"a": 1}, "red", 7, None])
def test_a_theme_of_any_type_is_refused_without_a_crash(theme: Any) -> None:
    found = errors(check(frontmatter("refunds", block(icons=[{"src": "a.png", "theme": theme}]))).problems)
    assert [problem.rule for problem in found] == [Rule.CONTRACT_ICONS]


# Dependencies


@pytest.mark.parametrize("other", ["Orders", "or ders", "or--ders", "3d"])
@pytest.mark.parametrize("exists", [True, False])
def test_dependency_with_a_bad_id_is_always_an_error(other: str, *, exists: bool) -> None:
    skills = {"refunds": [other], **({other: []} if exists else {})}
    found = errors(repository(**skills).problems)
    assert [problem.rule for problem in found if problem.path == "refunds/SKILL.md"] == [
        Rule.CONTRACT_DEPENDENCY_ID
    ]


def test_a_dependency_is_found_whatever_spaces_are_around_it() -> None:
    assert list(repository(refunds=[" orders\n"], orders=[]).problems) == []
    (problem,) = errors(repository(refunds=[" oders "]).problems)
    assert (problem.rule, problem.field) == (
        Rule.CONTRACT_DEPENDENCY_UNKNOWN,
        f"{BLOCK_KEY}.depends_on[0]",
    )

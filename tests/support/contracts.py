"""Skills under the contract: one that is spotless, and strategies for all kinds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from skillwire import Problem
from skillwire.contract.repository import CheckedSkill, Repository, check_one, check_repository
from skillwire.contract.rules.skill import BLOCK_KEY, SkillFacts
from skillwire.frontmatter.rules import check_fields
from skillwire.frontmatter.values import Fields
from skillwire.frontmatter.writer import format_scalar
from skillwire.sources import Severity
from tests.support.skills import write

POLICY = "references/policy.md"


def block(name: str = "refunds", **fields: Any) -> dict[str, Any]:
    """Return a block in which nothing is wrong but what `fields` say; one that is `...` is left out."""
    whole = {"id": name, "version": "1.0.0", "capabilities": [f"resource://skills/{name}/document"], **fields}
    return {key: value for key, value in whole.items() if value is not ...}


def frontmatter(
    name: str = "refunds", inner: Mapping[str, Any] | None = None, /, **fields: Any
) -> dict[str, Any]:
    """Return a frontmatter in which nothing is wrong but what `inner` (the block) and `fields` say."""
    spelt = {key if key == "when_to_use" else key.replace("_", "-"): value for key, value in fields.items()}
    start = {"name": name, "description": f"Does {name}."}
    return {**start, **spelt, BLOCK_KEY: block(name) if inner is None else dict(inner)}


def facts(
    raw: Mapping[str, Any], path: str = "refunds/SKILL.md", files: tuple[str, ...] = (POLICY,)
) -> SkillFacts:
    """Return a skill with this frontmatter, as it would be found at `path`."""
    folder = path.split("/")[-2]
    problems = tuple(check_fields(Fields(dict(raw), {}), path, folder))
    return SkillFacts(path, folder, raw, frozenset(("SKILL.md", *files)), problems)


def check(raw: Mapping[str, Any], **where: Any) -> CheckedSkill:
    return check_one(facts(raw, **where), BLOCK_KEY)


def repository(**depends_on: list[str]) -> Repository:
    """Return skills with these dependencies. `_` in a keyword stands for `-`."""
    names = [name.replace("_", "-") for name in depends_on]
    raws = {
        name: frontmatter(name, block(name, depends_on=needed))
        for name, needed in zip(names, depends_on.values(), strict=True)
    }
    return check_repository([check(raw, path=f"{name}/SKILL.md") for name, raw in raws.items()])


def errors(problems: Any) -> list[Problem]:
    return [problem for problem in problems if problem.severity is Severity.ERROR]


def fields_of(problems: Any) -> list[str]:
    return [problem.field for problem in problems]


def as_yaml(value: Any, indent: str = "") -> str:
    """Return a mapping as YAML in block style, each text as plain as it can be."""
    lines: list[str] = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            lines.append(f"{indent}{format_scalar(key)}:\n{as_yaml(item, indent + '  ')}")
        else:
            lines.append(f"{indent}{format_scalar(key)}: {_flow(item)}\n")
    return "".join(lines)


def _flow(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'" if value.isprintable() else format_scalar(value)
        case list():
            return "[" + ", ".join(map(_flow, value)) + "]"  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
        case dict():
            return "{" + ", ".join(f"{_flow(k)}: {_flow(v)}" for k, v in value.items()) + "}"  # pyright: ignore[reportUnknownVariableType]
        case _:
            return str(value)


def skill_md(raw: Mapping[str, Any], body: str = "# Steps\n") -> bytes:
    return f"---\n{as_yaml(raw)}---\n\n{body}".encode()


def write_contract_skill(
    root: Path, path: str, inner: Mapping[str, Any] | None = None, body: str = "# Steps\n", **fields: Any
) -> Path:
    """Write a skill that satisfies the contract, except for the given changes. Return its folder."""
    folder = root / path
    write(folder, {"SKILL.md": skill_md(frontmatter(folder.name, inner, **fields), body)})
    return folder


# Strategies

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(-(2**63), 2**63),
    st.text(max_size=12),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,5}){0,2}", fullmatch=True).filter(
    lambda name: "claude" not in name and "anthropic" not in name
)
TEXTS = st.text(min_size=1, max_size=30).filter(lambda text: bool(text.strip()) and "<" not in text)
VERSIONS = st.sampled_from(["1.0.0", "0.0.1", "1.0.0-rc.1+b5", "10.20.30", "1.0.0-alpha.0valid", "1.0.0+001"])
ODD = ["when_to_use", "model", "hooks", "paths", "effort", "my-own-field", "argument-hint"]


@st.composite
def sound_frontmatters(draw: st.DrawFn, extra: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
    """Frontmatters without errors, with unknown fields and scalars in `metadata`."""
    name = draw(NAMES)
    references = draw(st.dictionaries(NAMES, st.sampled_from([POLICY, "references/a/b.md"]), max_size=2))
    uris = [f"resource://skills/{name}/references/{each}" for each in references]
    inner: dict[str, Any] = {
        **(draw(st.dictionaries(st.text(max_size=6), VALUES, max_size=2)) if extra else {}),
        "id": name,
        "version": draw(VERSIONS),
        "tags": draw(st.lists(st.text(min_size=1, max_size=8), max_size=3)),
        "capabilities": [f"resource://skills/{name}/document", *uris],
        "references": {ref_id: {"path": path} for ref_id, path in references.items()},
    }
    optional: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "license": st.text(max_size=12),
                "compatibility": st.text(max_size=12),
                "allowed-tools": st.one_of(
                    st.text(alphabet="ReadGp,()* ", max_size=12),
                    st.lists(st.sampled_from(["Read", "Grep", "Bash(git add)"]), max_size=3),
                ),
                "metadata": st.dictionaries(
                    st.text(max_size=6).filter(lambda key: not key.startswith(BLOCK_KEY)), SCALARS, max_size=3
                ),
                **dict.fromkeys(ODD, VALUES),
            },
        )
    )
    return {"name": name, "description": draw(TEXTS), **optional, BLOCK_KEY: inner}


@st.composite
def any_frontmatters(draw: st.DrawFn) -> dict[str, Any]:
    """Sound frontmatters in which up to three things have become something else."""
    raw = draw(sound_frontmatters())
    inner: dict[str, Any] = raw[BLOCK_KEY]
    for _ in range(draw(st.integers(0, 3))):
        target = draw(st.sampled_from([raw, inner]))
        field = draw(st.sampled_from([*sorted(target), "depends_on", "icons"]))
        if draw(st.booleans()):
            target.pop(field, None)
        else:
            target[field] = draw(VALUES)
    return raw

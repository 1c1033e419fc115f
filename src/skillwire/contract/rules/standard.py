"""Rules for the fields of the Agent Skills standard and Claude Code, and for an unused `metadata.yaml`.

The module also gives problems found by the standard's rules the severities of the contract.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from skillwire.contract.rules.skill import ContractSkill, SkillFacts, expected_uris, text_or_none
from skillwire.core.conformance import MAX_DESCRIPTION
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json
from skillwire.frontmatter.split import OPENING, UnreadableError
from skillwire.frontmatter.yaml12 import load
from skillwire.safe_text import quoted

METADATA_FILE = "metadata.yaml"

_TAKEN_OVER = ("id", "version", "tags", "capabilities", "depends_on", "references", "icons")
RESERVED_WORDS = ("anthropic", "claude")
_TAG = re.compile(r"</?[A-Za-z!?][^<>]*>")


def block_for_metadata_file(text: str, subject: ContractSkill) -> str:
    """Return the metadata block that replaces a `metadata.yaml` containing `text`, as one line of YAML."""
    known = _values(text)
    block: dict[str, Json] = {
        "id": subject.namespace,
        "version": "1.0.0",
        "capabilities": list(expected_uris(subject)),
        **{name: known[name] for name in _TAKEN_OVER if name in known},
    }
    block["version"] = str(block["version"])  # the contract requires text, but the file may contain a number
    inner = ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in block.items())
    return f"{subject.key}: {{{inner}}}"


def _values(text: str) -> dict[str, Json]:
    """Return the fields of a YAML file, or an empty dict if it cannot be parsed."""
    try:
        return load(OPENING + text.removeprefix(OPENING).replace("\r\n", "\n")).values
    except UnreadableError:
        return {}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A type that a field's value must have."""

    label: str
    fits: Callable[[Json], bool]


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_TEXT = _Kind("text", _is_text)
_TEXTS = _Kind("text or a list of text", lambda value: _is_text(value) or _is_texts(value))

# The standard's rules check `disable-model-invocation` and `user-invocable`.
CLAUDE_FIELDS: Mapping[str, _Kind] = {
    "when_to_use": _TEXT,
    "arguments": _TEXTS,
    "argument-hint": _TEXTS,
    "disallowed-tools": _TEXTS,
    "model": _TEXT,
    "effort": _Kind(
        "text or a whole number",
        lambda value: isinstance(value, (str, int)) and not isinstance(value, bool),
    ),
    "context": _TEXT,
    "agent": _TEXT,
    "hooks": _Kind("a mapping", lambda value: isinstance(value, dict)),
    "paths": _TEXTS,
    "shell": _TEXT,
}


def standard_problems(facts: SkillFacts) -> Iterator[Problem]:
    """Yield the problems found by the standard's rules, with the severities that the contract assigns.

    Leaves out problems that a contract rule reports or that the contract accepts.
    """
    for problem in facts.problems:
        judge = _SEVERITY_RULES.get(problem.rule)
        severity = problem.severity if judge is None else judge(facts.frontmatter)
        if severity is not None:
            yield problem if severity is problem.severity else replace(problem, severity=severity)


def _description(fields: Mapping[str, Json]) -> Severity:
    # The limit counts characters after `strip`, so excess whitespace is only a warning.
    too_long = len((text_or_none(fields.get("description")) or "").strip()) > MAX_DESCRIPTION
    return Severity.ERROR if too_long else Severity.WARNING


def _compatibility(fields: Mapping[str, Json]) -> Severity:
    value = fields.get("compatibility")
    return Severity.WARNING if value is None or isinstance(value, str) else Severity.ERROR


def _license(fields: Mapping[str, Json]) -> Severity:
    return Severity.WARNING if fields.get("license") is None else Severity.ERROR


def _metadata(fields: Mapping[str, Json]) -> Severity | None:
    # Scalars are converted to text, with a warning. A contract rule reports other values.
    metadata = fields.get("metadata")
    if metadata is None or (isinstance(metadata, dict) and all(map(_is_scalar, metadata.values()))):
        return Severity.WARNING
    return None


def _tools(fields: Mapping[str, Json]) -> Severity | None:
    # The contract also accepts a list. A contract rule reports values that are neither.
    value = fields.get("allowed-tools")
    return Severity.WARNING if value is None or isinstance(value, str) else None


_SEVERITY_RULES: Mapping[Rule, Callable[[Mapping[str, Json]], Severity | None]] = {
    Rule.NAME_FOLDER: lambda _: Severity.ERROR,
    Rule.DESCRIPTION_LENGTH: _description,
    Rule.LICENSE_TYPE: _license,
    Rule.COMPATIBILITY_FORMAT: _compatibility,
    Rule.METADATA_TYPE: _metadata,
    Rule.ALLOWED_TOOLS_FORMAT: _tools,
}


def name_letter(subject: ContractSkill) -> Iterator[Problem]:
    if (name := subject.name) is not None and name[:1].isdigit():
        message = f"{quoted(name)} begins with a digit, and an id begins with a letter"
        hint = f"write {quoted(f'name: skill-{name}')}, and rename the folder"
        yield subject.problem(("name",), Rule.CONTRACT_NAME_LETTER, message, hint)


def name_reserved(subject: ContractSkill) -> Iterator[Problem]:
    word = next((word for word in RESERVED_WORDS if word in (subject.name or "")), None)
    if word is not None:
        message = f"{quoted(str(subject.name))} contains `{word}`, which is reserved"
        yield subject.problem(
            ("name",), Rule.CONTRACT_NAME_RESERVED, message, f"leave `{word}` out of the name"
        )


def description_tags(subject: ContractSkill) -> Iterator[Problem]:
    description = text_or_none(subject.facts.frontmatter.get("description")) or ""
    if found := _TAG.search(description):
        message = f"{quoted(found[0])} is an XML tag, which a model could mistake for part of its prompt"
        hint = "write it without `<` and `>`"
        yield subject.problem(("description",), Rule.CONTRACT_DESCRIPTION_TAGS, message, hint)


def field_types(subject: ContractSkill) -> Iterator[Problem]:
    fields = subject.facts.frontmatter
    for name, kind in CLAUDE_FIELDS.items():
        if name in fields and not kind.fits(fields[name]):
            message = f"the value is not {kind.label}, so Claude Code will not understand it"
            yield subject.problem(
                (name,), Rule.CONTRACT_FIELD_TYPE, message, f"write {kind.label}, or remove the field"
            )


def tools_type(subject: ContractSkill) -> Iterator[Problem]:
    value = subject.facts.frontmatter.get("allowed-tools")
    if value is not None and not _TEXTS.fits(value):
        hint = "write the tools in one line: `allowed-tools: Read Grep`"
        message = "the tools are neither text nor a list of text"
        yield subject.problem(("allowed-tools",), Rule.CONTRACT_TOOLS_TYPE, message, hint)


def metadata_values(subject: ContractSkill) -> Iterator[Problem]:
    metadata = subject.facts.frontmatter.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        hint = 'write one indented `key: "value"` on each line below `metadata:`'
        message = "the metadata is not a mapping"
        yield subject.problem(("metadata",), Rule.CONTRACT_METADATA_VALUE, message, hint)
        return
    for name, value in (metadata or {}).items():
        if not _is_scalar(value):
            message = "the value is a list or a mapping, not text"
            hint = f"write it as text, or move it into the block {quoted(subject.key)}"
            yield subject.problem(("metadata", name), Rule.CONTRACT_METADATA_VALUE, message, hint)


def metadata_keys(subject: ContractSkill) -> Iterator[Problem]:
    metadata = subject.facts.frontmatter.get("metadata")
    for name in metadata if isinstance(metadata, dict) else ():
        if name.startswith(f"{subject.key}."):
            message = "a projection would write a value of the block under this key"
            hint = "give the key a different prefix"
            yield subject.problem(("metadata", name), Rule.CONTRACT_METADATA_KEY, message, hint)


def metadata_file(subject: ContractSkill) -> Iterator[Problem]:
    if subject.facts.files is not None and METADATA_FILE in subject.facts.files:
        message = f"{quoted(METADATA_FILE)} is beside `SKILL.md`, but nothing reads it"
        hint = metadata_hint(block_for_metadata_file("", subject))
        yield subject.problem((METADATA_FILE,), Rule.CONTRACT_METADATA_FILE, message, hint)


def metadata_hint(block: str) -> str:
    """Return the hint for a `metadata.yaml` that should be replaced by `block`."""
    return (
        f"move its content into the frontmatter, as {quoted(block, None)}, and remove the file, "
        "or let `--fix --adopt` do that"
    )


CHECKS: tuple[Callable[[ContractSkill], Iterable[Problem]], ...] = (
    name_letter,
    name_reserved,
    description_tags,
    field_types,
    tools_type,
    metadata_values,
    metadata_keys,
    metadata_file,
)


def _is_scalar(value: Json) -> bool:
    return not isinstance(value, (list, dict))

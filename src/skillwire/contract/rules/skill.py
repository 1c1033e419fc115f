"""What the contract's rules share: input, severities, functions for ids and text, and a skill's URIs."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from skillwire.core.names import is_skill_name
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json
from skillwire.frontmatter.positions import FieldPath, format_field_path
from skillwire.safe_text import quoted

BLOCK_KEYS = ("x-skillwire", "x-personal-mcp")
"""Frontmatter keys of the metadata block. Each `SKILL.md` may use only one of them."""
BLOCK_KEY = BLOCK_KEYS[0]
"""The key that is written, unless the repository uses the other one."""

STANDARD = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
"""Fields of the Agent Skills standard. None of them can be the block key."""
_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

SEVERITIES: Mapping[Rule, Severity] = {
    Rule.CONTRACT_BLOCK_MISSING: _ERROR,
    Rule.CONTRACT_BLOCK_TYPE: _ERROR,
    Rule.CONTRACT_BLOCK_TWICE: _ERROR,
    Rule.CONTRACT_NAME_LETTER: _ERROR,
    Rule.CONTRACT_NAME_RESERVED: _ERROR,
    Rule.CONTRACT_DESCRIPTION_TAGS: _ERROR,
    Rule.CONTRACT_FIELD_TYPE: _WARNING,
    Rule.CONTRACT_TOOLS_TYPE: _ERROR,
    Rule.CONTRACT_METADATA_VALUE: _ERROR,
    Rule.CONTRACT_METADATA_KEY: _ERROR,
    Rule.CONTRACT_METADATA_FILE: _WARNING,
    Rule.CONTRACT_ID_MISSING: _ERROR,
    Rule.CONTRACT_ID_NAME: _ERROR,
    Rule.CONTRACT_ID_TAKEN: _ERROR,
    Rule.CONTRACT_VERSION_MISSING: _ERROR,
    Rule.CONTRACT_VERSION_TYPE: _ERROR,
    Rule.CONTRACT_VERSION_FORMAT: _ERROR,
    Rule.CONTRACT_TAGS_TYPE: _ERROR,
    Rule.CONTRACT_TAG_FORMAT: _WARNING,
    Rule.CONTRACT_TAG_DUPLICATE: _WARNING,
    Rule.CONTRACT_CAPABILITIES_MISSING: _ERROR,
    Rule.CONTRACT_CAPABILITIES_TYPE: _ERROR,
    Rule.CONTRACT_CAPABILITY_DOCUMENT: _ERROR,
    Rule.CONTRACT_CAPABILITY_FOREIGN: _ERROR,
    Rule.CONTRACT_CAPABILITY_UNSERVED: _ERROR,
    Rule.CONTRACT_CAPABILITY_UNDECLARED: _WARNING,
    Rule.CONTRACT_DEPENDENCIES_TYPE: _ERROR,
    Rule.CONTRACT_DEPENDENCY_ID: _ERROR,
    Rule.CONTRACT_DEPENDENCY_UNKNOWN: _ERROR,
    Rule.CONTRACT_DEPENDENCY_SELF: _ERROR,
    Rule.CONTRACT_DEPENDENCY_CYCLE: _ERROR,
    Rule.CONTRACT_DEPENDENCY_DUPLICATE: _WARNING,
    Rule.CONTRACT_DEPENDENCY_BROKEN: _WARNING,
    Rule.CONTRACT_REFERENCES_TYPE: _ERROR,
    Rule.CONTRACT_REFERENCE_ID: _ERROR,
    Rule.CONTRACT_REFERENCE_PATH: _ERROR,
    Rule.CONTRACT_REFERENCE_MISSING: _ERROR,
    Rule.CONTRACT_REFERENCE_SHARED: _WARNING,
    Rule.CONTRACT_REFERENCE_FIELD: _ERROR,
    Rule.CONTRACT_REFERENCE_EMPTY: _WARNING,
    Rule.CONTRACT_REFERENCE_ALIAS: _ERROR,
    Rule.CONTRACT_ICONS: _ERROR,
    Rule.CONTRACT_NUMBER_SIZE: _ERROR,
    Rule.CONTRACT_PROJECTION_DROPPED: _WARNING,
}


_ID_RULE = "lowercase words with single hyphens between them, beginning with a letter"

_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
# Whitespace as defined by Unicode. A plain `str.strip()` would also remove control characters.
_WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
SKILLS = "resource://skills/"
CATALOG = "resource://catalog/"
INDEX = f"{CATALOG}skills_index"
DOCUMENT_TEMPLATE = f"{SKILLS}{{id}}/document"
REFERENCE_TEMPLATE = f"{SKILLS}{{id}}/references/{{ref_id}}"
CARD_TEMPLATE = f"{CATALOG}skills/{{id}}"


def key_of(frontmatter: Mapping[str, Json], key: str | None, default: str = BLOCK_KEY) -> str:
    """Return the key of the metadata block: `key` unless it is None, else the key that the frontmatter uses.

    A block that a projection moved into `metadata` also counts. If there is no block under one of
    `BLOCK_KEYS`, return `default`.
    """
    if key is not None:
        return key
    written = next((each for each in BLOCK_KEYS if each in frontmatter), None)
    return written or projected_key(frontmatter, None) or default


def projected_key(frontmatter: Mapping[str, Json], key: str | None) -> str | None:
    """Return the key of the block that a projection moved into `metadata`, or None if there is none.

    Looks for `key` or, if that is None, for each of `BLOCK_KEYS`.
    """
    metadata = frontmatter.get("metadata")
    known = BLOCK_KEYS if key is None else (key,)
    return next((each for each in known if isinstance(metadata, dict) and f"{each}.id" in metadata), None)


def looks_like_a_block(value: Json) -> bool:
    """Return whether the value of a field has the `id`, `version` and `capabilities` of a metadata block."""
    return isinstance(value, dict) and {"id", "version", "capabilities"} <= value.keys()


def used_key(frontmatters: Iterable[Mapping[str, Json]]) -> str:
    """Return the key for new blocks: the first of `BLOCK_KEYS` that `frontmatters` use, else `BLOCK_KEY`."""
    used = {each for fields in frontmatters for each in BLOCK_KEYS if each in fields}
    return next((each for each in BLOCK_KEYS if each in used), BLOCK_KEY)


@dataclass(frozen=True, slots=True)
class SkillFacts:
    """The facts about a skill that the contract's rules need. The rules do not use the skill's body."""

    path: str
    """The path of the skill's `SKILL.md`, as shown in problems."""
    folder: str | None
    """The name of the skill's folder, or None if there is no folder name to compare with the skill's name."""
    frontmatter: Mapping[str, Json]
    files: frozenset[str] | None = None
    """The paths of all files of the skill, or None if they are unknown."""
    problems: tuple[Problem, ...] = ()
    """Problems found by the rules of the Agent Skills standard."""
    uri: str = ""
    """The URI of the skill's `SKILL.md`, or `""` if it is not served."""

    def problem(self, field_path: FieldPath, rule: Rule, message: str, hint: str) -> Problem:
        """Return a problem at `field_path`, with the severity of its rule."""
        return Problem(
            self.path, rule, SEVERITIES[rule], message, hint=hint, field=format_field_path(field_path)
        )


@dataclass(frozen=True, slots=True)
class ContractSkill:
    """A skill and its metadata block. Rules for the block run only if the block is a mapping."""

    facts: SkillFacts
    key: str
    block: Mapping[str, Json]
    """The block without whitespace around strings. `facts.frontmatter` has the original block."""

    @classmethod
    def of(cls, facts: SkillFacts, key: str) -> "ContractSkill":
        """Return the skill with its metadata block. A missing or malformed block counts as empty."""
        written = stripped(facts.frontmatter.get(key))
        block = written if isinstance(written, dict) else {}
        if isinstance(references := block.get("references"), dict):
            block = {**block, "references": stripped_keys(references)}
        return cls(facts, key, block)

    @property
    def id(self) -> str | None:
        return text_or_none(self.block.get("id"))

    @property
    def name(self) -> str | None:
        return text_or_none(stripped(self.facts.frontmatter.get("name")))

    @property
    def namespace(self) -> str:
        """The id in the skill's URIs. Without an id, its name or folder if one is valid, else `my-skill`."""
        guesses = (each for each in (self.name, self.facts.folder) if each and is_skill_name(each))
        return self.id or next(guesses, "my-skill")

    def field_path(self, *parts: str | int) -> FieldPath:
        """Return the path of a field in the block."""
        return (self.key, *parts)

    def problem(self, field_path: FieldPath, rule: Rule, message: str, hint: str) -> Problem:
        return self.facts.problem(field_path, rule, message, hint)

    def references(self) -> Iterator[tuple[str, Mapping[str, Json]]]:
        """Yield each reference id and its fields, with a normalized `path`.

        Malformed references have no fields.
        """
        references = self.block.get("references")
        for ref_id, value in references.items() if isinstance(references, dict) else ():
            reference = value if isinstance(value, dict) else {}
            path = reference.get("path")
            yield ref_id, {**reference, "path": plain_path(path)} if isinstance(path, str) else reference

    def aliases(self) -> Iterator[tuple[str, int, str]]:
        """Yield each alias that is text, as (reference id, index in its list, alias)."""
        for ref_id, reference in self.references():
            aliases = reference.get("aliases")
            for at, alias in enumerate(aliases if isinstance(aliases, list) else ()):
                if isinstance(alias, str):
                    yield ref_id, at, alias


def is_kebab(text: str) -> bool:
    """Return whether `text` consists of lowercase words and numbers with single hyphens between them."""
    return _KEBAB.fullmatch(text) is not None


def is_id(text: str) -> bool:
    """Return whether `text` can be the id of a skill or a reference."""
    return _ID.fullmatch(text) is not None


def kebab(text: str) -> str:
    """Return `text` converted to kebab-case, or an empty string if it has no ASCII letter or digit."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def proposed_id(text: str, example: str) -> str:
    """Return `text` converted to a valid id, or `example` if it has no ASCII letter or digit.

    If the id would begin with a digit, `example` and a hyphen are put before it.
    """
    words = kebab(text)
    return f"{example}-{words}" if words[:1].isdigit() else words or example


def stripped(value: Json) -> Json:
    """Return a copy with whitespace stripped from every string in it. Keys are unchanged."""
    match value:
        case str():
            return value.strip(_WHITE_SPACE)
        case list():
            return [stripped(item) for item in value]
        case dict():
            return {key: stripped(item) for key, item in value.items()}
        case _:
            return value


def stripped_keys(mapping: Mapping[str, Json]) -> dict[str, Json]:
    """Return a copy with whitespace stripped from the keys."""
    return {key.strip(_WHITE_SPACE): value for key, value in mapping.items()}


def plain_path(path: str) -> str:
    """Return a path without `.` segments, repeated slashes and a trailing slash."""
    return str(PurePosixPath(path)) if path else path


def text_or_none(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def texts(value: Json) -> list[str]:
    """Return the strings in a list. For any other value, return an empty list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def not_text(items: Iterable[Json]) -> Iterator[int]:
    """Yield the index of each item that is not a string."""
    return (at for at, item in enumerate(items) if not isinstance(item, str))


def id_fault(text: str, what: str) -> str | None:
    """Return why `text` cannot be the id of a skill or a reference, or None if it can."""
    if is_id(text):
        return None
    return f"{quoted(text)} is not {_ID_RULE}" if text else f"the {what} is empty"


def root_uri(skill_id: str) -> str:
    """Return the prefix of every `resource://skills/` URI of a skill."""
    return f"{SKILLS}{skill_id}/"


def document_uri(skill_id: str) -> str:
    return f"{root_uri(skill_id)}document"


def reference_uri(skill_id: str, ref_id: str) -> str:
    return f"{root_uri(skill_id)}references/{ref_id}"


def card_uri(skill_id: str) -> str:
    """Return the URI of the catalog card of a skill."""
    return f"{CATALOG}skills/{skill_id}"


def expected_uris(subject: ContractSkill) -> Iterator[str]:
    """Yield the URIs that a skill should declare: its document, then its references."""
    yield document_uri(subject.namespace)
    for ref_id, _ in subject.references():
        yield reference_uri(subject.namespace, ref_id)

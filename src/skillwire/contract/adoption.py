"""Write a metadata block into a `SKILL.md` that has none, from its `metadata.yaml` if there is one."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace

from skillwire.contract.editing import Edit, EditableFrontmatter
from skillwire.contract.fixes import FIRST_VERSION, apply_fixes
from skillwire.contract.rules.block import is_semver
from skillwire.contract.rules.check import check_skill
from skillwire.contract.rules.references import FOLDER, SUFFIX, place_fault
from skillwire.contract.rules.skill import (
    ContractSkill,
    SkillFacts,
    expected_uris,
    id_fault,
    looks_like_a_block,
    projected_key,
    proposed_id,
)
from skillwire.contract.rules.standard import METADATA_FILE
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json
from skillwire.frontmatter.split import OPENING, UnreadableError
from skillwire.frontmatter.writer import format_scalar
from skillwire.frontmatter.yaml12 import load
from skillwire.safe_text import quoted

_START = re.compile(r"\A\ufeff?(?:[ \t]*(?:#[^\n]*)?\n)*---[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_END = re.compile(r"^\.\.\.[ \t]*\n?\Z", re.MULTILINE)
_REPAIRED = (Rule.CONTRACT_VERSION_TYPE, Rule.CONTRACT_TAG_DUPLICATE, Rule.CONTRACT_CAPABILITIES_MISSING)
_BY_HAND = "write the block by hand, and remove the file"


class NotAdoptedError(Exception):
    """No metadata block can be written, because of `reason`. `hint` says what to do instead."""

    def __init__(self, reason: str, hint: str) -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


def adopt(content: bytes, facts: SkillFacts, key: str, sidecar: bytes | None) -> bytes:
    """Return the content of a `SKILL.md` with a metadata block under `key`.

    `sidecar` is the content of the skill's `metadata.yaml`, or None if there is no such file. A new block
    contains all its fields. If the skill already has a block, the content is unchanged. Comments and other
    fields stay as they are.

    Raises `NotAdoptedError` if an existing block differs from `sidecar` or is under another key, or if a new
    block cannot be written or would break a rule.
    """
    try:
        draft = EditableFrontmatter.of(content)
    except UnreadableError as error:
        raise NotAdoptedError(error.message, error.hint) from error
    text = _decoded(sidecar)
    known = _values(text)
    block = draft.values.get(key)
    if isinstance(block, dict):
        _reject_missing(known, block, key)
        return content
    _reject_other_blocks(draft.values, key)
    after = _with_block(draft, facts, key, text, known)
    _reject_new_errors(facts, draft.values, load(EditableFrontmatter.of(after).text).values, key)
    return after


def id_in(sidecar: bytes | None) -> str | None:
    """Return the `id` in a `metadata.yaml`, or None if there is none or the file cannot be read."""
    try:
        found = _values(_decoded(sidecar)).get("id")
    except NotAdoptedError:
        return None
    return found if isinstance(found, str) else None


def _decoded(sidecar: bytes | None) -> str:
    try:
        text = (sidecar or b"").decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise NotAdoptedError(f"{quoted(METADATA_FILE)} is not UTF-8", "save it as UTF-8") from error
    return _END.sub("", _START.sub("", text, count=1).removeprefix("\ufeff"), count=1)


def _values(text: str) -> Mapping[str, Json]:
    try:
        return load(OPENING + text).values if text.strip() else {}
    except UnreadableError as error:
        line = "" if error.line is None else f", line {error.line - 1}"
        raise NotAdoptedError(f"{quoted(METADATA_FILE)}{line}: {error.message}", error.hint) from error


def _reject_missing(known: Mapping[str, Json], block: Mapping[str, Json], key: str) -> None:
    """Raise `NotAdoptedError` if the block lacks a field of `metadata.yaml`, or has another value for it."""
    for name, value in known.items():
        if name not in block:
            reason = f"{quoted(METADATA_FILE)} has the field {quoted(name)}, which the block does not have"
            raise NotAdoptedError(reason, f"add it to {quoted(key)}, or remove it from the file")
        if not _is_same(name, block[name], value):
            reason = f"{quoted(METADATA_FILE)} and the block have different values for {quoted(name)}"
            raise NotAdoptedError(reason, "make them the same, or remove the file")


def _is_same(name: str, written: Json, value: Json) -> bool:
    """Return whether the block's value is equal to the one in `metadata.yaml`, as it is or after a fix."""
    if name == "version" and isinstance(value, (int, float)) and isinstance(written, str):
        # YAML reads `1.10` as 1.1, and the fix writes "1.10.0".
        short, _, patch = written.rpartition(".")
        return patch == "0" and short.count(".") == 1 and is_semver(written) and float(short) == value
    if name == "tags" and isinstance(value, list):
        value = [tag for at, tag in enumerate(value) if tag not in value[:at]]
    return written == value


def _reject_other_blocks(fields: Mapping[str, Json], key: str) -> None:
    if projected_key(fields, key) is not None:
        raise NotAdoptedError("it is a projection", "adopt the skill that it was projected from")
    other = next((name for name, each in fields.items() if looks_like_a_block(each)), None)
    if other is not None:
        hint = f"rename it to {quoted(key)}, or name it with `--block-key {other}`"
        raise NotAdoptedError(f"it has a block under {quoted(other)}", hint)


def _with_block(
    draft: EditableFrontmatter, facts: SkillFacts, key: str, text: str, known: Mapping[str, Json]
) -> bytes:
    """Return the `SKILL.md` with a new block.

    The block contains the text of `metadata.yaml` or, if the text cannot be indented, its values as JSON.
    Raises `NotAdoptedError` if neither gives a valid block.
    """
    folder, expected = facts.folder, deepcopy(dict(draft.values))
    subject = ContractSkill(replace(facts, frontmatter=draft.values), key, known)
    if fault := id_fault(subject.namespace, "id"):
        raise NotAdoptedError(fault, f"rename the skill, for example {quoted(f'skill-{subject.namespace}')}")
    for inner in (text.rstrip("\n").split("\n"), _as_json(known)):
        lines = [f"{format_scalar(key)}:", *(f"  {line}" if line else "" for line in _lines(subject, inner))]
        block = "\n".join(lines).rstrip("\n") + "\n"
        try:
            written = draft.apply_edits([Edit(len(draft.text), len(draft.text), block)])
            after = apply_fixes(written, _REPAIRED, key, folder)
            found = dict(load(EditableFrontmatter.of(after).text).values)
        except UnreadableError as error:
            if error.rule is Rule.FRONTMATTER_SIZE:
                raise NotAdoptedError(error.message, error.hint) from error
            continue
        made = found.pop(key, None)
        if found == expected and isinstance(made, dict) and _contains(made, known):
            return after
    raise NotAdoptedError(
        f"the frontmatter or {quoted(METADATA_FILE)} cannot be taken over as it is", _BY_HAND
    )


def _contains(block: Mapping[str, Json], known: Mapping[str, Json]) -> bool:
    return all(name in block and _is_same(name, block[name], value) for name, value in known.items())


def _lines(subject: ContractSkill, inner: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the block.

    They are an `id` and a `version` if `metadata.yaml` has none, its lines `inner`, then the capabilities and
    the references to the skill's files. If `metadata.yaml` has capabilities or references, it decides alone
    which files are published.
    """
    if "id" not in subject.block:
        yield f"id: {format_scalar(subject.namespace)}"
    if "version" not in subject.block:
        yield f'version: "{FIRST_VERSION}"'
    if subject.block:
        yield from inner
    if "references" in subject.block or "capabilities" in subject.block:
        return
    references = dict(_found_references(subject.facts.files or ()))
    if not subject.block:  # otherwise, the fix for missing capabilities adds them
        complete: dict[str, Json] = {ref_id: {"path": path} for ref_id, path in references.items()}
        yield "capabilities:"
        for uri in expected_uris(replace(subject, block={"references": complete})):
            yield f"  - {uri}"
    if references:
        yield "references:"
    for ref_id, path in references.items():
        yield f"  {format_scalar(ref_id)}:"
        yield f"    path: {format_scalar(path)}"


def _found_references(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield an id and the path of each document in `references/`."""
    taken: set[str] = set()
    for path in sorted(files):
        if not path.startswith(FOLDER) or place_fault(path) is not None:
            continue
        name = ref_id = proposed_id(path[len(FOLDER) : -len(SUFFIX)], "reference")
        number = 2
        while ref_id in taken:
            ref_id, number = f"{name}-{number}", number + 1
        taken.add(ref_id)
        yield ref_id, path


def _as_json(known: Mapping[str, Json]) -> list[str]:
    """Return the values of `metadata.yaml`, one field per line.

    Leaves out a version that is a number, because YAML reads `1.10` as `1.1`.
    """
    known = {name: each for name, each in known.items() if name != "version" or isinstance(each, str)}
    return [f"{format_scalar(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in known.items()]


def _reject_new_errors(
    facts: SkillFacts, before: Mapping[str, Json], after: Mapping[str, Json], key: str
) -> None:
    """Raise `NotAdoptedError` if the skill has an error that it did not have without the block."""
    old = {(each.rule, each.field) for each in _errors(facts, before, key)}
    for problem in _errors(facts, after, key):
        if (problem.rule, problem.field) not in old:
            raise NotAdoptedError(f"{problem.field}: {problem.message}", problem.hint)


def _errors(facts: SkillFacts, fields: Mapping[str, Json], key: str) -> Iterator[Problem]:
    """Yield the errors that the contract's own rules find. The block cannot cause errors of other rules."""
    found = check_skill(replace(facts, frontmatter=fields, problems=()), key)
    return (problem for problem in found if problem.severity is Severity.ERROR)

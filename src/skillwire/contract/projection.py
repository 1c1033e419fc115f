"""Write or check a projection: copies of skills that use only the standard frontmatter fields."""

import json
import os
import posixpath
import stat
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillwire.config.source_kinds import is_folder
from skillwire.contract.frontmatter import allowed_tools, metadata_of
from skillwire.contract.repository import CheckedSkill, check_one, check_repository, display_path, skill_facts
from skillwire.contract.rules.skill import (
    SEVERITIES,
    STANDARD,
    SkillFacts,
    key_of,
    projected_key,
    used_key,
)
from skillwire.core.conformance import MAX_COMPATIBILITY
from skillwire.core.names import SKILL_FILE
from skillwire.core.output_folder import MANIFEST_NAME, SiteFolder
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json, SkillRecord
from skillwire.errors import UsageError
from skillwire.frontmatter.rules import has_commas
from skillwire.frontmatter.split import OPENING, split
from skillwire.frontmatter.writer import format_scalar
from skillwire.frontmatter.yaml12 import load
from skillwire.library.library import Library
from skillwire.safe_text import quoted

_PLAIN = ("id", "version")
_FIRST = (*_PLAIN, "tags", "capabilities", "depends_on", "references", "icons")


@dataclass(frozen=True, slots=True)
class Projection:
    """A projected `SKILL.md`."""

    content: bytes
    dropped: tuple[str, ...]
    """The names of the fields left out: all except the standard fields and the metadata block."""


def project(content: bytes, key: str | None) -> Projection:
    """Return the projection of a valid `SKILL.md`. A file that is already a projection stays the same.

    The metadata block is under `key` or, if that is None, under one of `BLOCK_KEYS`.
    """
    parts = split(content)
    written = load(parts.text).values
    key = key_of(written, key)
    raw = restore_block(written, key)
    lines = "".join(_lines(standard_fields(raw, key)))
    body = content[parts.body :]
    closing = b"---\n" if body or content.endswith(b"\n") else b"---"
    dropped = tuple(sorted(raw.keys() - {*STANDARD, key}))
    return Projection(f"{OPENING}{lines}".encode() + closing + body, dropped)


def restore_block(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the frontmatter of a projection with the block moved from `metadata` back under `key`.

    Frontmatter that is not a projection, or that has the key, is returned unchanged.
    """
    metadata: Json = raw.get("metadata")
    if key in raw or projected_key(raw, key) is None or not isinstance(metadata, dict):
        return raw
    prefix = f"{key}."
    block = {
        name.removeprefix(prefix): _parse_packed(name.removeprefix(prefix), value)
        for name, value in metadata.items()
        if name.startswith(prefix)
    }
    own = {name: value for name, value in metadata.items() if not name.startswith(prefix)}
    rest: dict[str, Json] = {name: value for name, value in raw.items() if name != "metadata"}
    return {**rest, **({"metadata": own} if own else {}), key: block}


def standard_fields(raw: Mapping[str, Json], key: str) -> dict[str, str | dict[str, str]]:
    """Return the fields of the projection of a valid frontmatter, in the order in which they are written.

    `metadata` also contains the fields of the metadata block. Empty fields are left out.
    """
    fields: dict[str, str | dict[str, str]] = {
        "name": str(raw["name"]),
        "description": str(raw["description"]).strip(),
    }
    for name in ("license", "compatibility"):
        if isinstance(value := raw.get(name), str) and value.strip():
            fields[name] = value
    if tools := _tools(raw):
        fields["allowed-tools"] = tools
    if metadata := metadata_of(raw) | dict(_flatten_block(raw, key)):
        fields["metadata"] = metadata
    return fields


def projection_problems(raw: Mapping[str, Json], key: str, path: str) -> Iterator[Problem]:
    """Yield an error if `compatibility` is too long, and a warning for each field that is left out."""
    compatibility = raw.get("compatibility")
    if isinstance(compatibility, str) and len(compatibility) > MAX_COMPATIBILITY:
        message = (
            f"the text has {len(compatibility)} characters, and uploaders accept at most {MAX_COMPATIBILITY}"
        )
        hint = f"shorten it by {len(compatibility) - MAX_COMPATIBILITY}"
        rule = Rule.COMPATIBILITY_FORMAT
        yield Problem(path, rule, Severity.ERROR, message, hint=hint, field="compatibility")
    for name in sorted(raw.keys() - {*STANDARD, key}):
        rule = Rule.CONTRACT_PROJECTION_DROPPED
        message = f"the field {quoted(name)} is not in the projection"
        hint = "uploaders that accept only standard fields refuse it; the source keeps it"
        yield Problem(path, rule, SEVERITIES[rule], message, hint=hint, field=name)


def _tools(raw: Mapping[str, Json]) -> str:
    value = raw.get("allowed-tools")
    if isinstance(value, str) and not has_commas(value):
        return value.strip()
    return " ".join(allowed_tools(raw))


def _flatten_block(raw: Mapping[str, Json], key: str) -> Iterator[tuple[str, str]]:
    """Yield the items of `metadata` that store the metadata block, one for each field of the block."""
    block = raw.get(key)
    if not isinstance(block, dict):
        return
    for name in (*(each for each in _FIRST if each in block), *sorted(block.keys() - set(_FIRST))):
        value = block[name]
        yield f"{key}.{name}", value if name in _PLAIN and isinstance(value, str) else _compact(value)


def _compact(value: Json) -> str:
    """Return a value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parse_packed(name: str, value: Json) -> Json:
    """Return the value of the block's field `name`, which is stored in `metadata` as `value`.

    The id, the version and text that is not JSON are returned unchanged.
    """
    if name in _PLAIN or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:  # edited by hand; the rules for the block report it
        return value


def _lines(fields: Mapping[str, str | Mapping[str, str]]) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, str):
            yield f"{name}: {format_scalar(value)}\n"
        else:
            yield f"{name}:\n"
            yield from (f"  {format_scalar(inner)}: {format_scalar(text)}\n" for inner, text in value.items())


@dataclass(frozen=True, slots=True)
class ProjectedSkill:
    """A skill in a projection."""

    id: str
    path: str
    """The skill's folder, relative to the output folder."""
    dropped: tuple[str, ...]
    """The names of the fields left out: all except the standard fields and the metadata block."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file of a projection."""

    uri: str
    """The URI from which the file's content is read."""
    projected: bool
    """Whether the file's frontmatter is projected. If False, the file is copied unchanged."""
    executable: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The skills and files that a projection would write, and the problems found."""

    key: str | None
    skills: tuple[ProjectedSkill, ...]
    files: Mapping[str, PlannedFile]
    """The files by path, relative to the output folder."""
    problems: tuple[Problem, ...]


def check_out_is_separate(library: Library, out: Path) -> None:
    """Raise `UsageError` if the output folder is a source folder, contains one or is inside one."""
    target = os.path.realpath(out)
    for source in library.sources:
        root = os.path.realpath(source.place)
        if is_folder(source.place) and os.path.commonpath([root, target]) in {root, target}:
            raise UsageError(
                f"{quoted(str(out))} and {quoted(source.place)} overlap",
                hint="name a folder beside the skills with `--out`",
            )


def plan_projection(library: Library, key: str | None) -> Plan:
    """Check every skill, and plan the files of the projection. Errors are reported in the plan's `problems`.

    A skill that is already a projection is checked with its restored block.
    """
    catalog = library.catalog
    entries = {display_path(entry, catalog): entry for entry in catalog.entries.values()}
    known = [skill_facts(entry, catalog) for entry in entries.values()]
    new_key = used_key(each.frontmatter for each in known)
    checked = [_check_restored(each, key_of(each.frontmatter, key, new_key)) for each in known]
    reported = {problem for facts in known for problem in facts.problems}
    problems = [problem for problem in catalog.problems if problem not in reported]
    skills: list[ProjectedSkill] = []
    files: dict[str, PlannedFile] = {}
    for skill in check_repository(checked).skills:
        raw, entry = skill.facts.frontmatter, entries[skill.facts.path]
        problems.extend((*skill.problems, *projection_problems(raw, skill.key, skill.facts.path)))
        folder = posixpath.dirname(entry.origin.path) or entry.name
        skills.append(ProjectedSkill(skill.id, folder, tuple(sorted(raw.keys() - {*STANDARD, skill.key}))))
        _add(files, entry, folder)
    return Plan(key, tuple(skills), dict(sorted(files.items())), tuple(problems))


def _check_restored(facts: SkillFacts, key: str) -> CheckedSkill:
    return check_one(replace(facts, frontmatter=restore_block(facts.frontmatter, key)), key)


async def write(library: Library, plan: Plan, site: SiteFolder) -> None:
    """Write the planned files, and remove files of an earlier projection that are not planned.

    If writing fails, the manifest still lists every file that was written.
    """
    try:
        site.plan(plan.files)
        async for path, content in _contents(library, plan):
            site.write(path, content)
            _set_mode(site.folder / path, executable=plan.files[path].executable)
    except BaseException:
        site.save_manifest()
        raise
    site.finish()


async def differences(library: Library, plan: Plan, site: SiteFolder) -> dict[str, list[str]]:
    """Compare the folder with the plan. Return lists of paths under `missing`, `differs` and `left over`.

    A file differs if its content or its executable bit differs. The manifest may also be missing, and differs
    if the last run did not finish.
    """
    found: dict[str, list[str]] = {"missing": [], "differs": [], "left over": []}
    async for path, content in _contents(library, plan):
        existing = site.content(path)
        if existing is None:
            found["missing"].append(path)
        elif existing != content or _is_executable(site.folder / path) != plan.files[path].executable:
            found["differs"].append(path)
    if not site.has_manifest:  # without a manifest, leftover files cannot be identified
        found["missing"].append(MANIFEST_NAME)
    elif site.unfinished:
        found["differs"].append(MANIFEST_NAME)
    others = sorted(site.ours - plan.files.keys())
    found["left over"].extend(path for path in others if site.content(path) is not None)
    return found


def _add(files: dict[str, PlannedFile], entry: SkillRecord, folder: str) -> None:
    for file in entry.files:
        main = file.path == SKILL_FILE
        path = f"{folder}/{file.path}"
        # The `SKILL.md` of a nested skill is also a file of the outer skill, but must be projected.
        if main or path not in files or not files[path].projected:
            executable = _is_executable(Path(entry.origin.location) / file.path)
            files[path] = PlannedFile(entry.uri_of(file.path), main, executable)


async def _contents(library: Library, plan: Plan) -> AsyncIterator[tuple[str, bytes]]:
    """Yield the path and content of each planned file."""
    for path, planned in plan.files.items():
        content = (await library.read(planned.uri)).content
        yield path, project(content, plan.key).content if planned.projected else content


def _is_executable(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & stat.S_IXUSR)
    except OSError:
        return False


def _set_mode(file: Path, *, executable: bool) -> None:
    mode = stat.S_IMODE(file.stat().st_mode)
    new_mode = mode | 0o111 if executable else mode & ~0o111
    if new_mode != mode:
        file.chmod(new_mode)

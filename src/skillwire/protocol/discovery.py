"""Read and write the skill index of a website: Agent Skills Discovery 0.2 and 0.1.

An invalid entry becomes a `Problem` and is left out. All valid entries are still used.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, cast

import orjson

from skillwire.core.json_text import JsonTooLargeError, json_bytes, load_bounded_json
from skillwire.core.names import (
    NAME_RULE,
    SKILL_FILE,
    collision_key,
    is_skill_name,
    parent_paths,
    portable_fault,
)
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Digest, Json
from skillwire.errors import SkillwireError
from skillwire.protocol.delivery import SCHEMA, Delivery
from skillwire.safe_text import quoted

WELL_KNOWN_FOLDER = ".well-known/agent-skills"
LEGACY_WELL_KNOWN_FOLDER = ".well-known/skills"
INDEX_FILE = "index.json"

MAX_SKILLS = 10_000
MAX_VALUES = 300_000
"""Maximum number of JSON values in an index, including fields and files.

Each value may take 200 bytes of memory.
"""
MAX_FILES = 512
"""Maximum number of files of one skill in an index of version 0.1."""
MAX_TEXT = 16 * 1024
"""Maximum length of a text such as a description. Many descriptions exceed the format's limit of 1,024."""
MAX_URL_LENGTH = 2048
"""Maximum length of a URL or path."""

_BOM = b"\xef\xbb\xbf"
_DIGEST_HINT = "write the SHA-256 of the bytes at `url`, as `sha256:` and 64 lower-case hex digits"


class DiscoveryError(SkillwireError):
    """An index cannot be used at all. The message completes a sentence that begins with the index's name."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A skill that is a single download (0.2)."""

    name: str
    type: Delivery
    description: str
    url: str
    """The URL as in the index: absolute, or relative to the index's URL."""
    digest: Digest


@dataclass(frozen=True, slots=True)
class FileListSkill:
    """A skill whose files are downloaded one by one, without digests (0.1)."""

    name: str
    description: str
    files: tuple[str, ...]
    """Paths relative to the skill's folder beside the index. `SKILL.md` is one of them."""


PublishedSkill: TypeAlias = Artifact | FileListSkill


@dataclass(frozen=True, slots=True)
class Index:
    """The skills that a site publishes, in the order of the index. Each name occurs once."""

    skills: tuple[PublishedSkill, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Problems with the entries that are left out.

    `field` is the path in the document, such as `skills[3].digest`.
    """


class _FaultError(Exception):
    """An entry is invalid. Carries the problem to report."""

    def __init__(self, place: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.problem = _problem(place, message, hint)


def _problem(place: str, message: str, hint: str) -> Problem:
    return Problem(INDEX_FILE, Rule.SOURCE_PARTIAL, Severity.WARNING, message, hint, field=place)


def read_index(content: bytes) -> Index:
    """Parse an index. Raises `DiscoveryError` if it is not a usable index."""
    try:
        document = cast("Json", load_bounded_json(content.removeprefix(_BOM), max_values=MAX_VALUES))
    except JsonTooLargeError as error:
        message = f"contains more than {MAX_VALUES:,} values, which is the limit"
        raise DiscoveryError(
            f"{message}; ask its owner to publish the skills at several addresses"
        ) from error
    except orjson.JSONDecodeError as error:
        raise DiscoveryError(f"is not JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(listed := document.get("skills"), list):
        raise DiscoveryError("is not an index of skills: it has no list `skills`")
    schema = document.get("$schema", SCHEMA)
    if schema != SCHEMA:
        shown = quoted(schema) if isinstance(schema, str) else "not text"
        raise DiscoveryError(f"has an unknown version: its `$schema` is {shown}, not `{SCHEMA}`")
    return _parse_entries(listed)


def render_index(skills: Iterable[PublishedSkill]) -> bytes:
    """Return an index that lists these skills. The same skills always give the same bytes.

    If there are only `FileListSkill`s, the index has version 0.1, else version 0.2.
    """
    listed = list(skills)
    older = listed and all(isinstance(skill, FileListSkill) for skill in listed)
    document: dict[str, Json] = {} if older else {"$schema": SCHEMA}
    document["skills"] = [_render_skill(skill) for skill in listed]
    return json_bytes(document, indented=True)


def _render_skill(skill: PublishedSkill) -> dict[str, Json]:
    if isinstance(skill, FileListSkill):
        return {"name": skill.name, "description": skill.description, "files": list(skill.files)}
    return {
        "name": skill.name,
        "type": skill.type.value,
        "description": skill.description,
        "url": skill.url,
        "digest": skill.digest.text,
    }


def _parse_entries(listed: list[Json]) -> Index:
    problems: list[Problem] = []
    skills_by_name: dict[str, PublishedSkill] = {}
    for number, value in enumerate(listed[:MAX_SKILLS]):
        place = f"skills[{number}]"
        try:
            skill = _parse_skill(value, place)
            skills_by_name[skill.name] = _choose_entry(skills_by_name.get(skill.name), skill, place)
        except _FaultError as fault:
            problems.append(fault.problem)
    if (more := len(listed) - MAX_SKILLS) > 0:
        message = f"the limit is {MAX_SKILLS:,} entries; the last {more:,} are ignored"
        problems.append(_problem("skills", message, "publish them at several addresses"))
    return Index(tuple(skills_by_name.values()), tuple(problems))


def _parse_skill(value: Json, place: str) -> PublishedSkill:
    if not isinstance(value, dict):
        raise _FaultError(
            place, "the entry is not an object", "write an object with `name`, `type` and `url`"
        )
    name = _text(value, "name", place, MAX_TEXT)
    if not is_skill_name(name):
        hint = "write the name of the skill as in its `SKILL.md`"
        raise _FaultError(f"{place}.name", f"{quoted(name)} is not {NAME_RULE}", hint)
    if "files" in value and "url" not in value:
        description = _text(value, "description", place, MAX_TEXT)
        return FileListSkill(name, description, _files(value["files"], f"{place}.files"))
    return Artifact(
        name,
        _delivery(_text(value, "type", place, MAX_TEXT), f"{place}.type"),
        _text(value, "description", place, MAX_TEXT),
        _text(value, "url", place, MAX_URL_LENGTH),
        _digest(_text(value, "digest", place, MAX_TEXT), f"{place}.digest"),
    )


def _text(entry: dict[str, Json], key: str, place: str, limit: int) -> str:
    value, where = entry.get(key), f"{place}.{key}"
    if value is None:
        raise _FaultError(where, f"the entry has no `{key}`", f"add a `{key}`")
    if not isinstance(value, str) or not value.strip():
        raise _FaultError(where, f"the `{key}` is not text, or is empty", f"write text for `{key}`")
    if len(value) > limit:
        message = f"the `{key}` has {len(value):,} characters; the limit is {limit:,}"
        raise _FaultError(where, message, "shorten it")
    return value


def _delivery(text: str, place: str) -> Delivery:
    try:
        return Delivery(text)
    except ValueError:
        hint = "use `skill-md` or `archive`; ignore this if the entry is for other clients"
        raise _FaultError(place, f"the type {quoted(text)} is unknown", hint) from None


def _digest(text: str, place: str) -> Digest:
    try:
        return Digest(text)
    except ValueError as error:
        raise _FaultError(place, str(error), _DIGEST_HINT) from error


def _files(value: Json, place: str) -> tuple[str, ...]:
    hint = "list the paths of the skill's files, relative to its folder"
    if not isinstance(value, list):
        raise _FaultError(place, "it is not a list", hint)
    if len(value) > MAX_FILES:
        raise _FaultError(place, f"it lists {len(value):,} files; the limit is {MAX_FILES:,}", "list fewer")
    files: dict[str, str] = {}
    for number, path in enumerate(value):
        where = f"{place}[{number}]"
        if not isinstance(path, str) or len(path) > MAX_URL_LENGTH:
            raise _FaultError(where, "it is not a path", hint)
        if fault := _fault_of_path(path):
            raise _FaultError(where, f"the path {quoted(path)} {fault}", hint)
        if (other := files.get(collision_key(path))) is not None:
            message = f"{quoted(path)} cannot be distinguished from {quoted(other)}"
            raise _FaultError(where, message, "list each file once")
        files[collision_key(path)] = path
    folders = {folder for path in files for folder in parent_paths(path)}
    if both := next((path for path in files if path in folders), None):
        raise _FaultError(
            place, f"{quoted(files[both])} is both a file and a folder", "rename one of the two"
        )
    if SKILL_FILE not in files.values():
        raise _FaultError(place, f"`{SKILL_FILE}` is not listed", f"list `{SKILL_FILE}` too")
    return tuple(files.values())


def _fault_of_path(path: str) -> str | None:
    # On Windows, a colon separates a drive or an alternate data stream.
    return "contains a colon" if ":" in path else portable_fault(path)


def _choose_entry(known: PublishedSkill | None, found: PublishedSkill, place: str) -> PublishedSkill:
    """Return `found`, or one of two entries with the same name. An archive is preferred to a `SKILL.md`.

    `found` must be the same download, or another form of the same skill. Otherwise, raises `_FaultError`.
    """
    if known is None:
        return found
    match known, found:
        case Artifact(type=Delivery.SKILL_MD), Artifact(type=Delivery.ARCHIVE):
            return found
        case Artifact(type=Delivery.ARCHIVE), Artifact(type=Delivery.SKILL_MD):
            return known
        case Artifact(), Artifact() if known.digest == found.digest or _is_zip(known) != _is_zip(found):
            return known  # a duplicate, or the same skill in another archive format
        case _:
            message = f"another skill {quoted(found.name)} is listed before it"
            raise _FaultError(f"{place}.name", message, "give each skill its own name")


def _is_zip(artifact: Artifact) -> bool:
    return artifact.url.lower().endswith(".zip")

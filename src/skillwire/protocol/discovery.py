"""The index of the skills that a web site publishes: Agent Skills Discovery, 0.2 and the older 0.1.

One bad entry never hides the good ones: it becomes a `Problem` with its place, and is left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, cast

import orjson

from skillwire.core.json_text import JsonTooLargeError, json_bytes, load_bounded_json
from skillwire.core.names import NAME_RULE, SKILL_FILE, fold_path, is_skill_name, parent_paths, portable_fault
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
"""JSON values of an index, fields and files included. Each may take 200 bytes of memory."""
MAX_FILES = 512
"""Files of one skill in an index of version 0.1."""
MAX_TEXT = 16 * 1024
"""Characters of a description. The format says 1,024, and many write more."""
MAX_URL_LENGTH = 2048
"""Characters of a URL, or of a path."""

_BOM = b"\xef\xbb\xbf"
_DIGEST_HINT = "write the SHA-256 of the very bytes at `url`, as `sha256:` and 64 lower-case hex digits"


class DiscoveryError(SkillwireError):
    """An index of which nothing can be used."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A skill that is one download (0.2)."""

    name: str
    type: Delivery
    description: str
    url: str
    """As the index has it: relative to the address of the index, or absolute."""
    digest: Digest


@dataclass(frozen=True, slots=True)
class FileListSkill:
    """A skill whose files are fetched one by one; nothing promises what their bytes are (0.1)."""

    name: str
    description: str
    files: tuple[str, ...]
    """Relative to the folder of that name beside the index, `SKILL.md` among them."""


PublishedSkill: TypeAlias = Artifact | FileListSkill


@dataclass(frozen=True, slots=True)
class Index:
    """What a site publishes, each name once, in the order of the document."""

    skills: tuple[PublishedSkill, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Of entries that are left out; `field` says where in the document, as in `skills[3].digest`."""


class _FaultError(Exception):
    """A problem on its way to the list of problems."""

    def __init__(self, place: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.problem = _problem(place, message, hint)


def _problem(place: str, message: str, hint: str) -> Problem:
    return Problem(INDEX_FILE, Rule.SOURCE_PARTIAL, Severity.WARNING, message, hint, field=place)


def read_index(content: bytes) -> Index:
    """Return what an index says. Raises `DiscoveryError` if it is none."""
    try:
        document = cast("Json", load_bounded_json(content.removeprefix(_BOM), max_values=MAX_VALUES))
    except JsonTooLargeError as error:
        told = f"holds more than {MAX_VALUES:,} values, which is the limit"
        raise DiscoveryError(
            f"{told}; ask its publisher to publish the skills at several addresses"
        ) from error
    except orjson.JSONDecodeError as error:
        raise DiscoveryError(f"is not JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(listed := document.get("skills"), list):
        raise DiscoveryError("is no index of skills: it has no list `skills`")
    schema = document.get("$schema", SCHEMA)
    if schema != SCHEMA:
        shown = quoted(schema) if isinstance(schema, str) else "no text"
        raise DiscoveryError(f"is of a version that is not known: its `$schema` is {shown}, not `{SCHEMA}`")
    return _parse_entries(listed)


def render_index(skills: Iterable[PublishedSkill]) -> bytes:
    """Return the document that lists these skills: the same bytes for the same skills."""
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
        message = f"the limit is {MAX_SKILLS:,} entries; the last {more:,} are not read"
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
        raise _FaultError(where, f"the `{key}` is no text, or empty", f"write text for `{key}`")
    if len(value) > limit:
        message = f"the `{key}` has {len(value):,} characters, and the limit is {limit:,}"
        raise _FaultError(where, message, "shorten it")
    return value


def _delivery(text: str, place: str) -> Delivery:
    try:
        return Delivery(text)
    except ValueError:
        hint = "nothing to do if others understand it; `skill-md` and `archive` are known here"
        raise _FaultError(place, f"the type {quoted(text)} is not known", hint) from None


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
        raise _FaultError(
            place, f"it lists {len(value):,} files, and the limit is {MAX_FILES:,}", "list fewer"
        )
    files: dict[str, str] = {}
    for number, path in enumerate(value):
        where = f"{place}[{number}]"
        if not isinstance(path, str) or len(path) > MAX_URL_LENGTH:
            raise _FaultError(where, "it is no path", hint)
        if fault := _fault_of_path(path):
            raise _FaultError(where, f"the path {quoted(path)} {fault}", hint)
        if (other := files.get(fold_path(path))) is not None:
            message = f"{quoted(path)} cannot be told from {quoted(other)}"
            raise _FaultError(where, message, "list each file once")
        files[fold_path(path)] = path
    folders = {folder for path in files for folder in parent_paths(path)}
    if both := next((path for path in files if path in folders), None):
        raise _FaultError(place, f"{quoted(files[both])} is a file and a folder", "rename one of the two")
    if SKILL_FILE not in files.values():
        raise _FaultError(place, f"`{SKILL_FILE}` is not listed", f"list `{SKILL_FILE}` too")
    return tuple(files.values())


def _fault_of_path(path: str) -> str | None:
    # A colon makes a drive or a second stream of a file where Windows reads it.
    return "holds a colon" if ":" in path else portable_fault(path)


def _choose_entry(known: PublishedSkill | None, found: PublishedSkill, place: str) -> PublishedSkill:
    """Return which of two entries of one name is taken: the archive, because it has all the files."""
    if known is None:
        return found
    match known, found:
        case Artifact(type=Delivery.SKILL_MD), Artifact(type=Delivery.ARCHIVE):
            return found
        case Artifact(type=Delivery.ARCHIVE), Artifact(type=Delivery.SKILL_MD):
            return known
        case Artifact(), Artifact() if known.digest == found.digest or _is_zip(known) != _is_zip(found):
            return known  # the same again, or the same packed another way
        case _:
            message = f"a skill {quoted(found.name)} is listed before, and it is not the same"
            raise _FaultError(f"{place}.name", message, "give each skill a name of its own")


def _is_zip(artifact: Artifact) -> bool:
    return artifact.url.lower().endswith(".zip")

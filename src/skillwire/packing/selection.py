"""Which skills are packed, into which folders, and why others are not."""

import unicodedata
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from skillwire.core.record import Limits, SkillFile, SkillRecord
from skillwire.errors import ConflictError, SkillwireError
from skillwire.features.website import read_skill_files
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.library.visibility import VisibilityPolicy
from skillwire.safe_text import quoted

FOLDER = "skills"
"""The folder with the skills in a bundle or plugin."""
_SHOWN_COLLISIONS = 3
_GENERATED = (
    "its content is generated on every read, so there is nothing to pack",
    "serve it with `skillwire serve`",
)
"""Why a dynamic skill is not packed, with a hint."""
_FRONTMATTER_DECIDES = VisibilityPolicy()


@dataclass(frozen=True, slots=True)
class LeftOutSkill:
    """A skill that is served but not packed, with the reason and a hint."""

    path: str
    message: str
    hint: str
    by_choice: bool = False
    """Whether the operator's own configuration keeps the skill out."""


@dataclass(frozen=True, slots=True)
class PackSelection:
    """The skills to pack, and the skills that cannot be packed."""

    skills: Mapping[str, SkillRecord]
    """The skills by their folder below `FOLDER`, sorted."""
    left_out: tuple[LeftOutSkill, ...]


@dataclass(frozen=True, slots=True)
class PackedSkill:
    """A skill with the bytes of its files, which have the listed digests."""

    record: SkillRecord
    folder: str
    """The folder of the skill, relative to the root of the bundle or plugin."""
    files: Mapping[str, bytes]
    executable: Collection[str]
    """The paths of the executable files."""


def select_for_bundle(catalog: Catalog, visibility: VisibilityPolicy) -> PackSelection:
    """Return the skills for a bundle, in which each skill has the same URI as in `catalog`."""
    chosen, left_out = _choose(catalog, visibility, _why_not_in_bundle)
    skills: dict[str, SkillRecord] = {}
    folders: dict[str, SkillRecord] = {}
    for entry in chosen:
        folder = unquote(entry.path)
        if (other := folders.setdefault(_fold_case(folder), entry)) is entry:
            skills[folder] = entry
            continue
        message = f"its path differs from {quoted(other.path)} only in case, and macOS cannot have both"
        left_out.append(LeftOutSkill(entry.path, message, "rename a folder"))
    return PackSelection(dict(sorted(skills.items())), tuple(left_out))


def select_for_plugin(catalog: Catalog, visibility: VisibilityPolicy) -> PackSelection:
    """Return the skills for a plugin, in which the folder of each skill is its name.

    Raises `ConflictError` if several skills have the same name.
    """
    chosen, left_out = _choose(catalog, visibility, _why_not_in_plugin)
    by_name: dict[str, list[SkillRecord]] = {}
    for entry in chosen:
        by_name.setdefault(entry.name, []).append(entry)
    _require_unique_names(by_name)
    return PackSelection({name: entries[0] for name, entries in sorted(by_name.items())}, tuple(left_out))


async def read_skills(
    library: Library, skills: Mapping[str, SkillRecord], left_out: list[LeftOutSkill]
) -> AsyncIterator[PackedSkill]:
    """Yield each skill with its files. Appends the skills that cannot be read to `left_out`."""
    for folder, entry in skills.items():
        try:
            files = await read_skill_files(library, entry)
        except SkillwireError as error:
            left_out.append(LeftOutSkill(entry.path, f"it cannot be read: {error}", "pack again"))
            continue
        yield PackedSkill(entry, f"{FOLDER}/{folder}", files, entry.executable)


def _choose(
    catalog: Catalog,
    visibility: VisibilityPolicy,
    why_not: Callable[[SkillRecord], tuple[str, str] | None],
) -> tuple[list[SkillRecord], list[LeftOutSkill]]:
    """Return the skills that can be packed, and those that cannot."""
    chosen: list[SkillRecord] = []
    left_out: list[LeftOutSkill] = []
    for entry in catalog.entries.values():
        if entry.withheld is not None:
            left_out.append(LeftOutSkill(entry.path, entry.withheld.reason, entry.withheld.hint))
        elif _is_restricted(entry, visibility):
            message = "your configuration hides it, which a packed copy would not"
            hint = "show it with `skillwire visibility`, or hide it in its frontmatter"
            left_out.append(LeftOutSkill(entry.path, message, hint, by_choice=True))
        elif (reason := why_not(entry)) is not None:
            left_out.append(LeftOutSkill(entry.path, *reason))
        else:
            chosen.append(entry)
    return chosen, left_out


def _fold_case(path: str) -> str:
    """Return a form of a path that is equal for paths that are one file on case-insensitive file systems."""
    return unicodedata.normalize("NFC", path).casefold()


def _is_restricted(entry: SkillRecord, visibility: VisibilityPolicy) -> bool:
    """Return whether the configuration hides a skill from models or people that its frontmatter allows."""
    wanted, otherwise = visibility.of(entry), _FRONTMATTER_DECIDES.of(entry)
    return (otherwise.assistant and not wanted.assistant) or (otherwise.user and not wanted.user)


def _why_not_in_bundle(entry: SkillRecord) -> tuple[str, str] | None:
    """Return why a skill cannot be in a bundle, with a hint, or None."""
    if entry.dynamic:
        return _GENERATED
    limits = Limits()  # the packed copy is served without a configuration file
    size = sum(file.size for file in entry.files if isinstance(file, SkillFile))
    if len(entry.files) > limits.files:
        return f"it has {len(entry.files):,} files; the limit is {limits.files:,}", "remove some"
    if size > limits.bytes:
        return f"it has {size:,} bytes; the limit is {limits.bytes:,}", "remove large files"
    return None


def _why_not_in_plugin(entry: SkillRecord) -> tuple[str, str] | None:
    """Return why a skill cannot be in a plugin, with a hint, or None."""
    if not entry.listed or not entry.description.strip():
        message = "it has no name or no description, which clients require"
        return message, "write a `name` and a `description`"
    return _GENERATED if entry.dynamic else None


def _require_unique_names(by_name: Mapping[str, Collection[SkillRecord]]) -> None:
    shared = {name: entries for name, entries in by_name.items() if len(entries) > 1}
    if not shared:
        return
    shown = "; ".join(
        f"{quoted(name)} is the name of {' and '.join(quoted(entry.path) for entry in entries)}"
        for name, entries in sorted(shared.items())[:_SHOWN_COLLISIONS]
    )
    more = f"; {len(shared) - _SHOWN_COLLISIONS} more" if len(shared) > _SHOWN_COLLISIONS else ""
    raise ConflictError(
        f"a plugin can have only one skill of each name: {shown}{more}",
        hint="rename one of them, or pack their folders as separate plugins",
    )

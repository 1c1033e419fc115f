"""Check the text of each skill, its links and the files beside it. Only `skillwire check` does this."""

import os
from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from posixpath import basename, dirname, join, normpath
from urllib.parse import unquote

from skillwire.config.source_kinds import is_folder
from skillwire.core.mime import is_text
from skillwire.core.names import SKILL_FILE, parent_paths, root_uri
from skillwire.core.problem import Problem
from skillwire.core.record import SkillFile, SkillRecord
from skillwire.errors import SkillwireError
from skillwire.frontmatter.body import folders_in, names_in, read_body
from skillwire.frontmatter.body_rules import SkillBody, check_body, unmentioned
from skillwire.frontmatter.split import UnreadableError, line_of, split
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library

_MAX_BYTES = 256 * 1024
"""Maximum size in bytes of a file that is searched for the names of other files."""


async def body_problems(library: Library) -> list[Problem]:
    """Return the problems in the texts of all skills, with paths as in the problems of the catalog.

    Skills from servers are left out, because the user cannot change them. Unlisted and dynamic skills are
    also left out.
    Only one `SKILL.md` is in memory at a time.
    """
    catalog = library.catalog
    # Sources other than folders may not know which files are executable. Windows has no executable bit.
    with_modes = {source.label for source in library.sources if os.name != "nt" and is_folder(source.place)}
    found: list[Problem] = []
    for entry in catalog.entries.values():
        if entry.listed and not entry.dynamic and not entry.origin.foreign:
            label = entry.origin.source
            problems = await _check(library, entry, has_modes=label in with_modes)
            found.extend(catalog.shown(problem, label) for problem in problems)
    return found


async def _check(library: Library, entry: SkillRecord, *, has_modes: bool) -> list[Problem]:
    try:
        content = (await library.read(entry.uri)).content
        start = split(content).body
    except (SkillwireError, UnreadableError):  # changed or removed in the meantime
        return []
    files = frozenset(file.path for file in entry.files)
    skill = SkillBody(
        entry.origin.path,
        line_of(content, start),
        read_body(content[start:].decode(errors="replace"), files),
        files,
        frozenset(folder for path in files for folder in parent_paths(path)).union(entry.directories),
        executable=entry.executable if has_modes else None,
        served_elsewhere=partial(_is_served, library.catalog, entry),
    )
    # Most files are linked from the text. Only for the others, search the words of the text, then other
    # files.
    if unmentioned(skill):
        text = content.decode(errors="replace")
        skill = replace(skill, names=names_in(text), mentioned_folders=folders_in(text))
    if unmentioned(skill):
        names, folders = await _mentioned_by_others(library, entry)
        skill = replace(skill, names=skill.names | names, mentioned_folders=skill.mentioned_folders | folders)
    return list(check_body(skill))


async def _mentioned_by_others(library: Library, entry: SkillRecord) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words and the folders that the other text files of a skill mention.

    Files of more than `_MAX_BYTES` are left out, and so is a name that occurs only in the file that it names.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    folders: set[str] = set()
    for file in entry.files[1:]:
        if not isinstance(file, SkillFile) or file.size > _MAX_BYTES:
            continue
        try:
            content = (await library.read(entry.uri_of(file.path))).content
        except SkillwireError:  # changed or removed in the meantime
            continue
        if not is_text(content):
            continue
        text = content.decode()
        for name in names_in(text):
            found[name].add(file.path)
        # A path in a file is relative to the file or to the skill.
        own = folders_in(text)
        folders |= own | {normpath(join(dirname(file.path), folder)) for folder in own}
    names = frozenset(name for name, where in found.items() if not _only_itself(name, where))
    return names, frozenset(folders)


def _only_itself(name: str, where: Collection[str]) -> bool:
    return len(where) == 1 and all(basename(path).startswith(name) for path in where)


def _is_served(catalog: Catalog, entry: SkillRecord, path: str) -> bool:
    """Return whether a path that leaves the folder of a skill leads to another skill or its files."""
    if not path.startswith("../"):
        return False
    parts = normpath(join(unquote(entry.path), path)).split("/")
    if parts[0] != ".." and catalog.serves(root_uri(parts)):
        return True
    # If a skill is checked alone, the skills beside it are not in the catalog.
    target = Path(entry.origin.location, path)
    return any((folder / SKILL_FILE).is_file() for folder in (target, target.parent))

"""Check the text of each skill, its links and the files beside it. Only `skillwire check` does this."""

import os
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
from skillwire.sources.base import Progress, ignore_progress

_MAX_BYTES = 256 * 1024
"""Maximum size in bytes of a file that is searched for the names of other files."""
_PROGRESS_STEP = 100


async def body_problems(library: Library, progress: Progress = ignore_progress) -> list[Problem]:
    """Return the problems in the texts of all skills, with paths as in the problems of the catalog.

    Skills from servers are left out, because the user cannot change them. Unlisted and dynamic skills are
    also left out.
    Only one `SKILL.md` is in memory at a time. `progress` is called with the number of skills so far.
    """
    catalog = library.catalog
    # Sources other than folders may not know which files are executable. Windows has no executable bit.
    with_modes = {source.label for source in library.sources if os.name != "nt" and is_folder(source.place)}
    found: list[Problem] = []
    for number, entry in enumerate(catalog.entries.values(), 1):
        if number % _PROGRESS_STEP == 0:
            progress(number)
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
        read_body(content[start:].decode(errors="replace"), files, alone=len(files) == 1),
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
    names, of_their_file = set[str](), set[str]()
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
        found, own_name = names_in(text), basename(file.path)
        others = {name for name in found if not own_name.startswith(name)}
        # A name that two files mention is mentioned by another file, whichever of them it names.
        names |= others | (of_their_file & found)
        of_their_file |= found - others
        # A path in a file is relative to the file or to the skill.
        own = folders_in(text)
        folders |= own | {normpath(join(dirname(file.path), folder)) for folder in own}
    return frozenset(names), frozenset(folders)


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

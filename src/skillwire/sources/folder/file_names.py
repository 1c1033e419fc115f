"""Recognize files that were probably meant to be a `SKILL.md`, by their names alone."""

import os
import re
from collections.abc import Iterator, Sequence

from skillwire.core.names import SKILL_FILE

_STEM = "SKILL"
_TEXT = r"\.(?:md|mdx|mkd|mkdn|mdown|markdown|txt|text|rtf|docx?)"
# Notepad and TextEdit add an ending, and browsers add a number to downloaded files.
_SIMILAR = re.compile(rf"SKILL(?P<plural>S?)(?: ?\(\d+\))?(?:{_TEXT}){{1,2}}", re.IGNORECASE)
_MARKDOWN = (".md", ".mdx", ".markdown")
_SKILL_FOLDERS = frozenset({"references", "scripts", "assets"})
_COMMON_FILES = frozenset({"readme", "license", "changelog"})


def misspelled_names(entries: Sequence[os.DirEntry[str]], *, inside_skill: bool) -> Iterator[str]:
    """Yield the names of the files in a folder without a `SKILL.md` that are probably meant to be one.

    Inside a skill, only the case may differ, because other files may have any name. A name in the plural is
    yielded only if the folder looks like a skill: `docs/skills.md` is a page about skills. Opens no files.
    """
    for entry in entries:
        name = entry.name
        if name[: len(_STEM)].upper() != _STEM:  # decided quickly, because it applies to nearly every name
            continue
        if name.upper() == SKILL_FILE.upper() or (
            not inside_skill
            and (similar := _SIMILAR.fullmatch(name))
            and not entry.is_dir(follow_symlinks=False)
            and (not similar["plural"] or _may_be_skill(entries, name))
        ):
            yield name


def _may_be_skill(entries: Sequence[os.DirEntry[str]], name: str) -> bool:
    """Return whether a folder may be a skill with the file `name` instead of a `SKILL.md`."""
    for entry in entries:
        if entry.name == name or entry.name.startswith("."):
            continue
        stem, suffix = os.path.splitext(entry.name.lower())  # noqa: PTH122 - in a hot loop
        if entry.is_dir(follow_symlinks=False):
            if stem not in _SKILL_FOLDERS:
                return False
        elif suffix in _MARKDOWN and stem not in _COMMON_FILES:
            return False
    return True

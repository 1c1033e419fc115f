"""The texts of skills, read one after the other: what they refer to, and the lines of what is wrong."""

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from skillwire.catalog.library import Library
from skillwire.cli.contract.folders import SkillFolders
from skillwire.contract.body_rules import Text, check_text
from skillwire.contract.lines import with_lines
from skillwire.contract.links import names_in, read_body
from skillwire.contract.metadata_file import NAME as METADATA_FILE
from skillwire.contract.metadata_file import replacing_block
from skillwire.contract.repository import CheckedSkill
from skillwire.contract.standard import metadata_hint
from skillwire.contract.subject import Subject
from skillwire.model.errors import SkillwireError
from skillwire.model.path import prefixes
from skillwire.model.problem import Problem, Rule
from skillwire.model.uri import SKILL_FILE
from skillwire.skillmd.frontmatter import line_of, split

_READ_OF_A_FILE = 256 * 1024
"""How much of another file is searched for the names of files."""


async def all_problems(
    library: Library, skills: SkillFolders, wanted: Iterable[CheckedSkill]
) -> list[Problem]:
    """Return everything that is wrong with these skills, in the order of their files and lines.

    One text is in memory at a time: what is kept of it are its problems.
    """
    found: list[Problem] = []
    for skill in wanted:
        content = await _content(library, skills, skill)
        if content is None:
            found.extend(skill.problems)
            continue
        problems = _with_block(skill, skills)
        found.extend(with_lines(problems, split(content).text))
        found.extend(check_text(_text(skill, content, skills)))
    return sorted(found, key=lambda problem: (problem.path, problem.line or 0))


async def _content(library: Library, skills: SkillFolders, skill: CheckedSkill) -> bytes | None:
    path = skill.facts.path
    try:
        if (uri := skills.uris.get(path)) is not None:
            return (await library.read(uri)).content
        return (skills.folders[path] / Path(path).name).read_bytes()
    except (SkillwireError, OSError):  # it went away while we looked: then it has no lines any more
        return None


def _with_block(skill: CheckedSkill, skills: SkillFolders) -> Iterator[Problem]:
    """Yield the problems of a skill; the hint at a `metadata.yaml` says what the block would be."""
    for problem in skill.problems:
        if problem.rule is not Rule.CONTRACT_METADATA_FILE:
            yield problem
            continue
        text = _beginning(skills.folders[skill.facts.path] / METADATA_FILE)
        block = replacing_block(text, Subject.of(skill.facts, skills.key))
        yield replace(problem, hint=metadata_hint(block))


def _text(skill: CheckedSkill, content: bytes, skills: SkillFolders) -> Text:
    start, folder = split(content).body, skills.folders[skill.facts.path]
    files = skill.facts.files or frozenset()
    subject = Subject.of(skill.facts, skills.key)
    others = files - {SKILL_FILE}
    return Text(
        skill.facts.path,
        line_of(content, start),
        read_body(content[start:].decode(errors="replace")),
        files,
        frozenset(around for path in files for around in prefixes(path)),
        executable=_executable(folder, files),
        declared=frozenset(str(reference.get("path")) for _, reference in subject.references()),
        names_elsewhere=lambda: _names(folder, others),
    )


def _executable(folder: Path, files: Iterable[str]) -> frozenset[str] | None:
    if os.name == "nt":  # where files have no such mark
        return None
    return frozenset(path for path in files if _mode(folder / path) & 0o111)


def _mode(file: Path) -> int:
    try:
        status = file.stat()
    except OSError:
        return 0
    return status.st_mode if stat.S_ISREG(status.st_mode) else 0


def _names(folder: Path, paths: Iterable[str]) -> frozenset[str]:
    """Return the words of other files of a skill; a file that names itself counts for nothing."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        for name in names_in(_beginning(folder / path)):
            found[name].add(path)
    return frozenset(name for name, where in found.items() if not _only_itself(name, where))


def _only_itself(name: str, where: set[str]) -> bool:
    return len(where) == 1 and all(path.rpartition("/")[2].startswith(name) for path in where)


def _beginning(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_READ_OF_A_FILE).decode(errors="replace")
    except OSError:
        return ""

"""`MemorySource`: skills in memory, with fixed bytes or content that is generated when it is read (S9)."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import anyio

from skillwire.core.mime import is_text, mime_type
from skillwire.core.names import SKILL_FILE, parent_paths
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Digest, Limits, LiveFile, Origin, SkillFile, SkillRecord
from skillwire.errors import SourceError
from skillwire.frontmatter.document import SkillDocument, read_document
from skillwire.sources.assemble import assemble, limit_problem, path_problems
from skillwire.sources.base import (
    EVERYWHERE,
    Locations,
    Progress,
    Scan,
    Source,
    Validator,
    WatchFilter,
    ignore_progress,
)

Content: TypeAlias = bytes | Callable[[], Awaitable[bytes]]
"""The bytes of a file, or a function that generates them for each read."""


@dataclass(frozen=True, slots=True)
class MemorySkill:
    """A skill in memory."""

    path: str
    """The skill path. If it does not end in the skill's name, the name is appended."""
    files: Mapping[str, Content]
    """The files by relative path, including `SKILL.md`."""

    @property
    def dynamic(self) -> bool:
        """Whether a function generates any of the files."""
        return any(callable(content) for content in self.files.values())


class _ContentValidator(Validator):
    """A validator that is current until its file in a `MemorySource` is replaced or removed."""

    __slots__ = ("_content", "_path", "_skill", "_skills")

    def __init__(self, skills: Mapping[str, MemorySkill], skill: str, path: str, content: Content) -> None:
        self._skills, self._skill, self._path, self._content = skills, skill, path, content

    def is_current(self) -> bool:
        skill = self._skills.get(self._skill)
        return skill is not None and skill.files.get(self._path) is self._content


class MemorySource(Source):
    """Skills in the memory of your program, which can be added and removed at any time."""

    def __init__(
        self, skills: Iterable[MemorySkill] = (), *, label: str = "memory", limits: Limits | None = None
    ) -> None:
        self.label = label
        self._limits = limits or Limits()
        self._skills = {skill.path: skill for skill in skills}
        self._records: dict[str, tuple[MemorySkill, SkillRecord | list[Problem]]] = {}
        self._changed: set[anyio.Event] = set()

    def put(self, skill: MemorySkill) -> None:
        """Add a skill, or replace the skill at the same path.

        The change is visible after the next scan. A library that follows its sources rescans at once.
        """
        self._skills[skill.path] = skill
        self._notify()

    def remove(self, path: str) -> None:
        """Remove the skill at `path`. The change becomes visible in the same way as with `put`.

        Raises `KeyError` if there is no such skill.
        """
        del self._skills[path]
        self._notify()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        entries: list[SkillRecord] = []
        problems: list[Problem] = []
        for count, skill in enumerate(self._skills.values()):
            progress(count)
            found = await self._cached_record(skill)
            if isinstance(found, SkillRecord):
                entries.append(found)
            else:
                problems.extend(found)
        return Scan(tuple(entries), tuple(problems))

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        """Yield `EVERYWHERE` at once and after every change."""
        while True:
            changed = anyio.Event()
            self._changed.add(changed)
            # The first rescan covers changes made before this generator was started.
            yield EVERYWHERE
            await changed.wait()

    def _notify(self) -> None:
        for changed in self._changed:
            changed.set()
        self._changed.clear()

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        skill = self._skills.get(entry.origin.location)
        content = None if skill is None else skill.files.get(file.path)
        if content is None:
            raise SourceError(f"{entry.origin.location}/{file.path} no longer exists")
        if isinstance(content, bytes):
            return content
        try:
            return await content()
        except Exception as error:
            raise SourceError(f"the function that makes {file.path} failed") from error

    def read_now(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes | None:
        skill = self._skills.get(entry.origin.location)
        content = None if skill is None else skill.files.get(file.path)
        return content if isinstance(content, bytes) else None

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        """Return a validator for a file with fixed bytes; None for every file of a dynamic skill."""
        skill = self._skills.get(path := entry.origin.location)
        content = None if skill is None else skill.files.get(file.path)
        if not isinstance(content, bytes) or not isinstance(file, SkillFile):
            return None
        return _ContentValidator(self._skills, path, file.path, content)

    async def _cached_record(self, skill: MemorySkill) -> SkillRecord | list[Problem]:
        """Return the record of a skill or its problems.

        For an unchanged skill that is not dynamic, this is the same object as before.
        """
        known = self._records.get(skill.path)
        if known is None or known[0] is not skill or skill.dynamic:
            known = skill, await self._record(skill)
            self._records[skill.path] = known
        return known[1]

    async def _record(self, skill: MemorySkill) -> SkillRecord | list[Problem]:
        where = f"{skill.path}/{SKILL_FILE}"
        sizes = [len(content) for content in skill.files.values() if isinstance(content, bytes)]
        faults = list(path_problems(skill.path, skill.files))
        if problem := limit_problem(where, sizes, self._limits):
            faults.append(problem)
        document = await _document(skill, where)
        if isinstance(document, Problem):
            return [*faults, document]
        if faults or not document.is_servable or document.frontmatter is None:
            return [*faults, *document.problems]
        segments, name = skill.path.split("/"), str(document.frontmatter["name"])
        return assemble(
            document,
            skill_path=segments if segments[-1] == name else [*segments, name],
            files=_live_files(skill) if skill.dynamic else _fixed_files(skill),
            directories={folder for path in skill.files for folder in parent_paths(path)},
            origin=Origin(self.label, skill.path, where),
        )


async def _document(skill: MemorySkill, where: str) -> SkillDocument | Problem:
    main = skill.files.get(SKILL_FILE)
    if main is None:
        hint = f"add a file `{SKILL_FILE}`"
        return Problem(where, Rule.SKILL_UNREADABLE, Severity.ERROR, f"the skill has no `{SKILL_FILE}`", hint)
    try:
        content = main if isinstance(main, bytes) else await main()
    except Exception as error:  # noqa: BLE001 - an error in the caller's code must not affect other skills
        message = f"the function that makes it failed: {type(error).__name__}"
        return Problem(where, Rule.SKILL_UNREADABLE, Severity.ERROR, message, "fix the function")
    return read_document(content, where, folder=skill.path.rpartition("/")[2])


def _live_files(skill: MemorySkill) -> list[LiveFile]:
    """Return all files of a dynamic skill.

    They have no digest, because they are generated when they are read.
    """
    return [
        LiveFile(path, mime_type(path, text=_looks_like_text(content)))
        for path, content in skill.files.items()
    ]


def _looks_like_text(content: Content) -> bool:
    return not isinstance(content, bytes) or is_text(content)


def _fixed_files(skill: MemorySkill) -> list[SkillFile]:
    return [
        SkillFile(path, mime_type(path, text=is_text(content)), Digest.of(content), len(content))
        for path, content in skill.files.items()
        if isinstance(content, bytes)
    ]

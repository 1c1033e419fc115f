"""Skills that live in the program itself: bytes in memory, or content made at read time (S9)."""

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
"""The bytes of a file, or a function that makes them anew for each read."""


@dataclass(frozen=True, slots=True)
class MemorySkill:
    """A skill path that ends in the skill's name, and files by relative path, `SKILL.md` among them."""

    path: str
    files: Mapping[str, Content]

    @property
    def dynamic(self) -> bool:
        return any(callable(content) for content in self.files.values())


class _ContentValidator(Validator):
    """Holds for as long as a file of a `MemorySource` has the very bytes that it has now."""

    __slots__ = ("_content", "_path", "_skill", "_skills")

    def __init__(self, skills: Mapping[str, MemorySkill], skill: str, path: str, content: Content) -> None:
        self._skills, self._skill, self._path, self._content = skills, skill, path, content

    def is_current(self) -> bool:
        skill = self._skills.get(self._skill)
        return skill is not None and skill.files.get(self._path) is self._content


class MemorySource(Source):
    """Skills that your program holds in memory."""

    def __init__(
        self, skills: Iterable[MemorySkill] = (), *, label: str = "memory", limits: Limits | None = None
    ) -> None:
        self.label = label
        self._limits = limits or Limits()
        self._skills = {skill.path: skill for skill in skills}
        self._entries: dict[str, tuple[MemorySkill, SkillRecord | list[Problem]]] = {}
        self._changed: set[anyio.Event] = set()

    def put(self, skill: MemorySkill) -> None:
        """Add a skill, or replace the one at its path. Shows with the next scan; at once, while followed."""
        self._skills[skill.path] = skill
        self._notify()

    def remove(self, path: str) -> None:
        """Take the skill at `path` away. Shows as what `put` does."""
        del self._skills[path]
        self._notify()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        entries: list[SkillRecord] = []
        problems: list[Problem] = []
        for seen, skill in enumerate(self._skills.values()):
            progress(seen)
            found = await self._known_entry(skill)
            if isinstance(found, SkillRecord):
                entries.append(found)
            else:
                problems.extend(found)
        return Scan(tuple(entries), tuple(problems))

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        while True:
            changed = anyio.Event()
            self._changed.add(changed)
            # What was put in before anybody listened shows with the first look.
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
            raise SourceError(f"{entry.origin.location}/{file.path} is gone")
        if isinstance(content, bytes):
            return content
        try:
            return await content()
        except Exception as error:
            raise SourceError(f"the function that makes {file.path} failed") from error

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        """Return what tells whether a file was replaced. What a function makes is made for each read."""
        skill = self._skills.get(path := entry.origin.location)
        content = None if skill is None else skill.files.get(file.path)
        if not isinstance(content, bytes) or not isinstance(file, SkillFile):
            return None
        return _ContentValidator(self._skills, path, file.path, content)

    async def _known_entry(self, skill: MemorySkill) -> SkillRecord | list[Problem]:
        """Return the entry of a skill: the same as before if it is the same skill, and cannot change."""
        known = self._entries.get(skill.path)
        if known is None or known[0] is not skill or skill.dynamic:
            known = skill, await self._entry(skill)
            self._entries[skill.path] = known
        return known[1]

    async def _entry(self, skill: MemorySkill) -> SkillRecord | list[Problem]:
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
    except Exception as error:  # noqa: BLE001 - somebody's code: its failure is this skill's, and no other's
        message = f"the function that makes it failed: {type(error).__name__}"
        return Problem(where, Rule.SKILL_UNREADABLE, Severity.ERROR, message, "mend the function")
    return read_document(content, where, folder=skill.path.rpartition("/")[2])


def _live_files(skill: MemorySkill) -> list[LiveFile]:
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

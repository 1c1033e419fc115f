"""Skills that the program itself wrote: each as it was registered, and in that order."""

from collections.abc import Iterator
from dataclasses import replace

from skillwire.authoring.registry import Skills
from skillwire.authoring.skill import DOCUMENT_TYPE, Skill
from skillwire.model.digest import Digest
from skillwire.model.entry import Entry, LiveFile, Origin, SkillFile
from skillwire.model.errors import SourceError
from skillwire.model.limits import Limits
from skillwire.model.path import prefixes
from skillwire.model.problem import Problem, Severity
from skillwire.model.uri import SKILL_FILE
from skillwire.sources.assemble import limit_problem
from skillwire.sources.base import Progress, Scan, Source, unwatched


class CodeSource(Source):
    """Serves a collection of skills. What stands below another skill is among its files, too (S8)."""

    def __init__(self, skills: Skills, *, label: str = "code", limits: Limits | None = None) -> None:
        """Raises `ConflictError` if two files would have one URI."""
        skills.check()
        self.label = label
        self._limits = limits or Limits()
        self._skills = {skill.path: skill for skill in skills}
        self._contents = {skill.path: dict(self._all_files(skill)) for skill in skills}
        self._scan = self._scanned()

    async def scan(self, progress: Progress = unwatched) -> Scan:
        progress(len(self._skills))
        return self._scan

    def _scanned(self) -> Scan:
        entries: list[Entry] = []
        problems: list[Problem] = []
        for skill in self._skills.values():
            files = self._contents[skill.path]
            where = f"{skill.path}/{SKILL_FILE}"
            sizes = [len(content) for _, content in files.values()]
            if problem := limit_problem(where, sizes, self._limits):
                problems.append(problem)
            else:
                entries.append(self._entry(skill, where))
        return Scan(tuple(entries), tuple(problems))

    async def read(self, entry: Entry, file: SkillFile | LiveFile) -> bytes:
        try:
            return self._contents[entry.origin.location][file.path][1]
        except KeyError as error:
            raise SourceError(f"{entry.origin.location}/{file.path} is gone") from error

    def _all_files(self, skill: Skill) -> Iterator[tuple[str, tuple[str, bytes]]]:
        """Yield MIME type and bytes of each file by its path: the skill's own, then those of inner ones."""
        yield SKILL_FILE, (DOCUMENT_TYPE, skill.content)
        for reference in skill.references:
            yield reference.path, (reference.mime_type, reference.content)
        inside = f"{skill.path}/"
        for inner in self._skills.values():
            if inner.path.startswith(inside):
                below = inner.path.removeprefix(inside)
                yield f"{below}/{SKILL_FILE}", (DOCUMENT_TYPE, inner.content)
                for reference in inner.references:
                    yield f"{below}/{reference.path}", (reference.mime_type, reference.content)

    def _entry(self, skill: Skill, where: str) -> Entry:
        files = self._contents[skill.path]
        servable = skill.document.servable and skill.document.frontmatter is not None
        return Entry(
            uri=skill.uri,
            frontmatter=(skill.document.frontmatter or {}) if servable else {},
            files=tuple(
                SkillFile(path, mime_type, Digest.of(content), len(content))
                for path, (mime_type, content) in files.items()
            ),
            directories=tuple(sorted({folder for path in files for folder in prefixes(path)})),
            origin=Origin(self.label, skill.path, where),
            problems=skill.document.problems if servable else tuple(_unlisted(skill.document.problems)),
            label=skill.name,
        )


def _unlisted(problems: tuple[Problem, ...]) -> Iterator[Problem]:
    """Yield what keeps a skill out of the list of skills; as a resource it is served all the same."""
    for problem in problems:
        message = f"{problem.message}; it is served as a resource, and in no list of skills"
        yield replace(problem, severity=Severity.WARNING, message=message)

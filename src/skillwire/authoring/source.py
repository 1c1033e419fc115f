"""`CodeSource`: skills written in code, in the order in which they were added."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from skillwire.authoring.live import LiveSkill, SkillRequest
from skillwire.authoring.resolve import make_suggester, resolve
from skillwire.authoring.rules import check_file_paths
from skillwire.authoring.skill import DOCUMENT_TYPE, Skill
from skillwire.authoring.skills import Skills
from skillwire.core.names import SKILL_FILE, parent_paths
from skillwire.core.problem import Problem, Severity
from skillwire.core.record import Digest, Limits, LiveFile, Origin, SkillFile, SkillRecord, Trust
from skillwire.core.template import SkillTemplate
from skillwire.errors import InvalidValueError, SourceError
from skillwire.sources.assemble import limit_problem
from skillwire.sources.base import NEVER_CHANGES, Progress, Scan, Source, Validator, ignore_progress


class CodeSource(Source):
    """Serves a collection of skills. The files of a nested skill also belong to the outer skill (S8)."""

    def __init__(self, skills: Skills, *, label: str = "code", limits: Limits | None = None) -> None:
        """Create the source.

        Raises `ConflictError` if skills conflict. Raises `InvalidValueError` if a skill is too large, or if
        its files and the files of a nested skill have conflicting paths.
        """
        skills.check()
        self.label = label
        self._limits = limits or Limits()
        self._registered = skills.skills
        self._skills = {each.path: each for each in skills if isinstance(each, Skill)}
        live = [each for each in skills if isinstance(each, LiveSkill)]
        self._live = {each.path: each for each in live if not each.parameters}
        self._patterns = [(each, self._template(each)) for each in live if each.parameters]
        self._warned: set[str] = set()
        """The paths of the live skills whose functions returned no text, which is logged once."""
        self._nested_skills = _nested_skills(self._skills.values())
        self._contents = {path: dict(self._all_files(skill)) for path, skill in self._skills.items()}
        self._scan = self._build_scan()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        progress(len(self._registered))
        return self._scan

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        path = entry.origin.location
        if isinstance(file, LiveFile):
            return await self._resolve_live(entry)
        try:
            return self._contents[path][file.path][1]
        except KeyError as error:
            raise SourceError(f"{path}/{file.path} no longer exists") from error

    def read_now(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes | None:
        found = self._contents.get(entry.origin.location, {}).get(file.path)
        return None if found is None or isinstance(file, LiveFile) else found[1]

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        """Return a validator that is always current, or None for a live or unknown file."""
        known = file.path in self._contents.get(entry.origin.location, ())
        return NEVER_CHANGES if known and isinstance(file, SkillFile) else None

    async def _resolve_live(self, entry: SkillRecord) -> bytes:
        """Return the text of a live skill.

        The skill is looked up by its origin, because its URI may have a prefix.
        """
        path = entry.origin.location
        if (skill := self._live.get(path)) is not None:
            values = dict[str, str]()
        else:
            filled = ((each, template.match_path(path)) for each, template in self._patterns)
            found = next(((each, params) for each, params in filled if params is not None), None)
            if found is None:
                raise SourceError(f"{path}/{SKILL_FILE} no longer exists")
            skill, values = found
        request = SkillRequest(entry.uri, values)
        return await resolve(skill, request, entry.frontmatter, self._limits, self._warned)

    def _build_scan(self) -> Scan:
        entries: list[SkillRecord] = []
        for skill in self._registered:
            where = f"{skill.path}/{SKILL_FILE}"
            if isinstance(skill, LiveSkill):
                if not skill.parameters:
                    entries.append(self._live_record(skill, where))
                continue
            check_file_paths(self._contents[skill.path])  # including the files of nested skills
            sizes = [len(content) for _, content in self._contents[skill.path].values()]
            if problem := limit_problem(where, sizes, self._limits):  # an error: a prompt may use it
                fix = "remove what its instructions do not need, and link to where it can be downloaded"
                raise InvalidValueError("the skill", skill.path, f"is too large: {problem.message}", fix)
            entries.append(self._record(skill, where))
        return Scan(tuple(entries), (), tuple(template for _, template in self._patterns))

    def _all_files(self, skill: Skill) -> Iterator[tuple[str, tuple[str, bytes]]]:
        """Yield the path, MIME type and bytes of each file: the skill's own, then nested skills' files."""
        yield SKILL_FILE, (DOCUMENT_TYPE, skill.content)
        for reference in skill.references:
            yield reference.path, (reference.mime_type, reference.content)
        for inner in self._nested_skills.get(skill.path, ()):
            below = inner.path.removeprefix(f"{skill.path}/")
            yield f"{below}/{SKILL_FILE}", (DOCUMENT_TYPE, inner.content)
            for reference in inner.references:
                yield f"{below}/{reference.path}", (reference.mime_type, reference.content)

    def _record(self, skill: Skill, where: str) -> SkillRecord:
        files = self._contents[skill.path]
        is_servable = skill.document.is_servable and skill.document.frontmatter is not None
        found = skill.document.problems if is_servable else tuple(_unlisted_warnings(skill.document.problems))
        return SkillRecord(
            uri=skill.uri,
            frontmatter=(skill.document.frontmatter or {}) if is_servable else {},
            files=tuple(
                SkillFile(path, mime_type, Digest.of(content), len(content))
                for path, (mime_type, content) in files.items()
            ),
            directories=tuple(sorted({folder for path in files for folder in parent_paths(path)})),
            origin=Origin(self.label, skill.path, where),
            problems=(*found, *skill.warnings),
            label=skill.name,
            shown_as=skill.shown_as,
            trust=Trust.OWN,
        )

    def _live_record(self, skill: LiveSkill, where: str) -> SkillRecord:
        return SkillRecord(
            uri=skill.uri,
            frontmatter=skill.fields(skill.name, skill.description),
            files=(LiveFile(SKILL_FILE, DOCUMENT_TYPE),),
            directories=(),
            origin=Origin(self.label, skill.path, where),
            problems=skill.document.problems,
            trust=Trust.OWN,
        )

    def _template(self, skill: LiveSkill) -> SkillTemplate:
        return SkillTemplate(
            path=skill.path,
            description=skill.description,
            label=self.label,
            location=skill.path,
            fields=skill.frontmatter,
            values={name: tuple(known) for name, known in skill.values.items() if not callable(known)},
            suggest={name: make_suggester(known) for name, known in skill.values.items() if callable(known)},
        )


def _nested_skills(skills: Iterable[Skill]) -> Mapping[str, Sequence[Skill]]:
    """Return the skills below each path."""
    found: defaultdict[str, list[Skill]] = defaultdict(list)
    for skill in skills:
        for above in parent_paths(skill.path):
            found[above].append(skill)
    return found


def _unlisted_warnings(problems: tuple[Problem, ...]) -> Iterator[Problem]:
    """Yield each problem of a skill that cannot be listed, as a warning.

    Such a skill is served only as a resource.
    """
    for problem in problems:
        message = f"{problem.message}; it is served as a resource, but in no list of skills"
        yield replace(problem, severity=Severity.WARNING, message=message)

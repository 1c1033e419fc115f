"""Find skills and files by a reference: a name, a path, or the end of a path.

Examples are `/workspace/review/files/skill.md` in the text of a skill, `review` typed by a person, and
`docs/acme/guide/references/api.md` repeated by a model. This module compares a reference with the names and
paths of skills. `Names` and the host's registry add URIs, labels and rules for shared names.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from urllib.parse import unquote

from skillwire.core.names import SKILL_FILE

MAX_REFERENCE = 4096
"""Maximum number of characters of a reference that is looked up."""
_MAX_SEGMENTS = 64

Skill = TypeVar("Skill")


class SkillPaths(Protocol[Skill]):
    """Skills that can be looked up by their path or by their name. Paths are decoded."""

    @property
    def patterns(self) -> Sequence[str]:
        """The paths of skill templates, with parameters, such as `docs/{product}/guide`."""
        ...

    def at(self, path: str) -> Sequence[Skill]:
        """Return the skills with this path."""
        ...

    def named(self, name: str) -> Sequence[Skill]:
        """Return all skills with this name, which is the last segment of their paths."""
        ...

    def called(self, name: str) -> Sequence[Skill]:
        """Return the skill with this handle, or all skills with this bare name if it is ambiguous."""
        ...

    def path_of(self, skill: Skill) -> str: ...

    def has_file(self, skill: Skill, path: str) -> bool:
        """Return whether the skill has a file or folder at this path."""
        ...

    def files_of(self, skill: Skill) -> Iterable[str]:
        """Return the paths of all files and folders of a skill."""
        ...

    def has_instance(self, path: str) -> bool:
        """Return whether a pattern describes a skill at this path."""
        ...


@dataclass(frozen=True, slots=True)
class Match(Generic[Skill]):
    """What a reference means: a skill or an instance of a pattern, and perhaps a file in it."""

    skill: Skill | None
    """None for an instance of a pattern."""
    path: str
    """The path of the skill."""
    file: str = ""
    """The path of the file or folder in the skill. Empty for the skill itself."""


@dataclass(frozen=True, slots=True)
class SplitReference:
    """A reference as path segments."""

    segments: tuple[str, ...]
    document: str = ""
    """The last segment as written, if it is `SKILL.md` in any case. If so, `segments` omits it."""

    @property
    def is_document(self) -> bool:
        return bool(self.document)

    @property
    def path(self) -> str:
        return "/".join(self.segments)

    @classmethod
    def parse(cls, text: str) -> "SplitReference | None":
        """Split a reference. Return None if it is empty, too long, unprintable or has the segment `..`."""
        if len(text) > MAX_REFERENCE or not text.isprintable():
            return None
        segments = [segment for segment in text.replace("\\", "/").split("/") if segment not in {"", "."}]
        document = segments.pop() if segments and is_document_name(segments[-1]) else ""
        if ".." in segments or len(segments) > _MAX_SEGMENTS or not (segments or document):
            return None
        return cls(tuple(segments), document)


def is_document_name(name: str) -> bool:
    """Return whether the name of a file is `SKILL.md`, in any case."""
    return name.lower() == SKILL_FILE.lower()


def document_names(written: str = SKILL_FILE) -> list[str]:
    """Return the names that the file may have if a reference calls it `SKILL.md`, in any case.

    A skill may list the file of a folder inside it as `skill.md`.
    """
    return list(dict.fromkeys((written, SKILL_FILE, SKILL_FILE.lower())))


def spellings(text: str) -> list[SplitReference]:
    """Return the reference as written and, if that differs, percent-decoded. Leave out invalid forms."""
    texts = dict.fromkeys((text, unquote(text)))
    return [split for each in texts if (split := SplitReference.parse(each)) is not None]


def find_matches(skills: SkillPaths[Skill], text: str) -> list[Match[Skill]]:
    """Return what a reference may mean; several matches if it is ambiguous, none if nothing fits.

    The reference is compared in this order, and the first match decides: with the handles and names of
    skills, with the whole paths of skills and of instances of patterns, with the paths of files inside
    skills, and with the ends of all these paths.
    """
    for split in spellings(text):
        if found := _find(skills, split):
            return found
    return []


def find_at(skills: SkillPaths[Skill], path: str) -> list[Match[Skill]]:
    """Return the skills, the instance of a pattern or the files that have exactly this path."""
    for split in spellings(path):
        if split.segments and (found := _find_whole(skills, split) or _find_files(skills, split)):
            return found
    return []


def find_below(skills: SkillPaths[Skill], text: str, base: Skill) -> list[Match[Skill]]:
    """Return what a reference in the text of `base` means: its files, or skills below it and their files."""
    for split in spellings(text):
        if found := _find_below(skills, split, base):
            return found
    return []


def find_similar(skills: SkillPaths[Skill], text: str, base: Skill | None = None) -> list[Match[Skill]]:
    """Return what a reference may mean if case, surrounding space, and `_` or `-` do not matter.

    Call this only if nothing has exactly this name or path. A file must be the only one that is similar.
    """
    similar = _Similar(skills)
    if (split := SplitReference.parse(fold(text))) is None:
        return []
    found = [] if base is None else _find_below(similar, split, base)
    return [similar.as_written(match) for match in found or _find(similar, split)]


def fold(text: str) -> str:
    """Return the form in which similar names are equal."""
    return text.strip().casefold().replace("_", "-")


class _Similar(SkillPaths[Skill]):
    """The same skills, with folded paths and names. References to them must be folded, too."""

    def __init__(self, skills: SkillPaths[Skill]) -> None:
        self._skills = skills

    @property
    def patterns(self) -> Sequence[str]:
        return ()  # the values of parameters are not folded

    def at(self, path: str) -> Sequence[Skill]:
        name = path.rpartition("/")[2]
        return [each for each in self._skills.named(name) if self.path_of(each) == path]

    def named(self, name: str) -> Sequence[Skill]:
        return self._skills.named(name)

    def called(self, name: str) -> Sequence[Skill]:
        return self._skills.called(name)

    def path_of(self, skill: Skill) -> str:
        return fold(self._skills.path_of(skill))

    def files_of(self, skill: Skill) -> Iterable[str]:
        return self._skills.files_of(skill)

    def has_file(self, skill: Skill, path: str) -> bool:
        return len(self._files_like(skill, path)) == 1

    def has_instance(self, path: str) -> bool:  # noqa: ARG002 - the values of parameters are not folded
        return False

    def as_written(self, match: Match[Skill]) -> Match[Skill]:
        """Return a match with the path and the file as they are."""
        assert match.skill is not None, "no instance of a pattern is similar"
        files = self._files_like(match.skill, match.file) if match.file else [""]
        return Match(
            match.skill, self._skills.path_of(match.skill), "" if files[0] == SKILL_FILE else files[0]
        )

    def _files_like(self, skill: Skill, path: str) -> list[str]:
        folded = fold(path)
        return [each for each in self._skills.files_of(skill) if fold(each) == folded]


def _find_below(skills: SkillPaths[Skill], split: SplitReference, base: Skill) -> list[Match[Skill]]:
    root = skills.path_of(base)
    documents = document_names(split.document or SKILL_FILE)
    files = ["/".join([*split.segments, name]) for name in documents]
    if not split.is_document:
        files.insert(0, split.path)
    for file in files:
        if skills.has_file(base, file):
            return [Match(base, root, "" if file == SKILL_FILE else file)]
    if not split.segments:
        return []
    inner = SplitReference((*root.split("/"), *split.segments), split.document)
    return _find_whole(skills, inner) or _find_files(skills, inner)


def _find(skills: SkillPaths[Skill], split: SplitReference) -> list[Match[Skill]]:
    if not split.segments:
        return []
    if called := skills.called(split.path):
        return [Match(skill, skills.path_of(skill)) for skill in called]
    if found := _find_whole(skills, split):
        return found
    return (
        _find_files(skills, split)
        or _find_ends(skills, split)
        or list(_instances_by_end(skills, split.segments))
        or _find_files_by_end(skills, split)
    )


def _find_whole(skills: SkillPaths[Skill], split: SplitReference) -> list[Match[Skill]]:
    """Find the skills whose whole path is the reference, else the instance of a pattern with this path."""
    if found := skills.at(split.path):
        return [Match(skill, split.path) for skill in found]
    return [Match(None, split.path)] if skills.has_instance(split.path) else []


def _prefixes(split: SplitReference) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each division of a reference into a skill's path and a file's path, longest skill path first."""
    segments = split.segments
    if split.is_document:
        for end in range(len(segments), 0, -1):
            for name in document_names(split.document):
                yield segments[:end], "/".join([*segments[end:], name])
        return
    for end in range(len(segments) - 1, 0, -1):
        yield segments[:end], "/".join(segments[end:])


def _find_files(skills: SkillPaths[Skill], split: SplitReference) -> list[Match[Skill]]:
    """Find a file by the handle, the bare name or the whole path of its skill."""
    for prefix, file in _prefixes(split):
        path = "/".join(prefix)
        called = skills.called(path)
        candidates = called if len(called) == 1 else skills.at(path) or called
        if found := [
            Match(skill, skills.path_of(skill), file) for skill in candidates if skills.has_file(skill, file)
        ]:
            return found
    return []


def _find_ends(skills: SkillPaths[Skill], split: SplitReference) -> list[Match[Skill]]:
    """Find skills whose path ends with the reference."""
    return [Match(skill, skills.path_of(skill)) for skill in _ending(skills, split.segments)]


def _find_files_by_end(skills: SkillPaths[Skill], split: SplitReference) -> list[Match[Skill]]:
    for prefix, file in _prefixes(split):
        if found := [
            Match(skill, skills.path_of(skill), file)
            for skill in _ending(skills, prefix)
            if skills.has_file(skill, file)
        ]:
            return found
    return []


def _ending(skills: SkillPaths[Skill], segments: tuple[str, ...]) -> Iterable[Skill]:
    end = "/" + "/".join(segments)
    return (skill for skill in skills.named(segments[-1]) if skills.path_of(skill).endswith(end))


def _instances_by_end(skills: SkillPaths[Skill], segments: tuple[str, ...]) -> Iterator[Match[Skill]]:
    """Yield the instances of patterns whose path ends with `segments`."""
    for path in paths_by_end(skills.patterns, segments):
        if skills.has_instance(path):
            yield Match(None, path)


def paths_by_end(patterns: Iterable[str], segments: tuple[str, ...]) -> Iterator[str]:
    """Yield each path that ends with `segments` and may be that of an instance of a pattern.

    The pattern must have further segments before them. In the pattern, all of those further segments and at
    least one of `segments` must be literal.
    """
    seen: set[str] = set()
    for pattern in patterns:
        parts = pattern.split("/")
        at = max(len(parts) - len(segments), 0)
        before, compared = parts[:at], parts[at:]
        path = "/".join([*before, *segments])
        if not before or path in seen or any("{" in part for part in before):
            continue
        if all("{" in part for part in compared):
            continue
        seen.add(path)
        yield path

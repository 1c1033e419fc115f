"""Publish the skills of a library in a registry."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Digest, SkillFile
from skillwire.errors import InvalidValueError, SkillwireError, SourceError
from skillwire.library.library import Library
from skillwire.registry.manifest import path_of
from skillwire.registry.publication import Published, Publisher, Refusal
from skillwire.registry.release import Release
from skillwire.registry.store import Store

_INCOMPLETE = {Rule.SOURCE_STALE, Rule.SOURCE_PARTIAL}
MAX_SKILLS = 100_000
"""Maximum number of skills in one push."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The releases of a library, and the skills that cannot be published."""

    releases: tuple[Release, ...]
    refused: tuple[Refusal, ...]


def prepare(library: Library, version: str | None = None) -> Prepared:
    """Return a release of each skill in a loaded library, in `version` or in the version that it declares.

    Skills that are not served, and skills that cannot be published, are refused. Raises `SourceError` if a
    source could not be read, or if there are too many skills.
    """
    catalog = library.catalog
    for problem in catalog.problems:
        if problem.rule is Rule.SOURCE_FAILED or problem.rule is Rule.SOURCE_WAITING:
            raise SourceError(f"nothing was pushed: {problem.message}", problem.hint)
    if len(catalog.entries) > MAX_SKILLS:
        message = f"nothing was pushed: {len(catalog.entries):,} skills are more than {MAX_SKILLS:,}"
        raise SourceError(message, "push one folder after the other, or use `--only`")
    releases: list[Release] = []
    refused = [_broken(problem) for problem in catalog.problems if _matters(problem)]
    for entry in catalog.entries.values():
        try:
            if entry.withheld is not None:
                refused.append(Refusal(path_of(entry), entry.withheld.reason))
            else:
                releases.append(Release.of(entry, version))
        except InvalidValueError as error:
            refused.append(Refusal(path_of(entry), str(error)))
    refused.extend(
        Refusal(template.path, "it is a template, whose skills are generated on every read")
        for template in catalog.templates
    )
    return Prepared(tuple(releases), tuple(refused))


async def publish(
    library: Library, releases: Sequence[Release], store: Store, *, channel: str, publisher: Publisher
) -> Published:
    """Publish releases of a library. Files that the registry lacks are read from the library, and checked.

    Raises `SourceError` if a file changed or cannot be read, and `RegistryError`. Then nothing is published.
    """
    entries = {path_of(entry): entry for entry in library.catalog.entries.values()}

    async def read(release: Release, digest: Digest) -> bytes:
        entry = entries[release.path]
        found = (file for file in release.manifest.files if file.digest == digest)
        file: SkillFile = next(found)
        try:
            content = await library.read_listed(entry, file)
        except SkillwireError as error:
            raise SourceError(f"nothing was pushed: {error}", "push again") from error
        return content

    return await store.publish(releases, channel=channel, publisher=publisher, read=read)


def _matters(problem: Problem) -> bool:
    """Return whether this problem keeps a skill or a part of a source from being published."""
    return problem.severity is Severity.ERROR or problem.rule in _INCOMPLETE


def _broken(problem: Problem) -> Refusal:
    """Return why a skill that is not served is not published."""
    path = PurePosixPath(problem.path)
    shown = path.parent.as_posix() if path.name.upper() == SKILL_FILE.upper() else problem.path
    line = "" if problem.line is None else f"line {problem.line}: "
    field = f"{problem.field}: " if problem.field else ""
    return Refusal(shown, f"{line}{field}{problem.message}")

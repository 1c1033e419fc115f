"""Read the eval cases of skills from their folders `evals`, and from files that the user names.

A file or case that cannot be used is reported. All others are used.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import basename, dirname, join

import orjson

from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.core.names import EVALS_FOLDER
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord
from skillwire.errors import SourceError, UsageError
from skillwire.evals.cases import CaseFault, TaskCase, TriggerCase, parse_cases
from skillwire.library.catalog import Catalog
from skillwire.safe_text import quoted
from skillwire.sources.folder.files import OPEN_FLAGS, read_file

MAX_BYTES = 1024 * 1024
"""Maximum size of one file with cases."""
MAX_FILES = 50
"""Maximum number of files with cases in one folder."""
MAX_CASES = 2_000
"""Maximum number of cases in one file."""
_MAX_VALUES = 100_000
_MAX_PREFIX = 40
_FILE_FLAGS = OPEN_FLAGS | getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS = _FILE_FLAGS | getattr(os, "O_DIRECTORY", 0)
_MOVE = "move other files to `evals/files`"
Case = TriggerCase | TaskCase


@dataclass(frozen=True, slots=True)
class SkillCases:
    """The cases of one skill. Their ids differ, and so do the queries of its trigger cases."""

    skill: SkillRecord
    triggers: tuple[TriggerCase, ...]
    tasks: tuple[TaskCase, ...]

    @property
    def questions(self) -> tuple[TriggerCase, ...]:
        """All questions whether the skill is used: those of the trigger cases, then those of the tasks."""
        return (*self.triggers, *(each.trigger for each in self.tasks))


@dataclass(frozen=True, slots=True)
class CaseSet:
    """All cases, by skill in the order of the library, and the problems with their files."""

    skills: tuple[SkillCases, ...] = ()
    problems: tuple[Problem, ...] = ()
    """The problems in the folders of skills, with paths as in the problems of the catalog."""
    named_problems: tuple[Problem, ...] = ()
    """The problems in files that the user names, with paths as the user wrote them."""

    @property
    def count(self) -> int:
        return sum(len(each.questions) for each in self.skills)


def read_case_set(
    catalog: Catalog, skills: Iterable[SkillRecord], files: Sequence[Path], find: Callable[[str], SkillRecord]
) -> CaseSet:
    """Read the cases of these skills from their folders, and from `files`.

    `find` returns the skill that has a name, or raises `UsageError`. Cases in `files` for other skills than
    `skills` are left out. Raises `UsageError` if a file in `files` cannot be read.
    """
    chosen = {skill.uri: skill for skill in skills}
    problems: list[Problem] = []
    named: list[Problem] = []
    found: dict[str, list[tuple[str | Path, Case]]] = {
        uri: list(_FolderReader(catalog, skill, problems).read()) for uri, skill in chosen.items()
    }
    only = next(iter(chosen.values())) if len(chosen) == 1 else None
    for file in files:
        for skill, case in _NamedFile(file, named).read(only, find):
            if skill.uri in found:
                found[skill.uri].append((file, case))
    sets: list[SkillCases] = []
    for uri, cases in found.items():
        distinct, again = _distinct(chosen[uri], cases)
        sets += [distinct] if cases else []
        named += [each for file, each in again if isinstance(file, Path)]
        label = chosen[uri].origin.source
        problems += [catalog.shown(each, label) for file, each in again if not isinstance(file, Path)]
    return CaseSet(tuple(sets), tuple(problems), tuple(named))


class _FolderReader:
    """Reads the folder `evals` of one skill, without following links."""

    def __init__(self, catalog: Catalog, skill: SkillRecord, problems: list[Problem]) -> None:
        self._catalog, self._skill, self._problems = catalog, skill, problems

    def read(self) -> Iterator[tuple[str, Case]]:
        """Yield the cases with the path of their file."""
        origin = self._skill.origin
        if origin.foreign or self._skill.dynamic or not origin.location.startswith("/"):
            return  # the skill is not in a folder on this machine
        folder = join(dirname(origin.path), EVALS_FOLDER)
        try:
            descriptor = os.open(join(origin.location, EVALS_FOLDER), _FOLDER_FLAGS)
        except FileNotFoundError:
            return
        except OSError as error:  # also for a link, and for a file
            if isinstance(error, NotADirectoryError) and not os.path.islink(  # noqa: PTH114
                join(origin.location, EVALS_FOLDER)
            ):
                return
            self._fail(
                folder, Rule.EVAL_UNREADABLE, f"it cannot be read: {_reason(error)}", "make it a folder"
            )
            return
        try:
            yield from self._read_files(folder, descriptor)
        finally:
            os.close(descriptor)

    def _read_files(self, folder: str, descriptor: int) -> Iterator[tuple[str, Case]]:
        with os.scandir(descriptor) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".json"))
        if len(names) > MAX_FILES:
            message = f"only the first {MAX_FILES} of {len(names):,} files are read"
            self._fail(folder, Rule.EVAL_UNREADABLE, message, _MOVE)
        for name in names[:MAX_FILES]:
            path = join(folder, name)
            try:
                content = _read(name, descriptor)
            except (OSError, SourceError) as error:
                hint = "make it a file that you may read"
                self._fail(path, Rule.EVAL_UNREADABLE, f"it cannot be read: {_reason(error)}", hint)
                continue
            for case in _parse(content, path, self._add):
                if case.skill and case.skill not in {self._skill.name, self._skill.path}:
                    message = f"the file names the skill {quoted(case.skill)}, but is in another skill"
                    hint = f"write {quoted(self._skill.name)}, or move the file"
                    self._fail(path, Rule.EVAL_SKILL, message, hint)
                    break
                yield path, case

    def _fail(self, path: str, rule: Rule, message: str, hint: str) -> None:
        self._add(Problem(path, rule, Severity.ERROR, message, hint))

    def _add(self, problem: Problem) -> None:
        self._problems.append(self._catalog.shown(problem, self._skill.origin.source))


def _read(name: str, folder: int) -> bytes:
    """Read a file in an open folder, never through a link. Raises `OSError` or `SourceError`."""
    descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SourceError("not a regular file")
        return opened.read(MAX_BYTES + 1)


class _NamedFile:
    """A file with cases that the user names."""

    def __init__(self, file: Path, problems: list[Problem]) -> None:
        self._file, self._problems = file, problems

    def read(
        self, only: SkillRecord | None, find: Callable[[str], SkillRecord]
    ) -> Iterator[tuple[SkillRecord, Case]]:
        """Yield the cases with their skills. A case that names no skill is for the skill `only`."""
        try:
            content, _ = read_file(str(self._file), MAX_BYTES)
        except SourceError as error:
            raise UsageError(f"{quoted(str(self._file))} {error}", hint="name a file with cases") from error
        known = dict[str, SkillRecord | None]()
        for case in _parse(content, str(self._file), self._problems.append):
            if not case.skill and only is None:
                message = f"the case {quoted(case.id)} names no skill"
                self._fail(message, 'add `"skill": "NAME"`, or choose one with `--skill`')
            elif not case.skill and only is not None:
                yield only, case
            else:
                if case.skill not in known:
                    known[case.skill] = self._find(case.skill, find)
                if (skill := known[case.skill]) is not None:
                    yield skill, case

    def _find(self, name: str, find: Callable[[str], SkillRecord]) -> SkillRecord | None:
        try:
            return find(name)
        except UsageError as error:
            self._fail(str(error), error.hint or "correct the name")
            return None

    def _fail(self, message: str, hint: str) -> None:
        self._problems.append(Problem(str(self._file), Rule.EVAL_SKILL, Severity.ERROR, message, hint))


def _parse(content: bytes, path: str, report: Callable[[Problem], None]) -> Iterator[Case]:
    """Yield the good cases in a file, and report all others."""

    def unreadable(message: str, hint: str) -> None:
        report(Problem(path, Rule.EVAL_UNREADABLE, Severity.ERROR, message, hint))

    if len(content) > MAX_BYTES:
        unreadable(f"it has more than {MAX_BYTES:,} bytes", "split it into several files")
        return
    try:
        value = load_bounded_json(content.removeprefix(b"\xef\xbb\xbf"), max_values=_MAX_VALUES)
    except JsonTooLargeError as error:
        unreadable(str(error), "split it into several files")
        return
    except orjson.JSONDecodeError as error:
        unreadable(f"it is not JSON: {error}", f"correct it, or {_MOVE}")
        return
    prefix = basename(path).removesuffix(".json")[:_MAX_PREFIX]
    for each in parse_cases(value, prefix, max_cases=MAX_CASES):
        if isinstance(each, CaseFault):
            report(Problem(path, Rule.EVAL_FORMAT, Severity.ERROR, each.message, each.hint, each.field))
        else:
            yield each


def _distinct(
    skill: SkillRecord, cases: Sequence[tuple[str | Path, Case]]
) -> tuple[SkillCases, list[tuple[str | Path, Problem]]]:
    """Return the cases whose id and query no earlier case has, and the problems with the others by file."""
    ids, queries = set[str](), dict[str, bool]()
    triggers: list[TriggerCase] = []
    tasks: list[TaskCase] = []
    again: list[tuple[str | Path, Problem]] = []
    for file, case in cases:
        fault = ""
        if case.id in ids:
            fault = f"an earlier case has the id {quoted(case.id)}, too"
        elif isinstance(case, TriggerCase) and (expected := queries.get(case.query)) is not None:
            opposite = "" if expected == case.should_trigger else ", with the opposite `should_trigger`"
            fault = f"an earlier case has the query of {quoted(case.id)}, too{opposite}"
        if fault:
            hint = "remove one of the two, or change it"
            again.append((file, Problem(str(file), Rule.EVAL_DUPLICATE, Severity.ERROR, fault, hint)))
            continue
        ids.add(case.id)
        if isinstance(case, TaskCase):
            tasks.append(case)
        else:
            queries[case.query] = case.should_trigger
            triggers.append(case)
    return SkillCases(skill, tuple(triggers), tuple(tasks)), again


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    return str(error)

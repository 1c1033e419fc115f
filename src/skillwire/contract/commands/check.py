"""`skillwire check`: report every problem of every skill, and fix some of them."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import anyio
from cyclopts import Parameter
from rich.text import Text

from skillwire.config.library import load_library
from skillwire.contract.changes import changed_since, problems_of_skills
from skillwire.contract.commands.options import BlockKey
from skillwire.contract.fixes import FIXES, fixed
from skillwire.contract.folders import all_problems, look
from skillwire.contract.options import BLOCK_KEY
from skillwire.contract.report import FORMATS, print_contract_text
from skillwire.core.atomic_write import remove_abandoned, replace_file
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import UsageError
from skillwire.library.library import Library
from skillwire.safe_text import quoted, visible
from skillwire.terminal.messages import NO_SKILLS, counted
from skillwire.terminal.options import FollowLinks
from skillwire.terminal.output import agreed, is_interactive, print_error, talk


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found."""

    library: Library
    problems: Sequence[Problem]
    good: int
    """How many skills can be served, or keep the contract."""
    folders: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Where skills are that can be written to, by the paths that problems call them."""


@dataclass(frozen=True, slots=True)
class Question:
    """What to check. It is asked again after a fix."""

    paths: Sequence[str]
    key: str
    contract: bool
    follow_links: bool = False
    since: str | None = None
    with_folders: bool = False

    def answer(self) -> Found:
        """Look at the skills as they are now. Raises `UsageError`."""
        library = load_library(self.paths, follow_links=self.follow_links)
        if not self.contract and not self.with_folders and self.since is None:
            return Found(library, _sorted(library.catalog.problems), len(library.catalog.entries))
        return anyio.run(self._with_skills, library)

    async def _with_skills(self, library: Library) -> Found:
        skills = look(library, self.key)
        repository = skills.contracted.repository
        wanted = repository.skills
        if self.since is not None:
            wanted = tuple((await changed_since(self.since, library, skills)).affected(skills))
        if self.contract:
            problems = [*skills.contracted.others, *await all_problems(library, skills, wanted)]
            good = sum(1 for _ in repository.sound)
        else:
            problems, good = list(library.catalog.problems), len(library.catalog.entries)
        if self.since is not None:
            problems = problems_of_skills(problems, skills, wanted)
        own = {path: folder for path, folder in skills.folders.items() if path in skills.own}
        return Found(library, _sorted(problems), good, own)


def _sorted(problems: Sequence[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: (problem.path, problem.line or 0))


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Repair:
    """A file as it is, and as it should be."""

    path: str
    file: Path
    before: bytes
    after: bytes


def find_repairs(problems: Iterable[Problem], folders: Mapping[str, Path], key: str) -> list[Repair]:
    """Return what can be mended without asking, as it would be written. Changes nothing."""
    rules: defaultdict[str, list[Rule]] = defaultdict(list)
    for problem in problems:
        if problem.rule in FIXES and problem.path in folders:
            rules[problem.path].append(problem.rule)
    repairs: list[Repair] = []
    for path, broken in rules.items():
        file = folders[path] / Path(path).name
        before = file.read_bytes()
        after = fixed(before, broken, key, file.resolve().parent.name)
        if after != before:
            repairs.append(Repair(path, file, before, after))
    return repairs


def may_write(repairs: list[Repair], *, yes: bool) -> bool:
    """Show a diff; whether to write it: with `--yes`, or if the person at the terminal says so."""
    console = talk()
    for repair in repairs:
        for line in _diff(repair):
            console.print(Text(visible(line, keep="\t"), _COLOURS.get(line[0], "")))
    if yes:
        return True
    mended = counted(len(repairs), "file")
    if not is_interactive():
        print_error(f"{mended} could be mended, and nothing was written", hint="`--fix --yes` writes it")
        return False
    return agreed(f"write this to {mended}?")


def write(repairs: Iterable[Repair]) -> None:
    """Write every file, unless somebody else has changed it meanwhile."""
    for repair in repairs:
        try:
            if repair.file.read_bytes() != repair.before:
                raise UsageError(f"{quoted(repair.path)} was changed meanwhile", hint="run it again")
            target = repair.file.resolve()
            remove_abandoned(target.parent, {target.name})
            replace_file(target, repair.after)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UsageError(f"{quoted(repair.path)} cannot be written: {reason}") from error


def _diff(repair: Repair) -> Iterable[str]:
    before, after = (text.decode(errors="replace").splitlines() for text in (repair.before, repair.after))
    lines = difflib.unified_diff(before, after, f"a/{repair.path}", f"b/{repair.path}", lineterm="")
    return (line for line in lines if line)


def check(
    paths: Annotated[
        list[str] | None,
        Parameter(
            name="PATH",
            help="Skills, or sources of skills; without one, `SKILLS_DIR` and the configuration.",
        ),
    ] = None,
    /,
    *,
    format: Annotated[  # noqa: A002 - the name of the option
        Literal["text", "json", "sarif", "github"],
        Parameter(help="How to print what was found.", show_default=True),
    ] = "text",
    json: Annotated[bool, Parameter(help="Short for `--format json`.")] = False,
    strict: Annotated[bool, Parameter(help="Warnings count too, and finding no skill at all.")] = False,
    contract: Annotated[bool, Parameter(help="Also check the repository contract.")] = False,
    block_key: BlockKey = BLOCK_KEY,
    fix: Annotated[bool, Parameter(help="Mend what has one right answer, after showing it.")] = False,
    yes: Annotated[bool, Parameter(help="With `--fix`: write without asking.")] = False,
    changed_since: Annotated[
        str | None, Parameter(help="Report only skills that changed since this commit, and what needs them.")
    ] = None,
    follow_links: FollowLinks = False,
) -> int:
    """Report every problem of every skill: where, what, and what to do.

    An *error* keeps a skill from being served; a *warning* does not. Exit code 0: every skill can be
    served. Exit code 1: one cannot (with `--strict`: or there is a warning, or no skill at all).

    For example:

    ```
    skillwire check ./skills
    skillwire check ./skills --contract --strict
    skillwire check ./skills --contract --fix
    skillwire check ./skills --json | jq '.[].path'
    ```
    """
    if yes and not fix:
        raise UsageError("`--yes` needs `--fix`", hint="add `--fix`, or leave `--yes` out")
    question = Question(paths or [], block_key, contract, follow_links, changed_since, with_folders=fix)
    found = question.answer()
    if fix and (repairs := find_repairs(found.problems, found.folders, block_key)):
        if not may_write(repairs, yes=yes):
            return 1
        write(repairs)
        talk().print(f"{counted(len(repairs), 'file')} written")
        found = question.answer()
    kind = "json" if json else format
    (print_contract_text if contract and kind == "text" else FORMATS[kind])(found.problems, found.library)
    errors = sum(problem.severity is Severity.ERROR for problem in found.problems)
    warnings = len(found.problems) - errors
    good = f"{counted(found.good, 'skill')} {_KEEPS[found.good == 1] if contract else 'can be served'}"
    if hidden := len(found.library.catalog.nonconforming):
        good += f", {hidden} of them not listed to clients"
    talk().print(f"{good}; {counted(errors, 'error')}, {counted(warnings, 'warning')}")
    if not found.good and not found.problems:
        talk().print(NO_SKILLS)
    return 1 if errors or (strict and (warnings or not found.good)) else 0


_KEEPS = {True: "keeps the contract", False: "keep the contract"}

"""`skillwire check --contract`: check the contract as well, and fix some of the problems."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import Parameter
from rich.text import Text

from skillwire.area import CheckFlags
from skillwire.config.report import CheckRequest, CheckResult, by_place
from skillwire.contract.changes import changed_since, problems_of_skills
from skillwire.contract.commands.options import BlockKey
from skillwire.contract.fixes import FIXES, apply_fixes
from skillwire.contract.folders import all_problems, check_folders
from skillwire.contract.report import print_contract_text
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.core.atomic_write import remove_abandoned, replace_file
from skillwire.core.problem import Problem, Rule
from skillwire.errors import UsageError
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.output import confirm, is_interactive, print_error, stderr_console

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Repair:
    """A file as it is, and as it should be."""

    path: str
    file: Path
    before: bytes
    after: bytes


def find_repairs(problems: Iterable[Problem], folders: Mapping[str, Path], key: str) -> list[Repair]:
    """Return the files that can be fixed automatically, with their fixed content. Changes nothing."""
    rules: defaultdict[str, list[Rule]] = defaultdict(list)
    for problem in problems:
        if problem.rule in FIXES and problem.path in folders:
            rules[problem.path].append(problem.rule)
    repairs: list[Repair] = []
    for path, broken in rules.items():
        file = folders[path] / Path(path).name
        before = file.read_bytes()
        after = apply_fixes(before, broken, key, file.resolve().parent.name)
        if after != before:
            repairs.append(Repair(path, file, before, after))
    return repairs


def may_write(repairs: list[Repair], *, yes: bool) -> bool:
    """Print a diff and return whether to write it: always with `yes`, else if the person confirms."""
    console = stderr_console()
    for repair in repairs:
        for line in _diff(repair):
            console.print(Text(escape_invisible(line, keep="\t"), _COLOURS.get(line[0], "")))
    if yes:
        return True
    files = pluralize(len(repairs), "file")
    if not is_interactive():
        print_error(
            f"{files} can be fixed; nothing was written, because stdin or stderr is not a terminal",
            hint="`--fix --yes` writes without asking",
        )
        return False
    return confirm(f"write this to {files}?")


def write(repairs: Iterable[Repair]) -> None:
    """Write every file. Raises `UsageError` if one has changed since it was read."""
    for repair in repairs:
        try:
            if repair.file.read_bytes() != repair.before:
                raise UsageError(
                    f"{quoted(repair.path)} has changed in the meantime", hint="run the command again"
                )
            target = repair.file.resolve()
            remove_abandoned(target.parent, {target.name})
            replace_file(target, repair.after)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UsageError(f"cannot write {quoted(repair.path)}: {reason}") from error


def _diff(repair: Repair) -> Iterable[str]:
    before, after = (text.decode(errors="replace").splitlines() for text in (repair.before, repair.after))
    lines = difflib.unified_diff(before, after, f"a/{repair.path}", f"b/{repair.path}", lineterm="")
    return (line for line in lines if line)


@dataclass(frozen=True, slots=True)
class ContractCheckFlags(CheckFlags):
    """Options of `check` for the repository contract and for fixes."""

    contract: Annotated[bool, Parameter(help="Also check the repository contract.")] = False
    block_key: BlockKey = BLOCK_KEY
    fix: Annotated[
        bool, Parameter(help="Fix problems that have exactly one fix. Shows a diff and asks first.")
    ] = False
    yes: Annotated[bool, Parameter(help="With `--fix`, write without asking.")] = False
    changed_since: Annotated[
        str | None,
        Parameter(
            metavar="COMMIT",
            help="Report only skills that changed since this commit, and skills that depend on them.",
        ),
    ] = None

    def check(self, request: CheckRequest, result: CheckResult) -> CheckResult | None:
        if self.yes and not self.fix:
            raise UsageError("`--yes` requires `--fix`", hint="add `--fix`, or remove `--yes`")
        if not self.contract and not self.fix and self.changed_since is None:
            return result
        found, folders = anyio.run(self._find, result.library)
        if self.fix and (repairs := find_repairs(found.problems, folders, self.block_key)):
            if not may_write(repairs, yes=self.yes):
                return None
            write(repairs)
            stderr_console().print(f"{pluralize(len(repairs), 'file')} written")
            found, _ = anyio.run(self._find, request.load())
        return found

    async def _find(self, library: Library) -> tuple[CheckResult, Mapping[str, Path]]:
        """Return the problems, and the folders that may be written to, by the paths in problems."""
        result = CheckResult.of(library)
        skills = check_folders(library, self.block_key)
        selected = skills.checked.repository.skills
        if self.changed_since is not None:
            selected = tuple((await changed_since(self.changed_since, library, skills)).affected(skills))
        if self.contract:
            problems = [*skills.checked.others, *await all_problems(library, skills, selected)]
            result = CheckResult(
                library,
                by_place(problems),
                sum(1 for _ in skills.checked.repository.valid),
                ("keeps the contract", "keep the contract"),
                print_contract_text,
            )
        if self.changed_since is not None:
            result = replace(result, problems=problems_of_skills(result.problems, skills, selected))
        return result, {path: folder for path, folder in skills.folders.items() if path in skills.own}

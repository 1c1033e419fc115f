"""The options of `skillwire check` that check the contract, fix problems, and select changed skills."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated

import anyio
from cyclopts import Parameter
from rich.text import Text

from skillwire.area import CheckFlags
from skillwire.config.report import CheckRequest, CheckResult, by_place
from skillwire.contract.adoption import NotAdoptedError, adopt, id_in
from skillwire.contract.changes import changed_since, problems_of_skills
from skillwire.contract.commands.options import BlockKey
from skillwire.contract.fixes import apply_fixes
from skillwire.contract.folders import all_problems, check_folders
from skillwire.contract.report import print_contract_text
from skillwire.contract.repository import CheckedSkill
from skillwire.contract.rules.standard import METADATA_FILE
from skillwire.contract.standard_fixes import NAME_RULES
from skillwire.core.atomic_write import remove_abandoned, replace_file
from skillwire.core.problem import Problem, Rule
from skillwire.errors import UsageError
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.output import confirm, is_interactive, print_error, stderr_console

ADOPTED = frozenset({Rule.CONTRACT_BLOCK_MISSING, Rule.CONTRACT_METADATA_FILE})
"""The rules whose violations `--adopt` fixes."""
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Repair:
    """The current and the fixed content of a file."""

    path: str
    file: Path
    before: bytes
    after: bytes | None
    """None if the file should be removed."""


@dataclass(frozen=True, slots=True)
class WritableSkill:
    """A checked skill in a local folder that the user named, so that fixes may be written."""

    folder: Path
    checked: CheckedSkill


def find_repairs(
    problems: Iterable[Problem], skills: Mapping[str, WritableSkill], key: str | None, *, adopt: bool
) -> list[Repair]:
    """Return the files that can be fixed automatically, with their fixed content. Writes no file.

    With `adopt`, a fix may also add a metadata block and remove `metadata.yaml`. If a skill cannot be
    adopted, prints the reason.
    """
    rules: defaultdict[str, list[Rule]] = defaultdict(list)
    for problem in problems:
        if problem.path in skills:
            rules[problem.path].append(problem.rule)
    repairs: list[Repair] = []
    for path, broken in rules.items():
        skill = skills[path]
        file = skill.folder / Path(path).name
        before = file.read_bytes()
        # A block takes its id from the name, so the name is fixed first.
        after = apply_fixes(before, NAME_RULES.intersection(broken), key, _folder_name(skill))
        obsolete: Repair | None = None
        if adopt and not ADOPTED.isdisjoint(broken):
            after, obsolete = _adopt(path, skill, after)
        others = [rule for rule in broken if rule not in NAME_RULES]
        after = apply_fixes(after, others, key, skill.checked.facts.folder)
        if after != before:
            repairs.append(Repair(path, file, before, after))
        if obsolete is not None:
            repairs.append(obsolete)
    return repairs


def _folder_name(skill: WritableSkill) -> str | None:
    """Return the name of a skill's folder, or None if the skill's name should not be taken from it.

    That is so if `metadata.yaml` has another id, or if the folder is the root of a repository, which everyone
    can name differently.
    """
    folder = skill.checked.facts.folder
    try:
        sidecar = id_in(_content_of(skill.folder / METADATA_FILE))
    except (NotAdoptedError, OSError):
        sidecar = None
    is_clone = (skill.folder / ".git").exists()
    return None if is_clone or sidecar not in {None, folder} else folder


def _adopt(path: str, skill: WritableSkill, content: bytes) -> tuple[bytes, Repair | None]:
    """Return the `SKILL.md` with a metadata block, and a `Repair` that removes `metadata.yaml` if it exists.

    If the skill cannot be adopted, prints the reason, and returns the content unchanged and None.
    """
    sidecar = skill.folder / METADATA_FILE
    try:
        text = _content_of(sidecar)
        after = adopt(content, skill.checked.facts, skill.checked.key, text)
    except NotAdoptedError as error:
        print_error(f"{quoted(path)} was not adopted: {error.reason}", hint=error.hint)
        return content, None
    if text is None:
        return after, None
    return after, Repair(str(PurePosixPath(path).with_name(METADATA_FILE)), sidecar, text, None)


def _content_of(sidecar: Path) -> bytes | None:
    if sidecar.is_symlink():
        raise NotAdoptedError(f"{quoted(METADATA_FILE)} is a link", "put the file itself there")
    return sidecar.read_bytes() if sidecar.is_file() else None


def may_write(repairs: list[Repair], *, yes: bool) -> bool:
    """Print a diff. Return whether to write the changes: with `yes`, or if the user confirms.

    If no one can be asked, because there is no terminal, prints an error and returns False.
    """
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
    """Write or remove each file.

    Raises `UsageError` if a file has changed since it was read, or cannot be written.
    """
    for repair in repairs:
        try:
            if repair.file.read_bytes() != repair.before:
                raise UsageError(
                    f"{quoted(repair.path)} has changed in the meantime", hint="run the command again"
                )
            if repair.after is None:
                repair.file.unlink()
                continue
            target = repair.file.resolve()
            remove_abandoned(target.parent, {target.name})
            replace_file(target, repair.after)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UsageError(f"cannot write {quoted(repair.path)}: {reason}") from error


def _diff(repair: Repair) -> Iterable[str]:
    contents = (repair.before, repair.after or b"")
    before, after = (text.decode(errors="replace").splitlines() for text in contents)
    new = "/dev/null" if repair.after is None else f"b/{repair.path}"
    lines = difflib.unified_diff(before, after, f"a/{repair.path}", new, lineterm="")
    return (line for line in lines if line)


@dataclass(frozen=True, slots=True)
class ContractCheckFlags(CheckFlags):
    """Options that add the repository contract, fixes and a selection of changed skills to `check`."""

    contract: Annotated[bool, Parameter(help="Also check the repository contract.")] = False
    block_key: BlockKey = None
    fix: Annotated[
        bool, Parameter(help="Fix problems that have exactly one fix. Shows a diff and asks first.")
    ] = False
    adopt: Annotated[
        bool,
        Parameter(
            help="With `--fix`, write a metadata block into skills without one, and move `metadata.yaml` "
            "into it. Implies `--contract`."
        ),
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
        if self.adopt and not self.fix:
            raise UsageError("`--adopt` requires `--fix`", hint="add `--fix`, or remove `--adopt`")
        if not self.contract and not self.fix and self.changed_since is None:
            return result
        found, skills = anyio.run(self._find, result.library)
        repairs: list[Repair] = []
        if self.fix:
            reported = request.select(found.problems, found.library)
            repairs = find_repairs(reported, skills, self.block_key, adopt=self.adopt)
        if repairs:
            if not may_write(repairs, yes=self.yes):
                return None
            write(repairs)
            removed = sum(repair.after is None for repair in repairs)
            written = f"{pluralize(len(repairs) - removed, 'file')} written"
            stderr_console().print(f"{written}, {removed} removed" if removed else written)
            found, _ = anyio.run(self._find, request.load())
        return found

    async def _find(self, library: Library) -> tuple[CheckResult, Mapping[str, WritableSkill]]:
        """Return the result of the check, and the skills whose files may be written, by path in problems."""
        result = CheckResult.of(library)
        skills = check_folders(library, self.block_key)
        selected = skills.checked.repository.skills
        if self.changed_since is not None:
            selected = tuple((await changed_since(self.changed_since, library, skills)).affected(skills))
        if self.contract or self.adopt:
            problems = [*skills.checked.others, *await all_problems(library, skills, selected)]
            result = CheckResult(
                library,
                by_place(problems),
                sum(1 for _ in skills.checked.repository.valid),
                ("keeps the contract", "keep the contract"),
                print_contract_text,
                with_contract=True,
            )
        if self.changed_since is not None:
            select = partial(problems_of_skills, skills=skills, selected=selected)
            result = replace(result, problems=select(result.problems), select=select, complete=False)
        checked = {skill.facts.path: skill for skill in skills.checked.repository.skills}
        own = {path: folder for path, folder in skills.folders.items() if path in skills.own}
        return result, {
            path: WritableSkill(folder, checked[path]) for path, folder in own.items() if path in checked
        }

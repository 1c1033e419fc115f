"""The options of `skillwire check` that check the contract, fix problems, and select changed skills."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.area import CheckFlags
from skillwire.config.report import CheckRequest, CheckResult, by_place
from skillwire.contract.changes import changed_since, problems_of_skills
from skillwire.contract.commands.options import BlockKey
from skillwire.contract.commands.repairs import Repair, WritableSkill, find_repairs, may_write, write
from skillwire.contract.folders import all_problems, check_folders
from skillwire.contract.report import print_contract_text
from skillwire.errors import UsageError
from skillwire.library.library import Library
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import CONTRACT, FIXES, SELECTION
from skillwire.terminal.output import stderr_console


@dataclass(frozen=True, slots=True)
class ContractCheckFlags(CheckFlags):
    """Options that add the repository contract, fixes and a selection of changed skills to `check`."""

    contract: Annotated[bool, Parameter(group=CONTRACT, help="Also check the repository contract.")] = False
    block_key: BlockKey = None
    fix: Annotated[
        bool,
        Parameter(group=FIXES, help="Fix problems that have exactly one fix. Shows a diff and asks first."),
    ] = False
    adopt: Annotated[
        bool,
        Parameter(
            group=FIXES,
            help="With `--fix`, write a metadata block into skills without one, and move `metadata.yaml` "
            "into it. Implies `--contract`.",
        ),
    ] = False
    yes: Annotated[bool, Parameter(group=FIXES, help="With `--fix`, write without asking.")] = False
    changed_since: Annotated[
        str | None,
        Parameter(
            group=SELECTION,
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
            if (agreed := may_write(repairs, yes=self.yes)) is None:
                return None
            if not agreed:
                return found
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
                sum(skill.frontmatter is not None for skill in selected),
                ("keeps the contract", "keep the contract"),
                print_contract_text,
                with_contract=True,
            )
        if self.changed_since is not None:
            select = partial(problems_of_skills, skills=skills, selected=selected)
            served = sum(skill.facts.uri in library.catalog.entries for skill in selected)
            result = replace(
                result,
                problems=select(result.problems),
                good=result.good if result.with_contract else served,
                select=select,
                since=self.changed_since,
                selected=len(selected),
                unchanged=len(skills.checked.repository.skills) - len(selected),
            )
        checked = {skill.facts.path: skill for skill in skills.checked.repository.skills}
        own = {path: folder for path, folder in skills.folders.items() if path in skills.own}
        return result, {
            path: WritableSkill(folder, checked[path]) for path, folder in own.items() if path in checked
        }

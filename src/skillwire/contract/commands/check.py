"""The options of `skillwire check` that check the contract, fix problems, and select changed skills."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.area import CheckFlags
from skillwire.config.report import CheckRequest, CheckResult, by_place
from skillwire.contract.changes import changed_since, problems_of_skills
from skillwire.contract.commands.options import BlockKey
from skillwire.contract.commands.repairs import Repair, WritableSkill, find_repairs, may_write, write
from skillwire.contract.folders import SkillFolders, all_problems, check_content, check_folders
from skillwire.contract.quoting import REFUSED, quote_refused_values
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
        found, folders = anyio.run(self._find, result.library)
        if not self.fix:
            return found
        repairs = self._repairs(request, found, folders)
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
        return replace(found, fixed=len(repairs))

    def _repairs(self, request: CheckRequest, found: CheckResult, folders: SkillFolders) -> list[Repair]:
        """Return the changes that fix the reported problems."""
        reported = [*request.select(found.problems, found.library)]
        skills: dict[str, WritableSkill] = {
            skill.facts.path: WritableSkill(folders.folders[skill.facts.path], skill)
            for skill in folders.checked.repository.skills
            if skill.facts.path in folders.own
        }
        for path in dict.fromkeys(each.path for each in reported if each.rule in REFUSED):
            if path in folders.unreadable and (skill := self._made_readable(path, folders)) is not None:
                skills[path] = skill
                checked = skill.checked
                more = checked.problems if found.with_contract else checked.facts.problems
                reported += request.select(more, found.library)
        return find_repairs(reported, skills, self.block_key, adopt=self.adopt)

    def _made_readable(self, path: str, folders: SkillFolders) -> WritableSkill | None:
        """Return a skill whose frontmatter quotes make readable, or None if they do not."""
        folder = folders.unreadable[path]
        try:
            content = quote_refused_values((folder / Path(path).name).read_bytes())
        except OSError:  # removed in the meantime
            return None
        if content is None:
            return None
        checked = check_content(path, folder, content, folders, self.block_key)
        return None if checked is None else WritableSkill(folder, checked, content)

    async def _find(self, library: Library) -> tuple[CheckResult, SkillFolders]:
        """Return the result of the check, and the folders of the checked skills."""
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
        return result, skills

"""`skillwire check`: everything that is wrong in folders of skills."""

from typing import Annotated, Literal

from cyclopts import Parameter

from skillwire.cli.contract.finding import Question
from skillwire.cli.contract.fixing import agreed, repairs_of, write
from skillwire.cli.contract.printing import FORMATS, print_contract_text
from skillwire.cli.options import BlockKey, FollowLinks
from skillwire.cli.output import talk
from skillwire.cli.saying import NO_SKILLS, counted
from skillwire.contract.terms import BLOCK_KEY
from skillwire.model.errors import UsageError
from skillwire.model.problem import Severity


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
    if fix and (repairs := repairs_of(found.problems, found.folders, block_key)):
        if not agreed(repairs, yes=yes):
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

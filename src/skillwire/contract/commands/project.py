"""`skillwire project`: write copies of skills that use only standard fields."""

from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.config.choice import ConfigOptions, choose_config
from skillwire.config.library import load_library
from skillwire.config.report import located
from skillwire.contract.commands.options import BlockKey
from skillwire.contract.projection import Plan, check_out_is_separate, differences, plan_projection, write
from skillwire.core.output_folder import SiteFolder
from skillwire.core.problem import Severity
from skillwire.errors import SourceError
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import NO_SKILLS, pluralize
from skillwire.terminal.options import FollowLinks, json_of
from skillwire.terminal.output import print_json, print_line, print_problems, stderr_console


def project(
    path: Annotated[str, Parameter(name="PATH", help="A folder of skills, a skill, or another source.")],
    /,
    *,
    out: Annotated[Path, Parameter(metavar="FOLDER", help="Folder to write the copies to.")],
    check: Annotated[
        bool, Parameter(help="Write nothing. Only report whether the copies in `--out` are current.")
    ] = False,
    json: Annotated[
        bool,
        json_of(
            "{skills: [{id, path, dropped}], written, removed} or {skills: [{id, path,"
            " dropped}], missing, differs, left over}"
        ),
    ] = False,
    block_key: BlockKey = None,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
) -> int:
    """Write copies of skills that use only standard fields, for uploaders that reject all other fields.

    The metadata block is moved to the standard field `metadata`. Other nonstandard fields are dropped. Files
    other than `SKILL.md` are copied unchanged. The same skills always produce the same files. Files that this
    command did not write are never touched. If a skill violates the contract, nothing is written.

    Exit code 1: a skill violates the contract. With `--check`, also 1 if the copies are not current.

    For example:

    ```
    skillwire project ./skills --out ./upload
    skillwire project ./skills --out ./upload --check
    ```
    """
    chosen = choose_config(config, named=True)
    library = load_library([path], follow_links=follow_links, config=chosen)
    check_out_is_separate(library, out)
    plan = plan_projection(library, block_key)
    print_problems(stderr_console(), located(plan.problems, library))
    if any(problem.severity is Severity.ERROR for problem in plan.problems):
        raise SourceError("nothing was written: fix the errors above first")
    if not plan.files:
        raise SourceError(f"nothing was written: {NO_SKILLS}")
    site = SiteFolder(out, "project")
    if check:
        return _report_differences(plan, anyio.run(differences, library, plan, site), out, json=json)
    anyio.run(write, library, plan, site)
    if json:
        print_json(_plan_to_json(plan) | {"written": site.written, "removed": site.removed})
    stderr_console().print(f"{pluralize(len(plan.skills), 'skill')} written to {quoted(str(out))}")
    return 0


def _plan_to_json(plan: Plan) -> dict[str, object]:
    return {
        "skills": [{"id": each.id, "path": each.path, "dropped": list(each.dropped)} for each in plan.skills]
    }


def _report_differences(plan: Plan, found: dict[str, list[str]], out: Path, *, json: bool) -> int:
    if json:
        print_json(_plan_to_json(plan) | found)
    else:
        for what, paths in found.items():
            for path in paths:
                print_line(escape_invisible(f"{what}: {path}"))
    if any(found.values()):
        stderr_console().print(
            f"the copies in {quoted(str(out))} are not current; run the command again without `--check`"
        )
        return 1
    stderr_console().print(f"the copies in {quoted(str(out))} are current")
    return 0

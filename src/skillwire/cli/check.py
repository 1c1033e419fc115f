"""`skillwire check`: everything that is wrong in folders of skills."""

from typing import Annotated, Literal

from cyclopts import Parameter

from skillwire.cli.library import load_library
from skillwire.cli.output import counted, data, print_json, print_problems, talk
from skillwire.model.problem import Severity


def check(
    paths: Annotated[
        list[str], Parameter(name="PATH", help="Folders to check: skills, or folders of skills.")
    ],
    /,
    *,
    format: Annotated[  # noqa: A002 - the name of the option
        Literal["text", "json"], Parameter(help="How to print what was found.", show_default=True)
    ] = "text",
    json: Annotated[bool, Parameter(help="Short for `--format json`.")] = False,
    strict: Annotated[bool, Parameter(help="Warnings count too.")] = False,
    follow_links: Annotated[bool, Parameter(help="Also look where links lead, outside the folder.")] = False,
) -> int:
    """Report every problem of every skill: where, what, and what to do.

    An *error* keeps a skill from being served; a *warning* does not. Exit code 0: every skill can be
    served. Exit code 1: one cannot (with `--strict`: or there is a warning).

    For example:

    ```
    skillwire check ./skills
    skillwire check ./skills --json | jq '.[].path'
    ```
    """
    catalog = load_library(paths, follow_links=follow_links).catalog
    problems = sorted(catalog.problems, key=lambda problem: (problem.path, problem.line or 0))
    if json or format == "json":
        print_json([problem.to_json() for problem in problems])
    else:
        print_problems(data(), problems)
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    warnings = len(problems) - errors
    found = counted(len(catalog.entries), "skill")
    talk().print(f"{found} can be served; {counted(errors, 'error')}, {counted(warnings, 'warning')}")
    if not catalog.entries and not problems:
        talk().print(
            "hint: a skill is a folder with a `SKILL.md` in it; there is none below the folders named"
        )
    return 1 if errors or (strict and warnings) else 0

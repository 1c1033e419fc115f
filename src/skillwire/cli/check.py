"""`skillwire check`: report every problem of every skill."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, cast

from cyclopts import Parameter

from skillwire.area import CheckFlags
from skillwire.config.report import FORMATS, CheckRequest, CheckResult
from skillwire.core.problem import Severity
from skillwire.terminal.messages import NO_SKILLS, pluralize
from skillwire.terminal.options import FollowLinks
from skillwire.terminal.output import stderr_console


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
    follow_links: FollowLinks = False,
    areas: Annotated[Mapping[str, object], Parameter(parse=False)] = MappingProxyType({}),
) -> int:
    """Report every problem of every skill: where, what, and what to do.

    An *error* keeps a skill from being served; a *warning* does not. Exit code 0: every skill can be
    served. Exit code 1: one cannot (with `--strict`: or there is a warning, or no skill at all).

    For example:

    ```
    skillwire check ./skills
    skillwire check ./skills --strict
    skillwire check ./skills --json | jq '.[].path'
    ```
    """
    request = CheckRequest(paths or [], follow_links)
    found: CheckResult | None = CheckResult.of(request.load())
    for flags in areas.values():
        if (found := cast("CheckFlags", flags).check(request, found)) is None:
            return 1
    kind = "json" if json else format
    (found.print_text if kind == "text" else FORMATS[kind])(found.problems, found.library)
    return _summarise(found, strict=strict)


def _summarise(found: CheckResult, *, strict: bool) -> int:
    """Say in one line what was found, and return the exit code for it."""
    errors = sum(problem.severity is Severity.ERROR for problem in found.problems)
    warnings = len(found.problems) - errors
    good = f"{pluralize(found.good, 'skill')} {found.verdict[found.good != 1]}"
    if hidden := len(found.library.catalog.nonconforming):
        good += f", {hidden} of them not listed to clients"
    stderr_console().print(f"{good}; {pluralize(errors, 'error')}, {pluralize(warnings, 'warning')}")
    if not found.good and not found.problems:
        stderr_console().print(NO_SKILLS)
    return 1 if errors or (strict and (warnings or not found.good)) else 0

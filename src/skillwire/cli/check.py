"""`skillwire check`: report every problem in skills and sources."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, cast

import anyio
from cyclopts import Parameter

from skillwire.area import CheckFlags
from skillwire.config.choice import ConfigOptions, choose_config
from skillwire.config.report import FORMATS, CheckRequest, CheckResult
from skillwire.core.problem import Severity
from skillwire.terminal.messages import NO_SKILLS, pluralize
from skillwire.terminal.options import FollowLinks, json_of
from skillwire.terminal.output import stderr_console


def check(
    paths: Annotated[
        list[str] | None,
        Parameter(
            name="PATH",
            help="Skill or source to check. Default: `SKILLS_DIR` and the configuration file.",
        ),
    ] = None,
    /,
    *,
    format: Annotated[  # noqa: A002 - the name of the option
        Literal["text", "json", "sarif", "github"],
        Parameter(metavar="FORMAT", help="Output format.", show_default=True),
    ] = "text",
    json: Annotated[
        bool, json_of("[{path, line, field, rule, severity, message, hint}]", same_as="--format json")
    ] = False,
    strict: Annotated[bool, Parameter(help="Also fail on warnings, and if no skill is found.")] = False,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
    areas: Annotated[Mapping[str, object], Parameter(parse=False)] = MappingProxyType({}),
) -> int:
    """Report every problem in your skills: where it is, what is wrong, and how to fix it.

    A skill with an *error* is not served. A skill with only *warnings* is served.
    Only this command warns about dead links in a `SKILL.md`, files that the text does not mention, long
    texts and scripts that are not executable.

    Exit code 0: there are no errors. 1: there is an error. With `--strict`, also 1 if there is a warning, or
    if no skill is found.

    For example:

    ```
    skillwire check ./skills
    skillwire check ./skills --strict
    skillwire check ./skills --json | jq '.[].path'
    ```
    """
    request = CheckRequest(paths or [], follow_links, choose_config(config, named=bool(paths)))
    found: CheckResult | None = CheckResult.of(request.load())
    for flags in areas.values():
        if (found := cast("CheckFlags", flags).check(request, found)) is None:
            return 1
    found = anyio.run(found.with_bodies)
    kind = "json" if json else format
    (found.print_text if kind == "text" else FORMATS[kind])(found.problems, found.library)
    return _summarise(found, strict=strict)


def _summarise(found: CheckResult, *, strict: bool) -> int:
    """Print a one-line summary and return the exit code."""
    errors = sum(problem.severity is Severity.ERROR for problem in found.problems)
    warnings = len(found.problems) - errors
    good = f"{pluralize(found.good, 'skill')} {found.verdict[found.good != 1]}"
    if hidden := len(found.library.catalog.nonconforming):
        good += f", {hidden} of them not listed to clients"
    stderr_console().print(f"{good}; {pluralize(errors, 'error')}, {pluralize(warnings, 'warning')}")
    if not found.good and not found.problems:
        stderr_console().print(NO_SKILLS)
    return 1 if errors or (strict and (warnings or not found.good)) else 0

"""`skillwire check`: everything that is wrong in folders of skills."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Literal

from cyclopts import Parameter

from skillwire.catalog.library import Library
from skillwire.cli.library import load_library
from skillwire.cli.options import FollowLinks
from skillwire.cli.output import NO_SKILLS, counted, data, print_json, print_problems, talk
from skillwire.config.kinds import is_local
from skillwire.model.problem import Problem, Severity


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
        Literal["text", "json"], Parameter(help="How to print what was found.", show_default=True)
    ] = "text",
    json: Annotated[bool, Parameter(help="Short for `--format json`.")] = False,
    strict: Annotated[bool, Parameter(help="Warnings count too, and finding no skill at all.")] = False,
    follow_links: FollowLinks = False,
) -> int:
    """Report every problem of every skill: where, what, and what to do.

    An *error* keeps a skill from being served; a *warning* does not. Exit code 0: every skill can be
    served. Exit code 1: one cannot (with `--strict`: or there is a warning, or no skill at all).

    For example:

    ```
    skillwire check ./skills
    skillwire check ./skills --json | jq '.[].path'
    ```
    """
    library = load_library(paths or [], follow_links=follow_links)
    catalog = library.catalog
    problems = sorted(catalog.problems, key=lambda problem: (problem.path, problem.line or 0))
    if json or format == "json":
        print_json([problem.to_json() for problem in problems])
    else:
        print_problems(data(), _located(problems, library))
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    warnings = len(problems) - errors
    found = counted(len(catalog.entries), "skill")
    talk().print(f"{found} can be served; {counted(errors, 'error')}, {counted(warnings, 'warning')}")
    if not catalog.entries and not problems:
        talk().print(NO_SKILLS)
    return 1 if errors or (strict and (warnings or not catalog.entries)) else 0


def _located(problems: Iterable[Problem], library: Library) -> Iterator[Problem]:
    """Yield the problems with paths as the person at the terminal would write them."""
    places = {source.label: source.place for source in library.sources}
    for problem in problems:
        if len(places) == 1:
            (place,), path = places.values(), problem.path
        else:
            label, _, path = problem.path.partition("/")
            place = places[label]
        yield replace(problem, path=_joined(place, path))


def _joined(place: str, path: str) -> str:
    if path == ".":
        return place
    if not is_local(place):
        return f"{place.rstrip('/')}/{path}"
    return os.path.normpath(os.path.join(place, path))  # noqa: PTH118

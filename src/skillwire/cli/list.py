"""`skillwire list`: list the skills of folders, other sources and servers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated
from urllib.parse import unquote

from cyclopts import Parameter

from skillwire.config.choice import ConfigChoice, ConfigOptions, choose_config
from skillwire.config.faults import faults_of_empty_sources
from skillwire.config.library import check_command, load_library
from skillwire.config.report import located
from skillwire.config.server_targets import Allow, TokenEnv, resolve_targets
from skillwire.config.sources_and_servers import SourcesAndServers
from skillwire.core.patterns import TextFilter
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.core.template_mismatch import known_values
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.library.names import Names, template_names
from skillwire.library.skill_table import SkillTable
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import NO_SKILLS, pluralize, print_notice
from skillwire.terminal.options import FollowLinks, NoPager, json_of
from skillwire.terminal.output import print_json, print_line, print_problems, stderr_console, stdout_console
from skillwire.terminal.skill_table import EVERYTHING, ListView, SkillRow, print_skill_table, report_filter


def list_skills(
    sources: Annotated[
        list[str] | None,
        Parameter(
            name="SOURCE",
            help="A source, or a server given as label, URL or `--` and its command. "
            "Default: `SKILLS_DIR` and the configuration file.",
        ),
    ] = None,
    /,
    *,
    json: Annotated[
        bool, json_of("[{name, description, type, uri, origin, dialect, problems, parameters?}]")
    ] = False,
    filtered: Annotated[
        str | None,
        Parameter(
            name="--filter",
            metavar="TEXT|PATTERN",
            help="Only skills with this text in their name, path or description, or that match a pattern "
            "such as `pdf-*`. Case is ignored.",
        ),
    ] = None,
    paths: Annotated[bool, Parameter(help="On a terminal, also show the path of each skill.")] = False,
    problems: Annotated[
        bool,
        Parameter(
            help="Print every problem, also each name that several skills share, and the problems that a "
            "server itself reports."
        ),
    ] = False,
    no_pager: NoPager = False,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
    allow: Allow = None,
    token_env: TokenEnv = None,
) -> int:
    """List the skills of folders, other sources or MCP servers.

    Leaves out skills that cannot be served. Skills with the same name are listed by their paths. Problems are
    printed to stderr. On a terminal, a long list is shown in a pager: that of `SKILLWIRE_PAGER` or `PAGER`,
    else `less`.

    Exit code 1: a server does not answer, its list has errors, or no skill can be served because of errors.

    For example:

    ```
    skillwire list ./skills
    skillwire list ./skills --filter pdf
    skillwire list ./skills --json | jq -r '.[].uri'
    skillwire list github https://example.com/mcp
    skillwire list -- python server.py
    ```
    """
    view = ListView(None if filtered is None else TextFilter(filtered), paths, problems, not no_pager)
    divided = SourcesAndServers.of(sources, with_token=token_env is not None)
    chosen = choose_config(config, named=bool(divided.sources or divided.servers))
    if not divided.servers:
        return _list_sources(divided.sources, chosen, view, follow_links=follow_links, as_json=json)
    from skillwire.cli.remote import list_servers  # noqa: PLC0415 - it loads the SDK

    targets = resolve_targets(divided.servers, allow, token_env)
    has_sources = bool(divided.sources) or chosen.sources
    if not json:
        if has_sources:
            _list_sources(divided.sources, chosen, view, follow_links=follow_links, as_json=False)
        return list_servers(targets, view)
    rows = list[dict[str, object]]()
    if has_sources:
        catalog = load_library(divided.sources, follow_links=follow_links, config=chosen).catalog
        rows = catalog_rows(_filtered(catalog, view))
    return list_servers(targets, view, rows)


def _list_sources(
    sources: Sequence[str], config: ConfigChoice, view: ListView, *, follow_links: bool, as_json: bool
) -> int:
    library = load_library(sources, follow_links=follow_links, config=config)
    catalog = library.catalog
    found = _filtered(catalog, view)
    every, shown = (len(each.entries) + len(each.templates) for each in (catalog, found))
    if as_json:
        print_json(catalog_rows(found))
    elif shown:
        print_catalog(found, view)
    report_filter(view, shown, every)
    if not (view.problems or as_json) and stdout_console().is_terminal:
        _print_shared(found)
    return _report_problems(library, view, named=bool(sources))


def _report_problems(library: Library, view: ListView, *, named: bool) -> int:
    """Print why skills are missing, and return the exit code."""
    catalog = library.catalog
    problems = [each for each in catalog.problems if each.rule is Rule.NAME_SHARED or _is_error(each)]
    errors = sum(map(_is_error, problems))
    is_empty = not (catalog.entries or catalog.templates)
    faults = faults_of_empty_sources(library) if named or is_empty else ()
    if view.problems:
        print_problems(stderr_console(), located(problems, library))
    elif faults:
        print_problems(stderr_console(), faults)
        if errors > len(faults):
            more = pluralize(errors - len(faults), "more problem")
            stderr_console().print(f"{more}; {check_command(library)} all of them")
    elif errors:
        keep = "keeps" if errors == 1 else "keep"
        message = f"{pluralize(errors, 'problem')} {keep} skills from being served"
        stderr_console().print(f"{message}; {check_command(library)} details")
    elif is_empty:
        stderr_console().print(NO_SKILLS)
    return 1 if faults and is_empty else 0


def _is_error(problem: Problem) -> bool:
    return problem.severity is Severity.ERROR


def _filtered(catalog: Catalog, view: ListView) -> Catalog:
    """Return the catalog with the skills and templates that the filter accepts."""
    if view.text is None:
        return catalog
    accepts = view.text.accepts
    entries = [
        each for each in catalog.entries.values() if accepts(each.name, unquote(each.path), each.description)
    ]
    templates = tuple(each for each in catalog.templates if accepts(each.path, each.description))
    return replace(catalog, entries=SkillTable([entries]), templates=templates)


def catalog_rows(catalog: Catalog) -> list[dict[str, object]]:
    """Return a JSON object for each skill, then for each template."""
    templates = _templates(catalog, Names(catalog))
    return [
        *(_row(catalog, entry) for entry in catalog.entries.values()),
        *(_template_row(name, each) for name, each in templates.items()),
    ]


def _templates(catalog: Catalog, names: Names) -> dict[str, SkillTemplate]:
    return template_names(catalog.templates, frozenset(names.handles())) if catalog.templates else {}


def _row(catalog: Catalog, entry: SkillRecord) -> dict[str, object]:
    return {
        "name": entry.name,
        "description": entry.description,
        "type": "dynamic" if entry.dynamic else "skill-md",
        "uri": entry.uri,
        "origin": escape_invisible(entry.origin.location),
        "dialect": "folder",
        "problems": [problem.to_json() for problem in catalog.problems_of(entry)],
    }


def _template_row(name: str, template: SkillTemplate) -> dict[str, object]:
    return {
        "name": name,
        "description": template.description,
        "type": "template",
        "uri": template.uri,
        "origin": escape_invisible(template.location),
        "dialect": "folder",
        "problems": [],
        "parameters": known_values(template),
    }


def print_catalog(catalog: Catalog, view: ListView = EVERYTHING) -> None:
    """Print the skills and templates: for a person on a terminal, else one per line for `grep` and `cut`."""
    console, names = stdout_console(), Names(catalog)
    templates = _templates(catalog, names)
    handles = {uri: names.handle(entry) for uri, entry in catalog.entries.items()}
    if not console.is_terminal:
        for uri, entry in catalog.entries.items():
            print_line(f"{escape_invisible(handles[uri])}\t{uri}\t{escape_invisible(entry.description)}")
        for name, each in templates.items():
            print_line(f"{escape_invisible(name)}\t{each.uri}\t{escape_invisible(each.description)}")
        return
    rows = [
        SkillRow(
            handles[uri],
            entry.description,
            unquote(entry.path),
            "live" if entry.dynamic else "",
            any(each.rule is not Rule.NAME_SHARED for each in catalog.problems_of(entry)),
        )
        for uri, entry in catalog.entries.items()
    ]
    rows += [SkillRow(name, each.description, each.path, "template") for name, each in templates.items()]
    print_skill_table(console, rows, paths=view.paths, pager=view.pager)


def _print_shared(catalog: Catalog) -> None:
    """Print how many skills are listed by path, because they share their names with others."""
    shared = [catalog.entries[uri] for uri in catalog.shared_names if uri in catalog.entries]
    if shared:
        names = pluralize(len({entry.name for entry in shared}), "name")
        by_path = f"{pluralize(len(shared), 'skill')} of the same {names}" if len(shared) > 1 else "1 skill"
        verb = "are" if len(shared) > 1 else "is"
        print_notice(f"{by_path} {verb} listed by path; `--problems` lists them")

"""`skillwire list`: list the skills of folders, other sources and servers."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from skillwire.cli.find import Places
from skillwire.cli.targets import Allow, TokenEnv, resolve_targets
from skillwire.config.choice import ConfigChoice, ConfigOptions, choose_config
from skillwire.config.faults import faults_of_empty_sources
from skillwire.config.library import check_command, load_library
from skillwire.core.problem import Severity
from skillwire.core.record import SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.core.template_mismatch import known_values
from skillwire.library.catalog import Catalog
from skillwire.library.names import Names, template_names
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import NO_SKILLS, pluralize
from skillwire.terminal.options import FollowLinks, json_of
from skillwire.terminal.output import print_json, print_line, print_problems, stderr_console, stdout_console


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
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
    allow: Allow = None,
    token_env: TokenEnv = None,
) -> int:
    """List the skills of folders, other sources or MCP servers.

    Leaves out skills that cannot be served. Problems with servers are printed to stderr.

    Exit code 1: a server does not answer, its list has errors, or no skill can be served because of errors.

    For example:

    ```
    skillwire list ./skills
    skillwire list ./skills --json | jq -r '.[].uri'
    skillwire list github https://example.com/mcp
    skillwire list -- python server.py
    ```
    """
    places = Places.of(sources, with_token=token_env is not None)
    chosen = choose_config(config, named=bool(places.sources or places.servers))
    if not places.servers:
        return _list_sources(places.sources, chosen, follow_links=follow_links, as_json=json)
    from skillwire.cli.remote import list_servers  # noqa: PLC0415 - it loads the SDK

    targets = resolve_targets(places.servers, allow, token_env)
    has_sources = bool(places.sources) or chosen.sources
    if not json:
        if has_sources:
            _list_sources(places.sources, chosen, follow_links=follow_links, as_json=False)
        return list_servers(targets)
    rows = list[dict[str, object]]()
    if has_sources:
        catalog = load_library(places.sources, follow_links=follow_links, config=chosen).catalog
        rows = catalog_rows(catalog)
    return list_servers(targets, rows)


def _list_sources(sources: Sequence[str], config: ConfigChoice, *, follow_links: bool, as_json: bool) -> int:
    library = load_library(sources, follow_links=follow_links, config=config)
    catalog = library.catalog
    has_skills = bool(catalog.entries or catalog.templates)
    if as_json:
        print_json(catalog_rows(catalog))
    elif has_skills:
        print_catalog(catalog)
    errors = sum(problem.severity is Severity.ERROR for problem in catalog.problems)
    if (sources or not has_skills) and (faults := faults_of_empty_sources(library)):
        print_problems(stderr_console(), faults)
        if errors > len(faults):
            more = pluralize(errors - len(faults), "more problem")
            stderr_console().print(f"{more}; {check_command(library)} all of them")
        return 0 if has_skills else 1
    if errors:
        keep = "keeps" if errors == 1 else "keep"
        message = f"{pluralize(errors, 'problem')} {keep} skills from being served"
        stderr_console().print(f"{message}; {check_command(library)} details")
    elif not has_skills:
        stderr_console().print(NO_SKILLS)
    return 0


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


def print_catalog(catalog: Catalog) -> None:
    """Print the skills and templates: as a table on a terminal, else one per line for `grep` and `cut`."""
    console, names = stdout_console(), Names(catalog)
    templates = _templates(catalog, names)
    if not console.is_terminal:
        for entry in catalog.entries.values():
            handle = escape_invisible(names.handle(entry))
            print_line(f"{handle}\t{entry.uri}\t{escape_invisible(entry.description)}")
        for name, each in templates.items():
            print_line(f"{escape_invisible(name)}\t{each.uri}\t{escape_invisible(each.description)}")
        return
    table = Table(box=None, header_style="bold", pad_edge=False, expand=True)
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("path", no_wrap=True)
    table.add_column("files", justify="right")
    table.add_column("description", overflow="ellipsis", no_wrap=True, ratio=1)
    for entry in catalog.entries.values():
        mark = "!" if catalog.problems_of(entry) else ""
        files = "live" if entry.dynamic else str(len(entry.files))
        table.add_row(
            Text(f"{escape_invisible(names.handle(entry))}{mark}"),
            Text(escape_invisible(entry.path)),
            files,
            Text(escape_invisible(entry.description)),
        )
    for name, each in templates.items():
        cells = (name, each.path, "template", each.description)
        table.add_row(*(Text(escape_invisible(cell)) for cell in cells))
    console.print(table, soft_wrap=False)

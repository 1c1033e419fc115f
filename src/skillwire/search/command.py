"""`skillwire search`: find skills for a task."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import anyio
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from skillwire.config.choice import ConfigOptions, choose_config
from skillwire.config.library import load_library
from skillwire.config.server_targets import Allow, TokenEnv, resolve_targets
from skillwire.config.sources_and_servers import SourcesAndServers
from skillwire.core.problem import Rule, Severity
from skillwire.errors import BadParamsError, UsageError
from skillwire.library.search import MAX_LIMIT, Audience, SearchResult, SearchResults
from skillwire.safe_text import escape_invisible, quoted
from skillwire.search.query import Query
from skillwire.search.service import LibrarySearch
from skillwire.search.serving import Semantic, chosen_ranker, index_folder
from skillwire.search.tool import as_json
from skillwire.terminal.messages import NO_SKILLS, pluralize, print_notice
from skillwire.terminal.options import SELECTION, FollowLinks, FromAnywhere, json_of
from skillwire.terminal.output import print_json, print_line, print_problems, stderr_console, stdout_console

_INDENT = 2


def search(
    query: Annotated[
        list[str], Parameter(name="QUERY", help="What the skill should help with, in a few words.")
    ],
    /,
    *,
    sources: FromAnywhere = None,
    limit: Annotated[
        int, Parameter(metavar="NUMBER", help=f"How many skills to show, at most {MAX_LIMIT}.")
    ] = 10,
    audience: Annotated[
        Literal["everyone", "models", "people"],
        Parameter(
            group=SELECTION,
            name="--for",
            metavar="AUDIENCE",
            show_default=True,
            help="Only skills that models, or people, may start.",
        ),
    ] = "everyone",
    semantic: Semantic = False,
    json: Annotated[
        bool,
        json_of(
            "{results: [{name, uri, description, rank, fields, snippet}], total, weak, corrections?, "
            "nextCursor?, fallback?}"
        ),
    ] = False,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
    allow: Allow = None,
    token_env: TokenEnv = None,
) -> int:
    """Find skills for a task, the best first.

    Searches names, descriptions, metadata, headings, texts and names of files. Any word may match. Misspelled
    words are corrected. Servers find skills in the same order with the tool `search-skills`.

    A server's skill is shown as `LABEL:NAME`. Only what the server lists of it is searched, not its text.

    Exit code 1: nothing was found, or a server does not answer.

    For example:

    ```
    skillwire search fill in a PDF form --from ./skills
    skillwire search refund an order --from ./skills --from https://example.com/mcp
    skillwire search "release notes" --json | jq -r '.results[].name'
    ```
    """
    text = " ".join(query)
    if not text.strip():
        raise UsageError("the query is empty", hint='write what you look for: `skillwire search "pdf form"`')
    try:
        Query.parse(text)
    except BadParamsError as error:
        raise UsageError(str(error)) from error
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError(f"`--limit` is {limit}", hint=f"use a number from 1 to {MAX_LIMIT}")
    divided = SourcesAndServers.of(sources, with_token=token_env is not None)
    chosen = choose_config(config, named=bool(divided.sources or divided.servers))
    open_ranker = None if divided.servers else chosen_ranker(chosen.file, semantic=semantic)
    library, problems = None, ()
    if divided.sources or not divided.servers or chosen.sources:
        library = load_library(divided.sources, follow_links=follow_links, config=chosen)
    wanted = Audience(audience)
    if divided.servers:
        from skillwire.search.servers import search_servers  # noqa: PLC0415 - it loads the SDK

        targets = resolve_targets(divided.servers, allow, token_env)
        answer = anyio.run(partial(search_servers, text, targets, library, limit=limit, audience=wanted))
        found, problems = answer.results, answer.problems
    else:
        assert library is not None, "without a server, there is a library"
        ranker = None if open_ranker is None else open_ranker(library)
        library.use_index(LibrarySearch(library, index_folder(), ranker))
        found = anyio.run(partial(library.search, text, limit=limit, audience=wanted))
        for problem in library.catalog.problems:
            if problem.rule is Rule.SEARCH_NOT_STORED:
                print_notice(problem.message)
    print_problems(stderr_console(), problems)
    if json:
        print_json(as_json(found))
    else:
        _print(found)
    failed = any(each.severity is Severity.ERROR for each in problems)
    return 1 if failed or not found.results else 0


def _print(found: SearchResults) -> None:
    """Print the results: for a person on a terminal, else one per line for `grep` and `cut`."""
    console = stdout_console()
    for word, correction in found.corrections.items():
        print_notice(f"{quoted(word)} occurs nowhere; searched for {quoted(correction)}")
    if found.fallback:
        print_notice(f"searched by words only: {escape_invisible(found.fallback)}")
    if not found.results:
        print_notice("nothing was found; try other words" if found.total == 0 else NO_SKILLS)
        return
    if not console.is_terminal:
        for each in found.results:
            print_line(f"{escape_invisible(each.name)}\t{each.uri}\t{escape_invisible(each.description)}")
    else:
        _print_for_people(console, found.results)
    if found.weak:
        print_notice("no skill fits well")
    if found.total > len(found.results):
        print_notice(f"{pluralize(found.total, 'skill')} found; `--limit` shows more")


def _print_for_people(console: Console, results: Sequence[SearchResult]) -> None:
    for result in results:
        console.print(Text(escape_invisible(result.name), style="bold"), overflow="fold", soft_wrap=False)
        width = max(console.width - _INDENT, 20)
        lines = list(Text(escape_invisible(result.description)).wrap(console, width, overflow="fold"))
        for line in lines[:2]:
            line.rstrip()
            console.print(Text.assemble(" " * _INDENT, line), soft_wrap=True)
        if result.snippet:
            shown = Text(escape_invisible(result.snippet), style="dim")
            shown.truncate(width, overflow="ellipsis")
            console.print(Text.assemble(" " * _INDENT, shown), soft_wrap=True)

"""`skillwire graph`: show the dependencies between skills."""

from typing import Annotated, Literal

from cyclopts import Parameter

from skillwire.config.choice import ConfigOptions, choose_config
from skillwire.config.faults import faults_of_empty_sources
from skillwire.config.library import load_library
from skillwire.contract.commands.options import BlockKey
from skillwire.contract.folders import check_folders
from skillwire.contract.graph import DRAWINGS, Graph, as_json
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import NO_SKILLS, pluralize
from skillwire.terminal.options import OUTPUT, FollowLinks, json_of
from skillwire.terminal.output import print_json, print_line, print_problems, stderr_console


def graph(
    paths: Annotated[
        list[str] | None,
        Parameter(
            name="PATH",
            help="Skill or source. Default: `SKILLS_DIR` and the configuration file.",
        ),
    ] = None,
    /,
    *,
    format: Annotated[  # noqa: A002 - the name of the option
        Literal["text", "json", "mermaid", "dot"],
        Parameter(group=OUTPUT, metavar="FORMAT", help="Output format.", show_default=True),
    ] = "text",
    json: Annotated[
        bool,
        json_of("{skills: [{id, depends_on, dependents}], order, cycles, unknown}", same_as="--format json"),
    ] = False,
    block_key: BlockKey = None,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
) -> int:
    """Show the dependencies between skills, as declared by `depends_on` in the contract's metadata block.

    The format `text` shows a tree, an order in which each skill comes after its dependencies, and cycles.

    Exit code 1: there is a cycle, or a dependency on an unknown skill, or no skill because of errors.

    For example:

    ```
    skillwire graph ./skills
    skillwire graph ./skills --format mermaid > skills.mmd
    ```
    """
    chosen = choose_config(config, named=bool(paths))
    library = load_library(paths or [], follow_links=follow_links, config=chosen)
    drawn = check_folders(library, block_key).checked.repository.graph
    kind = "json" if json else format
    if kind == "json":
        print_json(as_json(drawn))
    else:
        for line in DRAWINGS[kind](drawn):
            print_line(escape_invisible(line))
    if kind == "text" and drawn.edges:
        _print_order(drawn)
    unknown = list(drawn.unknown())
    found = f"{pluralize(len(drawn.cycles), 'cycle')}, {pluralize(len(unknown), 'unknown id')}"
    stderr_console().print(f"{pluralize(len(drawn.edges), 'skill')}; {found}")
    faults = faults_of_empty_sources(library)
    print_problems(stderr_console(), faults)
    if not drawn.edges and not faults:
        stderr_console().print(NO_SKILLS)
    return 1 if drawn.cycles or unknown or (faults and not drawn.edges) else 0


def _print_order(drawn: Graph) -> None:
    print_line("")
    print_line(escape_invisible(f"order: {', '.join(drawn.order)}"))
    for cycle in drawn.cycles:
        print_line(escape_invisible(f"cycle: {' → '.join(cycle)}"))

"""`skillwire graph`: which skill depends on which."""

from typing import Annotated, Literal

from cyclopts import Parameter

from skillwire.config.library import load_library
from skillwire.contract.commands.options import BlockKey
from skillwire.contract.folders import check_folders
from skillwire.contract.graph import DRAWINGS, Graph, as_json
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import NO_SKILLS, pluralize
from skillwire.terminal.options import FollowLinks
from skillwire.terminal.output import print_json, print_line, stderr_console


def graph(
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
        Literal["text", "json", "mermaid", "dot"], Parameter(help="How to draw it.", show_default=True)
    ] = "text",
    json: Annotated[bool, Parameter(help="Short for `--format json`.")] = False,
    block_key: BlockKey = BLOCK_KEY,
    follow_links: FollowLinks = False,
) -> int:
    """Show which skill depends on which, by `depends_on` in the block of the repository contract.

    As text it is a tree, then the order in which every skill comes after those that it depends on, then the
    cycles. Exit code 1 if there is a cycle, or a dependency that nobody knows.

    For example:

    ```
    skillwire graph ./skills
    skillwire graph ./skills --format mermaid > skills.mmd
    ```
    """
    library = load_library(paths or [], follow_links=follow_links)
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
    if not drawn.edges:
        stderr_console().print(NO_SKILLS)
    return 1 if drawn.cycles or unknown else 0


def _print_order(drawn: Graph) -> None:
    print_line("")
    print_line(escape_invisible(f"order: {', '.join(drawn.order)}"))
    for cycle in drawn.cycles:
        print_line(escape_invisible(f"cycle: {' → '.join(cycle)}"))

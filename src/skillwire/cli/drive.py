"""`skillwire drive`: what running programs offer."""

import os
from typing import Annotated, Literal

from cyclopts import Parameter

from skillwire.cli.options import AsJson
from skillwire.cli.output import print_error, print_json, print_line, talk
from skillwire.config.settings import token_from
from skillwire.drive.carrying import ServerAddress
from skillwire.drive.listing import ListingError, listed_paths
from skillwire.drive.tree import ListedPath, tree_lines


def drive(
    action: Annotated[Literal["tree"], Parameter(name="ACTION", help="`tree`.")],
    url: Annotated[str, Parameter(name="URL", help="The address of a server with live skills.")],
    /,
    *,
    client: Annotated[str | None, Parameter(help="Only the paths of the client with this id.")] = None,
    token_env: Annotated[
        str | None, Parameter(help="The environment variable with the token of the server.")
    ] = None,
    json: AsJson = False,
) -> int:
    """Show the paths of the programs that are connected to a server, as a tree with descriptions.

    For example:

    ```
    skillwire drive tree http://127.0.0.1:8765
    skillwire drive tree http://127.0.0.1:8765 --client orders
    ```
    """
    del action  # there is one
    try:
        paths = listed_paths(ServerAddress.parse(url), client, token_from(token_env, os.environ))
    except ListingError as error:
        print_error(str(error), hint=error.hint)
        return 1
    if json:
        print_json([_shown(each) for each in paths])
        return 0
    for line in tree_lines(paths):
        print_line(line)
    if not paths:
        talk().print(f"no client `{client}` offers a path" if client else "no program offers a path")
    return 0


def _shown(listed: ListedPath) -> dict[str, str]:
    return {
        "client": listed.client_id,
        "type": listed.type,
        "path": listed.path,
        "method": listed.method,
        "description": listed.description,
    }

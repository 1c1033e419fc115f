"""`skillwire schema`: the frontmatter as a JSON Schema."""

from typing import Annotated

from cyclopts import Parameter

from skillwire.cli.options import BlockKey
from skillwire.cli.output import print_json
from skillwire.contract.schema import frontmatter_schema
from skillwire.contract.terms import BLOCK_KEY


def schema(
    *,
    contract: Annotated[bool, Parameter(help="With the block of the repository contract, required.")] = False,
    block_key: BlockKey = BLOCK_KEY,
) -> int:
    """Print the JSON Schema of a frontmatter, for editors and other programs.

    A schema cannot say everything: that files exist, or that the name is that of the folder, only
    `skillwire check` finds out.

    For example:

    ```
    skillwire schema > skill.schema.json
    skillwire schema --contract > skill.schema.json
    ```
    """
    print_json(frontmatter_schema(block_key if contract else None))
    return 0

"""The option `--block-key`, which several commands share."""

from typing import Annotated, TypeAlias

from cyclopts import Parameter

from skillwire.contract.rules.skill import BLOCK_KEY, STANDARD
from skillwire.errors import UsageError
from skillwire.safe_text import quoted
from skillwire.terminal.options import CONTRACT


def _validate_key(_type: object, key: object) -> None:
    """Raise `UsageError` if `key` cannot be the key of a metadata block."""
    if key is None:
        return
    if not isinstance(key, str) or not key.strip():
        raise UsageError("`--block-key` is empty", hint=f"name a key, such as {quoted(BLOCK_KEY)}")
    if key in STANDARD:
        raise UsageError(
            f"`--block-key` cannot be {quoted(key)}, which is a standard field",
            hint=f"name a key of your own, such as {quoted(BLOCK_KEY)}",
        )


BlockKey: TypeAlias = Annotated[
    str | None,
    Parameter(
        group=CONTRACT,
        name="--block-key",
        metavar="KEY",
        validator=_validate_key,
        help="Frontmatter key of the contract's metadata block. Default: `x-skillwire` or `x-personal-mcp`.",
    ),
]

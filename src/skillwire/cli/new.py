"""`skillwire new`: a skill to begin with."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillwire.cli.options import BlockKey
from skillwire.cli.output import print_line, talk
from skillwire.contract.frontmatter import ContractError, validate_skill_frontmatter
from skillwire.contract.template import new_skill
from skillwire.contract.terms import BLOCK_KEY
from skillwire.model.display import quoted
from skillwire.model.errors import UsageError
from skillwire.model.name import NAME_RULE, is_skill_name, proposed_name
from skillwire.model.uri import SKILL_FILE
from skillwire.skillmd.frontmatter import split
from skillwire.skillmd.unreadable import UnreadableError
from skillwire.skillmd.yaml12 import load


def new(
    name: Annotated[str, Parameter(name="NAME", help="The name of the skill, or the folder to make for it.")],
    /,
    *,
    contract: Annotated[bool, Parameter(help="With the block of the repository contract.")] = False,
    block_key: BlockKey = BLOCK_KEY,
) -> int:
    """Make a folder with a `SKILL.md` to begin with, and print its path. It passes every check as it stands.

    For example:

    ```
    skillwire new refunds
    skillwire new ./skills/refunds --contract
    ```
    """
    folder = Path(name)
    if not is_skill_name(folder.name):
        better = proposed_name(folder.name) or "my-skill"
        raise UsageError(
            f"{quoted(folder.name)} is not {NAME_RULE}",
            hint=f"`skillwire new {shlex.quote(str(folder.with_name(better)))}`"
            if folder.name
            else "give it a name: `skillwire new my-skill`",
        )
    text = new_skill(folder.name, key=block_key if contract else None)
    if contract:
        _must_keep_the_contract(text, folder.name, block_key)
    file = folder / SKILL_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)
    except FileExistsError as error:
        hint = "choose another name, or edit the one that is there"
        raise UsageError(
            f"{quoted(str(file if folder.is_dir() else folder))} exists already", hint
        ) from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(
            f"{quoted(str(file))} cannot be written: {reason}", "choose another folder"
        ) from error
    print_line(str(file))
    key = "" if block_key == BLOCK_KEY else f" --block-key {shlex.quote(block_key)}"
    option = f" --contract{key}" if contract else ""
    talk().print(f"write what it does, then `skillwire check {shlex.quote(str(folder))}{option}`")
    return 0


def _must_keep_the_contract(text: str, name: str, key: str) -> None:
    try:
        validate_skill_frontmatter(load(split(text.encode()).text).values, name, key=key)
    except ContractError as error:
        first = error.problems[0]
        raise UsageError(f"the contract has no such skill: {first.message}", hint=first.hint) from error
    except UnreadableError as error:
        hint = "name a plain key with `--block-key`"
        raise UsageError(f"nobody could read such a skill: {error.message}", hint) from error

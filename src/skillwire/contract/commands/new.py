"""`skillwire new`: create a skill from a template."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillwire.contract.commands.options import BlockKey
from skillwire.contract.frontmatter import validate_skill_frontmatter
from skillwire.contract.rules.skill import BLOCK_KEY, document_uri
from skillwire.core.names import NAME_RULE, SKILL_FILE, is_skill_name, suggest_name
from skillwire.errors import ContractError, UsageError
from skillwire.frontmatter.split import UnreadableError, split
from skillwire.frontmatter.writer import format_scalar
from skillwire.frontmatter.yaml12 import load
from skillwire.safe_text import quoted
from skillwire.terminal.output import print_line, stderr_console

_BODY = """
# {title}

Describe here what to do, step by step. Move details that are not always needed to files in `references`.

1. First, …
2. Then, …
"""


def new_skill(name: str, *, key: str | None) -> str:
    """Return the text of a new `SKILL.md`; with a `key`, including the contract's metadata block."""
    block = ""
    if key is not None:
        block = (
            f'{format_scalar(key)}:\n  id: {format_scalar(name)}\n  version: "0.1.0"\n  tags: []\n'
            f"  capabilities:\n    - {document_uri(name)}\n  depends_on: []\n  references: {{}}\n"
        )
    title = name.replace("-", " ").capitalize()
    description = f"Describe what {name} does, and when to use it."
    fields = f"name: {format_scalar(name)}\ndescription: {format_scalar(description)}\n{block}"
    return f"---\n{fields}---\n{_BODY.format(title=title)}"


def new(
    name: Annotated[str, Parameter(name="NAME", help="Name of the skill, or the folder to create for it.")],
    /,
    *,
    contract: Annotated[
        bool, Parameter(help="Include the metadata block of the repository contract.")
    ] = False,
    block_key: BlockKey = BLOCK_KEY,
) -> int:
    """Create a folder with a `SKILL.md` from a template, and print the path of the file.

    The new skill passes all checks.

    For example:

    ```
    skillwire new refunds
    skillwire new ./skills/refunds --contract
    ```
    """
    folder = Path(name)
    if not is_skill_name(folder.name):
        better = suggest_name(folder.name) or "my-skill"
        raise UsageError(
            f"{quoted(folder.name)} is not {NAME_RULE}",
            hint=f"`skillwire new {shlex.quote(str(folder.with_name(better)))}`"
            if folder.name
            else "for example `skillwire new my-skill`",
        )
    text = new_skill(folder.name, key=block_key if contract else None)
    if contract:
        _validate_template(text, folder.name, block_key)
    file = folder / SKILL_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)
    except FileExistsError as error:
        hint = "choose another name, or edit the existing skill"
        raise UsageError(
            f"{quoted(str(file if folder.is_dir() else folder))} already exists", hint
        ) from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(f"cannot write {quoted(str(file))}: {reason}", "choose another folder") from error
    print_line(str(file))
    key = "" if block_key == BLOCK_KEY else f" --block-key {shlex.quote(block_key)}"
    option = f" --contract{key}" if contract else ""
    stderr_console().print(f"edit it, then run `skillwire check {shlex.quote(str(folder))}{option}`")
    return 0


def _validate_template(text: str, name: str, key: str) -> None:
    try:
        validate_skill_frontmatter(load(split(text.encode()).text).values, name, key=key)
    except ContractError as error:
        first = error.problems[0]
        raise UsageError(
            f"the contract does not allow this skill: {first.message}", hint=first.hint
        ) from error
    except UnreadableError as error:
        hint = "name a simple key with `--block-key`"
        raise UsageError(f"this skill would not be readable: {error.message}", hint) from error

"""`skillwire new`: create a skill from a template."""

import shlex
from collections.abc import Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillwire.contract.commands.options import BlockKey
from skillwire.contract.frontmatter import validate_skill_frontmatter
from skillwire.contract.rules.skill import document_uri, used_key
from skillwire.core.json_text import json_bytes
from skillwire.core.names import EVALS_FOLDER, NAME_RULE, SKILL_FILE, is_skill_name, suggest_name
from skillwire.core.record import Json
from skillwire.errors import ContractError, UsageError
from skillwire.frontmatter.split import UnreadableError, split
from skillwire.frontmatter.writer import format_scalar
from skillwire.frontmatter.yaml12 import load
from skillwire.safe_text import quoted
from skillwire.terminal.options import CONTRACT
from skillwire.terminal.output import print_line, stderr_console

_MAX_BESIDE = 100
"""Maximum number of existing skills that are read to find the key of their metadata block."""
EVALS_FILE = f"{EVALS_FOLDER}/evals.json"
_BODY = """
# {title}

Describe here what to do, step by step. Move details that are not always needed to files in `references`.

1. First, …
2. Then, …
"""


def new_skill(name: str, *, key: str | None) -> str:
    """Return the text of a new `SKILL.md`. With a `key`, it has the contract's metadata block under it."""
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


def new_evals(name: str) -> bytes:
    """Return the text of a new `evals/evals.json`, with one case to edit."""
    case: dict[str, object] = {
        "id": 1,
        "prompt": f"Help me with {name.replace('-', ' ')}.",
        "expected_output": "Describe here what a good result is like.",
        "files": [],
        "expectations": [],
    }
    return json_bytes({"skill_name": name, "evals": [case]}, indented=True)


def new(
    name: Annotated[str, Parameter(name="NAME", help="Name of the skill, or the folder to create for it.")],
    /,
    *,
    contract: Annotated[
        bool, Parameter(group=CONTRACT, help="Include the metadata block of the repository contract.")
    ] = False,
    block_key: BlockKey = None,
) -> int:
    """Create a folder with a `SKILL.md` from a template, and print the path of the file.

    The new skill passes all checks. Its file `evals/evals.json` has a first eval case, and is not served.

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
    key = (block_key or _key_around(folder)) if contract else None
    text = new_skill(folder.name, key=key)
    if key is not None:
        _validate_template(text, folder.name, key)
    file = folder / SKILL_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)
        _write_evals(folder)
    except FileExistsError as error:
        hint = "choose another name, or edit the existing skill"
        raise UsageError(
            f"{quoted(str(file if folder.is_dir() else folder))} already exists", hint
        ) from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(f"cannot write {quoted(str(file))}: {reason}", "choose another folder") from error
    print_line(str(file))
    chosen = "" if block_key is None else f" --block-key {shlex.quote(block_key)}"
    option = f" --contract{chosen}" if contract else ""
    stderr_console().print(
        f"edit it and `{EVALS_FILE}`, then run `skillwire check {shlex.quote(str(folder))}{option}`"
    )
    return 0


def _write_evals(folder: Path) -> None:
    """Write the eval cases of a new skill, unless there are some."""
    file = folder / EVALS_FILE
    try:
        file.parent.mkdir(exist_ok=True)
        with file.open("xb") as opened:
            opened.write(new_evals(folder.name))
    except FileExistsError:
        pass


def _key_around(folder: Path) -> str:
    """Return the key of the metadata block that skills near this folder use, else the default key."""
    beside = chain(folder.parent.glob(f"*/{SKILL_FILE}"), folder.parent.parent.glob(f"*/*/{SKILL_FILE}"))
    return used_key(_frontmatter(file) for file in islice(beside, _MAX_BESIDE))


def _frontmatter(file: Path) -> Mapping[str, Json]:
    try:
        return load(split(file.read_bytes()).text).values
    except (UnreadableError, OSError):
        return {}


def _validate_template(text: str, name: str, key: str) -> None:
    """Raise `UsageError` if the new skill would have an error."""
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

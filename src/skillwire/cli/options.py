"""Arguments and options that several verbs share, in the same words."""

from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter

from skillwire.contract.terms import BLOCK_KEY, STANDARD
from skillwire.model.display import quoted
from skillwire.model.errors import UsageError


def _must_be_a_key(_type: object, key: object) -> None:
    """Raise `UsageError` if no block can stand under this key."""
    if not isinstance(key, str) or not key.strip():
        raise UsageError("`--block-key` is empty", hint=f"name a key, such as {quoted(BLOCK_KEY)}")
    if key in STANDARD:
        raise UsageError(
            f"`--block-key` cannot be {quoted(key)}, which is a field of every skill",
            hint=f"name a key of your own, such as {quoted(BLOCK_KEY)}",
        )


SkillArgument: TypeAlias = Annotated[
    str, Parameter(name="SKILL", help="A skill's folder, URI, path or name; or `LABEL:NAME` on a server.")
]
From: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--from",
        help="A source to look in (repeatable; default `SKILLS_DIR` and the configuration).",
    ),
]
ServerSkill: TypeAlias = Annotated[
    str, Parameter(name="SKILL", help="`LABEL:NAME` or `LABEL:URI`; with `--from`, a name or URI will do.")
]
FromAnywhere: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--from",
        help="A source or server to look in (repeatable; default `SKILLS_DIR` and the configuration).",
    ),
]
FromServers: TypeAlias = Annotated[
    list[str] | None,
    Parameter(name="--from", help="A server to look on: its label, or its URL (repeatable)."),
]
ListNonconforming: TypeAlias = Annotated[
    bool,
    Parameter(help="Also list skills that make strict clients refuse the whole list."),
]
PromptContents: TypeAlias = Annotated[
    Literal["resource", "text"],
    Parameter(name="--prompt-content", help="How prompts hold a skill: some clients read only text."),
]
BridgedPromptContents: TypeAlias = Annotated[
    Literal["resource", "text"],
    Parameter(
        name="--prompt-content",
        help="As for `serve`. A bridge's prompts are text either way: it says whose they are.",
    ),
]
Yes: TypeAlias = Annotated[bool, Parameter(name="--yes", help="Do it without asking.")]
FollowLinks: TypeAlias = Annotated[bool, Parameter(help="Also look where links lead, outside the folder.")]
AsJson: TypeAlias = Annotated[bool, Parameter(help="Print JSON, for programs.")]
BlockKey: TypeAlias = Annotated[
    str,
    Parameter(
        name="--block-key",
        validator=_must_be_a_key,
        help="The key of the contract's block; `x-personal-mcp` by default.",
    ),
]

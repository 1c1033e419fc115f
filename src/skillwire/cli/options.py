"""Arguments and options that several verbs share, in the same words."""

from typing import Annotated, TypeAlias

from cyclopts import Parameter

SkillArgument: TypeAlias = Annotated[
    str, Parameter(name="SKILL", help="A skill's folder, its URI, its path, or its name.")
]
From: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--from",
        help="A source to look in (repeatable; default `SKILLS_DIR` and the configuration).",
    ),
]
FollowLinks: TypeAlias = Annotated[bool, Parameter(help="Also look where links lead, outside the folder.")]
AsJson: TypeAlias = Annotated[bool, Parameter(help="Print JSON, for programs.")]
BlockKey: TypeAlias = Annotated[
    str, Parameter(name="--block-key", help="The key of the contract's block; `x-personal-mcp` by default.")
]

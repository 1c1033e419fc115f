"""Arguments and options that several commands share."""

from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter

from skillwire.errors import UsageError

SkillArgument: TypeAlias = Annotated[
    str,
    Parameter(
        name="SKILL", help="A skill: its folder, URI, path or name, or `LABEL:NAME` for a server's skill."
    ),
]
From: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--from",
        metavar="SOURCE",
        help="Search this source (repeatable). Default: `SKILLS_DIR` and the configuration file.",
    ),
]
ServerSkill: TypeAlias = Annotated[
    str,
    Parameter(
        name="SKILL", help="`LABEL:NAME` or `LABEL:URI`. With `--from`, the name or URI alone is enough."
    ),
]
FromAnywhere: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--from",
        metavar="SOURCE",
        help="Search this source or server (repeatable). Default: `SKILLS_DIR` and the configuration file.",
    ),
]
FromServers: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--from", metavar="SERVER", help="Search this server, given by label or URL (repeatable)."
    ),
]
ListNonconforming: TypeAlias = Annotated[
    bool,
    Parameter(help="Also list skills that make strict clients reject the whole list."),
]
PromptContents: TypeAlias = Annotated[
    Literal["resource", "text"],
    Parameter(
        name="--prompt-content",
        metavar="FORMAT",
        show_default=True,
        help="Form of a skill in prompts. Use `text` for clients that reject embedded resources.",
    ),
]
BridgedPromptContents: TypeAlias = Annotated[
    Literal["resource", "text"],
    Parameter(
        name="--prompt-content",
        metavar="FORMAT",
        show_default=True,
        help="Has no effect. A bridge always sends text, marked with the server's label.",
    ),
]
Only: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--only",
        metavar="PATTERN|tag:NAME",
        help="Only skills whose name, path or tag matches, such as `team/*` (repeatable).",
    ),
]
Exclude: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--exclude",
        metavar="PATTERN|tag:NAME",
        help="Leave out skills whose name, path or tag matches (repeatable).",
    ),
]
NoPager: TypeAlias = Annotated[bool, Parameter(help="Do not use a pager for long output.")]
Yes: TypeAlias = Annotated[bool, Parameter(name="--yes", help="Do not ask for confirmation.")]
FollowLinks: TypeAlias = Annotated[
    bool, Parameter(help="Follow symbolic links that lead outside the folder.")
]


def json_of(shape: str, *, same_as: str = "") -> Parameter:
    """Return the option `--json` of a command whose JSON has this shape.

    A shape names the keys of objects: `[{name, origin?}]` is a list of objects that all have `name`, and some
    have `origin`. A key without a shape of its own can have any value. A key with a shape can also be null.
    The word "or" separates alternatives. `same_as` is another option with the same effect.
    """
    does = f"Same as `{same_as}`" if same_as else "Print JSON"
    return Parameter(name="--json", help=f"{does}: `{shape}`.")


Http: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--http",
        metavar="[[HOST:]PORT]",
        help="Serve over HTTP instead of stdio. Default host: 127.0.0.1. Default port: 8765.",
    ),
]
ClientTokenEnv: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--token-env",
        metavar="VARIABLE",
        help="Environment variable with the bearer token that HTTP clients must send.",
    ),
]
AllowPublic: TypeAlias = Annotated[
    bool,
    Parameter(name="--allow-public", help="Allow an address that other machines can reach without a token."),
]
AllowHost: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--allow-host",
        metavar="NAME",
        help="Another host name that clients may use for this server (repeatable).",
    ),
]
AllowOrigin: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--allow-origin",
        metavar="ORIGIN",
        help="Origin of a web page or browser extension that may call this server (repeatable).",
    ),
]
NoWellKnown: TypeAlias = Annotated[
    bool,
    Parameter(name="--no-well-known", help="Over HTTP, do not serve `/.well-known/agent-skills/`."),
]


def validate_budget(tokens: int) -> int:
    """Return `tokens`, the size limit for the list of skills. Raises `UsageError` if it is negative."""
    if tokens < 0:
        raise UsageError(
            f"`--catalog-tokens` is {tokens}, which is negative", hint="use 0 tokens for an empty list"
        )
    return tokens

"""Arguments and options that several commands share."""

from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter

from skillwire.errors import UsageError

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


Http: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--http",
        help="Serve over HTTP at `[HOST:]PORT` instead of stdio: on loopback without a HOST, "
        "at port 8765 without a value.",
    ),
]
ClientTokenEnv: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--token-env",
        help="The environment variable with the bearer token that HTTP clients must send.",
    ),
]
AllowPublic: TypeAlias = Annotated[
    bool, Parameter(name="--allow-public", help="Bind a public address without a token.")
]
AllowHost: TypeAlias = Annotated[
    list[str] | None,
    Parameter(name="--allow-host", help="A further name that clients reach this server by."),
]
AllowOrigin: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--allow-origin", help="A web page's or browser extension's origin that may call this server."
    ),
]
NoWellKnown: TypeAlias = Annotated[
    bool,
    Parameter(name="--no-well-known", help="Over HTTP, serve nothing at `/.well-known/agent-skills/`."),
]


def validate_budget(tokens: int) -> int:
    """Return how long the list of skills may be. Raises `UsageError`."""
    if tokens < 0:
        raise UsageError(f"`--catalog-tokens` is {tokens}", hint="say how many tokens, 0 for an empty list")
    return tokens

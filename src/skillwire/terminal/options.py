"""Arguments and options that several commands share, and the groups below which `--help` lists options."""

from typing import Annotated, Literal, TypeAlias

from cyclopts import Group, Parameter

from skillwire.errors import UsageError

ARGUMENTS = Group("Arguments", sort_key=0)
OPTIONS = Group("Options", sort_key=1)
"""The group of an option that names no other group."""
HTTP = Group("HTTP", sort_key=2)
"""Options for the HTTP address that Skillwire serves."""
ENTRY = Group("Clients and entries", sort_key=2)
"""Options for entries in the configuration files of clients."""
RESULT = Group("Result", sort_key=2)
"""Options for the file or folder that a command writes."""
SELECTION = Group("Which skills", sort_key=3)
SERVERS = Group("Servers", sort_key=4)
"""Options for the connections to MCP servers."""
MODELS = Group("Lists, tools and prompts", sort_key=5)
COMPATIBILITY = Group("Compatibility", sort_key=6)
CONFIGURATION = Group("Configuration", sort_key=7)
RULES = Group("Which problems", sort_key=8)
FIXES = Group("Fixes", sort_key=9)
CONTRACT = Group("Repository contract", sort_key=10)
DRIVE = Group("Live skills", sort_key=11)
OUTPUT = Group("Output", sort_key=12)

SkillArgument: TypeAlias = Annotated[
    str,
    Parameter(
        name="SKILL", help="A skill: its folder, URI, path or name, or `LABEL:NAME` for a server's skill."
    ),
]
From: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        group=SELECTION,
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
Pin: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        group=MODELS,
        metavar="PATTERN",
        help="List this skill, or the skills that match, before all others (repeatable).",
    ),
]
FromAnywhere: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        group=SELECTION,
        name="--from",
        metavar="SOURCE",
        help="Search this source or server (repeatable). Default: `SKILLS_DIR` and the configuration file.",
    ),
]
FromServers: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        group=SELECTION,
        name="--from",
        metavar="SERVER",
        help="Search this server, given by label or URL (repeatable).",
    ),
]
ListNonconforming: TypeAlias = Annotated[
    bool,
    Parameter(group=COMPATIBILITY, help="Also list skills that make strict clients reject the whole list."),
]
PromptContents: TypeAlias = Annotated[
    Literal["resource", "text"],
    Parameter(
        group=MODELS,
        name="--prompt-content",
        metavar="FORMAT",
        show_default=True,
        help="Form of a skill in prompts. Use `text` for clients that reject embedded resources.",
    ),
]
BridgedPromptContents: TypeAlias = Annotated[
    Literal["resource", "text"],
    Parameter(
        group=MODELS,
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
    bool, Parameter(group=SELECTION, help="Follow symbolic links that lead outside the folder.")
]


def json_of(shape: str, *, same_as: str = "") -> Parameter:
    """Return the option `--json` of a command whose JSON has this shape.

    A shape names the keys of objects: `[{name, origin?}]` is a list of objects that all have `name`, and some
    have `origin`. A key without a shape of its own can have any value. A key with a shape can also be null.
    The word "or" separates alternatives. `same_as` is another option with the same effect.
    """
    does = f"Same as `{same_as}`" if same_as else "Print JSON"
    return Parameter(name="--json", group=OUTPUT, help=f"{does}: `{shape}`.")


Http: TypeAlias = Annotated[
    str | None,
    Parameter(
        group=HTTP,
        name="--http",
        metavar="[HOST:]PORT",
        help="Serve over HTTP instead of stdio. Default host: 127.0.0.1. Default port: 8765.",
    ),
]
ClientTokenEnv: TypeAlias = Annotated[
    str | None,
    Parameter(
        group=HTTP,
        name="--token-env",
        metavar="VARIABLE",
        help="Environment variable with the bearer token that HTTP clients must send.",
    ),
]
AllowPublic: TypeAlias = Annotated[
    bool,
    Parameter(
        group=HTTP,
        name="--allow-public",
        help="Allow an address that other machines can reach without a token.",
    ),
]
AllowHost: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        group=HTTP,
        name="--allow-host",
        metavar="NAME",
        help="Another host name that clients may use for this server (repeatable).",
    ),
]
AllowOrigin: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        group=HTTP,
        name="--allow-origin",
        metavar="ORIGIN",
        help="Origin of a web page or browser extension that may call this server (repeatable).",
    ),
]
AccessLog: TypeAlias = Annotated[
    bool,
    Parameter(
        group=HTTP,
        name="--access-log",
        help="Print a line on stderr for each HTTP request: time, client, method, path, status, duration.",
    ),
]
NoWellKnown: TypeAlias = Annotated[
    bool,
    Parameter(
        group=HTTP, name="--no-well-known", help="Over HTTP, do not serve `/.well-known/agent-skills/`."
    ),
]


def validate_budget(tokens: int) -> int:
    """Return `tokens`, the size limit for the list of skills. Raises `UsageError` if it is negative."""
    if tokens < 0:
        raise UsageError(
            f"`--catalog-tokens` is {tokens}, which is negative", hint="use 0 tokens for an empty list"
        )
    return tokens

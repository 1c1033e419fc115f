"""`skillwire visibility`: show or set whether models and people can use a skill."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter

from skillwire.cli.find import find_served
from skillwire.config.choice import ConfigChoice
from skillwire.config.file import ConfigFile, decide, default_config, read_overrides
from skillwire.library.visibility import Override, VisibilityPolicy
from skillwire.terminal.options import CONFIGURATION, SELECTION, FollowLinks, json_of
from skillwire.terminal.output import print_json, stdout_console

Choice: TypeAlias = Literal["on", "off", "reset"]
_DECISIONS: dict[str, bool | None] = {"on": True, "off": False, "reset": None}


def visibility(
    skill: Annotated[
        str, Parameter(name="SKILL", help="Skill that you serve: its folder, URI, path or name.")
    ],
    /,
    *,
    sources: Annotated[
        list[str] | None,
        Parameter(
            group=SELECTION,
            name="--from",
            metavar="SOURCE",
            help="Source that you serve (repeatable). Default: `SKILLS_DIR` and the configuration file.",
        ),
    ] = None,
    assistant: Annotated[
        Choice | None, Parameter(metavar="VALUE", help="Whether models may load it on their own.")
    ] = None,
    user: Annotated[
        Choice | None, Parameter(metavar="VALUE", help="Whether people get a prompt for it.")
    ] = None,
    follow_links: FollowLinks = False,
    config: Annotated[
        Path | None,
        Parameter(
            group=CONFIGURATION, metavar="FILE", help="Use this configuration file instead of your own."
        ),
    ] = None,
    with_config: Annotated[
        bool, Parameter(group=CONFIGURATION, help="Also look in the configured sources if you name others.")
    ] = False,
    json: Annotated[bool, json_of("{uri, assistant, user, customized}")] = False,
) -> int:
    """Show or set whether models and people can use a skill.

    Your decisions are stored in the configuration file and override the skill's frontmatter. `reset` removes
    your decision, so that the frontmatter applies again. Running servers apply your decision at once.

    For example:

    ```
    skillwire visibility ./skills/refunds
    skillwire visibility refunds --from ./skills --assistant off
    skillwire visibility refunds --from ./skills --assistant reset --user reset
    ```
    """
    file = ConfigFile(config or default_config())
    chosen_config = ConfigChoice(file, with_config or not sources)
    entry = find_served(skill, sources or [], chosen_config, follow_links=follow_links)
    chosen = {"assistant": assistant, "user": user}
    decided = {side: _DECISIONS[choice] for side, choice in chosen.items() if choice is not None}
    override = (
        decide(file, entry.uri, decided) if decided else read_overrides(file).get(entry.uri, Override())
    )
    visible = VisibilityPolicy({entry.uri: override}).of(entry)
    customized = override != Override()
    if json:
        print_json(
            {"uri": entry.uri, "assistant": visible.assistant, "user": visible.user, "customized": customized}
        )
        return 0
    origin = "set by you" if customized else "from its frontmatter"
    sides = f"assistant {_on_off(visible.assistant)}, user {_on_off(visible.user)}"
    stdout_console().print(f"{entry.uri}: {sides} ({origin})")
    return 0


def _on_off(value: bool) -> str:  # noqa: FBT001 - a word for a value
    """Return `on` or `off`."""
    return "on" if value else "off"

"""`skillwire visibility`: show or set whether models and people can use a skill."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from urllib.parse import unquote

from cyclopts import Parameter
from rich.text import Text

from skillwire.cli.find import find_served
from skillwire.config.choice import ConfigChoice
from skillwire.config.file import ConfigFile, decide_all, default_config, read_overrides
from skillwire.config.library import load_library
from skillwire.config.source_kinds import local_path
from skillwire.core.patterns import is_pattern, matches
from skillwire.core.record import SkillRecord
from skillwire.errors import UsageError
from skillwire.library.catalog import Catalog
from skillwire.library.visibility import Override, Visibility, VisibilityPolicy
from skillwire.safe_text import quoted
from skillwire.terminal.messages import NoSuchSkillError, pluralize
from skillwire.terminal.options import CONFIGURATION, SELECTION, FollowLinks, Yes, json_of
from skillwire.terminal.output import ask, is_interactive, print_json, stderr_console, stdout_console
from skillwire.terminal.pager import print_paged

Choice: TypeAlias = Literal["on", "off", "reset"]
_DECISIONS: dict[str, bool | None] = {"on": True, "off": False, "reset": None}


def visibility(
    skills: Annotated[
        list[str],
        Parameter(
            name="SKILL",
            help="Skill that you serve: its folder, URI, path or name, or a pattern such as `team/*`.",
        ),
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
    yes: Yes = False,
    json: Annotated[
        bool, json_of("{uri, assistant, user, customized} or [{uri, assistant, user, customized}]")
    ] = False,
) -> int:
    """Show or set whether models and people can use a skill.

    Your decisions are stored in the configuration file and override the skill's frontmatter. `reset` removes
    your decision, so that the frontmatter applies again. Running servers apply your decision at once.

    With several skills or a pattern, shows what would change and asks first. A pattern applies to the skills
    that match now, not to those that you add later. If a name or pattern matches no skill, nothing changes.

    For example:

    ```
    skillwire visibility ./skills/refunds
    skillwire visibility refunds --from ./skills --assistant off
    skillwire visibility refunds --from ./skills --assistant reset --user reset
    skillwire visibility 'claude-*' refunds --from ./skills --assistant off --user off
    ```
    """
    file = ConfigFile(config or default_config())
    one = len(skills) == 1 and not is_pattern(skills[0])
    places = ConfigChoice(file, with_config or not sources)
    if one:
        entries = [find_served(skills[0], sources or [], places, follow_links=follow_links)]
    else:
        entries = _find_all(skills, sources or [], places, follow_links=follow_links)
    chosen = {"assistant": assistant, "user": user}
    decided = {side: _DECISIONS[choice] for side, choice in chosen.items() if choice is not None}
    known = read_overrides(file)
    overrides = {entry.uri: known.get(entry.uri, Override()) for entry in entries}
    if decided:
        after = {uri: replace(override, **decided) for uri, override in overrides.items()}
        changed = [entry for entry in entries if after[entry.uri] != overrides[entry.uri]]
        if not one and changed and not yes and not _confirmed(changed, overrides, after):
            return 1
        overrides = decide_all(file, [entry.uri for entry in entries], decided)
    if json:
        rows = [_row(entry, overrides[entry.uri]) for entry in entries]
        print_json(rows[0] if one else rows)
        return 0
    console = stdout_console()
    with console.capture() as captured:
        for entry in entries:
            console.print(Text(_line(entry, overrides[entry.uri])))
    print_paged(console, captured.get())
    return 0


def _find_all(
    skills: Sequence[str], sources: Sequence[str], config: ConfigChoice, *, follow_links: bool
) -> list[SkillRecord]:
    """Return the skills that names and patterns mean, each once.

    Raises `UsageError` or `NoSuchSkillError`.
    """
    found = dict[str, SkillRecord]()
    catalog: Catalog | None = None
    for skill in skills:
        if not is_pattern(skill) or local_path(skill).exists():
            entry = find_served(skill, sources, config, follow_links=follow_links)
            found[entry.uri] = entry
            continue
        if catalog is None:
            catalog = load_library(sources, follow_links=follow_links, config=config).catalog
        every = catalog.entries.values()
        matching = {each.uri: each for each in every if matches(skill, each.name, unquote(each.path))}
        if not matching:
            hint = "`skillwire list` lists the skills; `*` stands for any text"
            raise NoSuchSkillError(f"no skill matches {quoted(skill)}", hint=hint)
        found |= matching
    return list(found.values())


def _confirmed(
    changed: Sequence[SkillRecord], before: Mapping[str, Override], after: Mapping[str, Override]
) -> bool:
    """Show what would change, and return whether the user agrees. Raises `UsageError` without a terminal."""
    console = stderr_console()
    for entry in changed:
        now, then = (_sides(entry, each[entry.uri]) for each in (before, after))
        console.print(Text(f"{entry.uri}: {now} -> {then}" if now != then else f"{entry.uri}: {now}"))
    if not is_interactive():
        raise UsageError(
            "cannot ask whether to change several skills: stdin or stderr is not a terminal",
            hint="add `--yes` to change them without asking",
        )
    if ask(f"change {pluralize(len(changed), 'skill')}?") == "y":
        return True
    console.print("nothing was changed")
    return False


def _visible(entry: SkillRecord, override: Override) -> Visibility:
    return VisibilityPolicy({entry.uri: override}).of(entry)


def _row(entry: SkillRecord, override: Override) -> dict[str, object]:
    visible = _visible(entry, override)
    customized = override != Override()
    return {
        "uri": entry.uri,
        "assistant": visible.assistant,
        "user": visible.user,
        "customized": customized,
    }


def _sides(entry: SkillRecord, override: Override) -> str:
    visible = _visible(entry, override)
    return f"assistant {_on_off(visible.assistant)}, user {_on_off(visible.user)}"


def _line(entry: SkillRecord, override: Override) -> str:
    origin = "from its frontmatter" if override == Override() else "set by you"
    return f"{entry.uri}: {_sides(entry, override)} ({origin})"


def _on_off(value: bool) -> str:  # noqa: FBT001 - a word for a value
    """Return `on` or `off`."""
    return "on" if value else "off"

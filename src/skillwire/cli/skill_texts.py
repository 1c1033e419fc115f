"""Print the text of servers' skills that differs from the approved text, at the request of a person."""

from collections.abc import AsyncGenerator, Sequence

from rich.text import Text

from skillwire.errors import SkillwireError
from skillwire.host.approve_all import ChangedText
from skillwire.host.host import Host
from skillwire.host.hosted_skill import HostedSkill
from skillwire.safe_text import escape_invisible, quote_if_needed
from skillwire.terminal.messages import pluralize
from skillwire.terminal.output import stdout_console
from skillwire.terminal.pager import print_paged
from skillwire.terminal.text_diff import bounded_lines, diff_lines, styled

_FILE_LINES, _FILE_CHARACTERS = 2000, 100_000
"""Maximum length of the diff of one file."""
_CHARACTERS = 500_000
"""Maximum length of all diffs together."""


async def print_texts(host: Host, skills: Sequence[HostedSkill], *, pager: bool = True) -> None:
    """Print unified diffs from the approved to the listed text of the skills, within a limit.

    The files are read from the servers, and verified. Skills beyond the limit are not read.
    """
    console, left = stdout_console(), _CHARACTERS
    with console.capture() as captured:
        for number, skill in enumerate(skills):
            if left <= 0:
                more = pluralize(len(skills) - number, "more skill")
                console.print(Text(f"… {more} not shown; `skillwire diff NAME` shows one", style="yellow"))
                break
            if len(skills) > 1:
                console.print(Text(f"{skill.handle}:", style="bold cyan"))
            async for line in skill_lines(host, skill):
                left -= len(line)
                console.print(styled(line))
                if left <= 0:
                    console.print(Text("… the rest of this skill is not shown", style="yellow"))
                    break
    print_paged(console, captured.get(), pager=pager)


async def skill_lines(host: Host, skill: HostedSkill) -> AsyncGenerator[str]:
    """Yield the lines of the diffs of one skill. A file that cannot be compared has one line."""
    try:
        async for each in host.changed_texts(skill):
            for line in file_lines(each):
                yield line
    except SkillwireError as error:
        yield f"the text cannot be shown: {escape_invisible(str(error))}"


def file_lines(changed: ChangedText) -> Sequence[str]:
    """Return the lines of the diff of one file, or one line that says why there is none."""
    if changed.reason and changed.after is None:
        return [f"{quote_if_needed(changed.path)}: {escape_invisible(changed.reason)}"]
    before = changed.before
    lines = bounded_lines(diff_lines(before, changed.after, changed.path), _FILE_LINES, _FILE_CHARACTERS)
    if changed.reason:  # the approved text is not kept
        what = "removed" if changed.is_removed else "the whole current text follows"
        return [f"{quote_if_needed(changed.path)}: {escape_invisible(changed.reason)}; {what}", *lines]
    return list(lines)

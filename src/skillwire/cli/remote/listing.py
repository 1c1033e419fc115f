"""The skills of servers, at a glance."""

from collections.abc import Sequence

import anyio
from rich.table import Table
from rich.text import Text

from skillwire.cli.output import data, print_json, print_line, talk
from skillwire.cli.remote.opened import hosting, tell
from skillwire.host.hosted import HostedSkill
from skillwire.host.reaching.target import Target
from skillwire.host.registry import Registry
from skillwire.model.display import quoted, visible
from skillwire.wire.dialect import Dialect


def list_servers(targets: Sequence[Target], rows: list[dict[str, object]] | None = None) -> int:
    """Ask all servers at once; print what they list, behind `rows` as JSON if there are such."""
    registry = anyio.run(_listed, targets)
    if rows is not None:
        print_json([*rows, *map(_row, registry.skills)])
    elif registry.skills:
        _print_skills(registry.skills)
    else:
        talk().print(f"no skills on {', '.join(quoted(target.label) for target in targets)}")
    tell(registry.problems)
    return 1 if any(problem.label and not problem.harmless for problem in registry.problems) else 0


async def _listed(targets: Sequence[Target]) -> Registry:
    async with hosting(targets) as host:
        return await host.discover()


def _row(skill: HostedSkill) -> dict[str, object]:
    """Return a skill for programs, with the same keys as one of a folder."""
    return {
        "name": skill.skill.name,
        "description": skill.description,
        "type": "dynamic" if skill.skill.files is None else "skill-md",
        "uri": visible(skill.skill.uri),
        "origin": skill.label,
        "dialect": skill.skill.dialect.value,
        "problems": [],
    }


def _print_skills(skills: Sequence[HostedSkill]) -> None:
    """Print each under its label: as a table for people, as lines for `grep` and `cut`."""
    console = data()
    if not console.is_terminal:
        for each in skills:
            print_line(f"{each.handle}\t{visible(each.skill.uri)}\t{each.description}")
        return
    drafts = any(each.skill.dialect is not Dialect.FINAL for each in skills)
    table = Table(box=None, header_style="bold", pad_edge=False, expand=True)
    table.add_column("skill", style="cyan", no_wrap=True, overflow="ellipsis", max_width=40)
    table.add_column("files", justify="right")
    if drafts:
        table.add_column("dialect")
    table.add_column("description", overflow="ellipsis", no_wrap=True, ratio=1)
    for each in skills:
        files = "live" if each.skill.files is None else str(len(each.skill.files))
        dialect = [each.skill.dialect.value] if drafts else []
        table.add_row(Text(each.handle), files, *dialect, Text(each.description))
    console.print(table, soft_wrap=False)

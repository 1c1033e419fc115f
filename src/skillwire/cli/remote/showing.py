"""All that a server says of one skill, without reading a file of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from rich.text import Text

from skillwire.cli.output import data, print_json
from skillwire.cli.remote.opened import find, hosting
from skillwire.cli.remote.remembering import remembered
from skillwire.cli.saying import counted
from skillwire.host.hosted import HostedSkill
from skillwire.host.judging.inspection import Inspection
from skillwire.host.reaching.target import Target
from skillwire.host.state.approvals import Standing
from skillwire.model.display import bare, visible
from skillwire.model.entry import Json
from skillwire.model.json_text import json_bytes
from skillwire.wire.dialect import Integrity
from skillwire.wire.remote import RemoteSkill

_SHOWN_DIGEST = 19
_INTEGRITY = {
    Integrity.FULL: "a digest for every file",
    Integrity.PART: "a digest for a part of it",
    Integrity.NONE: "no digests",
}

APPROVAL = {
    Standing.UNKNOWN: "none",
    Standing.APPROVED: "approved",
    Standing.CHANGED: "none: it is not what was approved",
    Standing.REVOKED: "revoked",
}


def show_remote(skill: str, targets: Sequence[Target], *, as_json: bool) -> int:
    """Print a skill of a server."""
    anyio.run(_show, skill, targets, as_json)
    return 0


async def _show(skill: str, targets: Sequence[Target], as_json: bool) -> None:  # noqa: FBT001 - `anyio.run` names nothing
    with remembered() as state:
        async with hosting(targets, state) as host:
            found = await find(host, skill)
            inspection = await host.inspect(found)
            declared = host.declared(found.label)
    target = next(each for each in targets if each.label == found.label)
    if as_json:
        print_json(_as_json(found, declared))
    else:
        print_inspection(inspection, declared, target)


def _as_json(found: HostedSkill, declared: Mapping[str, Any] | None) -> dict[str, object]:
    return {
        **_entry(found.skill),
        "origin": found.label,
        "extension": declared,
        "dialect": found.skill.dialect.value,
        "approval": found.standing.value,
        "problems": [],
    }


def _entry(skill: RemoteSkill) -> dict[str, object]:
    files = [{"uri": file.uri, "digest": file.digest.text, "size": file.size} for file in skill.files or ()]
    resources: object = "dynamic" if skill.files is None else files
    return {"uri": skill.uri, "frontmatter": dict(skill.frontmatter), "resources": resources}


def print_inspection(inspection: Inspection, declared: Mapping[str, Any] | None, target: Target) -> None:
    """Print what is known of a skill, each line of it visible."""
    console, found = data(), inspection.skill
    console.print(Text(found.handle, style="bold cyan"))
    console.print(Text(found.description))
    console.print()
    lines = [
        ("uri", found.skill.uri),
        ("server", f"{found.label}, {target.spelled}"),
        ("extension", extension_text(declared)),
        ("dialect", found.skill.dialect.value),
        ("integrity", _INTEGRITY[found.skill.integrity]),
        ("approval", APPROVAL[found.standing]),
        *_fields(found.skill),
    ]
    for label, value in lines:
        console.print(Text.assemble((f"{visible(label, 100)}: ", "bold"), visible(value, 2000)))
    console.print()
    print_files(inspection)


def extension_text(declared: Mapping[str, Any] | None) -> str:
    """Return what a server declares of the extension, in words."""
    if declared is None:
        return "not declared"
    return "declared, with directoryRead" if declared.get("directoryRead") is True else "declared"


def print_files(inspection: Inspection) -> None:
    """Print each file with its size and the beginning of its digest."""
    console = data()
    if inspection.files is None:
        console.print("files: not listed; they show when they are read")
        return
    total = "" if inspection.size is None else f", {inspection.size:,} bytes"
    console.print(Text(f"{counted(len(inspection.files), 'file')}{total}", style="bold"))
    sizes = ["?" if file.size is None else f"{file.size:,}" for file in inspection.files]
    width = max(map(len, sizes), default=0)
    for file, size in zip(inspection.files, sizes, strict=True):
        console.print(Text(f"  {size:>{width}}  {file.digest[:_SHOWN_DIGEST]}…  {bare(file.path)}"))


def _fields(skill: RemoteSkill) -> list[tuple[str, str]]:
    shown = {"name", "description"}
    return [(key, _plain(value)) for key, value in skill.frontmatter.items() if key not in shown]


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json_bytes(value).decode()

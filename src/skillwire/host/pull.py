"""All files of a skill in a folder, because a person asked for them (H11)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

import anyio.to_thread

from skillwire.core.atomic_write import staging_folder
from skillwire.core.concurrency import MAX_CONCURRENT_READS, MAX_CONCURRENT_UNSIZED_READS, process_in_order
from skillwire.core.names import SCHEME, portable_fault
from skillwire.core.problem import Rule
from skillwire.errors import UsageError, VerificationError
from skillwire.host.hosted_skill import HostedSkill
from skillwire.protocol.findings import server_problem
from skillwire.protocol.remote import FileClaim
from skillwire.protocol.verify import frontmatter_faults
from skillwire.safe_text import quoted


class FileReader(Protocol):
    """Who reads files, and verifies them."""

    async def content(self, skill: HostedSkill, file: FileClaim) -> bytes: ...


async def pull_skill(reader: FileReader, skill: HostedSkill, dest: Path) -> Path:
    """Write a skill below `dest`, in folders that say whose it is, and return its own (H9).

    It is there whole, or not at all. Raises `UsageError` or `HostError`.
    """
    files = skill.files
    if files is None:
        raise UsageError(
            f"{skill.quoted} has no list of files: its content is made when it is read",
            hint="there is nothing that could be kept",
        )
    folder = dest.joinpath(skill.label, *_place(skill))
    await anyio.to_thread.run_sync(_require_absent, folder)
    paths = {file.uri: unquote(file.uri.removeprefix(f"{skill.root}/")) for file in files}
    for path in paths.values():
        if fault := portable_fault(path):
            raise VerificationError(
                skill.origin,
                server_problem(skill.uri, Rule.ENTRY_RESOURCES, f"the file {quoted(path)} {fault}"),
            )
    contents: dict[str, bytes] = {}

    async def read(file: FileClaim) -> tuple[str, bytes]:
        return paths[file.uri], await reader.content(skill, file)

    sized = all(file.size is not None for file in files)
    at_once = MAX_CONCURRENT_READS if sized else MAX_CONCURRENT_UNSIZED_READS
    await process_in_order(files, read, lambda came: contents.update([came]), at_once)
    if skill.claim is not None and (
        faults := tuple(frontmatter_faults(skill.claim, contents[paths[skill.uri]]))
    ):
        raise VerificationError(skill.origin, *faults)
    await anyio.to_thread.run_sync(_write, folder, contents)
    return folder


def _place(skill: HostedSkill) -> list[str]:
    """Return the folders that spell the URI: no two skills of one server have the same."""
    root = skill.root
    scheme, _, rest = root.partition(":")
    spelled = root.removeprefix(SCHEME) if root.startswith(SCHEME) else f"{scheme}+/{rest.lstrip('/')}"
    path = unquote(spelled)
    if fault := portable_fault(path):
        raise VerificationError(skill.origin, server_problem(skill.uri, Rule.ENTRY_URI, f"its path {fault}"))
    return path.split("/")


def _require_absent(folder: Path) -> None:
    if os.path.lexists(folder):
        raise UsageError(
            f"{quoted(str(folder))} is there already",
            hint="remove it, choose another folder, or replace it with `--force`",
        )


def _write(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write beside the folder, and give it its name when it is complete."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with staging_folder(folder.parent) as beside:
            for path, content in contents.items():
                target = beside / "skill" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            (beside / "skill").rename(folder)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(
            f"{quoted(str(folder))} cannot be written: {reason}", hint="choose another folder"
        ) from error

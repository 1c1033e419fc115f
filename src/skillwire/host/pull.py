"""Write all files of a server's skill to a folder, at the request of the user (H11)."""

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
    """Reads verified files."""

    async def content(self, skill: HostedSkill, file: FileClaim) -> bytes: ...


async def pull_skill(reader: FileReader, skill: HostedSkill, dest: Path) -> Path:
    """Write a skill to a folder below `dest`, named by its label and path, and return that folder (H9).

    The folder appears only when it is complete. Raises `UsageError` or `HostError`.
    """
    files = skill.files
    if files is None:
        raise UsageError(
            f"{skill.quoted} has no list of files: its content is generated on each read",
            hint="only skills that list their files can be pulled",
        )
    folder = dest.joinpath(skill.label, *_folder_names(skill))
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
    await process_in_order(files, read, lambda item: contents.update([item]), at_once)
    if skill.claim is not None and (
        faults := tuple(frontmatter_faults(skill.claim, contents[paths[skill.uri]]))
    ):
        raise VerificationError(skill.origin, *faults)
    await anyio.to_thread.run_sync(_write, folder, contents)
    return folder


def _folder_names(skill: HostedSkill) -> list[str]:
    """Return folder names from the URI. They differ for any two skills of one server."""
    root = skill.root
    scheme, _, rest = root.partition(":")
    path = unquote(root.removeprefix(SCHEME) if root.startswith(SCHEME) else f"{scheme}+/{rest.lstrip('/')}")
    if fault := portable_fault(path):
        raise VerificationError(skill.origin, server_problem(skill.uri, Rule.ENTRY_URI, f"its path {fault}"))
    return path.split("/")


def _require_absent(folder: Path) -> None:
    if os.path.lexists(folder):
        raise UsageError(
            f"{quoted(str(folder))} already exists",
            hint="remove it, choose another folder, or replace it with `--force`",
        )


def _write(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write to a temporary folder, and rename it when it is complete."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with staging_folder(folder.parent) as staging:
            for path, content in contents.items():
                target = staging / "skill" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            (staging / "skill").rename(folder)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(
            f"cannot write {quoted(str(folder))}: {reason}", hint="choose another folder"
        ) from error

"""`skillwire pull`: download a skill from a server into a folder."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import anyio
import anyio.to_thread
from cyclopts import Parameter

from skillwire.cli.remote import find, open_host
from skillwire.cli.state import open_existing_state
from skillwire.cli.targets import Allow, TokenEnv, skill_targets
from skillwire.core.atomic_write import MOVED_ASIDE_NAME, staging_folder
from skillwire.errors import UsageError
from skillwire.host.connections.target import Target
from skillwire.host.host import Host
from skillwire.host.hosted_skill import HostedSkill
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import AsJson, FromServers, ServerSkill
from skillwire.terminal.output import print_json, print_line, stderr_console


def pull(
    skill: ServerSkill,
    dest: Annotated[Path, Parameter(name="DEST", help="Folder to write to.")],
    /,
    *,
    servers: FromServers = None,
    force: Annotated[bool, Parameter(help="Replace the skill's folder if it exists.")] = False,
    allow: Allow = None,
    token_env: TokenEnv = None,
    json: AsJson = False,
) -> int:
    """Download a skill from a server into a folder. Each file is checked against its digest.

    The skill gets a folder below the label of its server, such as `DEST/github/review`. Either all files are
    written or none. An existing folder is replaced only with `--force`.

    For example:

    ```
    skillwire pull github:review ./pulled
    skillwire pull review ./pulled --from http://127.0.0.1:8765/mcp
    ```
    """
    found, folder = anyio.run(_pull, skill, dest, skill_targets(skill, servers, allow, token_env), force)
    if json:
        print_json({"folder": escape_invisible(str(folder)), "uri": found.uri, "origin": found.label})
        return 0
    print_line(escape_invisible(str(folder)))
    files = pluralize(len(found.files or ()), "file")
    stderr_console().print(f"{files} of {found.quoted}, as listed; no one vouches for their content")
    return 0


async def _pull(skill: str, dest: Path, targets: Sequence[Target], force: bool) -> tuple[HostedSkill, Path]:  # noqa: FBT001 - `anyio.run` names nothing
    with open_existing_state() as state:
        async with open_host(targets, state) as host:
            found = await find(host, skill)
            return found, await (_pull_and_replace(host, found, dest) if force else host.pull(found, dest))


async def _pull_and_replace(host: Host, found: HostedSkill, dest: Path) -> Path:
    """Pull into a staging folder, and replace the existing folder when all files are there."""
    if not await anyio.Path(dest).exists():  # there is nothing to replace
        return await host.pull(found, dest)
    with ExitStack() as stack:
        try:
            aside = stack.enter_context(staging_folder(dest))
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UsageError(
                f"cannot write to {quoted(str(dest))}: {reason}", hint="choose another folder"
            ) from error
        pulled = await host.pull(found, aside)
        folder = dest / pulled.relative_to(aside)
        return await anyio.to_thread.run_sync(_exchange, pulled, folder, aside / MOVED_ASIDE_NAME)


def _exchange(pulled: Path, folder: Path, old: Path) -> Path:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise UsageError(
                f"{quoted(str(folder))} is not a folder", hint="remove it, or choose another folder"
            )
        if folder.exists():
            folder.rename(old)
        try:
            pulled.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        message = f"cannot replace {quoted(str(folder))}: {reason}"
        raise UsageError(message, hint="choose another folder") from error
    return folder

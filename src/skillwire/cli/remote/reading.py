"""One file of a skill on a server, verified, for a person to look at. It is no load (H12)."""

from collections.abc import Sequence

import anyio

from skillwire.cli.missing import NoSuchSkillError
from skillwire.cli.output import print_json, talk
from skillwire.cli.read import print_content
from skillwire.cli.remote.opened import find, hosting
from skillwire.host.hosted import HostedSkill
from skillwire.host.paths import listed_file, live_uri
from skillwire.host.reaching.target import Target
from skillwire.model.display import quoted, visible
from skillwire.model.mime import is_text, mime_type
from skillwire.wire.messages import SERVER_META
from skillwire.wire.translate import contents


def read_remote(skill: str, path: str, targets: Sequence[Target], *, as_json: bool, raw: bool) -> int:
    """Print a file of a skill of a server."""
    path = path.replace("\\", "/")
    found, content = anyio.run(_read, skill, path, targets)
    kind = mime_type(path, text=is_text(content))
    if as_json:
        file = None if found.skill.files is None else listed_file(found.skill, path)
        uri = live_uri(found.skill, path) if file is None else file.uri
        print_json({"contents": [contents(uri, kind, content)], "_meta": {SERVER_META: found.label}})
        return 0
    # Also where stdout is a pipe: whoever started this should know whose words they pass on (H20).
    talk().print(f"from the server {quoted(found.label)}, which nobody vouches for:", style="yellow")
    return print_content(content, visible(path), kind, raw=raw)


async def _read(skill: str, path: str, targets: Sequence[Target]) -> tuple[HostedSkill, bytes]:
    async with hosting(targets) as host:
        found = await find(host, skill)
        if found.skill.files is not None and listed_file(found.skill, path) is None:
            hint = f"`skillwire show {found.handle}` lists its files"
            raise NoSuchSkillError(f"{found.quoted} has no file {quoted(path)}", hint=hint)
        return found, await host.read(found, path)

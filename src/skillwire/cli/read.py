"""`skillwire read`: print one file of a skill, as a client would get it."""

import shlex
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.cli.find import FoundSkill, find_local_or_servers
from skillwire.cli.targets import Allow, TokenEnv, resolve_targets
from skillwire.core.names import SKILL_FILE
from skillwire.errors import NotServedError
from skillwire.features.content import with_meta
from skillwire.protocol.translate import contents
from skillwire.safe_text import quoted
from skillwire.terminal.options import FollowLinks, FromAnywhere, SkillArgument
from skillwire.terminal.output import print_content, print_error, print_json


def read(
    skill: SkillArgument,
    path: Annotated[str, Parameter(name="PATH", show_default=True, help="A file of the skill.")] = SKILL_FILE,
    /,
    *,
    sources: FromAnywhere = None,
    follow_links: FollowLinks = False,
    json: Annotated[bool, Parameter(help="Print the result of `resources/read` as JSON.")] = False,
    raw: Annotated[bool, Parameter(help="Print the bytes unchanged, even binary ones.")] = False,
    allow: Allow = None,
    token_env: TokenEnv = None,
) -> int:
    """Print one file of a skill, after checking its digest.

    Reading a file of a server's skill neither requires nor grants an approval.

    For example:

    ```
    skillwire read ./skills/refunds
    skillwire read refunds references/policy.md --from ./skills
    skillwire read refunds assets/logo.png --from ./skills --raw > logo.png
    skillwire read github:review
    ```
    """
    found = find_local_or_servers(skill, sources, follow_links=follow_links)
    if not isinstance(found, FoundSkill):
        from skillwire.cli.remote import read_remote  # noqa: PLC0415 - it loads the SDK

        return read_remote(skill, path, resolve_targets(found, allow, token_env), as_json=json, raw=raw)
    uri = found.entry.uri_of(path.replace("\\", "/"))
    try:
        reading = anyio.run(found.library.read, uri)
    except NotServedError:
        where = "".join(f" --from {shlex.quote(source)}" for source in sources or [])
        hint = f"`skillwire show {shlex.quote(skill)}{where}` lists its files"
        print_error(f"{quoted(skill)} has no file {quoted(path)}", hint=hint)
        return 1
    if json:
        block = contents(uri, reading.served.file.mime_type, reading.content)
        print_json({"contents": [with_meta(block, reading.served.entry)]})
        return 0
    return print_content(reading.content, path, reading.served.file.mime_type, raw=raw)

"""`skillwire read`: print one file of a skill, after checking its digest."""

import shlex
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.cli.find import FoundSkill, find_local_or_servers
from skillwire.config.choice import ConfigOptions
from skillwire.config.server_targets import Allow, TokenEnv, resolve_targets
from skillwire.core.names import SKILL_FILE
from skillwire.errors import NotServedError
from skillwire.features.content import with_meta
from skillwire.protocol.translate import contents
from skillwire.safe_text import quoted
from skillwire.terminal.options import OUTPUT, FollowLinks, FromAnywhere, SkillArgument, json_of
from skillwire.terminal.output import print_content, print_error, print_json


def read(
    skill: SkillArgument,
    path: Annotated[
        str | None, Parameter(name="PATH", help=f"A file of the skill. Default: `{SKILL_FILE}`.")
    ] = None,
    /,
    *,
    sources: FromAnywhere = None,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
    json: Annotated[bool, json_of("{contents: [{uri, mimeType, text?, blob?, _meta?}], _meta?}")] = False,
    raw: Annotated[
        bool, Parameter(group=OUTPUT, help="Print the bytes unchanged, even binary ones.")
    ] = False,
    allow: Allow = None,
    token_env: TokenEnv = None,
) -> int:
    """Print one file of a skill, after checking its digest.

    Reading a file of a server's skill neither requires nor grants an approval.

    For example:

    ```
    skillwire read ./skills/refunds
    skillwire read refunds references/policy.md --from ./skills
    skillwire read refunds/references/policy.md --from ./skills
    skillwire read refunds assets/logo.png --from ./skills --raw > logo.png
    skillwire read github:review
    ```
    """
    found = find_local_or_servers(
        skill, sources, follow_links=follow_links, config=config, with_token=token_env is not None
    )
    if not isinstance(found, FoundSkill):
        from skillwire.cli.remote import read_remote  # noqa: PLC0415 - it loads the SDK

        targets = resolve_targets(found, allow, token_env)
        return read_remote(skill, path or "", targets, as_json=json, raw=raw)
    path = (found.path or SKILL_FILE) if path is None else path.replace("\\", "/")
    uri = found.entry.uri_of(path)
    try:
        reading = anyio.run(found.library.read, uri)
    except NotServedError as error:
        if path == SKILL_FILE:  # a template has no skill with these values
            print_error(str(error))
            return 1
        where = "".join(f" --from {shlex.quote(source)}" for source in sources or [])
        named = skill if found.path == "" else found.entry.uri
        hint = f"`skillwire show {shlex.quote(named)}{where}` lists its files"
        is_folder = path.strip("/") in found.entry.directories
        of = quoted(found.entry.name if found.path else skill)
        print_error(f"{of} has no file {quoted(path)}{': it is a folder' if is_folder else ''}", hint=hint)
        return 1
    if json:
        block = contents(uri, reading.served.file.mime_type, reading.content)
        print_json({"contents": [with_meta(block, reading.served.entry)]})
        return 0
    return print_content(reading.content, path, reading.served.file.mime_type, raw=raw)

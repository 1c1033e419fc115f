"""`skillwire read`: one file of a skill, as a client would get it."""

import shlex
import sys
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.cli.find import Found
from skillwire.cli.options import FollowLinks, FromAnywhere, SkillArgument
from skillwire.cli.output import print_error, print_json, print_line
from skillwire.cli.places import local_or_servers
from skillwire.cli.reaching import Allow, TokenEnv, reached
from skillwire.model.display import quoted, visible
from skillwire.model.errors import NotServedError
from skillwire.model.mime import is_text
from skillwire.model.uri import SKILL_FILE
from skillwire.surfaces.content import with_meta
from skillwire.wire.translate import contents


def read(
    skill: SkillArgument,
    path: Annotated[str, Parameter(name="PATH", help="A file of the skill.")] = SKILL_FILE,
    /,
    *,
    sources: FromAnywhere = None,
    follow_links: FollowLinks = False,
    json: Annotated[bool, Parameter(help="Print the result of `resources/read`.")] = False,
    raw: Annotated[bool, Parameter(help="Print the bytes and nothing else, whatever they are.")] = False,
    allow: Allow = None,
    token_env: TokenEnv = None,
) -> int:
    """Print a file of a skill, checked against its digest.

    To look at a skill of a server needs no approval, and gives none.

    For example:

    ```
    skillwire read ./skills/refunds
    skillwire read refunds references/policy.md --from ./skills
    skillwire read refunds assets/logo.png --from ./skills --raw > logo.png
    skillwire read github:review
    ```
    """
    found = local_or_servers(skill, sources, follow_links=follow_links)
    if not isinstance(found, Found):
        from skillwire.cli.remote.reading import read_remote  # noqa: PLC0415 - it loads the SDK

        return read_remote(skill, path, reached(found, allow, token_env), as_json=json, raw=raw)
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


def print_content(content: bytes, path: str, kind: str, *, raw: bool) -> int:
    """Print a file as it is; on a terminal only what can be seen of it, unless it has to be `raw`."""
    if not raw and sys.stdout.isatty() and not is_text(content):
        print_error(
            f"{quoted(path)} is not text ({kind}, {len(content):,} bytes)",
            hint="add `--raw` and send it to a file",
        )
        return 1
    if not raw and sys.stdout.isatty():  # a terminal obeys what it is shown
        print_line("\n".join(visible(line, keep="\t") for line in _lines(content)))
        return 0
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
    return 0


def _lines(content: bytes) -> list[str]:
    return content.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")

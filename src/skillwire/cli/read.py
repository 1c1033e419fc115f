"""`skillwire read`: one file of a skill, as a client would get it."""

import shlex
import sys
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.cli.find import find_skill
from skillwire.cli.options import FollowLinks, From, SkillArgument
from skillwire.cli.output import print_error, print_json, print_line
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
    sources: From = None,
    follow_links: FollowLinks = False,
    json: Annotated[bool, Parameter(help="Print the result of `resources/read`.")] = False,
    raw: Annotated[bool, Parameter(help="Print the bytes and nothing else, whatever they are.")] = False,
) -> int:
    """Print a file of a skill, checked against its digest.

    For example:

    ```
    skillwire read ./skills/refunds
    skillwire read refunds references/policy.md --from ./skills
    skillwire read refunds assets/logo.png --from ./skills --raw > logo.png
    ```
    """
    found = find_skill(skill, sources or [], follow_links=follow_links)
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
    if not raw and sys.stdout.isatty() and not is_text(reading.content):
        print_error(
            f"`{path}` is not text ({reading.served.file.mime_type}, {len(reading.content):,} bytes)",
            hint="add `--raw` and send it to a file",
        )
        return 1
    if not raw and sys.stdout.isatty():  # a terminal obeys what it is shown
        print_line("\n".join(visible(line, keep="\t") for line in _lines(reading.content)))
        return 0
    sys.stdout.buffer.write(reading.content)
    sys.stdout.buffer.flush()
    return 0


def _lines(content: bytes) -> list[str]:
    return content.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")

"""The `SKILL.md` of a live skill: what the program returns, behind the frontmatter that is listed."""

import orjson

from skillwire.drive.describing import described
from skillwire.drive.messages import Answer, Nothing
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.errors import ContentError
from skillwire.skillmd.frontmatter import split
from skillwire.skillmd.unreadable import UnreadableError
from skillwire.skillmd.write import write_frontmatter
from skillwire.skillmd.yaml12 import load

_TOLD = ("name", "description")


class MismatchError(ContentError):
    """The program's own frontmatter says something else than the list of skills."""


def head(name: str, description: str) -> bytes:
    """Return a frontmatter with nothing but name and description."""
    return write_frontmatter({"name": name, "description": description}).encode()


def document(name: str, description: str, data: Answer) -> bytes:
    """Return the whole `SKILL.md`. Raises `MismatchError`."""
    text = _as_text(data)
    own, body = _parts(text)
    listed = {"name": name, "description": description}
    for field in _TOLD:
        if field in own and own[field] != listed[field]:
            found, wanted = quoted(str(own[field])), quoted(listed[field])
            raise MismatchError(
                f"its text says `{field}:` {found}, but it is listed with {wanted}; say the same"
            )
    return head(name, description) + b"\n" + body.encode()


def description_in(data: Answer) -> str:
    """Return the description that a text gives itself: in its frontmatter, or by its first paragraph."""
    own, body = _parts(_as_text(data))
    found = own.get("description")
    return found if isinstance(found, str) and found.strip() else described(body)


def _as_text(data: Answer) -> str:
    if isinstance(data, str):
        return data
    if isinstance(data, Nothing):
        return ""
    return f"```json\n{orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()}\n```\n"


def _parts(text: str) -> tuple[dict[str, Json], str]:
    """Return the frontmatter of a text, and the rest. A line of dashes alone begins no frontmatter."""
    content = text.encode()
    try:
        frontmatter = split(content)
        fields = load(frontmatter.text)
    except UnreadableError:
        return {}, text
    return dict(fields.values), content[frontmatter.body :].decode()

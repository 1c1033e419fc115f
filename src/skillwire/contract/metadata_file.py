"""A `metadata.yaml` of earlier days, and the block that says the same."""

import json

from skillwire.contract.subject import Subject
from skillwire.contract.uris import published
from skillwire.model.entry import Json
from skillwire.skillmd.frontmatter import OPENING
from skillwire.skillmd.unreadable import UnreadableError
from skillwire.skillmd.yaml12 import load

NAME = "metadata.yaml"

_TAKEN_OVER = ("id", "version", "tags", "capabilities", "depends_on", "references", "icons")


def replacing_block(text: str, subject: Subject) -> str:
    """Return the block to write instead of a file that holds `text`, as one line of YAML."""
    known = _values(text)
    block: dict[str, Json] = {
        "id": subject.namespace,
        "version": "1.0.0",
        "capabilities": list(published(subject)),
        **{name: known[name] for name in _TAKEN_OVER if name in known},
    }
    block["version"] = str(block["version"])  # what was a number there must be text here
    inner = ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in block.items())
    return f"{subject.key}: {{{inner}}}"


def _values(text: str) -> dict[str, Json]:
    """Return what the file says; nothing, if it cannot be read."""
    try:
        return load(OPENING + text.removeprefix(OPENING).replace("\r\n", "\n")).values
    except UnreadableError:
        return {}

"""What an approval is bound to, and the entry that is kept beside it."""

import hashlib
import json
from typing import Any

from skillwire.model.digest import Digest
from skillwire.wire.dialect import Dialect
from skillwire.wire.remote import RemoteFile, RemoteSkill


def content_of(skill: RemoteSkill) -> str | None:
    """Return one text for the set of (uri, digest): equal for equal sets, in whatever order (H17).

    None for a skill whose files are not all known: there is nothing that an approval could be bound to.
    """
    if skill.files is None or skill.main is None:
        return None
    pairs = sorted({(file.uri, file.digest.text) for file in skill.files})
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()


def written(skill: RemoteSkill) -> str:
    """Return the entry as JSON, for later."""
    files = [[file.uri, file.digest.text, file.size] for file in skill.files or ()]
    entry = {"uri": skill.uri, "frontmatter": skill.frontmatter, "files": files, "dialect": skill.dialect}
    return json.dumps(entry)


def read(text: str) -> RemoteSkill | None:
    """Return the entry that was written, or None if it is damaged."""
    try:
        value: Any = json.loads(text)
        files = tuple(RemoteFile(uri, Digest(digest), size) for uri, digest, size in value["files"])
        return RemoteSkill(value["uri"], dict(value["frontmatter"]), files, Dialect(value["dialect"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None

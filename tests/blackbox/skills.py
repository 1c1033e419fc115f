"""Skills on disk, and what a right answer about them is."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DESCRIPTION = "Does one thing. Use when it is needed."


def skill_md(name: str, more: str = "", body: str = "# Steps\n") -> bytes:
    """Return a spotless `SKILL.md`; `more` is further lines of its frontmatter."""
    return f"---\nname: {name}\ndescription: {DESCRIPTION}\n{more}---\n\n{body}".encode()


def write(root: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write files below `root`, making their folders; a path that ends in `/` is an empty folder."""
    for path, content in files.items():
        target = root / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def write_skill(root: Path, path: str, files: Mapping[str, bytes | str] | None = None) -> Path:
    """Write a spotless skill at `path` below `root`, with further files; return its folder."""
    folder = root / path
    return write(folder, {"SKILL.md": skill_md(folder.name), **(files or {})})


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def block_bytes(block: Mapping[str, Any]) -> bytes:
    """Return the bytes of a block of `resources/read`: it has text or a blob, never both."""
    assert ("text" in block) != ("blob" in block)
    return block["text"].encode() if "text" in block else base64.b64decode(block["blob"], validate=True)

"""Skills on disk, written in a line."""

import os
from pathlib import Path

LONG_AGO = 1_700_000_000


def skill_md(
    name: str, description: str = "Does one thing. Use when it is needed.", body: str = "# Steps\n"
) -> bytes:
    """Return a spotless `SKILL.md`."""
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}".encode()


def write(root: Path, files: dict[str, bytes | str]) -> Path:
    """Write files below `root`, making their folders; a path that ends in `/` is an empty folder."""
    for path, content in files.items():
        target = root / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def write_skill(
    root: Path, path: str, files: dict[str, bytes | str] | None = None, *, name: str | None = None
) -> Path:
    """Write a spotless skill at `path` below `root`, with further files; return its folder."""
    folder = root / path
    write(folder, {"SKILL.md": skill_md(name or folder.name), **(files or {})})
    return folder


def tree_stamps(root: Path) -> dict[str, tuple[int, int]]:
    """Return size and mtime of every file below `root`, to show that nothing was touched."""
    return {
        str(p.relative_to(root)): (p.stat().st_size, p.stat().st_mtime_ns)
        for p in root.rglob("*")
        if p.is_file()
    }


def make_fifo(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)

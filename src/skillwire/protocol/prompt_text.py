"""Join the files of a skill into one text, for its prompt and for comparing it with its resources."""

from collections.abc import Iterable


def join_files(document: bytes, references: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the `SKILL.md`, then each reference below a line with its path.

    Each part ends with a line break.
    """
    pieces = [_end_with_newline(document)]
    for path, content in references:
        pieces += [_separator(path), _end_with_newline(content)]
    return b"".join(pieces)


def joined_size(files: Iterable[tuple[str, int]]) -> int:
    """Return the maximum size of the text that `join_files` returns for files with these paths and sizes."""
    return sum(size + 1 + len(_separator(path)) for path, size in files)


def _separator(path: str) -> bytes:
    return f"\n--- {path} ---\n".encode()


def _end_with_newline(content: bytes) -> bytes:
    return content if content.endswith(b"\n") else content + b"\n"

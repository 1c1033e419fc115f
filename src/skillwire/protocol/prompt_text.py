"""All files of a skill as one text: what a prompt says, and what reading its resources must give."""

from collections.abc import Iterable


def join_files(document: bytes, references: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the document, then each reference behind a line with its path. Each part ends its last line."""
    pieces = [_end_with_newline(document)]
    for path, content in references:
        pieces += [f"\n--- {path} ---\n".encode(), _end_with_newline(content)]
    return b"".join(pieces)


def _end_with_newline(content: bytes) -> bytes:
    return content if content.endswith(b"\n") else content + b"\n"

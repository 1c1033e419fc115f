"""Join the files of a skill into one text, for its prompt and for comparing it with its resources."""

from collections.abc import Iterable


def join_files(document: bytes, references: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the document, then each reference after a line with its path.

    Each part ends with a line break.
    """
    pieces = [_end_with_newline(document)]
    for path, content in references:
        pieces += [f"\n--- {path} ---\n".encode(), _end_with_newline(content)]
    return b"".join(pieces)


def _end_with_newline(content: bytes) -> bytes:
    return content if content.endswith(b"\n") else content + b"\n"

"""Which names of files and folders can be published."""

import unicodedata


def name_fault(name: str) -> str | None:
    """Return why a file or folder of this name cannot be published, or None if it can."""
    if name in {"", ".", ".."}:
        return "is empty or points elsewhere"
    if "\\" in name or "/" in name:
        return "holds a path separator"
    if name.isascii():
        return None if name.isprintable() else "holds a control character"
    for character in name:
        category = unicodedata.category(character)
        if category == "Cs":  # a byte that the file system could not decode
            return "is not UTF-8"
        if category == "Cc":
            return "holds a control character"
    return None


def path_fault(path: str) -> str | None:
    """Return why a file at this relative path cannot be published, or None if it can."""
    return next((fault for name in path.split("/") if (fault := name_fault(name))), None)


def prefixes(path: str) -> list[str]:
    """Return the folders on the way to `path`, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def folded(path: str) -> str:
    """Return the spelling under which a host on another file system may see `path` (H7)."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()

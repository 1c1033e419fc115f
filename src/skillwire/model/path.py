"""Which names of files and folders can be published, and which every machine can store."""

import re
import unicodedata

# What file systems take, and what we can afford to remember of every folder on the way to a file.
_PATH_BYTES = 1024
_NAME_BYTES = 255
_LEVELS = 64

_NO_NAMES = {
    "": "has an empty name in its path",
    ".": "has `.` in its path",
    "..": "has `..` in its path",
}
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *([.:].*)?", re.IGNORECASE)


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


def portable_fault(path: str) -> str | None:
    """Return why not every machine can store a file at this relative path, or None if all can."""
    if path.startswith("/"):
        return "is an absolute path"
    if len(path.encode(errors="replace")) > _PATH_BYTES or path.count("/") >= _LEVELS:
        return f"is longer than {_PATH_BYTES:,} bytes or {_LEVELS} names"
    for name in path.split("/"):
        if fault := _NO_NAMES.get(name) or name_fault(name) or _fault_elsewhere(name):
            return fault
    return None


def _fault_elsewhere(name: str) -> str | None:
    """Return why a name that is fine here is not on every machine."""
    if _DRIVE.match(name):
        return "names a drive"
    if _DEVICE.fullmatch(name):
        return "has the name of a Windows device in its path"
    if name.endswith((".", " ")):
        return "has a name in its path that ends in a dot or a space, which Windows drops"
    if len(name.encode()) > _NAME_BYTES:
        return f"has a name of more than {_NAME_BYTES} bytes in its path"
    return None


def prefixes(path: str) -> list[str]:
    """Return the folders on the way to `path`, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def folded(path: str) -> str:
    """Return the spelling under which a host on another file system may see `path` (H7)."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()

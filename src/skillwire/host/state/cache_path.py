"""Where a cached file lies: a name that people can read, that every file system takes, and nobody shares."""

import hashlib
import re
from pathlib import Path

from skillwire.model.path import portable_fault

_PLAIN_LABEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_READABLE = 64
_HASH = 32
"""Hex digits. Even if somebody made two URIs of one hash, the digest of the content tells them apart."""


def label_folder(label: str) -> str:
    """Return the name of the folder for a label: the label itself, where that is safe everywhere."""
    if _PLAIN_LABEL.fullmatch(label) and portable_fault(label) is None:
        return label
    return _unique(label, label)


def file_name(uri: str) -> str:
    """Return the name of the file for a URI. It is never that of a skill's document."""
    return _unique(uri.partition("://")[2] or uri, uri)


def cache_path(folder: Path, label: str, uri: str) -> Path:
    """Return where the file at `uri` of a server lies below the cache's folder (H24)."""
    return folder / label_folder(label) / file_name(uri)


def _unique(readable: str, whole: str) -> str:
    """Return a name of `~` and the hash of the whole, which file systems that ignore case keep apart, too.

    No plain label has a `~`. Nothing begins with a dot, or is the name of a device.
    """
    shown = _UNSAFE.sub("-", readable[-_READABLE:]).strip(".-")
    hashed = hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()[:_HASH]
    name = f"{shown}~{hashed}"
    return f"_{name}" if portable_fault(name) else name

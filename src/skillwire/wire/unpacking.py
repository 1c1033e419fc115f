"""Unpacking somebody's archive, in memory. Nothing that it says about itself is believed.

Tar and zip are read by `untar` and `unzip` and not by the standard library, which means well: it takes what
is damaged for the end, cuts names at a NUL, finds a zip file behind other data, and does so differently from
release to release. What two readers could take for two different things is refused.
"""

from collections.abc import Callable

from skillwire.wire.archive_form import ArchiveForm
from skillwire.wire.archive_rules import ArchiveBounds, ArchiveError, Unpacked
from skillwire.wire.untar import untar
from skillwire.wire.unzip import unzip


def unpack(content: bytes, form: ArchiveForm, bounds: ArchiveBounds) -> dict[str, bytes]:
    """Return the files of an archive by their paths: all of them, or raise `ArchiveError`."""
    return unpack_with_modes(content, form, bounds).files


def unpack_with_modes(content: bytes, form: ArchiveForm, bounds: ArchiveBounds) -> Unpacked:
    """Return the files of an archive, and which of them can be run. Raises `ArchiveError`."""
    if len(content) > bounds.packed:
        raise ArchiveError(f"has more than {bounds.packed:,} bytes")
    unpacked = Unpacked(bounds)
    _READERS[form](content, unpacked)
    return unpacked


_READERS: dict[ArchiveForm, Callable[[bytes, Unpacked], None]] = {
    ArchiveForm.TAR_GZ: untar,
    ArchiveForm.ZIP: unzip,
}

"""Skillwire itself as files, so that a bundle runs without an installation of Skillwire.

The source is copied from the running package, because it is the version that has read the skills. So this
works for an installed wheel and for an editable installation, and needs no build tools. Its dependencies are
not copied: most have compiled parts that differ between machines. The client's uv installs them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path

import skillwire
from skillwire.errors import SourceError

PACKAGE = "skillwire"
_HINT = "install Skillwire, for example with `uv tool install`, and run the installed command"
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?P<versions>[^;]*)(?P<marker>.*)", re.DOTALL)
_MAJOR = re.compile(r"[0-9]+", re.ASCII)
_METADATA_FILES = ("METADATA", "licenses/LICENSE")


@dataclass(frozen=True, slots=True)
class Runtime:
    """The running version of Skillwire, as files."""

    version: str
    python: str
    """The versions of Python that it runs on, such as `>=3.11`."""
    dependencies: tuple[str, ...]
    """The other packages that it needs."""
    files: Mapping[str, bytes]
    """The package, its metadata and its license, by path below a folder in `sys.path`."""


def read_runtime() -> Runtime:
    """Return the running version of Skillwire. Raises `SourceError` if it is not installed."""
    try:
        installed = distribution(PACKAGE)
        files = dict(sorted({**dict(_package_files()), **dict(_metadata_files(installed))}.items()))
    except PackageNotFoundError as error:
        raise SourceError("Skillwire is not installed, so its dependencies are unknown", _HINT) from error
    except OSError as error:
        raise SourceError(f"the files of Skillwire cannot be read: {error.strerror}", _HINT) from error
    return Runtime(
        installed.version,
        installed.metadata["Requires-Python"],
        tuple(bounded(each) for each in installed.requires or () if "extra ==" not in each),
        files,
    )


def bounded(requirement: str) -> str:
    """Return a requirement that also excludes the next major version of the installed package.

    Skillwire was not tested with that version, and a bundle cannot be updated as easily as an installation.
    A requirement with its own upper limit is returned unchanged.
    """
    parts = _REQUIREMENT.fullmatch(requirement)
    if parts is None or re.search(r"<|~=|==", parts["versions"]):
        return requirement
    try:
        major = _MAJOR.match(version(parts["name"]))
    except PackageNotFoundError:  # another system needs it
        return requirement
    if major is None:
        return requirement
    comma = "," if parts["versions"].strip() else ""
    return f"{parts['name']}{parts['versions'].rstrip()}{comma}<{int(major[0]) + 1}{parts['marker']}"


def _package_files() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the package. Links, hidden files and compiled files are left out."""
    root = Path(skillwire.__file__).parent
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        is_skipped = any(part.startswith(".") or part == "__pycache__" for part in relative.parts)
        if is_skipped or path.is_symlink() or not path.is_file() or path.suffix == ".pyc":
            continue
        yield f"{PACKAGE}/{relative.as_posix()}", path.read_bytes()


def _metadata_files(installed: Distribution) -> Iterator[tuple[str, bytes]]:
    """Yield the metadata and the license. `direct_url.json` stays out: it contains a path of this machine."""
    for name in _METADATA_FILES:
        if (text := installed.read_text(name)) is not None:
            yield f"{PACKAGE}-{installed.version}.dist-info/{name}", text.encode()

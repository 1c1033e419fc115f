"""An MCPB bundle: one file that Claude Desktop installs, and that serves the skills inside it over stdio.

The format is version 0.4 of the MCPB manifest, with the server type `uv`: the client starts the server with
uv, which installs the dependencies in `pyproject.toml`. The archive is not compressed and contains no times.
So the same skills, packed with the same version of Skillwire, always produce the same bytes.
"""

import json
import os
import stat
import zipfile
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from skillwire.core.atomic_write import staging_folder
from skillwire.core.json_text import json_bytes
from skillwire.core.record import SkillRecord
from skillwire.errors import SourceError, UsageError
from skillwire.packing.identity import Identity, Naming
from skillwire.packing.runtime import PACKAGE, Runtime
from skillwire.packing.selection import FOLDER, PackedSkill
from skillwire.safe_text import quote_if_needed, quoted

SUFFIX = ".mcpb"
MANIFEST = "manifest.json"
PROJECT = "pyproject.toml"
SERVER = "server"
ENTRY_POINT = f"{SERVER}/main.py"
MAX_FILES = 60_000
"""Maximum number of files. Programs that read bundles do not know the format for more than 65,535."""
MAX_BYTES = 512 * 1024 * 1024
"""Maximum size of all files. Programs that read bundles hold them in memory."""
_MAX_MANIFEST = 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can represent."""
_UNIX = 3
_SHOWN_SKILLS = 100

_MAIN = f'''\
"""Serve the skills of this bundle over stdio. Written by `skillwire pack`."""

import sys
from pathlib import Path

SERVER = Path(__file__).resolve().parent
sys.path.insert(0, str(SERVER))  # Skillwire is in this folder

from {PACKAGE}.__main__ import main  # noqa: E402

if __name__ == "__main__":
    sys.argv = ["{PACKAGE}", "serve", "--no-config", str(SERVER.parent / "{FOLDER}")]
    main()
'''


@dataclass(frozen=True, slots=True)
class WrittenBundle:
    """A bundle that was written."""

    identity: Identity
    records: Sequence[SkillRecord]
    """The skills in it, in the order in which they were added."""


def check_bundle_path(out: Path) -> None:
    """Raise `UsageError` if `out` cannot be the file of a bundle."""
    if out.suffix != SUFFIX:
        hint = f"write `--mcpb {quote_if_needed(str(out.with_name(f'{out.name or FOLDER}{SUFFIX}')))}`"
        raise UsageError(f"{quoted(str(out))} does not end in `{SUFFIX}`, so no client opens it", hint)
    if out.is_dir() and not out.is_symlink():
        raise UsageError(f"{quoted(str(out))} is a folder", "name a file")


def is_foreign_file(out: Path) -> bool:
    """Return whether there is a file that `skillwire pack` did not write."""
    return os.path.lexists(out) and (out.is_symlink() or not _is_own_bundle(out))


async def write_bundle(
    out: Path, skills: AsyncIterator[PackedSkill], naming: Naming, runtime: Runtime
) -> WrittenBundle:
    """Write a bundle, which replaces an existing file only when it is complete.

    Raises `UsageError` if the file cannot be written, and `SourceError` if there is no skill or too much.
    """
    try:
        with staging_folder(out.parent) as staging:
            staged = staging / out.name
            with zipfile.ZipFile(staged, "x", zipfile.ZIP_STORED) as archive:
                written = await _fill(_Writer(archive), skills, naming, runtime)
            staged.replace(out)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(f"cannot write {quoted(str(out))}: {reason}", "choose another `--mcpb`") from error
    return written


async def _fill(
    writer: "_Writer", skills: AsyncIterator[PackedSkill], naming: Naming, runtime: Runtime
) -> WrittenBundle:
    """Add the skills, then the server, then the manifest, which names the skills."""
    records: list[SkillRecord] = []
    async for skill in skills:
        for path, content in skill.files.items():
            writer.add(f"{skill.folder}/{path}", content, executable=path in skill.executable)
        records.append(skill.record)
    if not records:
        raise SourceError("nothing was packed: no skill can be")
    identity = naming.identify(records)
    for path, content in runtime.files.items():
        writer.add(f"{SERVER}/{path}", content)
    writer.add(ENTRY_POINT, _MAIN.encode())
    writer.add(PROJECT, project_file(runtime))
    writer.add(MANIFEST, manifest(identity, [record.name for record in records], runtime))
    return WrittenBundle(identity, records)


class _Writer:
    """Adds files to an archive, within the limits of a bundle."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._files: set[str] = set()
        self._size = 0

    def add(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Add a file, unless a skill around its skill has already added it. Raises `SourceError`."""
        if path in self._files:
            return
        self._files.add(path)
        self._size += len(content)
        if len(self._files) > MAX_FILES or self._size > MAX_BYTES:
            limits = f"{MAX_FILES:,} files and {MAX_BYTES // 1024**2} MiB"
            raise SourceError(f"a bundle can have at most {limits}", "pack fewer sources")
        info = zipfile.ZipInfo(path, _EPOCH)
        info.create_system = _UNIX  # the default is the current system
        info.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
        self._archive.writestr(info, content)


def _is_own_bundle(path: Path) -> bool:
    """Return whether a file is a bundle in which Skillwire is the server."""
    try:
        with zipfile.ZipFile(path) as archive:
            entry = archive.getinfo(MANIFEST)
            if entry.file_size > _MAX_MANIFEST or f"{SERVER}/{PACKAGE}/__main__.py" not in archive.namelist():
                return False
            server = json.loads(archive.read(entry))["server"]
            return server["type"] == "uv" and server["entry_point"] == ENTRY_POINT
    # `zipfile` raises the last two for compression that it does not know, and for encrypted files.
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError, NotImplementedError, RuntimeError):
        return False


def project_file(runtime: Runtime) -> bytes:
    """Return the `pyproject.toml`, from which uv installs what Skillwire needs."""
    document = tomlkit.document()
    project = tomlkit.table()
    # Not the name of the bundle: uv rejects a project that has the name of a dependency.
    project["name"] = "skillwire-bundle"
    project["version"] = runtime.version
    project["requires-python"] = runtime.python
    project["dependencies"] = tomlkit.array(list(runtime.dependencies)).multiline(multiline=True)  # pyright: ignore
    document["project"] = project
    document["tool"] = {"uv": {"package": False}}
    return tomlkit.dumps(document).encode()


def manifest(identity: Identity, names: Iterable[str], runtime: Runtime) -> bytes:
    """Return the manifest. Readers reject keys that the format does not have."""
    listed = sorted(names)
    lines = [f"- {name}" for name in listed[:_SHOWN_SKILLS]]
    if len(listed) > _SHOWN_SKILLS:
        lines.append(f"- {len(listed) - _SHOWN_SKILLS:,} more")
    content = {
        "manifest_version": "0.4",
        "name": identity.name,
        "display_name": identity.title,
        "version": identity.version,
        "description": identity.description,
        "long_description": "\n".join([f"Serves these skills with Skillwire {runtime.version}:", "", *lines]),
        "author": {"name": identity.author},
        "server": {
            "type": "uv",
            "entry_point": ENTRY_POINT,
            # The documentation of the format says that clients do not need this. Its validator requires it.
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", ENTRY_POINT],
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": runtime.python}},
    }
    return json_bytes(content, indented=True)

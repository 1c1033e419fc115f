"""Write all files of a skill to a folder, at the request of the user (H11)."""

import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

import anyio.to_thread

from skillwire.core.atomic_write import MOVED_ASIDE_NAME, staging_folder
from skillwire.core.concurrency import MAX_CONCURRENT_READS, MAX_CONCURRENT_UNSIZED_READS, process_in_order
from skillwire.core.names import SCHEME, collision_key, portable_fault
from skillwire.core.problem import Rule
from skillwire.core.record import Digest, Limits
from skillwire.errors import HostError, UsageError, VerificationError
from skillwire.host.errors import translated_errors
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.place import Place
from skillwire.protocol.archive_rules import UnpackedFiles
from skillwire.protocol.claims import DeliveryClaim, FileClaim, SkillClaim
from skillwire.protocol.findings import server_problem
from skillwire.protocol.verify import file_faults, frontmatter_faults, unpack_delivery
from skillwire.safe_text import quoted

_MIN_FILES = 2
"""Minimum number of files of a skill for which an archive may be used instead of a request for each file."""
_CLIENTS = frozenset(
    {
        *(".agents", ".aider", ".amp", ".augment", ".claude", ".codeium", ".codex", ".continue", ".copilot"),
        *(".cursor", ".factory", ".gemini", ".github", ".goose", ".junie", ".kilocode", ".kiro", ".opencode"),
        *(".qwen", ".roo", ".trae", ".vscode", ".windsurf", ".zed"),
    }
)
"""Names of clients' folders. A client loads skills and commands from folders below its own folder."""
_SKILLS = frozenset({"skill", "skills"})
_COMMANDS = frozenset({"commands", "agents"})
"""Names of folders in a client's folder. The client also follows the Markdown files in these folders."""
_INTO_CLIENT = "--into-client-folder"


class Reader(Protocol):
    """Access to the places of a host and to the verified files of their skills."""

    limits: Limits

    def place(self, label: str) -> Place: ...

    async def content(self, skill: HostedSkill, file: FileClaim, *, store: bool = True) -> bytes:
        """Return the verified bytes of a file. With `store`, bytes that the server sent are cached."""
        ...


@dataclass(frozen=True, slots=True)
class Destination:
    """The folder below which skills are written, and the rules for folders that clients load skills from."""

    folder: Path
    into_client_folder: bool = False
    """Whether files may be written to folders that a client loads skills from."""
    client_folders: Sequence[Path] = ()
    """Further folders that a client loads skills from."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The verified bytes of all files of a skill, by path, and the paths of the executable files."""

    files: Mapping[str, bytes]
    executable: Collection[str] = ()

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))


async def pull_skill(
    reader: Reader, skill: HostedSkill, destination: Destination, *, force: bool = False
) -> Path:
    """Write a skill to a folder below the destination, and return the folder (H9).

    The folder is named after the skill's label and path, and appears only when it is complete. With `force`,
    it replaces an existing folder. Raises `UsageError`, for example if the folder exists without `force`, or
    `HostError`.
    """
    folder = await anyio.to_thread.run_sync(prepared_folder, skill, destination)
    if not force:
        await anyio.to_thread.run_sync(_require_absent, folder)
    contents = await read_contents(reader, skill)
    await anyio.to_thread.run_sync(write_folder, folder, destination.folder, contents)
    return folder


def prepared_folder(skill: HostedSkill, destination: Destination) -> Path:
    """Return the folder for a skill, after checking this folder and the path of each file. Writes nothing.

    Raises `UsageError` or `VerificationError`.
    """
    paths = list(file_paths(skill))
    folder = destination.folder.joinpath(skill.label, *_folder_names(skill))
    _check_links(destination.folder, folder)
    if not destination.into_client_folder:
        _check_client_folders(folder, paths, destination)
    return folder


def file_paths(skill: HostedSkill) -> dict[str, FileClaim]:
    """Return the files of a skill by their paths.

    Raises `UsageError` if the skill lists no files, and `VerificationError` if some systems cannot store a
    path, or git would use it as the configuration of a repository.
    """
    if skill.files is None:
        raise UsageError(
            f"{skill.quoted} has no list of files: {_why_unlisted(skill)}",
            hint="only skills that list their files, or have an archive with a digest, can be pulled",
        )
    paths = {unquote(file.uri.removeprefix(f"{skill.root}/")): file for file in skill.files}
    for path in paths:
        if fault := portable_fault(path) or _git_fault(path):
            problem = server_problem(skill.uri, Rule.ENTRY_RESOURCES, f"the file {quoted(path)} {fault}")
            raise VerificationError(skill.origin, problem)
    return paths


def _git_fault(path: str) -> str | None:
    """Return why a path may not be written, because git runs programs that files in `.git` name."""
    is_git = ".git" in map(collision_key, path.split("/"))
    return "has `.git` in its path, which git takes for a repository with its own hooks" if is_git else None


async def read_contents(
    reader: Reader, skill: HostedSkill, packed: DeliveryClaim | None = None, *, store: bool = True
) -> Contents:
    """Return all files of a skill, verified. Raises `HostError`, or `UsageError` if the skill lists no files.

    `packed` is an archive that the server also offers. It is used for a skill with at least two files, if the
    archive contains exactly these files and is not much larger than the files together. With `store`, files
    that are read one by one are cached.
    """
    place = reader.place(skill.label)
    if skill.archive is not None:
        contents = await _unpacked(place, skill, skill.claimed, skill.archive)
    elif packed is None or len(skill.files or ()) < _MIN_FILES:
        contents = await _read_each(reader, skill, store=store)
    else:
        found = await _read_packed(reader, place, skill, packed)
        contents = found or await _read_each(reader, skill, store=store)
    document = contents.files[unquote(skill.uri.removeprefix(f"{skill.root}/"))]
    if skill.claim is not None and (faults := tuple(frontmatter_faults(skill.claim, document))):
        raise VerificationError(skill.origin, *faults)
    return contents


async def _unpacked(place: Place, skill: HostedSkill, claim: SkillClaim, archive: DeliveryClaim) -> Contents:
    with translated_errors(skill.origin, archive.uri):
        unpacked = await place.unpack(claim, archive)
    if (contents := _exactly_listed(skill, unpacked)) is None:
        problem = server_problem(archive.uri, Rule.ARCHIVE, "it does not contain exactly the known files")
        raise VerificationError(skill.origin, problem)
    return contents


async def _read_packed(
    reader: Reader, place: Place, skill: HostedSkill, archive: DeliveryClaim
) -> Contents | None:
    """Return the files in an archive; None if it is unusable, much too large, or has other files."""
    total = sum(file.size or 0 for file in skill.files or ())
    try:
        with translated_errors(skill.origin, archive.uri):
            content = await place.read(archive.uri, total)
            unpacked = await anyio.to_thread.run_sync(unpack_delivery, archive, content, reader.limits)
    except HostError:
        return None
    return _exactly_listed(skill, unpacked)


def _exactly_listed(skill: HostedSkill, unpacked: UnpackedFiles) -> Contents | None:
    """Return the files of an archive if they are exactly the files that the skill lists, else None."""
    listed = file_paths(skill)
    if listed.keys() != unpacked.files.keys():
        return None
    if any(any(file_faults(file, unpacked.files[path])) for path, file in listed.items()):
        return None
    return Contents(unpacked.files, frozenset(unpacked.executable))


async def _read_each(reader: Reader, skill: HostedSkill, *, store: bool) -> Contents:
    paths = file_paths(skill)
    contents: dict[str, bytes] = {}

    async def read(item: tuple[str, FileClaim]) -> tuple[str, bytes]:
        return item[0], await reader.content(skill, item[1], store=store)

    sized = all(file.size is not None for file in paths.values())
    at_once = MAX_CONCURRENT_READS if sized else MAX_CONCURRENT_UNSIZED_READS
    await process_in_order(paths.items(), read, lambda item: contents.update([item]), at_once)
    return Contents(contents)


class Existing(Enum):
    """What is in the folder of a skill."""

    NOTHING = auto()
    THE_SKILL = auto()
    """Exactly the skill's files, with the listed bytes and, if known, the executable bits."""
    OTHER_FILES = auto()


def existing(skill: HostedSkill, folder: Path, nested: Collection[Path] = ()) -> Existing:
    """Return what is in the folder of a skill, apart from the folders of other skills in `nested`.

    Executable bits are compared only if the list of files came from an archive, because servers do not list
    these bits. A folder that cannot be read counts as `OTHER_FILES`.
    """
    listed = file_paths(skill)
    try:
        if not folder.exists():
            return Existing.NOTHING
        found = dict(_walk(folder, folder, nested))
    except (OSError, _UnexpectedError):
        return Existing.OTHER_FILES
    if not found and nested:
        return Existing.NOTHING
    has_modes = skill.archive is not None
    same = found.keys() == listed.keys() and all(
        _is_same(found[path], file, has_modes=has_modes) for path, file in listed.items()
    )
    return Existing.THE_SKILL if same else Existing.OTHER_FILES


class _UnexpectedError(Exception):
    """An entry of a folder is neither a file nor a folder with files."""


def _walk(root: Path, folder: Path, skipped: Collection[Path]) -> "list[tuple[str, Path]]":
    found: list[tuple[str, Path]] = []
    for path in sorted(folder.iterdir()):
        mode = path.lstat().st_mode
        if path in skipped:
            continue
        if stat.S_ISDIR(mode):
            below = _walk(root, path, skipped)
            if not below and not any(_is_inside(path, each) for each in skipped):
                raise _UnexpectedError
            found += below
        elif stat.S_ISREG(mode):
            found.append((path.relative_to(root).as_posix(), path))
        else:
            raise _UnexpectedError
    return found


def _is_same(path: Path, file: FileClaim, *, has_modes: bool) -> bool:
    status = path.lstat()
    if file.size is not None and status.st_size != file.size:
        return False
    if has_modes and bool(status.st_mode & stat.S_IXUSR) != file.executable:
        return False
    return Digest.of(path.read_bytes()) == file.digest


def _is_inside(folder: Path, path: Path) -> bool:
    return path == folder or folder in path.parents


def _why_unlisted(skill: HostedSkill) -> str:
    if any(each.form is not None for each in skill.deliveries):
        return "its archive has no digest"
    if skill.deliveries:
        return f"its server uses {quoted(skill.claimed.dialect.value)}, which lists only the `SKILL.md`"
    return "its content is generated on each read"


def _folder_names(skill: HostedSkill) -> list[str]:
    """Return the names of the folders for a skill, from the path in its URI.

    If the scheme is not `skill`, it becomes the first folder, as in `https+`. Raises `VerificationError` if
    some systems cannot store the path.
    """
    root = skill.root
    scheme, _, rest = root.partition(":")
    path = unquote(root.removeprefix(SCHEME) if root.startswith(SCHEME) else f"{scheme}+/{rest.lstrip('/')}")
    if fault := portable_fault(path):
        raise VerificationError(skill.origin, server_problem(skill.uri, Rule.ENTRY_URI, f"its path {fault}"))
    return path.split("/")


def _check_links(dest: Path, folder: Path) -> None:
    """Raise `UsageError` if `folder`, or a folder between `dest` and `folder`, is a symbolic link."""
    names = folder.relative_to(dest).parts
    for depth in range(1, len(names) + 1):
        path = dest.joinpath(*names[:depth])
        if path.is_symlink():
            raise UsageError(
                f"{quoted(str(path))} is a symbolic link", hint="remove it, or choose another folder"
            )


def _check_client_folders(folder: Path, paths: Collection[str], destination: Destination) -> None:
    """Raise `UsageError` if a client would load a file in the folder as the user's own skill (H10, H24)."""
    try:
        resolved = folder.resolve()
        clients = [_folded(each.resolve()) for each in destination.client_folders]
    except (OSError, RuntimeError) as error:
        raise UsageError(
            f"cannot use {quoted(str(folder))}: {error}", hint="choose another folder"
        ) from error
    for path in paths:
        final = _folded(resolved / path)
        if _is_of_client(final) or any(final[: len(each)] == each for each in clients):
            raise UsageError(
                f"a client loads skills from {quoted(str((resolved / path).parent))}",
                hint=f"choose another folder, look at the skill, then move it; or add `{_INTO_CLIENT}`",
            )


def _folded(path: Path) -> tuple[str, ...]:
    return tuple(map(collision_key, path.parts))


def _is_of_client(names: Sequence[str]) -> bool:
    """Return whether a client loads files at a path, for example below `.x/skills` or `.claude/commands`."""
    for number, name in enumerate(names):
        above = names[:number]
        if name in _SKILLS and any(each.startswith(".") for each in above):
            return True
        if name in _COMMANDS and above and above[-1] in _CLIENTS:
            return True
    return False


def _require_absent(folder: Path) -> None:
    if folder.is_symlink() or folder.exists():
        raise UsageError(
            f"{quoted(str(folder))} already exists",
            hint="remove it, choose another folder, or replace it with `--force`",
        )


def write_folder(folder: Path, dest: Path, contents: Contents, kept: Collection[Path] = ()) -> None:
    """Write the contents to a temporary folder. Once it is complete, rename it to `folder`.

    The folders in `kept` are moved from the old `folder` into the new one. The temporary folder is directly
    below `dest`, outside the folders of all skills. Raises `UsageError`.
    """
    exists = folder.is_symlink() or folder.exists()
    verb = "replace" if exists else "write"
    try:
        if exists and (folder.is_symlink() or not folder.is_dir()):
            hint = "remove it, or choose another folder"
            raise UsageError(f"{quoted(str(folder))} is not a folder", hint=hint)
        kept_paths = {each: _path_to_keep(each, folder, contents) for each in kept}
        folder.parent.mkdir(parents=True, exist_ok=True)
        with staging_folder(dest) as staging:
            for path, content in contents.files.items():
                _write_file(staging / "skill" / path, content, executable=path in contents.executable)
            aside = staging / MOVED_ASIDE_NAME
            _exchange(staging / "skill", folder, aside)
            for each, path in kept_paths.items():
                _move_back(aside / path, each)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(
            f"cannot {verb} {quoted(str(folder))}: {reason}", hint="choose another folder"
        ) from error


def _path_to_keep(kept: Path, folder: Path, contents: Contents) -> Path:
    """Return the path of `kept` relative to `folder`.

    Raises `UsageError` if `kept` is not below `folder`, or if a file of the skill is in the way.
    """
    if not kept.is_relative_to(folder) or kept == folder or ".." in kept.parts:
        raise UsageError(f"{quoted(str(kept))} is not in {quoted(str(folder))}", hint="choose another folder")
    path = kept.relative_to(folder)
    taken = next((each for each in (path, *path.parents) if each.as_posix() in contents.files), None)
    if taken is not None:
        message = f"its file {quoted(taken.as_posix())} is in the place of another skill"
        raise UsageError(message, hint="pull one of the two skills alone, to another folder")
    return path


def _write_file(path: Path, content: bytes, *, executable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if executable:  # for everyone who may read the file
        mode = path.stat().st_mode
        path.chmod(mode | (mode & 0o444) >> 2)


def _move_back(path: Path, to: Path) -> None:
    """Move a folder back that was moved aside with the folder around it. There is no other copy of it."""
    if path.exists():
        to.parent.mkdir(parents=True, exist_ok=True)
        path.rename(to)


def _exchange(staged: Path, folder: Path, old: Path) -> None:
    """Rename `staged` to `folder`, and an existing `folder` to `old`. After an error, restore `folder`."""
    if folder.exists():
        folder.rename(old)
    try:
        staged.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise

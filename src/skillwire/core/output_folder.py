"""Write generated files into a folder that may also contain other files."""

import os
import stat
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import orjson

from skillwire.core.atomic_write import find_abandoned, replace_file
from skillwire.core.names import parent_paths, path_fault
from skillwire.errors import UsageError
from skillwire.safe_text import quoted

MANIFEST_NAME = ".published-by-skillwire.json"


class SiteFolder:
    """A folder for generated files. `finish` removes files of earlier runs for which `write` was not called.

    A manifest in the folder lists the files that Skillwire wrote. All other files stay unchanged, even
    files that already have the content to write.
    """

    def __init__(self, out: Path, command: str, below: str = "", *, option: str = "--out") -> None:
        """Read the manifest of the folder `below` inside `out`, the value of `option`.

        `command` is the name of the command in error messages. Raises `UsageError` if the folder is behind a
        symbolic link, or if its manifest cannot be read.
        """
        self.folder = out / below
        self.written: list[str] = []
        self.removed: list[str] = []
        self._out = out
        self._command = command
        self._option = option
        self._check_inside(self.folder / MANIFEST_NAME)
        self._ours, self.unfinished = _read_manifest(self.folder / MANIFEST_NAME, option)
        self._earlier = frozenset(self._ours)
        self._current: set[str] = set()
        self._kept_files = False
        self._planned: set[str] = set()

    @property
    def ours(self) -> frozenset[str]:
        """The files in the manifest of earlier runs, without those that this run removed."""
        return frozenset(self._ours)

    @property
    def has_manifest(self) -> bool:
        """Whether the folder has a manifest of an earlier run."""
        return (self.folder / MANIFEST_NAME).is_file()

    def is_foreign(self, path: str) -> bool:
        """Return whether something that Skillwire did not write is at a path."""
        return path not in self._ours and os.path.lexists(self.folder / path)

    def content(self, path: str) -> bytes | None:
        """Return the content of a file; None if it cannot be read, is a symbolic link or is behind one."""
        target = self.folder / path
        try:
            return target.read_bytes() if self._is_inside(target) and not target.is_symlink() else None
        except OSError:
            return None

    def plan(self, paths: Iterable[str]) -> None:
        """Add the new files among `paths` to the manifest before they are written. Raises `UsageError`.

        So the next run knows these files even if this run is killed.
        """
        new = {path for path in paths if not os.path.lexists(self.folder / path)} - self._ours
        if new - self._planned:
            self._planned |= new
            self._write_manifest(self._ours | self._current | self._planned, unfinished=True)

    def write(self, path: str, content: bytes, *, executable: bool | None = None) -> None:
        """Write a file atomically, unless it already has this content.

        `executable` sets or clears the executable bits of a file that Skillwire wrote; None leaves them.
        Files of earlier runs that block the path are removed. Raises `UsageError` if the path is behind a
        symbolic link, has a file that Skillwire did not write, or cannot be written.
        """
        target = self.folder / path
        self._check_inside(target)
        try:
            self._clear_path(path, target)
            if self.content(path) == content:
                if path not in self._ours:  # someone else wrote it, so a later run must not remove it
                    self._kept_files = True
                    return
            else:
                self._check_owned(path, target)
                target.parent.mkdir(parents=True, exist_ok=True)
                replace_file(target, content)
                self.written.append(path)
            is_changed = executable is not None and _set_executable(target, executable=executable)
            if is_changed and self.written[-1:] != [path]:
                self.written.append(path)
        except OSError as error:
            raise self._write_error(target, error) from error
        self._current.add(path)

    def finish(self) -> None:
        """Remove files and temporary files that are left from earlier runs, and save the manifest."""
        for path in sorted(self._ours - self._current):
            self._remove(path)
        self._remove_leftovers()
        self.save_manifest()

    def save_manifest(self) -> None:
        """Record which files Skillwire wrote, so that a later run can remove them."""
        self._write_manifest(self._ours | self._current, unfinished=False)

    def _write_manifest(self, ours: set[str], *, unfinished: bool) -> None:
        target = self.folder / MANIFEST_NAME
        manifest = {"files": sorted(ours)} | ({"unfinished": True} if unfinished else {})
        content = orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        try:
            if (ours or self._kept_files or target.exists()) and self.content(MANIFEST_NAME) != content:
                self.folder.mkdir(parents=True, exist_ok=True)
                replace_file(target, content)
        except OSError as error:
            raise self._write_error(target, error) from error

    def _remove_leftovers(self) -> None:
        """Remove the temporary files of an earlier run that was killed."""
        names: defaultdict[Path, set[str]] = defaultdict(set)
        names[self.folder].add(MANIFEST_NAME)
        if self.unfinished:
            for path in self._earlier | self._current:
                target = self.folder / path
                names[target.parent].add(target.name)
        ours = {self.folder / path for path in self._current}
        for folder, known in names.items():
            for left in (
                find_abandoned(folder, known, seconds=0) if self._is_inside(folder / MANIFEST_NAME) else ()
            ):
                if left not in ours:
                    left.unlink(missing_ok=True)

    def _is_inside(self, target: Path) -> bool:
        """Return whether no folder between `--out` and the path is a symbolic link."""
        parent = target.parent
        return os.path.realpath(parent) == os.path.join(  # noqa: PTH118 - compared as text
            os.path.realpath(self._out), *parent.relative_to(self._out).parts
        )

    def _check_inside(self, target: Path) -> None:
        """Raise `UsageError` if a folder between `--out` and the path is a symbolic link."""
        if not self._is_inside(target):
            raise UsageError(
                f"{quoted(str(target))} is behind a link; files behind links are never written",
                hint=f"remove the link, or choose another `{self._option}`",
            )

    def _clear_path(self, path: str, target: Path) -> None:
        """Remove files that Skillwire wrote and that block the path.

        These are files where the path needs a folder, and all files in a folder where the path needs a file.
        """
        in_the_way = {above for above in parent_paths(path) if above in self._ours}
        if target.is_dir() and not target.is_symlink():
            in_the_way |= {below for below in self._ours if below.startswith(f"{path}/")}
        for each in sorted(in_the_way):
            self._remove(each)

    def _check_owned(self, path: str, target: Path) -> None:
        """Raise `UsageError` if a file that Skillwire did not write is at the path."""
        if path not in self._ours and os.path.lexists(target):
            raise UsageError(
                f"{quoted(str(target))} already exists and was not written by `skillwire {self._command}`",
                hint=f"move it away, or choose another `{self._option}`",
            )

    def _remove(self, path: str) -> None:
        target = self.folder / path
        if not self._is_inside(target):  # a folder was replaced with a link, whose target must stay
            self._ours.discard(path)
            return
        try:
            target.unlink(missing_ok=True)
            for above in reversed(parent_paths(path)):
                folder = self.folder / above
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
        except OSError as error:
            raise self._write_error(target, error) from error
        self._ours.discard(path)
        self.removed.append(path)

    def _write_error(self, path: Path, error: OSError) -> UsageError:
        return _write_error(path, error, self._option)


def _set_executable(target: Path, *, executable: bool) -> bool:
    """Set or clear the executable bits. Return whether the mode changed."""
    mode = stat.S_IMODE(target.stat().st_mode)
    new_mode = mode | 0o111 if executable else mode & ~0o111
    if new_mode != mode:
        target.chmod(new_mode)
    return new_mode != mode


def _read_manifest(path: Path, option: str) -> tuple[set[str], bool]:
    """Return the valid paths in the manifest, and whether the run that wrote the manifest was interrupted.

    Without a manifest, return no paths. Raises `UsageError` if the manifest is damaged or cannot be read.
    """
    try:
        manifest = orjson.loads(path.read_bytes())
        return {
            each for each in manifest["files"] if isinstance(each, str) and path_fault(each) is None
        }, "unfinished" in manifest
    except FileNotFoundError:
        return set(), False
    except OSError as error:
        raise _write_error(path, error, option) from error
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{quoted(str(path))} is damaged, so it is unknown which files may be removed",
            hint=f"choose an empty folder with `{option}`",
        ) from error


def _write_error(path: Path, error: OSError, option: str) -> UsageError:
    reason = (error.strerror or type(error).__name__).lower()
    return UsageError(f"cannot write {quoted(str(path))}: {reason}", hint=f"choose another `{option}`")

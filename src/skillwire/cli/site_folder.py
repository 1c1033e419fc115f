"""A folder that a web server shows while we write to it, and in which other files than ours may be."""

from pathlib import Path

import orjson

from skillwire.config.replace import replace_file
from skillwire.model.display import quoted
from skillwire.model.errors import UsageError
from skillwire.model.path import path_fault, prefixes

LIST_OF_OURS = ".published-by-skillwire.json"


class SiteFolder:
    """Writes files, and in the end removes those that it wrote an earlier time and not this time.

    A list of its own files lies among them. Files that are not on the list are never touched.
    """

    def __init__(self, folder: Path) -> None:
        """Raises `UsageError` if the folder cannot be used."""
        self.folder = folder
        self.written: list[str] = []
        self.removed: list[str] = []
        self._ours = _listed(folder / LIST_OF_OURS)
        self._current: set[str] = set()

    @property
    def ours(self) -> frozenset[str]:
        """The files that were written an earlier time."""
        return frozenset(self._ours)

    def write(self, path: str, content: bytes) -> None:
        """Write a file in one step, unless it is there already. Raises `UsageError`."""
        target = self.folder / path
        try:
            self._make_way(path, target)
            if not target.exists() or target.read_bytes() != content:
                self._must_be_ours(path, target)
                target.parent.mkdir(parents=True, exist_ok=True)
                replace_file(target, content)
                self.written.append(path)
        except OSError as error:
            raise _unwritable(target, error) from error
        self._current.add(path)

    def finish(self) -> None:
        """Remove what is left of earlier times, and write down what is ours."""
        for path in sorted(self._ours - self._current):
            self._remove(path)
        self.note()

    def note(self) -> None:
        """Write down which files are ours, so that a later time can remove them."""
        target = self.folder / LIST_OF_OURS
        ours = sorted(self._ours | self._current)
        content = orjson.dumps({"files": ours}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        try:
            if ours and (not target.exists() or target.read_bytes() != content):
                replace_file(target, content)
        except OSError as error:
            raise _unwritable(target, error) from error

    def _make_way(self, path: str, target: Path) -> None:
        """Remove a file of ours where a folder must be now, or the other way round."""
        in_the_way = {above for above in prefixes(path) if above in self._ours}
        if target.is_dir():
            in_the_way |= {below for below in self._ours if below.startswith(f"{path}/")}
        for each in sorted(in_the_way):
            self._remove(each)

    def _must_be_ours(self, path: str, target: Path) -> None:
        if path not in self._ours and target.exists():
            raise UsageError(
                f"{quoted(str(target))} is there already, and was not written by `skillwire publish`",
                hint="move it away, or publish to another folder",
            )

    def _remove(self, path: str) -> None:
        target = self.folder / path
        try:
            target.unlink(missing_ok=True)
            for above in reversed(prefixes(path)):
                folder = self.folder / above
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
        except OSError as error:
            raise _unwritable(target, error) from error
        self._ours.discard(path)
        self.removed.append(path)


def _listed(path: Path) -> set[str]:
    """Return the paths on the list, those that can be below a folder and nowhere else."""
    try:
        listed = orjson.loads(path.read_bytes())["files"]
        return {each for each in listed if isinstance(each, str) and path_fault(each) is None}
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise _unwritable(path, error) from error
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{quoted(str(path))} is damaged, and without it nobody knows which files may be removed",
            hint="publish to an empty folder",
        ) from error


def _unwritable(path: Path, error: OSError) -> UsageError:
    reason = (error.strerror or type(error).__name__).lower()
    return UsageError(f"{quoted(str(path))} cannot be written: {reason}", hint="choose another `--out`")

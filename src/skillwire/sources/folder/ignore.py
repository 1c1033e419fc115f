"""Decide which files are left out: hidden files, tool folders, evals and matches of `.skillwireignore`."""

from pathlib import Path
from typing import TYPE_CHECKING

from skillwire.core.names import EVALS_FOLDER
from skillwire.errors import SourceError
from skillwire.sources.folder.files import read_file

if TYPE_CHECKING:
    from skillwire.sources.folder.ignore_patterns import PathPatterns


IGNORE_FILE = ".skillwireignore"
CONTAINERS = (("skills",), (".claude", "skills"))
"""Folders that only group skills, as path segments. Skill paths omit them, except to avoid a conflict."""
HIDDEN_CONTAINERS = {container[0]: container[1:] for container in CONTAINERS if container[0].startswith(".")}
"""The only path that is entered in a hidden folder, by the name of the hidden folder."""

_MAX_SIZE = 256 * 1024
_MAX_PATTERNS = 500
TOOL_FOLDERS = frozenset({"node_modules", "__pycache__"})


class IgnoreRules:
    """Decides which files and folders are left out, by name and by the patterns in the ignore file."""

    def __init__(self, patterns: "PathPatterns | None" = None, *, include_evals: bool = False) -> None:
        """Leave out what matches the patterns and, unless `include_evals` is set, the evals of skills."""
        self._patterns = patterns
        self._include_evals = include_evals

    @classmethod
    def at(cls, root: Path, *, include_evals: bool = False) -> "IgnoreRules":
        """Return the rules for `root`, including its ignore file.

        Raises `SourceError` if the ignore file cannot be used.
        """
        location = root / IGNORE_FILE
        try:
            location.lstat()
        except FileNotFoundError:
            return cls(include_evals=include_evals)
        except OSError as error:
            raise SourceError(f"cannot be read: {(error.strerror or 'no access').lower()}") from error
        content, _ = read_file(str(location), _MAX_SIZE)
        if len(content) > _MAX_SIZE:
            raise SourceError(f"has more than {_MAX_SIZE:,} bytes")
        from skillwire.sources.folder.ignore_patterns import PathPatterns  # noqa: PLC0415 - rarely needed

        try:
            lines = content.decode("utf-8-sig").splitlines()
            if (number := sum(1 for line in lines if line.strip() and line[0] != "#")) > _MAX_PATTERNS:
                raise SourceError(f"holds {number:,} patterns; the limit is {_MAX_PATTERNS:,}")
            return cls(PathPatterns(lines) or None, include_evals=include_evals)
        except UnicodeDecodeError as error:
            raise SourceError("is not UTF-8") from error
        except ValueError as error:
            raise SourceError(str(error)) from error

    @property
    def has_patterns(self) -> bool:
        return self._patterns is not None

    def by_name(self, name: str) -> bool:
        """Return whether this name is left out: a hidden name, or the name of a tool folder."""
        return name.startswith(".") or name in TOOL_FOLDERS

    def is_evals(self, name: str) -> bool:
        """Return whether the folder `name` of a skill is left out, because it has the skill's eval cases."""
        return name == EVALS_FOLDER and not self._include_evals

    def by_pattern(self, path: str, *, folder: bool) -> bool:
        """Return whether the patterns leave out `path` or a folder above it."""
        if self._patterns is None:
            return False
        return self._patterns.ignores(path, folder=folder)

    def matches_any_part(self, path: str, *, folder: bool) -> bool:
        """Return whether `path` or a folder above it is left out. Used for the targets of links."""
        parts = path.split("/")
        for name, inner in zip(parts, (*parts[1:], ""), strict=True):
            if self.by_name(name) and (inner,) != HIDDEN_CONTAINERS.get(name):
                return True
        return self.by_pattern(path, folder=folder)

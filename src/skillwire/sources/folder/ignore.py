"""What is never served from a folder: hidden names, tool folders, and what the ignore file names."""

from pathlib import Path
from typing import TYPE_CHECKING

from skillwire.model.display import quoted
from skillwire.model.errors import SourceError
from skillwire.sources.folder.files import read_file

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".skillwireignore"
CONTAINERS = (("skills",), (".claude", "skills"))
"""Folders that only hold skills: entered wherever they stand, and no part of a skill's path."""
HIDDEN_CONTAINERS = {container[0]: container[1:] for container in CONTAINERS if container[0].startswith(".")}
"""What is entered of a folder that would otherwise be hidden."""

_MAX_SIZE = 256 * 1024
_MAX_PATTERNS = 500
_MAX_STARS = 2
"""In one segment of a pattern: what a pattern costs grows with the length of a name to this power."""
TOOL_FOLDERS = frozenset({"node_modules", "__pycache__"})


class Ignored:
    """Decides by name, and by the patterns of the root's ignore file."""

    def __init__(self, patterns: "GitIgnoreSpec | None" = None) -> None:
        self._patterns = patterns

    @classmethod
    def at(cls, root: Path) -> "Ignored":
        """Return what the ignore file of `root` says. Raises `SourceError` if that cannot be understood."""
        location = root / IGNORE_FILE
        try:
            location.lstat()
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise SourceError(f"cannot be read: {(error.strerror or 'no access').lower()}") from error
        content, _ = read_file(str(location), _MAX_SIZE)
        if len(content) > _MAX_SIZE:
            raise SourceError(f"has more than {_MAX_SIZE:,} bytes")
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 - most folders have no such file

        try:
            return cls(GitIgnoreSpec.from_lines(_affordable(content.decode().splitlines())))
        except UnicodeDecodeError as error:
            raise SourceError("is not UTF-8") from error
        except ValueError as error:
            raise SourceError(f"holds a pattern that cannot be understood: {error}") from error

    @property
    def has_patterns(self) -> bool:
        return self._patterns is not None

    def by_name(self, name: str) -> bool:
        return name.startswith(".") or name in TOOL_FOLDERS

    def by_pattern(self, path: str, *, folder: bool) -> bool:
        if self._patterns is None:
            return False
        return self._patterns.match_file(f"{path}/" if folder else path)

    def anywhere_on(self, path: str, *, folder: bool) -> bool:
        """Whether `path`, or a folder above it, is left out. Guards what a link leads to."""
        parts = path.split("/")
        for depth, name in enumerate(parts, start=1):
            is_folder = folder or depth < len(parts)
            hidden = self.by_name(name) and tuple(parts[depth : depth + 1]) != HIDDEN_CONTAINERS.get(name)
            if hidden or self.by_pattern("/".join(parts[:depth]), folder=is_folder):
                return True
        return False


def _affordable(lines: list[str]) -> list[str]:
    """Return the lines, having seen that matching them takes no time to speak of. Raises `SourceError`."""
    patterns = [line for line in lines if line.strip() and not line.startswith("#")]
    if len(patterns) > _MAX_PATTERNS:
        raise SourceError(f"holds {len(patterns):,} patterns; the limit is {_MAX_PATTERNS:,}")
    for pattern in patterns:
        if any(segment.replace("**", "").count("*") > _MAX_STARS for segment in pattern.split("/")):
            raise SourceError(f"holds {quoted(pattern)}: more than {_MAX_STARS} stars between slashes")
    return lines

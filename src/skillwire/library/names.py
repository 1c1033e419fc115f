"""What people and models call a skill: its name if that is unique, else its path (S17)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from skillwire.core.names import SKILL_FILE, find_close_matches
from skillwire.core.record import SkillRecord
from skillwire.errors import RequestError
from skillwire.library.catalog import Catalog
from skillwire.safe_text import quoted

_MAX_SUGGESTIONS = 3
_MAX_LISTED_HANDLES = 20
"""How many skills with the same name an error lists."""


class AmbiguousNameError(RequestError):
    """Several skills have this name."""

    def __init__(self, name: str, handles: list[str]) -> None:
        self.handles = handles
        listed = ", ".join(quoted(handle) for handle in handles[:_MAX_LISTED_HANDLES])
        if len(handles) > _MAX_LISTED_HANDLES:
            listed += f" or one of {len(handles) - _MAX_LISTED_HANDLES:,} more"
        super().__init__(f"{quoted(name)} is the name of {len(handles)} skills; use one of: {listed}")


class UnknownNameError(RequestError):
    """No skill has this name."""

    def __init__(self, name: str, hint: str = "") -> None:
        super().__init__(f"there is no skill {quoted(name)}" + (f"; {hint}" if hint else ""))


class Names:
    """Finds a skill by name in one catalogue."""

    def __init__(
        self, catalog: Catalog, entries: Mapping[str, SkillRecord] | None = None, *, by_path: bool = False
    ) -> None:
        """Index `entries`, or all skills of the catalogue. With `by_path`, handles are always paths."""
        self._entries = catalog.entries if entries is None else entries
        self._always_path = by_path
        self._by_name: defaultdict[str, list[SkillRecord]] = defaultdict(list)
        for entry in self._entries.values():
            self._by_name[entry.name].append(entry)
        self._by_path = {unquote(entry.path): entry for entry in self._entries.values() if "/" in entry.path}

    def handle(self, entry: SkillRecord) -> str:
        """Return the shortest name that refers to this skill only."""
        if len(self._by_name.get(entry.name, ())) <= 1 and not self._always_path:
            return entry.name
        return unquote(entry.path) if "/" in entry.path else entry.root

    def find(self, name: str, offered: Iterable[str] | None = None) -> SkillRecord:
        """Return the skill that `name` refers to: a bare name, a path, or a URI.

        Raises `AmbiguousNameError`, or `UnknownNameError` with the most similar names. If `offered` is given,
        only those names are suggested.
        """
        if "://" in name:
            entries = self._entries
            entry = entries.get(name) or entries.get(f"{name.rstrip('/')}/{SKILL_FILE}")
        else:
            entry = self._by_path.get(name) or self._by_path.get(unquote(name))
            sharing = self._by_name.get(name, [])
            if entry is None and len(sharing) > 1:
                raise AmbiguousNameError(name, [self.handle(each) for each in sharing])
            entry = entry or next(iter(sharing), None)
        if entry is None:
            raise UnknownNameError(name, did_you_mean(name, self.handles() if offered is None else offered))
        return entry

    def handles(self) -> list[str]:
        """Return the handle of each skill, in listing order."""
        return [self.handle(entry) for entry in self._entries.values()]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question with the known words most similar to `word`, or `` if none is similar."""
    close = find_close_matches(word, known, _MAX_SUGGESTIONS)
    return f"did you mean {' or '.join(quoted(each) for each in close)}?" if close else ""

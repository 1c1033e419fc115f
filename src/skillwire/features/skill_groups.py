"""Groups of skills, for lists that have no room for all names."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from os.path import commonprefix
from urllib.parse import unquote

from skillwire.core.names import SCHEME, SKILL_FILE
from skillwire.core.sorted_items import SortedItems

_MAX_DIGITS = 10
"""Number of digits with which the sizes of groups are compared."""


class SkillGroups:
    """Skills by the folder that they are in, such as `team/`, or by the first word of their names: `azure-*`.

    A folder that contains all skills forms no group: its folders do. A skill directly in such a folder, or at
    the top, belongs to the group of the first word of its name.
    """

    def __init__(self, uris: Iterable[str]) -> None:
        paths = {uri: _path(uri) for uri in uris}
        self._start = _common_folder(paths.values())
        self._members: dict[str, set[str]] = {}
        for uri, path in paths.items():
            self._members.setdefault(self._label(path), set()).add(uri)
        self._order = SortedItems(((label, len(each)) for label, each in self._members.items()), _order)

    def updated(self, gone: Iterable[str], new: Iterable[str]) -> "SkillGroups":
        """Return the groups without the skills in `gone`, and with those in `new`. Modifies this object."""
        changed: dict[str, int] = {}
        for uri in gone:
            label = self._label(_path(uri))
            changed.setdefault(label, len(self._members.get(label, ())))
            self._members.get(label, set()).discard(uri)
        for uri in new:
            if not (path := _path(uri)).startswith(self._start):
                return SkillGroups({*chain(*self._members.values()), *new})
            label = self._label(path)
            changed.setdefault(label, len(self._members.get(label, ())))
            self._members.setdefault(label, set()).add(uri)
        for label in changed:
            if not self._members.get(label):
                self._members.pop(label, None)
        if len(self._members) == 1 and next(iter(self._members)).endswith("/"):
            # All skills are in one folder now, so its folders form the groups.
            return SkillGroups(set(chain(*self._members.values())))
        before = [(label, size) for label, size in changed.items() if size]
        after = [(label, len(self._members[label])) for label in changed if label in self._members]
        self._order = self._order.replaced(before, after)
        return self

    def shown(self, name: Callable[[str], str], label: Callable[[str], str]) -> Iterator[str]:
        """Yield the groups, the largest first, then the names of the skills that are in no group.

        Equally large groups are in alphabetical order. `name` returns the name of the skill with a URI, and
        `label` the text of a group's label.
        """
        for each, size in self._order:
            (first,) = self._members[each] if size == 1 else ("",)
            yield name(first) if size == 1 else f"{label(each)} ({size:,})"

    def _label(self, path: str) -> str:
        inner = path[len(self._start) :]
        first, slash, _ = inner.partition("/")
        return f"{self._start}{first}/" if slash else f"{inner.partition('-')[0]}-*"


def _order(group: tuple[str, int]) -> str:
    """Return a key that sorts larger groups before smaller ones, and then by label."""
    label, size = group
    return f"{10**_MAX_DIGITS - size:0{_MAX_DIGITS}} {label}"


def _path(uri: str) -> str:
    return unquote(uri[len(SCHEME) : -len(SKILL_FILE) - 1])


def _common_folder(paths: Iterable[str]) -> str:
    """Return the path of the innermost folder that contains all paths, with a slash; empty for the top."""
    if not (known := list(paths)):
        return ""
    common = commonprefix([min(known), max(known)])  # noqa: RUF071 - the last character is a slash below
    return common[: common.rfind("/") + 1]

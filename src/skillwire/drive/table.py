"""The paths of one client, ready to be looked up."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from skillwire.drive.paths import LivePath, best_match
from skillwire.drive.registration import Descriptor, PathType


@dataclass(frozen=True, slots=True)
class PathTable:
    """Finds who answers a path. One without parameters is a dictionary look-up: nothing is more specific."""

    exact: Mapping[tuple[str, str], Descriptor] = field(default_factory=dict[tuple[str, str], Descriptor])
    patterns: tuple[Descriptor, ...] = ()

    @classmethod
    def of(cls, descriptors: Collection[Descriptor]) -> "PathTable":
        return cls(
            {(each.method, each.path.text): each for each in descriptors if not each.path.parameters},
            tuple(each for each in descriptors if each.path.parameters),
        )

    def find(
        self, method: str, asked: LivePath, types: Collection[PathType] = tuple(PathType)
    ) -> tuple[Descriptor, dict[str, str]] | None:
        """Return what answers `asked`, with the parameters; None if nothing does."""
        exact = self.exact.get((method, asked.text))
        if exact is not None and exact.type in types:
            return exact, {}
        if not self.patterns or asked.parameters:
            return None
        among = {each.path: each for each in self.patterns if each.method == method and each.type in types}
        found = best_match(among, asked)
        return None if found is None else (among[found[0]], found[1])

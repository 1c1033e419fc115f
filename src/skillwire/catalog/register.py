"""What is published under the contract while the catalogue changes: the last good registry is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillwire.catalog.contracted import Contracted, contracted
from skillwire.catalog.snapshot import Catalog
from skillwire.contract.registry import Registered, Registry
from skillwire.contract.terms import Terms
from skillwire.model.entry import Json, SkillRecord


@dataclass(frozen=True, slots=True)
class Published:
    """What the contract says of one catalogue, and what is published for it."""

    contracted: Contracted
    registry: Registry


@dataclass(slots=True)
class Register:
    """Follows the catalogues of a library, one after the other.

    A strict one takes over a catalogue in which nothing is wrong, and keeps all as it was until there is one.
    A tolerant one keeps only the broken skills as they were, as long as they are there.
    """

    terms: Terms = field(default_factory=Terms)
    _last: Published | None = None
    _before: Published | None = None

    def of(self, catalog: Catalog) -> Published:
        """Return what is published for this catalogue: the current one, or the one before."""
        for known in (self._last, self._before):
            if known is not None and known.contracted.catalog is catalog:
                return known
        found = contracted(catalog, self.terms.key, self._last and self._last.contracted)
        self._before, self._last = self._last, Published(found, self._registry(found))
        return self._last

    def runtime_meta(self, entry: SkillRecord, catalog: Catalog) -> dict[str, Json]:
        """Return what a read or a tool result for a skill carries; nothing if it is not published."""
        skill = self.of(catalog).registry.by_uri.get(entry.uri)
        return {} if skill is None else skill.runtime_meta

    def _registry(self, found: Contracted) -> Registry:
        good = Registry.of(found.repository.sound)
        last: Mapping[str, Registered] = self._last.registry.skills if self._last is not None else {}
        still_there = {each: skill for each, skill in last.items() if skill.uri in found.catalog.entries}
        if not self.terms.tolerant:
            return Registry(still_there) if found.errors else good
        return Registry(dict(sorted({**_broken(found, still_there), **good.skills}.items())))


def _broken(found: Contracted, known: Mapping[str, Registered]) -> dict[str, Registered]:
    """Return the skills that were good before and are broken now, as they were."""
    broken = {skill.facts.uri for skill in found.repository.skills if skill.frontmatter is None}
    return {each: skill for each, skill in known.items() if skill.uri in broken}

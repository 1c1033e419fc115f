"""The list of skills for models, which follows the changes of the library."""

from collections.abc import Mapping

from skillwire.core.record import SkillRecord
from skillwire.features.catalog_text import ListOptions, available_skills, is_pinned, plain_name
from skillwire.features.offered_skills import OfferedSkills, affected_uris, offered_uris
from skillwire.features.skill_groups import SkillGroups
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change
from skillwire.library.memo import CatalogMemo


class SkillListText:
    """Writes the list of skills. After a change, only what the change affects is determined again."""

    def __init__(self, visible_skills: VisibleSkills, options: ListOptions) -> None:
        self._visible_skills, self._options = visible_skills, options
        self._pinned = CatalogMemo(self._find_pinned, self._update_pinned)
        self._groups = CatalogMemo(self._group, self._update_groups)
        self._texts: dict[int, CatalogMemo[str]] = {}

    def text(self, before: int = 0) -> str:
        """Return the list as `available_skills` does. `before` is the number of characters before it."""
        known = self._texts.setdefault(before, CatalogMemo(lambda catalog: self._written(catalog, before)))
        return known.of(self._visible_skills.catalog)

    def _written(self, catalog: Catalog, before: int) -> str:
        skills = self._visible_skills.models_of(catalog)
        return available_skills(
            skills,
            self._options,
            templates=self._visible_skills.templates_for_models(),
            before=before,
            pinned=self._in_order(skills, catalog),
            groups=lambda: self._groups.of(catalog).shown(
                lambda uri: plain_name(skills.handle(uri)), plain_name
            ),
        )

    def _in_order(self, skills: OfferedSkills, catalog: Catalog) -> Mapping[str, SkillRecord]:
        """Return the pinned skills in the order of the patterns."""
        uris = self._pinned.of(catalog)
        pinned = catalog.entries.in_order([catalog.entries[uri] for uri in uris])
        named = {skills.handle(entry.uri): entry for entry in pinned}
        chosen = dict[str, SkillRecord]()
        for pattern in self._options.pinned if named else ():
            chosen |= {name: each for name, each in named.items() if is_pinned(pattern, name, each)}
        return chosen

    def _find_pinned(self, catalog: Catalog) -> set[str]:
        if not self._options.pinned:
            return set()
        skills = self._visible_skills.models_of(catalog)
        return {entry.uri for handle, entry in skills.items() if self._is_pinned(handle, entry)}

    def _update_pinned(self, uris: set[str], change: Change) -> set[str]:
        if not self._options.pinned:
            return uris
        if change.before.visibility.by_path != change.after.visibility.by_path:
            return self._find_pinned(change.after)
        skills = self._visible_skills.models_of(change.after)
        # The handle of an unchanged skill may differ if a skill with the same name was added or removed.
        names = {each.name for edit in change.edits for each in edit.entries}
        sharing = {each.uri for name in names for each in change.after.entries.named(name)}
        for uri in affected_uris(change) | sharing:
            entry = change.after.entries.get(uri)
            if entry is not None and skills.has(entry) and self._is_pinned(skills.handle(uri), entry):
                uris.add(uri)
            else:
                uris.discard(uri)
        return uris

    def _is_pinned(self, handle: str, entry: SkillRecord) -> bool:
        return any(is_pinned(pattern, handle, entry) for pattern in self._options.pinned)

    def _group(self, catalog: Catalog) -> SkillGroups:
        return SkillGroups(entry.uri for entry in self._visible_skills.models_of(catalog).entries())

    def _update_groups(self, groups: SkillGroups, change: Change) -> SkillGroups:
        uris = affected_uris(change)
        were, are = (offered_uris(each, uris, for_models=True) for each in (change.before, change.after))
        return groups.updated(were - are, are - were)

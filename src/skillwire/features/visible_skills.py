"""The skills that are offered to models and to people, by the names used for them."""

from functools import partial

from skillwire.core.record import SkillRecord
from skillwire.core.skill_arguments import SkillArguments
from skillwire.core.template import SkillTemplate
from skillwire.features.offered_skills import OfferedSkills, count_offered, recount_offered
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change
from skillwire.library.library import Library
from skillwire.library.memo import CatalogMemo
from skillwire.library.names import Names, template_names
from skillwire.library.search import Audience
from skillwire.protocol.translate import skill_meta
from skillwire.safe_text import collapse_lines


class VisibleSkills:
    """The skills that models and people may use now. The features that offer skills share this object.

    While the library is frozen, the skills from the time it was frozen are offered.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self._names = CatalogMemo(_named)
        self._for_models = _count_memo(for_models=True)
        self._for_people = _count_memo(for_models=False)
        self._templates_for_models = CatalogMemo(lambda catalog: self._templates(catalog, assistant=True))
        self._templates_for_people = CatalogMemo(lambda catalog: self._templates(catalog, assistant=False))
        self._template_names = CatalogMemo(self._all_template_names)

    @property
    def catalog(self) -> Catalog:
        """The catalog that determines what is offered."""
        return self.library.loaded if self.library.frozen else self.library.catalog

    async def confirmed(self, entry: SkillRecord) -> SkillRecord:
        """Return the source's record of a skill from a template. Return any other record unchanged.

        Raises the source's error if there is no such skill.
        """
        return await self.library.confirmed(entry)

    def current(self, entry: SkillRecord) -> SkillRecord:
        """Return the current record of an offered skill, or `entry` if the skill is not in the catalog."""
        return self.library.catalog.entries.get(entry.uri, entry)

    @property
    def names(self) -> Names:
        return self._names.of(self.catalog)

    def deciding_record(self, offered: SkillRecord, read: SkillRecord) -> SkillRecord:
        """Return the record whose visibility counts: `offered` while the library is frozen, else `read`."""
        return offered if self.library.frozen else read

    @classmethod
    def of(cls, library: Library) -> "VisibleSkills":
        """Return the object that all features of a library share."""
        if not isinstance(found := library.shared.get(cls), VisibleSkills):
            found = library.shared[cls] = cls(library)
        return found

    def allows(self, each: SkillRecord | SkillTemplate, audience: Audience) -> bool:
        """Return whether an audience may start a skill, or the skills of a template."""
        assistant = audience is Audience.MODELS
        if isinstance(each, SkillTemplate):
            visible = not each.is_withheld
            allowed = self.catalog.visibility.of_template(each).allows(assistant=assistant)
        else:
            visible = self.is_visible(each)
            allowed = _is_for(self.catalog, each, assistant=assistant)
        return visible and (allowed or audience is Audience.EVERYONE)

    def template_name(self, template: SkillTemplate) -> str:
        """Return the name that models and people use for the skills of a template."""
        named = self._template_names.of(self.catalog).items()
        return next((name for name, each in named if each is template), template.path)

    def is_visible(self, entry: SkillRecord) -> bool:
        """Return whether models and people may see a skill at all."""
        return not self.catalog.visibility.withholds(entry)

    def is_for_models(self, entry: SkillRecord) -> bool:
        return _is_for(self.catalog, entry, assistant=True)

    def is_for_people(self, entry: SkillRecord) -> bool:
        return _is_for(self.catalog, entry, assistant=False)

    def for_models(self) -> OfferedSkills:
        """Return the skills that a model may load, by the names used for them, in listing order."""
        return self.models_of(self.catalog)

    def models_of(self, catalog: Catalog) -> OfferedSkills:
        """Return the skills of a catalog that a model may load. Keep to the current one: it is remembered."""
        return OfferedSkills(catalog, self._names.of(catalog), self._for_models.of(catalog), for_models=True)

    def for_people(self) -> OfferedSkills:
        """Return the skills that a person may start, by the names used for them, in listing order."""
        catalog = self.catalog
        return OfferedSkills(catalog, self._names.of(catalog), self._for_people.of(catalog), for_models=False)

    def templates_for_models(self) -> dict[str, SkillTemplate]:
        """Return the templates whose skills a model may load, by the names used for them."""
        return self._templates_for_models.of(self.catalog)

    def templates_for_people(self) -> dict[str, SkillTemplate]:
        """Return the templates whose skills a person may start, by the names used for them."""
        return self._templates_for_people.of(self.catalog)

    def differs(self, change: Change, *, assistant: bool) -> bool:
        """Return whether a change affects the skills that are offered, their names or their descriptions."""
        if self.library.frozen:
            return False
        before, after = change.before, change.after
        decided = change.visibility_changed_uris
        if change.has_template_changes or any(each.uri in decided for each in after.templates):
            return True
        pairs = [(edit.before, edit.after) for edit in change.edits]
        pairs += [(before.entries.get(uri), after.entries.get(uri)) for uri in decided]
        if any(
            _shown(before, old, assistant=assistant) != _shown(after, new, assistant=assistant)
            for old, new in pairs
        ):
            return True
        renamed = (
            uri
            for uri in after.shared_names.changed_keys(before.shared_names)
            if (uri in before.shared_names) != (uri in after.shared_names)
        )
        entries = (after.entries.get(uri) for uri in renamed)
        return any(entry is not None and _is_for(after, entry, assistant=assistant) for entry in entries)

    def _templates(self, catalog: Catalog, *, assistant: bool) -> dict[str, SkillTemplate]:
        policy, named = catalog.visibility, self._template_names.of(catalog)
        return {
            name: each for name, each in named.items() if policy.of_template(each).allows(assistant=assistant)
        }

    def _all_template_names(self, catalog: Catalog) -> dict[str, SkillTemplate]:
        if not catalog.templates:
            return {}
        return template_names(catalog.templates, self._names.of(catalog))


def _named(catalog: Catalog) -> Names:
    return Names(catalog, by_path=catalog.visibility.by_path, hide_withheld=True)


def _count_memo(*, for_models: bool) -> CatalogMemo[int]:
    return CatalogMemo(
        partial(count_offered, for_models=for_models), partial(recount_offered, for_models=for_models)
    )


def _shown(catalog: Catalog, entry: SkillRecord | None, *, assistant: bool) -> tuple[object, ...] | None:
    """Return what is shown of a skill in a list for models or for people; None if it is not offered."""
    if entry is None or not _is_for(catalog, entry, assistant=assistant):
        return None
    description = collapse_lines(entry.shown_description)
    if assistant:
        return description, entry.when_to_use
    return description, skill_meta(entry), SkillArguments.of(entry.frontmatter)


def _is_for(catalog: Catalog, entry: SkillRecord, *, assistant: bool) -> bool:
    if (template := catalog.template_of(entry.uri)) is not None:  # the operator decides for all its skills
        policy = catalog.visibility
        if not policy.of_template(template).allows(assistant=assistant):
            return False
    return catalog.visibility.allows(entry, assistant=assistant)

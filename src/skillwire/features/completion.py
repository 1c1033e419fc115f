"""`completion/complete`: complete names, paths and parameters that a person types."""

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

from skillwire.core.names import SCHEME, root_uri
from skillwire.core.record import Json, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.core.template_mismatch import unique_parameters
from skillwire.features.base import Answer, Call, Feature, Method
from skillwire.features.prompts import BY_NAME
from skillwire.features.template_paths import complete_paths, suggest_values
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.catalog import entry_in
from skillwire.library.library import Library
from skillwire.library.memo import CatalogMemo
from skillwire.protocol.messages import COMPLETE, FILE_TEMPLATE

_MAX_VALUES = 100
"""Maximum completions in one answer, as the protocol requires."""


class CompletionFeature(Feature):
    """Completes what a person types: first values that start with the text, then others that contain it."""

    name = "completion"

    def __init__(self, library: Library, visible_skills: VisibleSkills | None = None) -> None:
        """Create the feature. With `visible_skills`, it also completes prompts, and omits withheld skills."""
        self._library = library
        self._visible_skills = visible_skills
        self._handles = CatalogMemo(
            lambda _: () if visible_skills is None else tuple(visible_skills.for_people())
        )

    def methods(self) -> Mapping[str, Method]:
        return {COMPLETE: self.complete}

    def claims(self, method: str, call: Call) -> bool:
        return method == COMPLETE and self._knows(call)

    async def complete(self, call: Call) -> Answer:
        typed = call.part("argument").text("value")
        found = list(_matching(await self._candidates(call, typed), typed))
        values: list[Json] = list(found[:_MAX_VALUES])
        return Answer(
            {"completion": {"values": values, "total": len(found), "hasMore": len(found) > _MAX_VALUES}}
        )

    def _knows(self, call: Call) -> bool:
        reference = call.part("ref").params
        if reference.get("type") == "ref/prompt":
            name = reference.get("name")
            return self._visible_skills is not None and (
                name == BY_NAME or self._prompt_template(name) is not None
            )
        known = {FILE_TEMPLATE, *(template.uri for template in self._library.catalog.templates)}
        return reference.get("uri") in known

    async def _candidates(self, call: Call, typed: str) -> Iterable[str]:
        reference, argument = call.part("ref").params, call.part("argument").text("name")
        match reference.get("type"), argument:
            case "ref/prompt", "name" if (
                self._visible_skills is not None and reference.get("name") == BY_NAME
            ):
                return await self._names(self._visible_skills, typed)
            case "ref/prompt", parameter:
                return await self._prompt_values(call, reference.get("name"), parameter, typed)
            case "ref/resource", "skill" if reference.get("uri") == FILE_TEMPLATE:
                return (unquote(entry.path) for entry in self._entries())
            case "ref/resource", "file" if reference.get("uri") == FILE_TEMPLATE:
                return self._files(call)
            case "ref/resource", parameter:
                return await self._values(str(reference.get("uri")), parameter, typed)
            case _:
                return ()

    def _prompt_template(self, name: object) -> SkillTemplate | None:
        """Return the template whose skills the prompt `name` starts, or None if there is none."""
        visible = self._visible_skills
        return (
            None if visible is None or not isinstance(name, str) else visible.templates_for_people().get(name)
        )

    async def _prompt_values(self, call: Call, name: object, parameter: str, typed: str) -> Iterable[str]:
        """Return values for a parameter of the prompt `name`. Empty if it is not the prompt of a template.

        If the request has values for all other parameters, values with which another template answers are
        left out.
        """
        template, visible = self._prompt_template(name), self._visible_skills
        if template is None or visible is None or parameter not in template.parameters:
            return ()
        catalog, values = visible.catalog, await suggest_values(template, parameter, typed)
        context = call.part("context").part("arguments")
        others = [name for name in unique_parameters(template) if name != parameter]
        if not all(isinstance(context.params.get(name), str) for name in others):
            return values
        chosen = {name: context.text(name) for name in others}
        uris = {value: template.expand({**chosen, parameter: value}) for value in values}
        return [value for value, uri in uris.items() if catalog.template_before(template, uri) is None]

    def _files(self, call: Call) -> Iterable[str]:
        """Return the file paths of the skill that the request's context names. Empty if there is none."""
        chosen = call.part("context").part("arguments")
        if not isinstance(chosen.params.get("skill"), str):
            return ()
        skill, entries = chosen.text("skill"), self._library.catalog.entries
        entry = entry_in(entries, f"{SCHEME}{skill}") or entry_in(entries, root_uri(skill.split("/")))
        if entry is None or (self._visible_skills is not None and not self._visible_skills.is_visible(entry)):
            return ()
        return (file.path for file in entry.files)

    def _entries(self) -> Iterable[SkillRecord]:
        every, visible = self._library.catalog.entries.values(), self._visible_skills
        return every if visible is None else (entry for entry in every if visible.is_visible(entry))

    async def _names(self, visible: VisibleSkills, typed: str) -> Iterable[str]:
        """Return the names of skills for people, and the skills of templates that begin with the typed text.

        If the typed text begins like a URI, an absolute path or `label:name`, all results begin like that.
        """
        people, templates = visible.for_people(), [*visible.templates_for_people().values()]
        if typed.startswith(SCHEME):
            paths = await complete_paths(templates, unquote(typed.removeprefix(SCHEME)))
            instances = [root_uri(path.split("/")) for path in paths]
            return dict.fromkeys([*(entry.root for entry in people.values()), *instances])
        found = [*self._handles.of(visible.catalog), *await complete_paths(templates, typed)]
        label, colon, _ = typed.partition(":")
        if typed.startswith("/") or (label and colon):
            start = "/" if typed.startswith("/") else f"{label}:"
            own = "" if start == "/" else label
            entries = (entry for entry in people.values() if own in {"", entry.origin.source})
            described = (each for each in templates if own in {"", each.label})
            paths = await complete_paths(described, typed.removeprefix(start))
            if own:
                paths = [path for path in paths if not visible.names.is_taken(own, path)]
            found += [start + path for path in (*(unquote(each.path) for each in entries), *paths)]
        return dict.fromkeys(found)

    async def _values(self, pattern: str, parameter: str, typed: str) -> Sequence[str]:
        """Return values for a parameter of the template whose URI is `pattern`. Empty if there is none."""
        templates = self._library.catalog.templates
        template = next((each for each in templates if each.uri == pattern), None)
        if template is None:
            return ()
        return await suggest_values(template, parameter, typed)


def _matching(candidates: Iterable[str], typed: str) -> Iterable[str]:
    folded = typed.casefold()
    begun: list[str] = []
    containing: list[str] = []
    for each in candidates:
        if (place := each.casefold().find(folded)) >= 0:
            (containing if place else begun).append(each)
    return [*begun, *containing]

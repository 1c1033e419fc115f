"""The list of skills in the server's instructions, for clients that load tool descriptions late."""

from collections.abc import Mapping
from dataclasses import replace

from skillwire.features.base import Feature, Method
from skillwire.features.catalog_text import ListOptions, usage_text
from skillwire.features.list_text import SkillListText
from skillwire.features.visible_skills import VisibleSkills


class InstructionsFeature(Feature):
    """Adds the list of skills to the instructions for new clients. Answers no method."""

    name = "instructions"

    def __init__(self, visible_skills: VisibleSkills, options: ListOptions) -> None:
        self._visible_skills, self._options = visible_skills, options
        self._list = SkillListText(visible_skills, options)

    def without_tool_names(self) -> "InstructionsFeature":
        """Return a copy that names no tools, for servers whose own tools have the same names."""
        return InstructionsFeature(
            self._visible_skills, replace(self._options, with_tools=False, with_search=False)
        )

    def methods(self) -> Mapping[str, Method]:
        return {}

    def instructions(self) -> str:
        skills, templates = self._visible_skills.for_models(), self._visible_skills.templates_for_models()
        if not skills and not templates:
            return ""
        usage = usage_text(self._options, ask_again=True)
        return f"{usage}\n\n{self._list.text(before=len(usage) + 2)}"

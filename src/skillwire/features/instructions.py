"""The list of skills in the server's instructions, for clients that load tool descriptions late."""

from collections.abc import Mapping

from skillwire.features.base import Feature, Method
from skillwire.features.catalog_text import (
    ASK_AGAIN,
    DEFAULT_TOKENS,
    USAGE,
    USAGE_WITHOUT_TOOLS,
    available_skills,
)
from skillwire.features.visible_skills import VisibleSkills


class InstructionsFeature(Feature):
    """Adds the list of skills to the instructions for new clients. Answers no method."""

    name = "instructions"

    def __init__(
        self,
        visible_skills: VisibleSkills,
        tokens: int = DEFAULT_TOKENS,
        *,
        foreign: bool = False,
        with_tools: bool = True,
    ) -> None:
        """Create the feature. The list of skills has at most `tokens` tokens.

        Set `foreign` if descriptions come from other servers, and `with_tools` if tools can load skills.
        """
        self._visible_skills, self._foreign, self._with_tools = visible_skills, foreign, with_tools
        self._tokens = tokens

    def without_tool_names(self) -> "InstructionsFeature":
        """Return a copy that names no tools, for servers whose own tools have the same names."""
        return InstructionsFeature(
            self._visible_skills, self._tokens, foreign=self._foreign, with_tools=False
        )

    def methods(self) -> Mapping[str, Method]:
        return {}

    def instructions(self) -> str:
        skills, templates = self._visible_skills.for_models(), self._visible_skills.templates_for_models()
        if not skills and not templates:
            return ""
        listed = available_skills(
            skills, self._tokens, templates=templates, foreign=self._foreign, with_tools=self._with_tools
        )
        usage = [USAGE, ASK_AGAIN] if self._with_tools else [USAGE_WITHOUT_TOOLS]
        return "\n\n".join([*usage, listed])

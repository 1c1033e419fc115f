"""The catalogue in the server's instructions: it reaches clients that defer tool descriptions."""

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
    """Tells every new client which skills there are. Answers no method."""

    name = "instructions"

    def __init__(
        self,
        offer: VisibleSkills,
        tokens: int = DEFAULT_TOKENS,
        *,
        foreign: bool = False,
        with_tools: bool = True,
    ) -> None:
        """`foreign`: the skills are those of others, who wrote their descriptions.

        `with_tools`: there are tools that load skills.
        """
        self._visible_skills, self._foreign, self._with_tools = offer, foreign, with_tools
        self._tokens = tokens

    def without_tools(self) -> "InstructionsFeature":
        """Return it for clients that find other tools under those names."""
        return InstructionsFeature(
            self._visible_skills, self._tokens, foreign=self._foreign, with_tools=False
        )

    def methods(self) -> Mapping[str, Method]:
        return {}

    def instructions(self) -> str:
        skills = self._visible_skills.for_models()
        if not skills:
            return ""
        listed = available_skills(skills, self._tokens, foreign=self._foreign, with_tools=self._with_tools)
        usage = [USAGE, ASK_AGAIN] if self._with_tools else [USAGE_WITHOUT_TOOLS]
        return "\n\n".join([*usage, listed])

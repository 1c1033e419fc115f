"""The catalogue in the server's instructions: it reaches clients that defer tool descriptions."""

from collections.abc import Mapping

from skillwire.surfaces.base import Method, Surface
from skillwire.surfaces.catalog_text import ASK_AGAIN, DEFAULT_TOKENS, USAGE, available_skills
from skillwire.surfaces.offer import Offer


class InstructionsSurface(Surface):
    """Tells every new client which skills there are. Answers no method."""

    name = "instructions"

    def __init__(self, offer: Offer, tokens: int = DEFAULT_TOKENS, *, foreign: bool = False) -> None:
        """`foreign`: the skills are those of others, who wrote their descriptions."""
        self._offer, self._foreign = offer, foreign
        self._tokens = tokens

    def methods(self) -> Mapping[str, Method]:
        return {}

    def instructions(self) -> str:
        skills = self._offer.for_models()
        if not skills:
            return ""
        return "\n\n".join([USAGE, ASK_AGAIN, available_skills(skills, self._tokens, foreign=self._foreign)])

"""Several skills together, in the order in which they were registered."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from skillwire.authoring.rules import AuthoringError
from skillwire.authoring.skill import Skill
from skillwire.model.display import quoted
from skillwire.model.errors import ConflictError


@dataclass(frozen=True, slots=True)
class Skills:
    """Skills, and the prompts that some of them have. Each call returns another collection."""

    skills: tuple[Skill, ...] = ()
    prompts: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    """By the name of the prompt."""

    def add(self, *skills: Skill, prompt: str | None = None) -> Self:
        """Return the collection with these skills behind the others; with `prompt`, one that is both."""
        if prompt is None:
            return replace(self, skills=(*self.skills, *skills))
        if len(skills) != 1:
            raise AuthoringError(
                "the prompt", prompt, "is for one skill", "add its skill in a call of its own"
            )
        skills[0].prompt_text()  # what cannot be a prompt is refused here, and not when somebody asks for it
        if prompt in self.prompts:
            raise AuthoringError(
                "the prompt", prompt, "is there already", "give each prompt a name of its own"
            )
        return replace(self, skills=(*self.skills, *skills), prompts={**self.prompts, prompt: skills[0]})

    def merge(self, other: "Skills") -> Self:
        """Return the collection with everything of another behind it."""
        merged = replace(self, skills=(*self.skills, *other.skills))
        shared = sorted(self.prompts.keys() & other.prompts.keys())
        if shared:
            fix = "give each prompt a name of its own"
            raise AuthoringError("the prompt", shared[0], "is in both collections", fix)
        return replace(merged, prompts={**self.prompts, **other.prompts})

    def check(self) -> None:
        """Raise `ConflictError` if two files would have one URI; it names every one of them."""
        counted = Counter(uri for skill in self.skills for uri in skill.uris())
        doubled = [uri for uri, times in counted.items() if times > 1]
        if doubled:
            listed = ", ".join(quoted(uri) for uri in doubled)
            raise ConflictError(
                f"{len(doubled)} addresses are taken twice: {listed}; move skills with `with_path`"
            )

    def __iter__(self) -> Iterator[Skill]:
        return iter(self.skills)

    def __len__(self) -> int:
        return len(self.skills)

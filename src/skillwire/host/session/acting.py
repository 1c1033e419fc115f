"""Skills that are in the model's context, each with the entry that it was loaded from (H14)."""

from dataclasses import dataclass, field

from skillwire.host.hosted import HostedSkill, Identity
from skillwire.host.paths import canonical
from skillwire.host.registry import Registry
from skillwire.model.display import quoted
from skillwire.model.errors import RequestError


class NotLoadedError(RequestError):
    """Files of a skill are read while it is acted on, and at no other time (H14)."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the skill {quoted(name)} is not loaded; load it first, with `read_skill`")


@dataclass(slots=True)
class Held:
    """A skill that the host acts on."""

    skill: HostedSkill
    """As it was loaded. Its files are read as this entry lists them, whatever the server lists by now."""
    retrieved: int = 0
    """Bytes that were read of it, where no entry says how many there are (H8)."""
    changed: str = ""
    """What is different on its server now. Nothing is read then, until it was approved and loaded again."""


@dataclass(slots=True)
class Acting:
    """From the moment a `SKILL.md` is given to the model until somebody says that it left the context."""

    held: dict[Identity, Held] = field(default_factory=dict[Identity, Held])

    def begin(self, held: Held) -> None:
        self.held[held.skill.identity] = held

    def named(self, name: str, registry: Registry) -> Held:
        """Return what is held by that name, also if no list has it any more. Raises `NotLoadedError`.

        It means what it means in the registry, so that no skill is taken for another of that name (H10).
        """
        try:
            known = registry.resolve(name).identity
        except RequestError:  # what was loaded may not be listed any more
            known = self._own_name(name)
        if known not in self.held:
            raise NotLoadedError(name)
        return self.held[known]

    def _own_name(self, name: str) -> Identity:
        try:
            return Registry(each.skill for each in self.held.values()).resolve(name).identity
        except RequestError as error:
            raise NotLoadedError(name) from error

    def end(self, held: Held) -> None:
        del self.held[held.skill.identity]

    def foreign(self) -> tuple[HostedSkill, ...]:
        """Return the skills of servers, changed ones too: they are still in the context."""
        return tuple(each.skill for each in self.held.values() if not each.skill.local)

    @property
    def changed(self) -> bool:
        """Whether one of them is another on its server now."""
        return any(each.changed for each in self.held.values())

    def around(self, label: str, uri: str) -> Held | None:
        """Return the skill of that server in whose folder a URI is, however spelled: the innermost."""
        place = canonical(uri)
        own = (each for each in self.held.values() if each.skill.label == label)
        inside = (each for each in own if place.startswith(f"{canonical(each.skill.skill.root)}/"))
        return max(inside, key=lambda each: len(each.skill.skill.root), default=None)

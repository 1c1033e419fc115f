"""A skill as a host knows it: an entry, and the place that it came from (H9)."""

from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote

from skillwire.host.state.approvals import Standing
from skillwire.model.display import quoted
from skillwire.model.plain import plain
from skillwire.model.uri import SCHEME
from skillwire.wire.remote import RemoteSkill

Identity: TypeAlias = tuple[str, str]
"""The label of a place, and a URI there. Neither means anything without the other (H9)."""

SHOWN_DESCRIPTION = 1024
"""Characters of a description that people and models are shown: as many as a skill may have (H27)."""
_SHOWN_PATH = 200


@dataclass(frozen=True, slots=True)
class HostedSkill:
    """One skill of one place, at one moment."""

    label: str
    local: bool
    """Whether it is one of the person's own: then it needs no approval."""
    skill: RemoteSkill
    handle: str = ""
    """What people and models call it, and no other."""
    standing: Standing = Standing.UNKNOWN
    """What is known of its approval. A local one needs none."""

    @property
    def identity(self) -> Identity:
        return self.label, self.skill.uri

    @property
    def origin(self) -> str:
        return origin_of(self.label, local=self.local)

    @property
    def description(self) -> str:
        """Its description as people and models are shown it (H27)."""
        return plain(self.skill.description, SHOWN_DESCRIPTION)

    @property
    def path(self) -> str:
        """Where it is in the names of its place, as a person would write it."""
        return plain(unquote(self.skill.root.removeprefix(SCHEME)), _SHOWN_PATH)

    @property
    def quoted(self) -> str:
        return quoted(self.handle or f"{self.label}:{self.path}")


def origin_of(label: str, *, local: bool) -> str:
    """Return what a place is called in a sentence."""
    return f"{'folder' if local else 'server'} {quoted(label)}"

"""What an area adds to the MCP features of one library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from skillwire.core.record import Json, SkillRecord
from skillwire.errors import ConflictError
from skillwire.features.content import RuntimeMeta, no_meta
from skillwire.features.resources import ExtraResources, Problems, UnlistedResources
from skillwire.features.tools import Tool
from skillwire.library.library import Library


@dataclass(frozen=True, slots=True)
class AddedFeatures:
    """Further tools and resources of a server, and what it reports differently."""

    tools: Sequence[Tool] = ()
    """Tools, behind those that load skills."""
    listed: Sequence[ExtraResources] = ()
    """Resources in the list, behind the skills."""
    unlisted: Sequence[UnlistedResources] = ()
    """Resources for clients that know their URIs."""
    problems: Problems | None = None
    """What is wrong in a catalogue, if that is more than the library found."""
    runtime_meta: RuntimeMeta = no_meta
    """What a read or a tool result for a skill carries in `_meta`."""

    def add_to(self, library: Library) -> "AddedFeatures":  # noqa: ARG002 - it is made already
        return self


class Addition(Protocol):
    """Something that adds features to a server of skills, such as the repository contract."""

    def add_to(self, library: Library) -> AddedFeatures:
        """Return what it adds for this library."""
        ...


def join_additions(added: Sequence[AddedFeatures]) -> AddedFeatures:
    """Return all of them as one. Raises `ConflictError` if two replace the problems."""
    reports = [each.problems for each in added if each.problems is not None]
    if len(reports) > 1:
        raise ConflictError("two additions report the problems of the skills; leave one of them out")
    return AddedFeatures(
        tools=[tool for each in added for tool in each.tools],
        listed=[more for each in added for more in each.listed],
        unlisted=[more for each in added for more in each.unlisted],
        problems=next(iter(reports), None),
        runtime_meta=_joined_meta([each.runtime_meta for each in added if each.runtime_meta is not no_meta]),
    )


def _joined_meta(metas: Sequence[RuntimeMeta]) -> RuntimeMeta:
    if len(metas) < 2:
        return next(iter(metas), no_meta)

    def joined(entry: SkillRecord) -> Mapping[str, Json]:
        return {key: value for meta in metas for key, value in meta(entry).items()}

    return joined

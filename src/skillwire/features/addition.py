"""Features that a product area adds to a server."""

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
    """Tools, resources, problems and metadata that are added to a server."""

    tools: Sequence[Tool] = ()
    """Tools, listed after the tools that load skills."""
    listed: Sequence[ExtraResources] = ()
    """Resources, listed after the skills."""
    unlisted: Sequence[UnlistedResources] = ()
    """Resources that can be read but are not listed."""
    problems: Problems | None = None
    """A function that returns a catalog's problems, in place of the default report."""
    runtime_meta: RuntimeMeta = no_meta
    """A function that returns additional `_meta` for reads and tool results about a skill."""

    def add_to(self, library: Library) -> "AddedFeatures":  # noqa: ARG002 - independent of the library
        return self


class Addition(Protocol):
    """An object that adds features to a server, such as the options of the repository contract."""

    def add_to(self, library: Library) -> AddedFeatures:
        """Return the features to add for this library."""
        ...


def join_additions(added: Sequence[AddedFeatures]) -> AddedFeatures:
    """Merge several additions into one. Raises `ConflictError` if two of them replace the problems report."""
    reports = [each.problems for each in added if each.problems is not None]
    if len(reports) > 1:
        raise ConflictError("two additions replace the report of problems; remove one of them")
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

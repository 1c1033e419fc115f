"""A folder of the person's own skills, as one more place that skills come from."""

import os
from collections.abc import Mapping
from typing import Any

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits, SkillRecord
from skillwire.errors import VerificationError
from skillwire.host.connections.labels import checked_label
from skillwire.host.dialects.client import Listing
from skillwire.library.library import Library
from skillwire.protocol.findings import server_problem
from skillwire.protocol.remote import RemoteSkill, parse_entry
from skillwire.protocol.translate import directory_resource, file_resource, skill_entry
from skillwire.sources.folder.source import FolderSource


class FolderProvider:
    """The folder itself if it is a skill, else all skills below it. Nobody has to approve them."""

    local = True

    def __init__(self, label: str, root: str | os.PathLike[str], limits: Limits | None = None) -> None:
        self.label = checked_label(label)
        self._limits = limits or Limits()
        self._library = Library([FolderSource(root, label=label, limits=self._limits)])

    async def list(self) -> Listing:
        """Look at the folder. Every skill that is left out is a finding."""
        catalog = await self._library.load()
        listing = Listing()
        for problem in catalog.problems:
            if _leaves_out(problem):
                listing.findings.add(server_problem(problem.path, Rule.ENTRY_SHAPE, problem.message))
        for uri in catalog.listing:
            try:
                listing.skills.append(self._parsed(catalog.entries[uri]))
            except VerificationError as error:
                listing.findings.add(error.problems[0])
        return listing

    async def get(self, uri: str) -> RemoteSkill:
        await self._library.load()  # it may have changed: nobody watches it
        return self._parsed(await self._library.skill(uri))

    async def read(self, uri: str, size: int | None = None) -> bytes:  # noqa: ARG002 - the library bounds what it reads
        await self._library.ready()
        return (await self._library.read(uri)).content

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]":
        await self._library.ready()
        catalog = self._library.catalog
        children: list[Mapping[str, Any]] = []
        for child in catalog.children(uri):
            served = catalog.files.get(child)
            children.append(
                directory_resource(child)
                if served is None
                else file_resource(child, served.entry, served.file)
            )
        return children

    def _parsed(self, entry: SkillRecord) -> RemoteSkill:
        parsed = parse_entry(skill_entry(entry), self._limits)
        if not isinstance(parsed, RemoteSkill):
            raise VerificationError("", parsed[0])
        return parsed


def _leaves_out(problem: Problem) -> bool:
    """Whether something is not listed because of this: a skill, or the whole folder."""
    return problem.severity is Severity.ERROR or problem.rule is Rule.SOURCE_WAITING

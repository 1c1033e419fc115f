"""Resources that are about the catalogue rather than in it: documents, and addresses that nobody lists."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

import orjson

from skillwire.catalog.change import Change
from skillwire.catalog.snapshot import Catalog
from skillwire.model.entry import Json, SkillRecord
from skillwire.model.mime import JSON
from skillwire.model.problem import Problem
from skillwire.model.uri import SCHEME


class Document(ABC):
    """A resource made from the catalogue. Listed after the skills."""

    uri: str
    name: str
    description: str
    mime_type: str

    @abstractmethod
    def listed(self, catalog: Catalog) -> bool:
        """Whether there is anything to show. It can be read in any case."""

    @abstractmethod
    def differs(self, change: Change) -> bool:
        """Whether it is another document now."""

    @abstractmethod
    async def render(self, catalog: Catalog) -> bytes:
        """Return the document for this catalogue."""


class Unlisted(ABC):
    """Further addresses at which something of a skill can be read, for those who know them."""

    scheme: str = SCHEME
    """What all of them begin with."""

    @abstractmethod
    def serves(self, uri: str) -> bool:
        """Whether something can be read at `uri`, now."""

    @abstractmethod
    def owner_of(self, uri: str) -> SkillRecord | None:
        """Return the skill that can be read at `uri`, now."""

    @abstractmethod
    async def read(self, uri: str) -> list[Json]:
        """Return the contents at an address that is served. Raises `SkillwireError`."""

    @abstractmethod
    def updated(self, change: Change) -> Collection[str]:
        """Return the addresses at which something else can be read now."""


class Listed(ABC):
    """Further addresses that are in the list of resources, behind the skills."""

    scheme: str
    """What all of them begin with."""

    @abstractmethod
    def resources(self, catalog: Catalog) -> Mapping[str, dict[str, Json]]:
        """Return what the list says of each address, by the address, in their order."""

    @abstractmethod
    def templates(self) -> list[Json]:
        """Return the templates of these addresses."""

    @abstractmethod
    def listed_differently(self, change: Change) -> bool:
        """Whether the list says something else now."""

    @abstractmethod
    def serves(self, uri: str) -> bool:
        """Whether something can be read at `uri`, now."""

    @abstractmethod
    async def answer(self, uri: str) -> dict[str, Json]:
        """Return the result of reading an address that is served. Raises `SkillwireError`."""

    @abstractmethod
    def updated(self, change: Change) -> Collection[str]:
        """Return the addresses at which something else can be read now."""


class ProblemsDocument(Document):
    """Every skill that is broken, for whoever looks: never only a line in a log."""

    uri = "skillwire://problems"
    name = "problems"
    description = (
        "Skills that cannot be served or need mending, each with its place, its fault and its remedy"
    )
    mime_type = JSON

    def problems(self, catalog: Catalog) -> tuple[Problem, ...]:
        """Return what is wrong."""
        return catalog.problems

    def listed(self, catalog: Catalog) -> bool:
        return bool(self.problems(catalog))

    def differs(self, change: Change) -> bool:
        return self.problems(change.before) != self.problems(change.after)

    async def render(self, catalog: Catalog) -> bytes:
        problems = [problem.to_json() for problem in self.problems(catalog)]
        return orjson.dumps({"problems": problems}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

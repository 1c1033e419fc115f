"""Resources that are about the catalogue rather than in it: documents, and addresses that nobody lists."""

from abc import ABC, abstractmethod
from collections.abc import Collection

import orjson

from skillwire.catalog.change import Change
from skillwire.catalog.snapshot import Catalog
from skillwire.model.entry import Json
from skillwire.model.mime import JSON


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

    @abstractmethod
    def serves(self, uri: str) -> bool:
        """Whether something can be read at `uri`, now."""

    @abstractmethod
    async def read(self, uri: str) -> list[Json]:
        """Return the contents at an address that is served. Raises `SkillwireError`."""

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

    def listed(self, catalog: Catalog) -> bool:
        return bool(catalog.problems)

    def differs(self, change: Change) -> bool:
        return change.problems_differ

    async def render(self, catalog: Catalog) -> bytes:
        problems = [problem.to_json() for problem in catalog.problems]
        return orjson.dumps({"problems": problems}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

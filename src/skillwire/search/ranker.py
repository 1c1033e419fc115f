"""The interface of a ranker, which changes the order in which an index returns its results."""

from abc import ABC, abstractmethod

from skillwire.library.search import Audience
from skillwire.search.index import Ranking
from skillwire.search.query import Query


class Ranker(ABC):
    """Combines the order by words with another one."""

    @abstractmethod
    async def rank(
        self, query: str, parsed: Query, found: Ranking, audience: Audience
    ) -> tuple[Ranking, str]:
        """Return the new order, and an empty text; or `found`, and why it was not changed.

        Skills that the audience may not find do not affect the result.
        """

    @abstractmethod
    async def follow(self) -> None:
        """Follow the changes of the library in the background, until cancelled."""

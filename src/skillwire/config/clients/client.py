"""A client, as this package sees one: where its files are, and how they name servers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from skillwire.config.clients.declared import Declared
from skillwire.config.clients.document import Place
from skillwire.config.clients.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class Client:
    """One line of the table of clients."""

    name: str
    """What it is called in labels and on the command line."""
    title: str
    places: Callable[[Surroundings], Iterator[Place]]
    """Where it looks, nearest first."""
    servers: Callable[[Mapping[str, object], Place, Surroundings], Iterator[Declared]]
    """The servers of one file."""

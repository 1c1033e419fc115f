"""How a product area plugs into the program `skillwire`.

An area is one folder, such as `contract`, `drive` or `pages`. It registers with one line in `app/areas.py`,
which names its declaration: `AREA = Area(…)` in its `area.py`. Without the folder and the line, all that it
brings is gone, and the rest works. An area may bring

- commands of its own: `Area.commands`;
- options of `serve`: `Area.serve`, a `ServeFlags`. They return a `ServePart`, which adds sources, MCP
  features and HTTP routes to the server that is being started;
- options of `check`: `Area.check`, a `CheckFlags`. They add to what was found, or fix it.

A declaration names its code as text, `module:name`. It is imported when somebody calls the command or gives
one of the options.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillwire.config.report import CheckRequest, CheckResult
    from skillwire.features.addition import AddedFeatures
    from skillwire.features.resources import Problems
    from skillwire.library.library import Library
    from skillwire.server.admin import Admin
    from skillwire.server.http.address import HostPolicy
    from skillwire.server.http.routes import HttpMount
    from skillwire.sources.base import Source


@dataclass(frozen=True, slots=True)
class Command:
    """A command: where its function is, and what it does in one line."""

    function: str
    """`module:function`. Its parameters are the arguments and options."""
    help: str
    takes_command: bool = False
    """Whether it takes a server, which may be the command behind `--`."""
    command_option: str = ""
    """The option that such a command is the value of; without one, it is an argument."""
    over_http: bool = False
    """Whether it has `--http`, whose value may be left out."""


@dataclass(frozen=True, slots=True)
class Area:
    """The declaration of an area."""

    commands: Mapping[str, Command] = field(default_factory=dict[str, Command])
    """Its commands, by their names."""
    serve: str = ""
    """`module:class` of its options of `serve`, a `ServeFlags`."""
    check: str = ""
    """`module:class` of its options of `check`, a `CheckFlags`."""


@dataclass(frozen=True, slots=True)
class ServeRequest:
    """What is known of a server before anything is opened."""

    over_http: bool = False
    static: bool = False
    """Whether the set of skills is frozen."""
    editable: bool = False
    """Whether the configuration may be changed while the server runs."""


@dataclass(frozen=True, slots=True)
class ServerContext:
    """What is known of a server once its sources are open."""

    library: "Library"
    admin: "Admin"
    problems: "Problems"
    """What is wrong in a catalogue, as the areas above in the table report it."""


@dataclass(frozen=True, slots=True)
class AddedSource:
    """A source that an area brings, behind those that the operator named."""

    kind: str
    """What kind of source it is. Also its label, with a number behind it if that is taken."""
    given_by: str
    """Who brings its skills, for pages."""
    open: "Callable[[str], Source]"
    """Makes the source, with the label that it gets."""


class ServePart:
    """What an area adds to one server. A subclass overrides what it needs."""

    lets_in: str = ""
    """What strangers could do besides reading skills, such as "`--drive` lets programs in".

    Unless it is empty, an address that other machines can reach needs a token.
    """
    sources: Sequence[AddedSource] = ()
    """Further sources. With one, a server may do without any other."""

    def features(self, server: ServerContext) -> "AddedFeatures | None":  # noqa: ARG002 - for subclasses
        """Return what is added for MCP clients: tools, resources, problems."""
        return None

    def loaded(self, server: ServerContext) -> None:
        """Look at the library after its first scan. Raise a `SkillwireError` to refuse to start."""

    def mount(
        self,
        server: ServerContext,  # noqa: ARG002 - for subclasses
        policy: "HostPolicy",  # noqa: ARG002
        token: str | None,  # noqa: ARG002
    ) -> "HttpMount | None":
        """Return what is added over HTTP. Called only for a server over HTTP."""
        return None


class ServeFlags(ABC):
    """Options of `serve`. A subclass is a frozen dataclass; each field is annotated with a `Parameter`."""

    @abstractmethod
    def part(self, request: ServeRequest) -> ServePart | None:
        """Return what they add to the server; None for nothing. Raises `UsageError`."""


class CheckFlags(ABC):
    """Options of `check`. A subclass is a frozen dataclass; each field is annotated with a `Parameter`."""

    @abstractmethod
    def check(self, request: "CheckRequest", result: "CheckResult") -> "CheckResult | None":
        """Return the result with what these options add; None to end without a report, as a failure."""

"""The interface through which a product area extends the program `skillwire`.

An area is one folder, such as `contract`, `drive` or `pages`. It declares itself as `AREA = Area(…)` in its
`area.py`, and one line in `app/areas.py` registers it. If you delete the folder and the line, the area is
gone and everything else works. An area may have

- commands of its own: `Area.commands`;
- options of `serve`: `Area.serve` names a subclass of `ServeFlags`, which returns a `ServePart`. The part
  adds sources, MCP features and HTTP routes to the server that is being started;
- options of `check`: `Area.check` names a subclass of `CheckFlags`, which adds problems to the result, or
  fixes them.

A declaration refers to code as text, `module:name`. The module is imported when the command is called or one
of the options is used.
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
    """A command: the function that runs it, and its one-line help."""

    function: str
    """`module:function`. Its parameters are the arguments and options."""
    help: str
    takes_command: bool = False
    """Whether the command accepts a server as an argument, or as `--` and the server's start command."""
    command_option: str = ""
    """The option that receives the words after `--`. If empty, they become an argument."""
    over_http: bool = False
    """Whether the command has the option `--http`, whose value is optional."""
    group: str = "Operate"
    """The heading below which `skillwire --help` lists the command."""


@dataclass(frozen=True, slots=True)
class Area:
    """The declaration of an area."""

    commands: Mapping[str, Command] = field(default_factory=dict[str, Command])
    """Its commands, by name."""
    serve: str = ""
    """`module:class` of its subclass of `ServeFlags`. Empty if the area has no options of `serve`."""
    check: str = ""
    """`module:class` of its subclass of `CheckFlags`. Empty if the area has no options of `check`."""


@dataclass(frozen=True, slots=True)
class ServeRequest:
    """The settings of a server that is about to start, before its sources are opened."""

    over_http: bool = False
    static: bool = False
    """Whether the set of skills is frozen."""
    editable: bool = False
    """Whether the configuration may be changed while the server runs."""


@dataclass(frozen=True, slots=True)
class ServerContext:
    """A server whose sources are open: its library, its `Admin` and its problems."""

    library: "Library"
    admin: "Admin"
    problems: "Problems"
    """A function that returns the problems in a catalog, including problems that earlier areas report."""


@dataclass(frozen=True, slots=True)
class AddedSource:
    """A source that an area adds after the operator's own sources."""

    kind: str
    """The kind of source. It is also the label, with a number appended if the label is taken."""
    given_by: str
    """Who provides the source's skills, as pages show it."""
    open: "Callable[[str], Source]"
    """A function that opens the source. Its argument is the label."""


class ServePart:
    """What an area adds to one server. A subclass overrides the attributes and methods that it needs."""

    lets_in: str = ""
    """What clients can do besides reading skills, such as "`--drive` lets programs in".

    Unless this text is empty, an address that other machines can reach requires a token.
    """
    sources: Sequence[AddedSource] = ()
    """Sources that the area adds. A server with at least one of these sources needs no other source."""

    def features(self, server: ServerContext) -> "AddedFeatures | None":  # noqa: ARG002 - for subclasses
        """Return the tools, resources and problems to add for MCP clients, or None to add nothing."""
        return None

    def loaded(self, server: ServerContext) -> None:
        """Inspect the library after its first scan. Raise a `SkillwireError` to refuse to start."""

    def mount(
        self,
        server: ServerContext,  # noqa: ARG002 - for subclasses
        policy: "HostPolicy",  # noqa: ARG002
        token: str | None,  # noqa: ARG002
    ) -> "HttpMount | None":
        """Return the HTTP routes to add, or None to add none. Called only for a server over HTTP."""
        return None


class ServeFlags(ABC):
    """Options of `serve`. A subclass is a frozen dataclass; each field is annotated with a `Parameter`."""

    @abstractmethod
    def part(self, request: ServeRequest) -> ServePart | None:
        """Return what the options add to the server, or None for nothing. Raises `UsageError`."""


class CheckFlags(ABC):
    """Options of `check`. A subclass is a frozen dataclass; each field is annotated with a `Parameter`."""

    @abstractmethod
    def check(self, request: "CheckRequest", result: "CheckResult") -> "CheckResult | None":
        """Return the result with the added problems. None ends the command with a failure and no report."""

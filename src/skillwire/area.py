"""The interface through which a product area extends the program `skillwire`.

An area is one folder, such as `contract`, `drive` or `pages`. It declares itself as `AREA = Area(…)` in its
`area.py`, and one line in `app/areas.py` registers it. If you delete the folder and the line, the area is
gone and everything else works. An area may have

- commands of its own: `Area.commands`;
- options of `serve`: `Area.serve` names a subclass of `ServeFlags`, which returns a `ServePart`. The part
  adds sources, MCP features and HTTP routes to the server that is being started;
- options of `check`: `Area.check` names a subclass of `CheckFlags`, which adds, selects or fixes problems.

A declaration refers to code as text, `module:name`. The module is imported when its command is called, or
when `serve` or `check` needs its options.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillwire.terminal.messages import print_notice

if TYPE_CHECKING:
    from skillwire.config.file import ConfigFile
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
    """A command: its function, its one-line help, and the special arguments that it accepts."""

    function: str
    """`module:function`. Its parameters are the arguments and options."""
    help: str
    takes_command: bool = False
    """Whether the command accepts `--`, followed by the command that starts a server."""
    command_option: str = ""
    """The option that receives the command after `--`. If empty, that command becomes an argument."""
    over_http: bool = False
    """Whether the command has the option `--http`, whose value is optional."""
    group: str = "Operate"
    """The heading below which `skillwire --help` lists the command."""


@dataclass(frozen=True, slots=True)
class Area:
    """The declaration of an area."""

    commands: Mapping[str, Command] = field(default_factory=dict[str, Command])
    """The commands that the area adds, by name."""
    serve: str = ""
    """`module:class` of its subclass of `ServeFlags`. Empty if the area adds nothing to `serve`."""
    bridge: bool = False
    """Whether what the area adds to `serve` without options is also added to `bridge` over HTTP."""
    addition: str = ""
    """`module:class` of an `Addition` for servers without `serve`: those in Python code, and bridges.

    It is created without arguments. Empty if there is none.
    """
    configured: str = ""
    """`module:function` that returns this addition as a `ConfigFile` says, for bridges."""
    check: str = ""
    """`module:class` of its subclass of `CheckFlags`. Empty if the area adds nothing to `check`."""


@dataclass(frozen=True, slots=True)
class ServeRequest:
    """The settings of a server that is about to start, before its sources are opened."""

    over_http: bool = False
    static: bool = False
    """Whether the list of skills stays the same after startup."""
    editable: bool = False
    """Whether the configuration may be changed while the server runs."""


@dataclass(frozen=True, slots=True)
class ServerContext:
    """A server whose sources are open: its library, its `Admin` and its problem report."""

    library: "Library"
    admin: "Admin"
    problems: "Problems"
    """A function that returns the problems in a catalog, including problems that earlier areas report."""
    bridge: bool = False
    """Whether this is a bridge, whose sources are servers."""
    print_line: Callable[[str], None] = print_notice
    """A function that prints what happens while the server runs: one line on stderr."""
    config: "ConfigFile | None" = None
    """The configuration file, if one is used."""


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
    """What clients can do besides reading skills: the start of an error message, or an empty string.

    For example, "`--drive` lets programs in". With this text, an address that other machines can reach
    requires a token, even with `--allow-public`.
    """
    sources: Sequence[AddedSource] = ()
    """Sources that the area adds. A server with at least one of these sources needs no other source."""

    def features(self, server: ServerContext) -> "AddedFeatures | None":  # noqa: ARG002 - for subclasses
        """Return the features to add for MCP clients, or None to add nothing."""
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
    """Options of `serve`. A subclass is a frozen dataclass whose fields have a cyclopts `Parameter`."""

    @abstractmethod
    def part(self, request: ServeRequest) -> ServePart | None:
        """Return what the options add to the server, or None if they add nothing.

        Raises `UsageError` for wrong options.
        """


class CheckFlags(ABC):
    """Options of `check`. A subclass is a frozen dataclass whose fields have a cyclopts `Parameter`."""

    @abstractmethod
    def check(self, request: "CheckRequest", result: "CheckResult") -> "CheckResult | None":
        """Return the result to report.

        None ends the command with exit code 1 and without a report. Raises `UsageError` for wrong options.
        """

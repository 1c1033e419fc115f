"""`serve --drive`: the options, and the source, tools and routes that live skills add to a server."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillwire.area import AddedSource, ServeFlags, ServePart, ServerContext, ServeRequest
from skillwire.errors import UsageError
from skillwire.features.addition import AddedFeatures
from skillwire.safe_text import quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import DRIVE

if TYPE_CHECKING:
    from skillwire.drive.live import LiveSkills
    from skillwire.drive.registration import ClientInfo
    from skillwire.server.http.address import HostPolicy
    from skillwire.server.http.routes import HttpMount


@dataclass(frozen=True, slots=True)
class DriveServeFlags(ServeFlags):
    """Options that add live skills to `serve`."""

    drive: Annotated[
        bool,
        Parameter(
            group=DRIVE, help="Let running programs connect and provide live skills. Requires `--http`."
        ),
    ] = False
    drive_header: Annotated[
        list[str] | None,
        Parameter(
            group=DRIVE,
            name="--drive-header",
            metavar="HEADER",
            help="Pass this request header to programs. Replaces the default headers (repeatable).",
        ),
    ] = None

    def part(self, request: ServeRequest) -> ServePart | None:
        if not self.drive:
            if self.drive_header:
                raise UsageError(
                    "`--drive-header` needs `--drive`", hint="add `--drive`, or leave `--drive-header` out"
                )
            return None
        if not request.over_http:
            hint = "programs connect over the network: add `--http 8765`"
            raise UsageError("`--drive` needs `--http`", hint=hint)
        if request.static:
            hint = "live skills come and go: leave one of them out"
            raise UsageError("`--drive` and `--static` contradict each other", hint=hint)
        from skillwire.drive.live import LiveSkills  # noqa: PLC0415 - most servers have none

        return DrivePart(LiveSkills(headers=self.drive_header))


class DrivePart(ServePart):
    """What `--drive` adds to a server: the source, tools and routes of live skills."""

    lets_in = "`--drive` lets programs in"

    def __init__(self, live: "LiveSkills") -> None:
        self._live = live
        self.sources = [AddedSource("live", "running programs", live.source)]

    def features(self, server: ServerContext) -> AddedFeatures:  # noqa: ARG002 - the hub knows the programs
        from skillwire.drive.tools import bridge_tools  # noqa: PLC0415 - most servers have no programs

        return AddedFeatures(tools=bridge_tools(self._live.hub))

    def loaded(self, server: ServerContext) -> None:
        def report(client: "ClientInfo", registered: bool) -> None:  # noqa: FBT001 - the signature of a listener
            paths = pluralize(len(client.paths), "path")
            event = f"connected with {paths}" if registered else "is not connected any more"
            server.print_line(f"program {quoted(client.id)} {event}")

        self._live.hub.listen_to_presence(report)

    def mount(
        self,
        server: ServerContext,  # noqa: ARG002 - as above
        policy: "HostPolicy",
        token: str | None,
    ) -> "HttpMount":
        from skillwire.drive.http import drive_mount  # noqa: PLC0415 - as above

        announced = (f"programs connect to ws://{policy.bound.authority}",)
        return replace(drive_mount(self._live, token), announced=announced)

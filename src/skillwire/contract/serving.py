"""`serve --contract`: its options, the features that it adds, and the check before a server starts."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from skillwire.area import ServeFlags, ServePart, ServerContext, ServeRequest
from skillwire.contract.commands.options import BlockKey
from skillwire.errors import SourceError, UsageError
from skillwire.features.addition import AddedFeatures
from skillwire.library.library import Library
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import CONTRACT


@dataclass(frozen=True, slots=True)
class ContractServeFlags(ServeFlags):
    """Options that add the repository contract to `serve`."""

    contract: Annotated[
        bool,
        Parameter(
            group=CONTRACT, help="Require the repository contract, and serve its `resource://skills/` URIs."
        ),
    ] = False
    tolerant: Annotated[
        bool,
        Parameter(
            group=CONTRACT,
            help="With `--contract`, leave out skills that violate it instead of refusing to start.",
        ),
    ] = False
    block_key: BlockKey = None

    def part(self, request: ServeRequest) -> ServePart | None:  # noqa: ARG002 - the same for every server
        if self.tolerant and not self.contract:
            raise UsageError(
                "`--tolerant` requires `--contract`", hint="add `--contract`, or remove `--tolerant`"
            )
        return ContractPart(self.block_key, tolerant=self.tolerant) if self.contract else None


class ContractPart(ServePart):
    """Adds the repository contract to a server, and checks the skills before the server starts."""

    def __init__(self, key: str | None, *, tolerant: bool) -> None:
        self._key = key
        self._tolerant = tolerant

    def features(self, server: ServerContext) -> AddedFeatures:
        from skillwire.contract.feature import ContractOptions  # noqa: PLC0415 - only with a contract

        return ContractOptions(self._key, self._tolerant).add_to(server.library)

    def loaded(self, server: ServerContext) -> None:
        check_before_serving(server.library, self._key, tolerant=self._tolerant)


def check_before_serving(library: Library, key: str | None, *, tolerant: bool) -> None:
    """Check the library against the contract, and print every error and a summary on stderr.

    If there is an error, and `tolerant` is not set, raises `SourceError` instead of printing the summary.
    """
    from skillwire.config.report import located  # noqa: PLC0415 - as above
    from skillwire.contract.repository import check_catalog  # noqa: PLC0415
    from skillwire.terminal.output import print_problems, stderr_console  # noqa: PLC0415

    found = check_catalog(library.catalog, key)
    console = stderr_console()
    print_problems(console, located(found.errors, library))
    good = sum(1 for _ in found.repository.valid)
    keep = "keeps" if good == 1 else "keep"
    if found.errors and not tolerant:
        raise SourceError(
            f"nothing is served: {pluralize(len(found.errors), 'error')} against the contract (see above); "
            "`--tolerant` serves the skills that keep it"
        )
    console.print(f"{pluralize(good, 'skill')} {keep} the contract; {pluralize(len(found.errors), 'error')}")

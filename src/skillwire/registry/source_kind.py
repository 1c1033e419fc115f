"""How the source kind `registry` of `config/source_kinds.py` opens a source."""

from typing import TYPE_CHECKING

from skillwire.errors import UsageError
from skillwire.registry.address import RegistryAddress
from skillwire.registry.source import RegistrySource

if TYPE_CHECKING:
    from skillwire.config.source_kinds import SourceArgument, SourceOptions
    from skillwire.sources.base import Source


def open_source(argument: "SourceArgument", options: "SourceOptions") -> "Source":
    """Open a registry. Raises `UsageError` if it does not exist, unless it may be created later."""
    address = RegistryAddress.parse(argument.text)
    if not options.live and address.is_missing:
        raise UsageError(
            f"the registry `{address.registry}` does not exist",
            hint=f"create it with `skillwire push ./skills{_to(address)}`",
        )
    return RegistrySource(argument.text, label=argument.label, limits=options.limits)


def _to(address: RegistryAddress) -> str:
    return "" if address.is_default else f" --to {address.registry}"

"""What the commands `push` and `registry` share: their group of options, and the address."""

from cyclopts import Group

from skillwire.errors import InvalidValueError, UsageError
from skillwire.registry.address import RegistryAddress

REGISTRY = Group("Registry", sort_key=2)


def parse_address(text: str, channel: str | None = None) -> RegistryAddress:
    """Return the registry at an address, with the channel of an option. Raises `UsageError`."""
    try:
        address = RegistryAddress.parse(text)
        if channel is not None and "#" in text and channel != address.channel:
            raise UsageError(
                f"the address names the channel `{address.channel}`, and `--channel` another one",
                hint="remove one of the two",
            )
        return address.with_channel(channel)
    except InvalidValueError as error:
        fault = str(error).removesuffix(f"; {error.fix}") if error.fix else str(error)
        raise UsageError(fault, hint=error.fix) from error

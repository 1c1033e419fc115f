"""A port of this machine, taken before anything else is loaded: who cannot have it hears so at once."""

import errno
import socket

from skillwire.model.errors import UsageError
from skillwire.server.address import Address

_OPTION: int = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
"""On Windows, `SO_REUSEADDR` would let any other program take the same port."""


def listen(address: Address) -> tuple[socket.socket, Address]:
    """Bind `address`. Return the socket, and the address with its real port. Raises `UsageError`."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening: socket.socket | None = None
    try:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, _OPTION, 1)
        listening.bind((address.host, address.port))
        listening.listen(2048)
    except OSError as error:
        if listening is not None:
            listening.close()
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot listen on {address.authority}: {reason}", hint=_bind_hint(error)) from error
    return listening, Address(address.host, listening.getsockname()[1])


def _bind_hint(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program listens there; choose another port, or 0 to let the system choose"
    return "choose another `[HOST:]PORT`"

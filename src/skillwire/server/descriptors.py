"""What the system allows this process, and what it knows of a connection."""

import socket
import struct
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

_OTHERS = 1024
"""Files that may be open beside connections."""
_FEWEST_OTHERS = 128
"""Those that are kept free where the system allows fewer."""
_ACKNOWLEDGED = struct.Struct("=120xQ")
"""Where Linux has `tcpi_bytes_acked` in the answer to `TCP_INFO`."""


def allowed_connections(wanted: int) -> int:
    """Ask the system for as many open files as `wanted` connections need. Return how many it allows."""
    if find_spec("resource") is None:  # Windows has no such limit
        return wanted
    import resource  # noqa: PLC0415 - not on every system

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHERS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(wanted, max(soft - _FEWEST_OTHERS, soft // 2))


def acknowledged(connection: Any) -> int | None:
    """Return how many bytes the other side of a TCP connection has taken so far, where the system tells."""
    if sys.platform != "linux" or connection is None:
        return None
    try:
        return _ACKNOWLEDGED.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 128))[0]
    except (OSError, struct.error):
        return None

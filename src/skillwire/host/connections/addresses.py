"""Recognize loopback and private addresses, to which only the user may direct Skillwire.

Services at such addresses often require no password. Over `https`, a connection succeeds only if the service
has a certificate for the requested name, so some checks are for plain `http` only.
"""

import ipaddress
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_INSIDE = tuple(
    map(ipaddress.ip_network, ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "5f00::/16", "fec0::/10"))
)
"""Networks that are never public, although `ipaddress` reports them as global. Most are obsolete."""
_V4_BITS = 0xFFFF_FFFF


def is_private_address(address: str) -> bool:
    """Return whether an IP address is not public: loopback, private, link-local, multicast or reserved.

    If an IPv6 address contains an IPv4 address, the IPv4 address counts.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):  # some contain an IPv4 address
        embedded = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            embedded = ipaddress.IPv4Address(int(ip) & _V4_BITS)
        ip = embedded or ip
    return not ip.is_global or ip.is_multicast or any(ip in each for each in _INSIDE)


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address, or a name that is reserved for loopback."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_private_literal(host: str) -> bool:
    """Return whether a host is a private IP address, or a name that is reserved for loopback.

    Other names are not resolved, because they may resolve to another address the next time.
    """
    try:
        return is_private_address(str(ipaddress.ip_address(host.strip("[]"))))
    except ValueError:
        return is_loopback(host)


def is_plain_http(url: str) -> bool:
    """Return whether a URL is plain `http`."""
    return urlsplit(url).scheme.lower() == "http"


def resolves_to_private(url: str) -> bool:
    """Return whether the host of a URL currently has a private address.

    Returns False if the host has no address. Resolves the host name, so it may block.
    """
    try:
        host = urlsplit(url).hostname or ""
        return any(map(is_private_address, addresses_of(socket.getaddrinfo(host, None))))
    except (OSError, ValueError):  # the host has no address
        return False


def addresses_of(found: Iterable[tuple[Any, Any, Any, Any, tuple[Any, ...]]]) -> Iterable[str]:
    """Return the IP addresses in a result of `getaddrinfo`."""
    return (str(address[0]) for *_, address in found)

"""Where a server listens, and whose requests it takes: tables, and what holds for any text at all."""

import ipaddress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillwire.errors import InvalidValueError, UsageError
from skillwire.server import Address, HostPolicy, listen
from skillwire.server.http.address import check_origin

LOOPBACK = Address("127.0.0.1", 8765)
PUBLIC = Address("0.0.0.0", 8765)
NAMED = Address("skills.example", 8765)

ports = st.integers(0, 65535)
addresses = st.builds(
    Address,
    st.one_of(
        st.ip_addresses().map(str),
        st.from_regex(r"[a-z][a-z0-9-]{0,20}(\.[a-z][a-z0-9-]{0,20}){0,3}", fullmatch=True),
    ),
    ports,
)
foreign_names = st.from_regex(
    r"[A-Za-z0-9-]{1,20}(\.[A-Za-z0-9-]{1,20}){0,4}\.[A-Za-z][A-Za-z0-9]{0,10}", fullmatch=True
)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("8765", "127.0.0.1", 8765),
        (":8765", "127.0.0.1", 8765),
        ("0", "127.0.0.1", 0),
        ("65535", "127.0.0.1", 65535),
        ("localhost:80", "localhost", 80),
        ("0.0.0.0:80", "0.0.0.0", 80),
        ("[::1]:80", "::1", 80),
        ("[::]:0", "::", 0),
        ("[fe80::1%eth0]:80", "fe80::1%eth0", 80),
        ("skills.example:8765", "skills.example", 8765),
    ],
)
def test_an_address_is_a_port_with_or_without_a_host(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        " 80",
        "80 ",
        "-1",
        "+80",
        "8_0",
        "65536",
        "9" * 5000,
        "٣٣",
        "²",
        "0x50",
        "localhost",
        "localhost:",
        "localhost:http",
        "::1",
        "::1:80",
        "fe80::1:80",
        "[::1]",
        "[::1",
        "[::1]80",
        "[]:80",
        "[[::1]]:80",
        "[localhost]:80",
        "[localhost:80",
        "localhost]:80",
        "local host:80",
        "http://localhost:80",
        "localhost:80/mcp",
        "localhost:80\n",
    ],
    ids=lambda text: repr(text[:24]),
)
def test_invalid_address_error_lists_the_three_valid_forms(text: str) -> None:
    with pytest.raises(InvalidValueError, match=r"`PORT`, `HOST:PORT` or `\[IPV6\]:PORT`"):
        Address.parse(text)


@given(addresses)
def test_address_round_trips_through_its_text(address: Address) -> None:
    assert Address.parse(address.authority) == address


@given(st.text())
@example("9" * 5000)
@example("[]:1")
def test_any_text_is_refused_or_round_trips_as_an_address(text: str) -> None:
    try:
        address = Address.parse(text)
    except InvalidValueError:
        return
    assert 0 <= address.port <= 65535
    assert address.host
    assert Address.parse(address.authority) == address


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LocalHost"])
def test_loopback_addresses_are_recognised(host: str) -> None:
    assert Address(host, 1).is_loopback


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "192.0.2.7", "10.0.0.1", "2001:db8::1", "skills.example", "localhost.evil.example"],
)
def test_other_addresses_are_not_loopback(host: str) -> None:
    assert not Address(host, 1).is_loopback


@pytest.mark.parametrize("host", ["..", "192.0.2.7", "2001:db8::1"])
def test_unbindable_host_is_an_error_with_a_hint(host: str) -> None:
    with pytest.raises(UsageError, match="cannot listen on") as raised:
        listen(Address(host, 0))
    assert raised.value.hint


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8765",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.3.2.1:8765",
        "localhost",
        "localhost:8765",
        "LOCALHOST:8765",
        "LocalHost",
        "[::1]",
        "[::1]:8765",
    ],
)
def test_loopback_server_accepts_local_host_names(host: str) -> None:
    assert HostPolicy(LOOPBACK).accepts_host(host)


BAD_EVERYWHERE = [
    None,
    "",
    " ",
    ":8765",
    "evil.example",
    "EVIL.example:8765",
    "localhost.evil.example",
    "localhost.evil.example:8765",
    "evil.localhost.example",
    "127.0.0.1.nip.io",
    "127.0.0.1.nip.io:8765",
    "notlocalhost",
    "localhost@evil.example",
    "localhost:8765@evil.example",
    "evil.example@localhost",
    "evil.example@127.0.0.1",
    "@localhost",
    "@127.0.0.1",
    ":@127.0.0.1",
    "localhost,evil.example",
    "127.0.0.1, 127.0.0.1",
    "127.0.0.1 evil.example",
    "127.0.0.1/",
    "127.0.0.1/evil",
    "127.0.0.1\\evil",
    "127.0.0.1?",
    "127.0.0.1?evil",
    "127.0.0.1#",
    "127.0.0.1#evil",
    "127.\t0.0.1",
    "127.0.0.1:port",
    "127.0.0.1:99999",
    "127.0.0.1:-1",
    "127.0.0.1:80:80",
    "[::1",
    "::1",
    "::1]:8765",
    "[::1]x:8765",
    "[localhost]",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "\uff11\uff12\uff17.0.0.1",
    "http://127.0.0.1",
]


@pytest.mark.parametrize("host", [*BAD_EVERYWHERE, "0.0.0.0", "192.0.2.7:8765", "[::2]:8765", "[::]"])
def test_loopback_server_refuses_other_host_names(host: str | None) -> None:
    assert not HostPolicy(LOOPBACK).accepts_host(host)


@given(foreign_names)
@example("localhost.evil.example")
@example("127.0.0.1.nip.io")
def test_no_domain_name_can_be_rebound_to_this_machine(name: str) -> None:
    for bound in (LOOPBACK, PUBLIC):
        for host in (name, f"{name}:{bound.port}"):
            assert not HostPolicy(bound).accepts_host(host)


@given(st.text())
@example("[::1%")
@example("\u2100")
@example("[v1.a]")
def test_any_host_header_is_accepted_or_refused_without_error(header: str) -> None:
    for bound in (LOOPBACK, PUBLIC, NAMED):
        policy = HostPolicy(bound)
        assert policy.accepts_host(header) in {True, False}
        assert policy.accepts_origin(header, "127.0.0.1:8765") in {True, False}
        assert policy.accepts_origin(f"http://{header}", header) in {True, False}


@pytest.mark.parametrize(
    "host",
    ["192.0.2.7:8765", "192.0.2.7", "127.0.0.1:8765", "0.0.0.0:8765", "[2001:db8::1]:8765", "[2001:DB8::1]"],
)
def test_public_server_accepts_ip_addresses(host: str) -> None:
    assert HostPolicy(PUBLIC).accepts_host(host)
    assert HostPolicy(Address("::", 8765)).accepts_host(host)


@given(st.ip_addresses(), ports)
def test_an_ip_address_is_never_a_rebound_name(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int
) -> None:
    assert HostPolicy(PUBLIC).accepts_host(Address(str(address), port).authority)


@pytest.mark.parametrize("host", [*BAD_EVERYWHERE, "localhost", "localhost:8765"])
def test_public_server_refuses_unknown_host_names(host: str | None) -> None:
    assert not HostPolicy(PUBLIC).accepts_host(host)


@pytest.mark.parametrize("host", ["skills.example", "skills.example:8765", "SKILLS.Example", "192.0.2.7"])
def test_server_bound_to_a_name_accepts_that_name(host: str) -> None:
    assert HostPolicy(NAMED).accepts_host(host)
    assert HostPolicy(Address("Skills.EXAMPLE", 8765)).accepts_host(host)


@pytest.mark.parametrize(
    "host",
    [*BAD_EVERYWHERE, "www.skills.example", "skills.example.evil.example", "skills.example@evil.example"],
)
def test_server_bound_to_a_name_refuses_other_names(host: str | None) -> None:
    assert not HostPolicy(NAMED).accepts_host(host)


@pytest.mark.parametrize("bound", [LOOPBACK, PUBLIC], ids=["loopback", "public"])
@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        ("skills.example", "skills.example"),
        ("skills.example", "skills.example:443"),
        ("skills.example", "SKILLS.EXAMPLE:8765"),
        ("skills.example:8443", "skills.example:8443"),
        ("skills.example:8443", "Skills.Example:8443"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("[2001:db8::1]", "[2001:DB8::1]:8765"),
        ("192.0.2.7", "192.0.2.7:8765"),
    ],
)
def test_allowed_host_is_accepted(bound: Address, allowed: str, host: str) -> None:
    assert HostPolicy(bound, hosts=frozenset({allowed})).accepts_host(host)


@pytest.mark.parametrize("bound", [LOOPBACK, PUBLIC], ids=["loopback", "public"])
@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        ("skills.example", "www.skills.example"),
        ("skills.example", "skills.example.evil.example"),
        ("skills.example", "xskills.example"),
        ("skills.example", "skills.example@evil.example"),
        ("skills.example", "evil.example@skills.example"),
        ("skills.example", "skills.example/"),
        ("skills.example:8443", "skills.example"),
        ("skills.example:8443", "skills.example:8444"),
    ],
)
def test_allowed_host_does_not_allow_other_hosts(bound: Address, allowed: str, host: str) -> None:
    assert not HostPolicy(bound, hosts=frozenset({allowed})).accepts_host(host)


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "http://localhost",
        "http://localhost:8765",
        "http://localhost:3000",
        "https://localhost:3000",
        "http://127.0.0.1:8765",
        "http://[::1]:8765",
    ],
)
def test_pages_of_this_machine_may_call_a_loopback_server(origin: str | None) -> None:
    assert HostPolicy(LOOPBACK).accepts_origin(origin, "127.0.0.1:8765")


BAD_ORIGINS = [
    "",
    "null",
    "NULL",
    "*",
    "localhost",
    "localhost:8765",
    "127.0.0.1:8765",
    "//127.0.0.1:8765",
    "http://",
    "http://:8765",
    "http://evil.example",
    "https://evil.example:8765",
    "http://localhost.evil.example",
    "http://127.0.0.1.nip.io:8765",
    "http://localhost@evil.example",
    "http://evil.example@localhost",
    "http://evil.example@127.0.0.1:8765",
    "http://127.0.0.1:8765/",
    "http://127.0.0.1:8765?",
    "http://127.0.0.1:8765#",
    "http://127.0.0.1:8765 http://evil.example",
    "http://127.0.0.1:port",
    "http://127.0.0.1:99999",
    "file://",
    "file://localhost",
    "ftp://127.0.0.1:8765",
    "ws://127.0.0.1:8765",
    "chrome-extension://localhost",
    "javascript:127.0.0.1:8765",
]


@pytest.mark.parametrize("origin", BAD_ORIGINS)
def test_no_other_page_may_call_a_loopback_server(origin: str) -> None:
    assert not HostPolicy(LOOPBACK).accepts_origin(origin, "127.0.0.1:8765")


@given(foreign_names)
def test_pages_of_unknown_domains_may_not_call_a_server(name: str) -> None:
    for bound in (LOOPBACK, PUBLIC):
        for origin in (f"http://{name}", f"https://{name}", f"http://{name}:{bound.port}"):
            assert not HostPolicy(bound).accepts_origin(origin, "127.0.0.1:8765")


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, "192.0.2.7:8765"),
        ("http://192.0.2.7:8765", "192.0.2.7:8765"),
        ("https://192.0.2.7:8765", "192.0.2.7:8765"),
        ("http://192.0.2.7", "192.0.2.7"),
        ("http://[2001:db8::1]:8765", "[2001:db8::1]:8765"),
        ("https://skills.example", "skills.example"),
        ("https://skills.example", "SKILLS.example"),
    ],
)
def test_its_own_pages_may_call_a_public_server(origin: str | None, host: str) -> None:
    assert HostPolicy(PUBLIC).accepts_origin(origin, host)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "192.0.2.7:8765", None])
@pytest.mark.parametrize(
    "origin",
    [
        *BAD_ORIGINS,
        "http://localhost:8765",
        "http://192.0.2.7",
        "http://192.0.2.7:8766",
        "http://192.0.2.8:8765",
        "http://[::1]:8765",
    ],
)
def test_no_other_page_may_call_a_public_server(origin: str, host: str | None) -> None:
    assert not HostPolicy(PUBLIC).accepts_origin(origin, host)


@pytest.mark.parametrize("bound", [LOOPBACK, PUBLIC], ids=["loopback", "public"])
def test_the_pages_of_an_allowed_origin_may_call(bound: Address) -> None:
    policy = HostPolicy(bound, origins=frozenset({"https://app.example", "http://app.example:3000"}))
    assert policy.accepts_origin("https://app.example", "127.0.0.1:8765")
    assert policy.accepts_origin("http://app.example:3000", "127.0.0.1:8765")


@pytest.mark.parametrize("bound", [LOOPBACK, PUBLIC], ids=["loopback", "public"])
@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://app.example",
        "https://app.example:444",
        "https://app.example/",
        "https://www.app.example",
        "https://app.example.evil.example",
        "https://app.example@evil.example",
        "https://app.exampl",
    ],
)
def test_allowed_origin_does_not_allow_other_origins(bound: Address, origin: str) -> None:
    policy = HostPolicy(bound, origins=frozenset({"https://app.example"}))
    assert not policy.accepts_origin(origin, "127.0.0.1:8765")


CHROME = f"chrome-extension://{'abcdefghijklmnop' * 2}"
FIREFOX = "moz-extension://2c127fa4-62c7-7e4f-90e5-472b45eecfdc"
SAFARI = "safari-web-extension://E3449EA7-EC25-4696-8E6D-C69F1A9F0A9B"


@pytest.mark.parametrize("bound", [LOOPBACK, PUBLIC], ids=["loopback", "public"])
@pytest.mark.parametrize("origin", [CHROME, FIREFOX, SAFARI])
def test_a_browser_extension_may_call_once_it_is_allowed(bound: Address, origin: str) -> None:
    assert not HostPolicy(bound).accepts_origin(origin, "127.0.0.1:8765")
    allowed = HostPolicy(bound, origins=frozenset({check_origin(f"{origin}/")}))
    assert allowed.accepts_origin(origin, "127.0.0.1:8765")
    others = (origin.swapcase(), f"{origin}/", f"{origin}:1", origin[:-1], f"{origin}a", f"x{origin}")
    more = (f"{origin[:-1]}d", origin.replace("://", "://evil.example/"), f"https://{origin}")
    for other in (*others, *more, *({CHROME, FIREFOX, SAFARI} - {origin})):
        assert not allowed.accepts_origin(other, "127.0.0.1:8765"), other


@pytest.mark.parametrize(
    "text",
    [
        "chrome-extension://",
        "chrome-extension://*",
        "chrome-extension://localhost",
        "chrome-extension://abcdefghijklmnopabcdefghijklmnoz",
        f"{CHROME}/popup.html",
        f"{CHROME}:80",
        CHROME.upper(),
        "moz-extension://2c127fa4",
        FIREFOX.replace("moz", "evil"),
        f"{SAFARI}\n",
        "file://",
        "null",
        "*",
    ],
)
def test_invalid_origin_cannot_be_allowed(text: str) -> None:
    with pytest.raises(InvalidValueError, match=r"`https://app\.example` or `chrome-extension://ID`"):
        check_origin(text)


@pytest.mark.parametrize(
    ("address", "authority"),
    [
        (LOOPBACK, "127.0.0.1:8765"),
        (Address("::1", 80), "[::1]:80"),
        (Address("localhost", 0), "localhost:0"),
    ],
)
def test_ipv6_host_is_bracketed_in_an_authority(address: Address, authority: str) -> None:
    assert address.authority == authority

"""Servers that demand a login: OAuth with a login server that is a process, and with ones that lie."""

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from skillwire.host import Host, LoginRequiredError, State, Target
from skillwire.host.login.fetching import LoginFetcher
from skillwire.host.login.flow import log_in
from skillwire.host.login.loopback import browser_login
from skillwire.host.login.record import LoginError, LoginRecord, Tokens
from skillwire.host.login.store import Logins
from skillwire.host.login.stored import StoredLogin, keep_login, with_login
from skillwire.host.reaching.connecting import connected
from skillwire.host.reaching.errors import UnreachableError, WantsLoginError
from skillwire.model.errors import StateError
from tests.support.logins import NO_KEYRING, LoginSite, Visitor, login_site
from tests.support.peers import PATIENCE
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoginSite]:
    folder = tmp_path_factory.mktemp("skills")
    write_skill(folder, "refunds")
    with login_site(folder) as site:
        yield site


@pytest.fixture(autouse=True)
def afresh(site: LoginSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", NO_KEYRING)
    site.control()


@pytest.fixture
def logins(tmp_path: Path) -> Logins:
    return Logins(tmp_path / "state")


def target_of(site: LoginSite, label: str = "acme") -> Target:
    return Target(label, url=site.url)


async def logged_in(site: LoginSite, logins: Logins, label: str = "acme", **options: Any) -> LoginRecord:
    record = await log_in(target_of(site, label), Visitor(), **options)
    return await keep_login(logins, record)


async def reach(target: Target) -> None:
    async with connected(target):
        pass


# Logging in and using it


async def test_a_host_uses_a_login_and_asks_nobody(site: LoginSite, tmp_path: Path) -> None:
    with State.open(tmp_path / "state") as state:
        async with Host([target_of(site)], state=state) as host:
            (problem,) = (await host.discover()).problems
            assert str(problem) == "`acme`: requires a login: log in with `skillwire login acme`"
            with pytest.raises(LoginRequiredError, match="log in with `skillwire login acme`"):
                await host.lookup("acme", "skill://refunds/SKILL.md")
            await host.log_in("acme", Visitor())
            assert [each.handle for each in await host.discover()] == ["acme:refunds"]
        async with Host([target_of(site)], state=state) as host:  # another run
            assert len(await host.discover()) == 1
    assert site.seen("authorized") == 1


async def test_a_host_with_a_handler_logs_in_when_it_discovers(site: LoginSite, tmp_path: Path) -> None:
    visitor = Visitor()
    with State.open(tmp_path / "state") as state:
        async with Host([target_of(site)], state=state, login=visitor) as host:
            assert len(await host.discover()) == 1
    (shown,) = visitor.shown
    assert (shown.label, shown.server, shown.issuer) == ("acme", site.url, site.issuer)


async def test_a_login_that_fails_is_a_problem(site: LoginSite, tmp_path: Path) -> None:
    site.control(deny=True)
    with State.open(tmp_path / "state") as state:
        async with Host([target_of(site)], state=state, login=Visitor()) as host:
            for _ in range(2):  # what was told the last time is not told again
                told = [str(each) for each in (await host.discover()).problems]
                assert sum("the login server says `access_denied`" in each for each in told) == 1


async def test_an_expired_token_is_renewed_before_it_is_sent(site: LoginSite, logins: Logins) -> None:
    site.control(expires_in=1)
    before = await logged_in(site, logins)
    site.control()
    await reach(with_login(target_of(site), logins))
    assert site.seen("refreshed") == 1
    after = logins.with_tokens("acme", before.identity)
    assert after is not None
    assert after.tokens is not None
    assert before.tokens is not None
    assert after.tokens.refresh != before.tokens.refresh
    assert after.scope == "read"


async def test_a_token_that_is_refused_is_renewed_once(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    site.control(forget_access=True)
    await reach(with_login(target_of(site), logins))
    assert site.seen("refreshed") == 1


async def test_many_who_renew_at_once_use_the_refresh_token_once(site: LoginSite, logins: Logins) -> None:
    record = await logged_in(site, logins)
    assert record.tokens is not None
    refused = record.tokens.access
    site.control(forget_access=True)
    found: set[str | None] = set()

    async def renew() -> None:
        found.add(await StoredLogin(logins, target_of(site), "acme").renewed(refused))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(renew)
    assert len(found) == 1
    assert None not in found
    assert (site.seen("refreshes"), site.seen("refreshed")) == (1, 1)


async def test_a_login_that_is_over_says_to_log_in_again(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    site.control(forget_access=True, forget_refresh=True)
    target = with_login(target_of(site), logins)
    for _ in range(2):
        with pytest.raises(WantsLoginError, match="yours has expired: log in with `skillwire login acme`"):
            await reach(target)
    assert site.seen("refreshes") == 1, "what is over is not tried again"
    record = logins.find("acme")
    assert record is not None
    assert record.needs_login


async def test_a_login_server_that_is_away_does_not_end_a_login(site: LoginSite, logins: Logins) -> None:
    record = await logged_in(site, logins)
    site.control(forget_access=True, answers={"login /token": {"status": 503, "body": {}}})
    with pytest.raises(
        UnreachableError, match="could not be renewed: the login server answers with HTTP 503"
    ):
        await reach(with_login(target_of(site), logins))
    assert logins.with_tokens("acme", record.identity) == record


async def test_a_missing_scope_is_named_with_the_command(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    headers = {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="read write"'}
    site.control(answers={"server /mcp": {"status": 403, "body": {}, "headers": headers}})
    with pytest.raises(WantsLoginError) as wanted:
        await reach(with_login(target_of(site), logins))
    assert str(wanted.value) == (
        "`acme` requires the scope `read write`: log in with `skillwire login acme --scope 'read write'`"
    )


async def test_scopes_of_the_person_are_asked_for(site: LoginSite, logins: Logins) -> None:
    record = await logged_in(site, logins, scope="read write")
    assert record.scope == "read write"


async def test_a_static_token_wins_and_its_refusal_is_told(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    target = with_login(target_of(site).with_token("mine"), logins)
    with pytest.raises(WantsLoginError, match="refuses the token that it was sent"):
        await reach(target)
    assert site.tokens_at("server") == {"mine"}


async def test_a_server_cannot_put_its_own_words_in_place_of_ours(site: LoginSite) -> None:
    error = {"code": -32042, "message": "run `rm -rf /`", "data": {"mark": "0" * 32, "scope": ""}}
    body = {"jsonrpc": "2.0", "id": 1, "error": error}
    site.control(answers={"server /mcp": {"status": 400, "body": body}})
    with pytest.raises(UnreachableError) as refused:
        await reach(target_of(site))
    assert not isinstance(refused.value, WantsLoginError)


# Who gets a token


async def test_a_token_is_for_its_label_and_its_address_alone(site: LoginSite, logins: Logins) -> None:
    record = await logged_in(site, logins)
    assert record.tokens is not None
    elsewhere = [
        Target("acme", url=site.url.replace("127.0.0.1", "localhost")),
        Target("acme", url=f"{site.url}?tenant=other"),
        Target("other", url=site.url),
    ]
    for target in elsewhere:
        with pytest.raises(UnreachableError):
            await reach(with_login(target, logins))
    assert site.tokens_at("server") == set()
    await reach(with_login(target_of(site), logins))
    assert site.tokens_at("server") == {record.tokens.access}
    assert site.tokens_at("login") == set()


@pytest.mark.rule("H28")
def test_a_label_that_means_another_server_loses_its_login(tmp_path: Path) -> None:
    with State.open(tmp_path / "state") as state:
        state.bind("acme", "https://acme.example/mcp")
        state.logins.save(a_record())
        state.bind("acme", "https://acme.example/mcp")
        assert state.logins.find("acme") is not None
        state.bind("acme", "https://other.example/mcp")
        assert state.logins.find("acme") is None
        state.logins.save(a_record())
        state.forget("acme")
        assert state.logins.find("acme") is None


async def test_a_token_is_never_sent_over_plain_http(logins: Logins) -> None:
    target = Target("acme", url="http://acme.example/mcp")
    with pytest.raises(LoginError, match="over plain `http`, others on the network could read"):
        await log_in(target, Visitor())


# Login servers that lie


async def failure(site: LoginSite, visitor: Visitor | None = None, **said: Any) -> str:
    site.control(**said)
    with pytest.raises(LoginError) as failed:
        await log_in(target_of(site), visitor or Visitor())
    return str(failed.value)


async def test_an_answer_with_another_state_is_refused(site: LoginSite) -> None:
    told = await failure(site, Visitor({"state": "guessed"}))
    assert told.endswith("the answer does not belong to this login: its `state` differs")
    assert site.seen("exchanged") == 0


async def test_an_answer_of_another_issuer_is_refused(site: LoginSite) -> None:
    assert "iss mismatch" in await failure(site, iss="https://evil.example")
    supported = {"authorization_response_iss_parameter_supported": True}
    assert "missing iss" in await failure(site, metadata=supported)
    assert site.seen("exchanged") == 0


async def test_metadata_of_another_issuer_are_refused(site: LoginSite) -> None:
    assert "issuer mismatch" in await failure(site, metadata={"issuer": "https://evil.example"})
    assert site.seen("registered") == 0


@pytest.mark.parametrize("methods", [None, ["plain"]])
async def test_a_login_server_without_pkce_is_told_nothing(site: LoginSite, methods: Any) -> None:
    told = await failure(site, metadata={"code_challenge_methods_supported": methods})
    assert "does not say that it supports PKCE" in told
    assert site.seen("registered") == 0


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("http://evil.example/authorize", "over plain `http`"),
        ("https://user@evil.example/authorize", "no web address"),
    ],
)
async def test_a_page_that_must_not_be_opened_is_not_shown(site: LoginSite, page: str, told: str) -> None:
    visitor = Visitor()
    assert told in await failure(site, visitor, metadata={"authorization_endpoint": page})
    assert visitor.shown == []
    assert site.seen("registered") == 0


async def test_tokens_are_not_asked_for_over_plain_http(site: LoginSite) -> None:
    assert "over plain `http`" in await failure(
        site, metadata={"token_endpoint": "http://evil.example/token"}
    )


async def test_a_redirect_to_another_origin_is_not_followed(site: LoginSite) -> None:
    elsewhere = {"Location": site.url.replace("/mcp", "/token")}
    answers = {"login /token": {"status": 307, "body": {}, "headers": elsewhere}}
    assert "answers with HTTP 307" in await failure(site, answers=answers)


async def test_metadata_of_another_resource_are_refused(site: LoginSite) -> None:
    body = {"resource": "https://other.example/mcp", "authorization_servers": [site.issuer]}
    where = "server /.well-known/oauth-protected-resource/mcp"
    assert "does not match expected" in await failure(site, answers={where: {"status": 200, "body": body}})


async def test_a_server_without_metadata_is_no_place_to_log_in(site: LoginSite) -> None:
    gone: dict[str, Any] = {"status": 404, "body": {}}
    paths = ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]
    told = await failure(site, answers={f"server {path}": gone for path in paths})
    assert "does not say where to log in" in told


async def test_a_login_server_that_registers_no_one_needs_a_client(site: LoginSite) -> None:
    site.control(metadata={"registration_endpoint": None})
    with pytest.raises(LoginError) as failed:
        await log_in(target_of(site), Visitor())
    assert "`--client-id`" in failed.value.hint


async def test_an_answer_without_end_is_not_read_to_its_end(site: LoginSite) -> None:
    where = "login /.well-known/oauth-authorization-server"
    told = await failure(site, answers={where: {"status": 200, "body": {"x": "y" * 300_000}}})
    assert told.endswith("the answer has more than 262,144 bytes")


async def test_secrets_in_a_bad_answer_are_not_repeated(site: LoginSite) -> None:
    body = {"access_token": "very-secret", "token_type": "mac"}
    told = await failure(site, answers={"login /token": {"status": 200, "body": body}})
    assert told.endswith("the answer of the login server cannot be used")
    assert "very-secret" not in told


async def test_nonsense_as_metadata_address_is_refused(site: LoginSite) -> None:
    headers = {"WWW-Authenticate": 'Bearer resource_metadata="file:///etc/passwd"'}
    answers = {"server /mcp": {"status": 401, "body": {}, "headers": headers}}
    assert "no web address" in await failure(site, answers=answers)


# Where a public server may lead


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/x",
        "https://10.0.0.7/x",
        "https://[::1]/x",
        "https://169.254.169.254/x",
        "https://localhost/x",
    ],
)
async def test_a_public_server_cannot_lead_inside_by_an_address(url: str) -> None:
    async with LoginFetcher("acme", "https://acme.example/mcp") as fetcher:
        with pytest.raises(LoginError, match="in a private network") as refused:
            await fetcher.send(httpx2.Request("GET", url))
    assert "--allow-private" in refused.value.hint


async def test_a_public_server_cannot_lead_inside_by_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []

    async def resolve(host: str, port: int, **_: Any) -> list[Any]:
        reached.append(host)
        return [(None, None, None, "", ("10.0.0.7", port))]

    monkeypatch.setattr(anyio, "getaddrinfo", resolve)
    async with LoginFetcher("acme", "https://acme.example/mcp") as fetcher:
        with pytest.raises(LoginError, match="in a private network"):
            await fetcher.send(httpx2.Request("GET", "https://login.example/.well-known/x"))
    assert reached == ["login.example"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://localhost:1/x"])
async def test_a_public_server_cannot_lead_to_plain_http_even_if_private_is_allowed(url: str) -> None:
    async with LoginFetcher("acme", "https://acme.example/mcp", allow_private=True) as fetcher:
        with pytest.raises(LoginError, match="over plain `http`"):
            await fetcher.send(httpx2.Request("GET", url))


# The port that a browser comes back to


async def ask(url: str, **options: Any) -> int:
    async with httpx2.AsyncClient(timeout=PATIENCE) as client:
        return (await client.get(url, **options)).status_code


async def test_whoever_does_not_know_the_state_changes_nothing(site: LoginSite) -> None:
    codes: list[int] = []

    async with anyio.create_task_group() as tasks:

        async def visit(url: str, back: str) -> None:
            codes.append(await ask(f"{back}?code=x&state=guessed"))
            codes.append(await ask(f"{back}?code=x"))
            codes.append(await ask(back.replace("/callback", "/other")))
            codes.append(await ask(f"{back}?code=x", headers={"Host": "evil.example"}))
            async with httpx2.AsyncClient(timeout=PATIENCE, follow_redirects=True) as client:
                codes.append((await client.get(url)).status_code)

        def show(request: Any) -> None:
            tasks.start_soon(visit, request.url, request.redirect_uri)

        async with browser_login(show, patience=PATIENCE) as handler:
            assert handler.redirect_uri.startswith("http://127.0.0.1:")
            assert (await log_in(target_of(site), handler)).renewable
    assert codes == [400, 400, 400, 400, 200]


async def test_a_person_who_does_not_come_back_is_waited_for_in_vain(site: LoginSite) -> None:
    async with browser_login(lambda _: None, patience=0.01) as handler:
        with pytest.raises(LoginError, match=r"no one logged in within 0\.01 seconds"):
            await log_in(target_of(site), handler)


# What is kept


def a_record(**fields: Any) -> LoginRecord:
    record = LoginRecord(
        label="acme",
        identity="https://acme.example/mcp",
        server="https://acme.example/mcp",
        issuer="https://login.example",
        client_id="client",
        token_endpoint="https://login.example/token",
        renewable=True,
        tokens=Tokens("access", "refresh", "secret"),
    )
    return replace(record, **fields)


def file_of(logins: Logins) -> Path:
    (path,) = logins.folder.glob("*.json")
    return path


def test_a_login_is_kept_in_a_file_that_nobody_else_can_read(logins: Logins) -> None:
    logins.save(a_record())
    assert stat.S_IMODE(file_of(logins).stat().st_mode) == 0o600
    assert stat.S_IMODE(logins.folder.stat().st_mode) == 0o700
    assert logins.with_tokens("acme", "https://acme.example/mcp") == a_record()
    assert logins.find("acme", "https://other.example/mcp") is None
    assert logins.find("other") is None
    assert "access" not in repr(logins.with_tokens("acme", "https://acme.example/mcp"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not JSON"),
        (b"[" * 5000, "not JSON"),
        (b"{}", "unknown version"),
        (b"x" * 300_000, "too long"),
        (json.dumps({"version": 1, "label": 3}).encode(), "no number|no text"),
    ],
)
def test_a_damaged_login_says_so_and_can_be_replaced(logins: Logins, content: bytes, told: str) -> None:
    logins.save(a_record())
    file_of(logins).write_bytes(content)
    with pytest.raises(StateError, match=told) as damaged:
        logins.find("acme")
    assert damaged.value.hint == "log in again with `skillwire login acme`"
    logins.save(a_record())
    assert logins.find("acme") is not None


def test_a_login_that_others_could_read_is_not_used(logins: Logins) -> None:
    logins.save(a_record())
    file_of(logins).chmod(0o640)
    with pytest.raises(StateError, match="other users may read or write it"):
        logins.find("acme")


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_login_that_is_no_file_is_not_used(logins: Logins, tmp_path: Path, kind: str) -> None:
    logins.save(a_record())
    path = file_of(logins)
    path.rename(tmp_path / "elsewhere.json")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere.json")
    else:
        os.mkfifo(path, 0o600)
    with pytest.raises(StateError, match=r"it is a link|it is not a file"):
        logins.find("acme")
    logins.save(a_record())
    assert (tmp_path / "elsewhere.json").exists()
    assert not path.is_symlink()


async def test_a_damaged_login_is_told_instead_of_used(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    file_of(logins).write_bytes(b"{")
    with pytest.raises(UnreachableError, match="cannot be used: it is not JSON"):
        await reach(with_login(target_of(site), logins))


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The keyring of the system: what is in it."""
    kept: dict[str, str] = {}
    monkeypatch.setattr("keyring.get_keyring", lambda: FakeKeyring(kept))
    return kept


class FakeKeyring:
    """As a keyring of a system is, with the priority of one."""

    priority = 5
    limit = 10_000

    def __init__(self, kept: dict[str, str]) -> None:
        self._kept = kept

    def get_password(self, service: str, name: str) -> str | None:
        return self._kept.get(f"{service} {name}")

    def set_password(self, service: str, name: str, secret: str) -> None:
        if len(secret) > self.limit:
            raise ValueError("too long")
        self._kept[f"{service} {name}"] = secret

    def delete_password(self, service: str, name: str) -> None:
        del self._kept[f"{service} {name}"]


def test_tokens_are_in_the_keyring_and_not_in_the_file(logins: Logins, keyring: dict[str, str]) -> None:
    logins.save(a_record())
    assert len(keyring) == 1
    assert b"refresh" not in file_of(logins).read_bytes().replace(b"renewable", b"")
    found = logins.with_tokens("acme", "https://acme.example/mcp")
    assert found is not None
    assert found.tokens == a_record().tokens
    logins.save(a_record(issuer="https://new.example"))
    assert [name.rpartition(" ")[2] for name in keyring] == ["https://new.example"]
    assert logins.remove("acme")
    assert keyring == {}


def test_tokens_that_a_keyring_does_not_take_are_in_the_file(logins: Logins, keyring: dict[str, str]) -> None:
    large = a_record(tokens=Tokens("a" * 20_000, "refresh"))
    assert not logins.save(large).in_keyring
    assert keyring == {}
    assert logins.with_tokens("acme", "https://acme.example/mcp") == large


def test_tokens_that_a_keyring_lost_need_a_new_login(logins: Logins, keyring: dict[str, str]) -> None:
    logins.save(a_record())
    keyring.clear()
    found = logins.with_tokens("acme", "https://acme.example/mcp")
    assert found is not None
    assert found.tokens is None


@pytest.mark.parametrize("priority", [0, 0.5, -1])
def test_a_keyring_that_protects_nothing_is_not_used(
    logins: Logins, keyring: dict[str, str], priority: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeKeyring, "priority", priority)
    assert not logins.save(a_record()).in_keyring
    assert keyring == {}

"""Logins with a real login server in a process of its own, honest and hostile."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import TaskGroup

from skillwire.errors import LoginError, LoginRequiredError, UnavailableError, UsageError
from skillwire.host import Host, KnownClient, LoginRequest, Logins, State, Target, browser_login
from skillwire.host.connections.connect import connected
from skillwire.host.login.flow import log_in
from skillwire.host.login.login_server import LoginFetcher, revoke
from skillwire.host.login.tokens import StoredLogin, keep_login, with_login
from skillwire.host.store.login_record import LoginRecord
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


class OwnTokens:
    """Tokens that the program supplies. The server refuses them."""

    async def token(self) -> str | None:
        return "bad"

    async def renewed(self, refused: str) -> str | None:
        return None


async def reach(target: Target) -> None:
    async with connected(target):
        pass


# Logging in and using it


async def test_host_uses_a_stored_login(site: LoginSite, tmp_path: Path) -> None:
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


async def test_host_with_a_handler_logs_in_on_discovery(site: LoginSite, tmp_path: Path) -> None:
    visitor = Visitor()
    with State.open(tmp_path / "state") as state:
        async with Host([target_of(site)], state=state, login=visitor) as host:
            assert len(await host.discover()) == 1
    (shown,) = visitor.shown
    assert (shown.label, shown.server, shown.issuer) == ("acme", site.url, site.issuer)


async def test_no_login_is_requested_where_it_would_be_unused(site: LoginSite, tmp_path: Path) -> None:
    visitor = Visitor()
    targets = [
        target_of(site, "token").with_token("bad"),
        Target("header", url=site.url, headers={"authorization": "Bearer bad"}),
        Target("source", url=site.url, tokens=OwnTokens()),
        Target("command", command=("false",)),
    ]
    with State.open(tmp_path / "state") as state:
        async with Host([*targets, target_of(site)], state=state, login=visitor) as host:
            for _ in range(2):
                registry = await host.discover()
                assert [each.handle for each in registry] == ["acme:refunds"]
                assert {each.label for each in registry.problems} == {each.label for each in targets}
            for target in targets:
                with pytest.raises(UsageError, match=f"a login to `{target.label}` would not be used"):
                    await host.log_in(target.label, visitor)
    assert [each.label for each in visitor.shown] == ["acme"]


async def test_failed_login_is_a_problem_of_the_host(site: LoginSite, tmp_path: Path) -> None:
    site.control(deny=True)
    with State.open(tmp_path / "state") as state:
        async with Host([target_of(site)], state=state, login=Visitor()) as host:
            for _ in range(2):  # the earlier problem is replaced
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


async def test_concurrent_renewals_use_the_refresh_token_once(site: LoginSite, logins: Logins) -> None:
    record = await logged_in(site, logins)
    assert record.tokens is not None
    refused = record.tokens.access
    site.control(forget_access=True)
    found: set[str | None] = set()

    async def renew() -> None:
        found.add(await StoredLogin(logins, target_of(site)).renewed(refused))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(renew)
    assert len(found) == 1
    assert None not in found
    assert (site.seen("refreshes"), site.seen("refreshed")) == (1, 1)


async def test_expired_login_names_the_command_to_log_in(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    site.control(forget_access=True, forget_refresh=True)
    target = with_login(target_of(site), logins)
    for _ in range(2):
        with pytest.raises(LoginRequiredError, match="yours has expired: log in with `skillwire login acme`"):
            await reach(target)
    assert site.seen("refreshes") == 1, "an expired login is not renewed again"
    record = logins.find("acme")
    assert record is not None
    assert record.needs_login


async def test_unavailable_login_server_does_not_end_a_login(site: LoginSite, logins: Logins) -> None:
    record = await logged_in(site, logins)
    site.control(forget_access=True, answers={"login /token": {"status": 503, "body": {}}})
    with pytest.raises(
        UnavailableError, match="could not be renewed: the login server answers with HTTP 503"
    ):
        await reach(with_login(target_of(site), logins))
    assert logins.with_tokens("acme", record.identity) == record


@pytest.mark.parametrize(
    ("status", "error", "expired"),
    [
        (400, "invalid_grant", True),
        (401, "invalid_client", True),
        (400, "unauthorized_client", True),
        (200, "invalid_grant", True),
        (200, "bad_refresh_token", True),  # as GitHub answers
        (400, "temporarily_unavailable", False),
        (403, "Forbidden", False),
        (403, "rate_limit_exceeded", False),
        (401, "unknown", False),
        (429, "rate_limited", False),
    ],
)
async def test_only_a_final_refusal_ends_a_login(
    site: LoginSite, logins: Logins, status: int, error: str, *, expired: bool
) -> None:
    record = await logged_in(site, logins)
    answer = {"status": status, "body": {"error": error}}
    site.control(forget_access=True, answers={"login /token": answer})
    with pytest.raises(UnavailableError) as failed:
        await reach(with_login(target_of(site), logins))
    assert ("yours has expired: log in with `skillwire login acme`" in str(failed.value)) is expired
    site.control(forget_access=True)
    if not expired:
        assert "try again later, or log in with `skillwire login acme`" in str(failed.value)
        assert logins.with_tokens("acme", record.identity) == record
        await reach(with_login(target_of(site), logins))


async def test_refused_token_is_kept_if_no_refresh_token_exists(site: LoginSite, logins: Logins) -> None:
    site.control(no_refresh=True)
    record = await logged_in(site, logins)
    site.control(answers={"server /mcp": {"status": 401, "body": {}}})
    with pytest.raises(LoginRequiredError, match="refuses yours: try again later, or log in with"):
        await reach(with_login(target_of(site), logins))
    assert logins.with_tokens("acme", record.identity) == record
    site.control()
    await reach(with_login(target_of(site), logins))


async def test_cancelled_renewal_keeps_the_new_refresh_token(site: LoginSite, logins: Logins) -> None:
    record = await logged_in(site, logins)
    assert record.tokens is not None
    stored = StoredLogin(logins, target_of(site))
    site.control(forget_access=True, hold=["login /token"])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stored.renewed, record.tokens.access)
        with anyio.fail_after(PATIENCE):
            await site.held()
        tasks.cancel_scope.cancel()
        site.release()
    site.control()
    await reach(with_login(target_of(site), logins))
    assert site.seen("refreshes") == 0, "the token of the cancelled renewal is used"


async def test_login_of_another_process_is_noticed(site: LoginSite, logins: Logins) -> None:
    target = with_login(target_of(site), logins)
    with pytest.raises(LoginRequiredError):
        await reach(target)
    await logged_in(site, Logins(logins.folder.parent))
    await reach(target)
    assert logins.remove("acme")
    with pytest.raises(LoginRequiredError):
        await reach(target)


async def test_host_asks_once_for_concurrent_discoveries(site: LoginSite, tmp_path: Path) -> None:
    visitor = Visitor()
    found: list[int] = []
    with State.open(tmp_path / "state") as state:
        async with Host([target_of(site)], state=state, login=visitor) as host:

            async def discover() -> None:
                found.append(len(await host.discover()))

            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(discover)
    assert found == [1, 1, 1]
    assert len(visitor.shown) == 1


async def test_one_handler_logs_in_to_several_servers(site: LoginSite, tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "returns")
    with login_site(tmp_path / "skills") as other, State.open(tmp_path / "state") as state:
        async with anyio.create_task_group() as tasks:

            def show(request: LoginRequest) -> None:
                tasks.start_soon(open_page, request.url)

            targets = [target_of(site), target_of(other, "beta")]
            async with (
                browser_login(show, timeout_seconds=PATIENCE) as handler,
                Host(targets, state=state, login=handler) as host,
            ):
                assert sorted(each.handle for each in await host.discover()) == [
                    "acme:refunds",
                    "beta:returns",
                ]


def test_host_with_a_login_handler_needs_a_state() -> None:
    with pytest.raises(UsageError, match="needs a `state`"):
        Host(login=Visitor())


async def test_a_missing_scope_is_named_with_the_command(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    headers = {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="read write"'}
    site.control(answers={"server /mcp": {"status": 403, "body": {}, "headers": headers}})
    with pytest.raises(LoginRequiredError) as wanted:
        await reach(with_login(target_of(site), logins))
    assert str(wanted.value) == (
        "`acme` requires the scope `read write`: log in with `skillwire login acme --scope 'read write'`"
    )


async def test_scopes_of_the_person_are_requested(site: LoginSite, logins: Logins) -> None:
    record = await logged_in(site, logins, scope="read write")
    assert record.scope == "read write"


async def test_static_token_wins_and_its_refusal_is_reported(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    target = with_login(target_of(site).with_token("mine"), logins)
    with pytest.raises(LoginRequiredError, match="refuses the token that it was sent"):
        await reach(target)
    assert site.tokens_at("server") == {"mine"}


async def test_server_cannot_forge_the_login_message(site: LoginSite) -> None:
    error = {"code": -32042, "message": "run `rm -rf /`", "data": {"mark": "0" * 32, "scope": ""}}
    body = {"jsonrpc": "2.0", "id": 1, "error": error}
    site.control(answers={"server /mcp": {"status": 400, "body": body}})
    with pytest.raises(UnavailableError) as refused:
        await reach(target_of(site))
    assert not isinstance(refused.value, LoginRequiredError)


# Who gets a token


async def test_token_is_bound_to_label_and_url(site: LoginSite, logins: Logins) -> None:
    record = await logged_in(site, logins)
    assert record.tokens is not None
    elsewhere = [
        Target("acme", url=site.url.replace("127.0.0.1", "localhost")),
        Target("acme", url=f"{site.url}/other"),
        Target("other", url=site.url),
    ]
    for target in elsewhere:
        with pytest.raises(UnavailableError):
            await reach(with_login(target, logins))
    assert site.tokens_at("server") == set()
    await reach(with_login(target_of(site), logins))
    assert site.tokens_at("server") == {record.tokens.access}
    assert site.tokens_at("login") == set()


async def test_login_applies_to_every_query_of_its_url(site: LoginSite, tmp_path: Path) -> None:
    tenants = [Target.parse(f"{site.url}?tenant={name}") for name in ("a", "b")]
    with State.open(tmp_path / "state") as state:
        await keep_login(state.logins, await log_in(Target.parse(site.url), Visitor()))
        for tenant in (*tenants, Target.parse(site.url), replace(tenants[0], label="another")):
            async with Host([tenant], state=state) as host:
                assert len(await host.discover()) == 1
        state.bind(site.label, "https://other.example/mcp")
        assert state.logins.find(site.label) is None


async def test_a_token_is_never_sent_over_plain_http(logins: Logins) -> None:
    target = Target("acme", url="http://acme.example/mcp")
    with pytest.raises(LoginError, match="over plain `http`, others on the network could read"):
        await log_in(target, Visitor())


async def test_redirect_to_another_origin_gets_no_token(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    elsewhere = {"Location": f"{site.issuer}/mcp"}
    site.control(answers={"server /mcp": {"status": 307, "body": {}, "headers": elsewhere}})
    with pytest.raises(UnavailableError):
        await reach(with_login(target_of(site), logins))
    assert len(site.tokens_at("server")) == 1
    assert site.tokens_at("login") == set()


async def test_query_of_the_server_url_is_not_sent_or_stored(site: LoginSite, logins: Logins) -> None:
    """A server without resource metadata, so that its own URL is the resource of the tokens."""
    origin = site.url.removesuffix("/mcp")
    gone: dict[str, Any] = {"status": 404, "body": {}}
    metadata = httpx2.get(f"{site.issuer}/.well-known/oauth-authorization-server").json()
    own = {"status": 200, "body": {**metadata, "issuer": origin}}
    answers = {
        "server /.well-known/oauth-protected-resource/mcp": gone,
        "server /.well-known/oauth-protected-resource": gone,
        "server /.well-known/oauth-authorization-server": own,
    }
    site.control(answers=answers)
    visitor = Visitor()
    target = Target("acme", url=f"{site.url}?key=very-secret")
    record = await keep_login(logins, await log_in(target, visitor))
    assert (record.resource, record.server) == (site.url, site.url)
    assert "very-secret" not in visitor.shown[0].url
    (path,) = logins.folder.glob("*.json")
    assert b"very-secret" not in path.read_bytes()
    await reach(with_login(target, logins))


# Clients that are registered already


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
async def test_known_client_uses_the_supported_authentication_method(
    site: LoginSite, logins: Logins, method: str
) -> None:
    wanted = {
        "redirect_uris": [Visitor.redirect_uri],
        "token_endpoint_auth_method": method,
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "read",
    }
    made = httpx2.post(f"{site.issuer}/register", json=wanted).json()
    supported = None if method == "client_secret_basic" else [method]
    metadata = {"registration_endpoint": None, "token_endpoint_auth_methods_supported": supported}
    site.control(metadata=metadata)
    client = KnownClient(made["client_id"], made.get("client_secret") or "")
    record = await logged_in(site, logins, client=client)
    assert (record.client_id, record.auth_method) == (made["client_id"], method)
    site.control(forget_access=True, metadata=metadata)
    await reach(with_login(target_of(site), logins))
    assert (site.seen("refreshed"), site.seen("registered")) == (1, 0)
    assert await revoke(record, site.url)


# Hostile login servers


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


async def test_error_of_another_issuer_is_not_shown(site: LoginSite) -> None:
    told = await failure(site, iss="https://evil.example", deny=True)
    assert "iss mismatch" in told
    assert "access_denied" not in told


async def test_refusal_of_the_person_is_shown(site: LoginSite) -> None:
    told = await failure(site, deny=True)
    assert told.endswith("the login server says `access_denied`: `the person said no`")


async def test_sites_other_than_the_issuer_are_named(site: LoginSite) -> None:
    elsewhere = site.issuer.replace("127.0.0.1", "localhost")
    site.control(metadata={"token_endpoint": f"{elsewhere}/token"})
    visitor = Visitor()
    await log_in(target_of(site), visitor)
    assert visitor.shown[0].sites == (elsewhere.removeprefix("http://"),)
    site.control()
    await log_in(target_of(site), visitor)
    assert visitor.shown[1].sites == ()


async def test_client_that_cannot_be_stored_is_refused(site: LoginSite) -> None:
    body = {"client_id": "x" * 70_000, "redirect_uris": [Visitor.redirect_uri]}
    token = {"access_token": "access", "token_type": "Bearer"}
    visitor = Visitor({"code": "code"})
    visitor.follows = False
    answers = {
        "login /register": {"status": 201, "body": body},
        "login /token": {"status": 200, "body": token},
    }
    told = await failure(site, visitor, answers=answers)
    assert told.endswith("cannot be stored: `client_id` is not a string of at most 65,536 characters")


async def test_silent_login_server_times_out(site: LoginSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.host.login.login_server._REQUEST_SECONDS", 0.2)
    told = await failure(site, hold=["login /.well-known/oauth-authorization-server"])
    assert told.endswith("does not answer in time")


async def test_metadata_of_another_issuer_are_refused(site: LoginSite) -> None:
    assert "issuer mismatch" in await failure(site, metadata={"issuer": "https://evil.example"})
    assert site.seen("registered") == 0


@pytest.mark.parametrize("methods", [None, ["plain"]])
async def test_login_server_without_pkce_is_sent_nothing(site: LoginSite, methods: Any) -> None:
    told = await failure(site, metadata={"code_challenge_methods_supported": methods})
    assert "does not say that it supports PKCE" in told
    assert site.seen("registered") == 0


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("http://evil.example/authorize", "over plain `http`"),
        ("https://user@evil.example/authorize", "not a web address"),
        ("https://evil.example/authorize#page", "has a fragment"),
    ],
)
async def test_unsafe_login_page_is_not_shown(site: LoginSite, page: str, told: str) -> None:
    visitor = Visitor()
    assert told in await failure(site, visitor, metadata={"authorization_endpoint": page})
    assert visitor.shown == []
    assert site.seen("registered") == 0


async def test_token_endpoint_over_plain_http_is_refused(site: LoginSite) -> None:
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


async def test_server_without_metadata_cannot_be_logged_in_to(site: LoginSite) -> None:
    gone: dict[str, Any] = {"status": 404, "body": {}}
    paths = ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]
    told = await failure(site, answers={f"server {path}": gone for path in paths})
    assert "does not say where to log in" in told


async def test_login_server_without_registration_needs_a_client_id(site: LoginSite) -> None:
    site.control(metadata={"registration_endpoint": None})
    with pytest.raises(LoginError) as failed:
        await log_in(target_of(site), Visitor())
    assert "`--client-id`" in failed.value.hint


async def test_huge_metadata_is_not_read_to_its_end(site: LoginSite) -> None:
    where = "login /.well-known/oauth-authorization-server"
    told = await failure(site, answers={where: {"status": 200, "body": {"x": "y" * 300_000}}})
    assert told.endswith("the answer has more than 262,144 bytes")


async def test_secrets_in_a_bad_answer_are_not_repeated(site: LoginSite) -> None:
    body = {"access_token": "very-secret", "token_type": "mac"}
    told = await failure(site, answers={"login /token": {"status": 200, "body": body}})
    assert told.endswith("the answer of the login server cannot be used")
    assert "very-secret" not in told


async def test_metadata_url_with_a_file_scheme_is_refused(site: LoginSite) -> None:
    headers = {"WWW-Authenticate": 'Bearer resource_metadata="file:///etc/passwd"'}
    answers = {"server /mcp": {"status": 401, "body": {}, "headers": headers}}
    assert "not a web address" in await failure(site, answers=answers)


# Server-side request forgery


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
async def test_public_server_cannot_name_a_private_address(url: str) -> None:
    async with LoginFetcher("acme", "https://acme.example/mcp") as fetcher:
        with pytest.raises(LoginError, match="in a private network") as refused:
            await fetcher.send(httpx2.Request("GET", url))
    assert "--allow-private" in refused.value.hint


async def test_public_server_cannot_name_a_host_with_a_private_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reached: list[str] = []

    async def resolve(host: str, port: int, **_: Any) -> list[Any]:
        reached.append(host)
        return [(None, None, None, "", ("10.0.0.7", port))]

    monkeypatch.setattr(anyio, "getaddrinfo", resolve)
    async with LoginFetcher("acme", "https://acme.example/mcp") as fetcher:
        with pytest.raises(LoginError, match="in a private network"):
            await fetcher.send(httpx2.Request("GET", "https://login.example/.well-known/x"))
    assert reached == ["login.example"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/mcp", "https://10.0.0.7/mcp"])
async def test_login_to_public_only_server_refuses_private_addresses(url: str) -> None:
    target = Target("acme", url=url, public_only=True)
    with pytest.raises(LoginError, match="private network"):
        await log_in(target, Visitor())


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://localhost:1/x"])
async def test_public_server_cannot_name_plain_http_even_with_allow_private(url: str) -> None:
    async with LoginFetcher("acme", "https://acme.example/mcp", allow_private=True) as fetcher:
        with pytest.raises(LoginError, match="over plain `http`"):
            await fetcher.send(httpx2.Request("GET", url))


# The loopback port


async def ask(url: str, **options: Any) -> int:
    async with httpx2.AsyncClient(timeout=PATIENCE) as client:
        return (await client.get(url, **options)).status_code


async def test_request_without_the_state_has_no_effect(site: LoginSite) -> None:
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

        async with browser_login(show, timeout_seconds=PATIENCE) as handler:
            assert handler.redirect_uri.startswith("http://127.0.0.1:")
            assert (await log_in(target_of(site), handler)).renewable
    assert codes == [400, 400, 400, 400, 200]


async def open_page(url: str) -> None:
    async with httpx2.AsyncClient(timeout=PATIENCE, follow_redirects=True) as client:
        (await client.get(url)).raise_for_status()


async def test_one_port_serves_two_logins_in_a_row(site: LoginSite) -> None:
    port = 0
    for _ in range(2):
        async with anyio.create_task_group() as tasks:

            def show(request: LoginRequest, tasks: TaskGroup = tasks) -> None:
                tasks.start_soon(open_page, request.url)

            async with browser_login(show, port=port, timeout_seconds=PATIENCE) as handler:
                port = int(handler.redirect_uri.rpartition(":")[2].partition("/")[0])
                assert (await log_in(target_of(site), handler)).renewable


async def test_port_that_is_taken_is_reported() -> None:
    async with browser_login(lambda _: None) as handler:
        port = int(handler.redirect_uri.rpartition(":")[2].partition("/")[0])
        with pytest.raises(UsageError, match=f"cannot use port {port} of this machine"):
            async with browser_login(lambda _: None, port=port):
                pass


async def test_login_ends_after_its_timeout(site: LoginSite) -> None:
    async with browser_login(lambda _: None, timeout_seconds=0.01) as handler:
        with pytest.raises(LoginError, match=r"no one logged in within 0\.01 seconds"):
            await log_in(target_of(site), handler)


async def test_damaged_login_is_reported_and_not_used(site: LoginSite, logins: Logins) -> None:
    await logged_in(site, logins)
    (path,) = logins.folder.glob("*.json")
    path.write_bytes(b"{")
    with pytest.raises(UnavailableError, match=r"cannot use the login in .*: it is not JSON"):
        await reach(with_login(target_of(site), logins))

"""`login` and `logout` as processes, and what other commands say without a login."""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from skillwire.host import Logins, State, Target
from tests.support.command_line import Cli
from tests.support.foreign_servers import ROOT
from tests.support.keyrings import FOLDER
from tests.support.logins import NO_KEYRING, LoginSite, browser, environment, login_site
from tests.support.peers import MODERN, PATIENCE, StdioPeer, skillwire
from tests.support.skills import write_skill


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoginSite]:
    folder = tmp_path_factory.mktemp("skills")
    write_skill(folder, "refunds", {"references/policy.md": "# Policy\n"})
    with login_site(folder) as site:
        yield site


@pytest.fixture
def home(site: LoginSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder in which the server is called `acme`, without any login."""
    site.control()
    home = tmp_path / "home"
    (home / ".cursor").mkdir(parents=True)
    servers = {"mcpServers": {"acme": {"url": site.url}}}
    (home / ".cursor/mcp.json").write_text(json.dumps(servers), "utf-8")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SKILLWIRE_STATE_DIR", str(home / "state"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", NO_KEYRING)
    monkeypatch.chdir(home)
    return home


def log_in(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Log in with a small program as the browser."""
    env = {**environment(home), "BROWSER": browser(home), "PYTHONPATH": str(ROOT)}
    command = skillwire("login", *arguments)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)


WANTED = "requires a login: log in with `skillwire login acme`"


def test_every_command_names_the_command_to_log_in(home: Path, cli: Cli) -> None:
    for code, *arguments in (
        (1, "list", "acme"),
        (1, "show", "acme:refunds"),
        (1, "read", "acme:refunds"),
        (4, "verify", "acme"),
        (1, "approve", "acme:refunds", "--yes"),
        (1, "pull", "acme:refunds", str(home / "pulled")),
        (1, "diff", "acme:refunds"),
        (1, "servers", "acme"),
    ):
        ran = cli(*map(str, arguments))
        assert (ran.code, WANTED in ran.out + ran.err) == (code, True), (arguments, ran)
        assert "error response" not in ran.out + ran.err


def test_person_logs_in_with_a_browser_and_out_again(home: Path, site: LoginSite, cli: Cli) -> None:
    assert cli("servers", "--json").json["servers"][0]["login"] is None
    done = log_in(home, "acme")
    assert done.returncode == 0, done.stderr
    assert f"login server: `{site.issuer}`" in done.stderr
    assert done.stderr.index("opening in your browser: http://127.0.0.1") < done.stderr.index("logged in to")
    said = done.stdout + done.stderr
    for arguments in (
        ["list", "acme"],
        ["list", "acme", "--json"],
        ["show", "acme:refunds", "--json"],
        ["read", "acme:refunds"],
        ["verify", "acme", "--json"],
        ["pull", "acme:refunds", str(home / "pulled")],
        ["servers", "acme", "--json"],
        ["servers", "--json"],
    ):
        ran = cli(*arguments)
        assert ran.code == 0, (arguments, ran)
        said += ran.out + ran.err
    assert cli("servers", "--json").json["servers"][0]["login"] == "logged in"
    out = cli("logout", "acme")
    assert out.code == 0, out.err
    assert site.seen("revoked") == 2
    assert list(Logins(home / "state").folder.glob("*.json")) == []
    said += out.out + out.err
    assert "access-" not in said
    assert "refresh-" not in said
    assert cli("logout", "acme").code == 2
    assert cli("verify", "acme").code == 4


def waiting(home: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a login that prints the address of its page."""
    env = environment(home)
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        env.pop(name, None)
    pipe = subprocess.PIPE
    command = skillwire("login", *arguments)
    return subprocess.Popen(command, env=env, cwd=home, stdout=pipe, stderr=pipe, text=True)


def page_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("option", [["--no-browser"], []])
def test_without_a_browser_the_address_is_printed(home: Path, site: LoginSite, option: list[str]) -> None:
    with waiting(home, site.url, *option) as process:
        page = page_of(process)
        assert page.startswith(f"{site.issuer}/authorize?")
        assert httpx2.get(page, follow_redirects=True, timeout=PATIENCE).status_code == 200
        _, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, told
    assert Logins(home / "state").find(site.label) is not None


def test_interrupted_login_leaves_nothing_behind(home: Path) -> None:
    with waiting(home, "acme") as process:
        assert page_of(process)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert Logins(home / "state").find("acme") is None


def test_refusal_of_the_person_is_reported(home: Path, site: LoginSite) -> None:
    site.control(deny=True)
    done = log_in(home, "acme")
    assert done.returncode == 1
    assert "cannot log in to `acme`: the login server says `access_denied`" in done.stderr
    assert Logins(home / "state").find("acme") is None


def test_port_that_is_taken_is_reported(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = log_in(home, "acme", "--port", port)
    assert done.returncode == 2
    assert f"cannot use port {port} of this machine" in done.stderr


def test_other_sites_that_take_part_are_shown(home: Path, site: LoginSite) -> None:
    elsewhere = site.issuer.replace("127.0.0.1", "localhost")
    site.control(metadata={"token_endpoint": f"{elsewhere}/token"})
    done = log_in(home, "acme")
    assert done.returncode == 0, done.stderr
    assert f"other sites involved: `{elsewhere.removeprefix('http://')}`" in done.stderr


def test_tokens_are_in_the_keyring_if_there_is_one(
    home: Path, site: LoginSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(home / "keyring"))
    env = {**environment(home), "BROWSER": browser(home), "PYTHONPATH": str(ROOT)}
    env |= {"PYTHON_KEYRING_BACKEND": "tests.support.keyrings.FolderKeyring"}

    def run(*arguments: str, **changed: str) -> subprocess.CompletedProcess[str]:
        command, used = skillwire(*arguments), {**env, **changed}
        return subprocess.run(
            command, env=used, cwd=home, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    done = run("login", "acme")
    assert "the tokens are in the system keyring" in done.stderr
    (path,) = Logins(home / "state").folder.glob("*.json")
    assert b"access-" not in path.read_bytes()
    assert run("list", "acme").returncode == 0
    locked = run("list", "acme", PYTHON_KEYRING_BACKEND="tests.support.keyrings.LockedKeyring")
    assert locked.returncode == 1
    assert "are in the system keyring, which cannot be read: it failed" in locked.stderr
    assert run("logout", "acme").returncode == 0
    assert list((home / "keyring").iterdir()) == []
    assert site.seen("revoked") == 2


def test_logout_reports_tokens_that_are_not_revoked(home: Path, site: LoginSite, cli: Cli) -> None:
    assert log_in(home, "acme").returncode == 0
    site.control(answers={"login /revoke": {"status": 503, "body": {}}})
    done = cli("logout", "acme")
    assert done.code == 1
    assert "did not confirm that the tokens are revoked: the login server answers with HTTP 503" in done.err
    assert Logins(home / "state").find("acme") is None


def test_logout_by_url_ends_the_login_of_that_url_only(home: Path, site: LoginSite, cli: Cli) -> None:
    assert log_in(home, site.url).returncode == 0
    assert cli("logout", f"{site.url}/").code == 2, "the same label, but not the same URL"
    assert Logins(home / "state").find(site.label) is not None
    assert cli("logout", site.url).code == 0


def test_servers_lists_a_login_by_url(home: Path, site: LoginSite, cli: Cli) -> None:
    assert log_in(home, site.url).returncode == 0
    assert log_in(home, "acme").returncode == 0
    told = cli("logout", "nowhere").err
    assert "hint: `skillwire servers` shows where you are logged in" in told
    ran = cli("servers", "--json").json
    rows = [(each["label"], each["file"] is None, each["login"]) for each in ran["servers"]]
    assert rows == [("acme", False, "logged in"), (site.label, True, "logged in")]
    assert ran["servers"][1]["address"] == site.url
    assert f"{site.label}\t\tready, logged in\t{site.url}\t" in cli("servers").out
    assert ran["remembered"] == [site.label]
    assert cli("servers", "--forget", site.label).code == 0
    assert [each["label"] for each in cli("servers", "--json").json["servers"]] == ["acme"]


def test_suggested_login_works_for_a_url_with_a_query(home: Path, site: LoginSite, cli: Cli) -> None:
    tenants = [f"{site.url}?tenant=a", f"{site.url}?tenant=b"]
    assert log_in(home, site.url).returncode == 0
    approved = cli("approve", "refunds", "--from", tenants[0], "--yes")
    assert approved.code == 0, approved.err
    assert cli("logout", tenants[0]).code == 0
    assert f"log in with `skillwire login {site.url}`" in cli("list", f"mcp+{tenants[0]}").err
    assert log_in(home, site.url).returncode == 0
    with State.open(home / "state") as state:
        assert not state.bind(site.label, Target.parse(tenants[0]).identity), "its approvals are kept"
    both = cli("list", *(f"mcp+{each}" for each in tenants))
    assert (both.code, both.out.count(":refunds")) == (0, 2), both
    assert cli("check", f"mcp+{tenants[1]}").code == 0, "a source"


def test_label_of_a_different_server_sends_it_no_token(home: Path, site: LoginSite, cli: Cli) -> None:
    assert log_in(home, "acme").returncode == 0
    site.control()
    servers = {"mcpServers": {"acme": {"url": f"{site.issuer}/mcp"}}}
    (home / ".cursor/mcp.json").write_text(json.dumps(servers), "utf-8")
    for command in ("list", "verify"):
        assert cli(command, "acme").code != 0
    assert site.tokens_at("login") == site.tokens_at("server") == set()


def test_two_processes_use_a_refresh_token_once(home: Path, site: LoginSite) -> None:
    assert log_in(home, "acme").returncode == 0
    site.control(forget_access=True)
    command = skillwire("list", "acme")
    env = environment(home)
    both = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, cwd=home) for _ in range(2)]
    for process in both:
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert b"acme:refunds" in out
    assert (site.seen("refreshes"), site.seen("refreshed")) == (1, 1)


def test_servers_shows_an_expired_login(home: Path, site: LoginSite, cli: Cli) -> None:
    assert log_in(home, "acme").returncode == 0
    site.control(forget_access=True, forget_refresh=True)
    assert "yours has expired: log in with `skillwire login acme`" in cli("list", "acme").err
    assert cli("servers", "--json").json["servers"][0]["login"] == "login needed"
    assert "login needed" in cli("servers").out


def test_bridge_serves_others_while_one_server_requires_a_login(home: Path, site: LoginSite) -> None:
    write_skill(home / "mine", "returns")
    env = environment(home)
    command = skillwire("bridge", "acme", "--", *skillwire("serve", home / "mine"))
    with StdioPeer(MODERN, command, env) as peer:
        (listed,) = peer.result("skills/list", {})["skills"]
        assert listed["uri"].endswith("/returns/SKILL.md")
        problems = peer.result("resources/read", {"uri": "skillwire://problems"})["contents"][0]["text"]
        assert "`acme` requires a login: log in with `skillwire login acme`" in problems


def test_bridge_serves_a_server_after_its_login(home: Path, site: LoginSite) -> None:
    command = skillwire("bridge", "acme", "--trust", "acme")
    with StdioPeer("2025-11-25", command, environment(home)) as peer:
        assert peer.result("skills/list", {})["skills"] == []
        assert log_in(home, "acme").returncode == 0
        while peer.receive().get("method") != "notifications/prompts/list_changed":
            pass
        (listed,) = peer.result("skills/list", {})["skills"]
        assert listed["uri"].endswith("/refunds/SKILL.md")


def test_server_as_a_source_uses_the_login_of_its_url(home: Path, site: LoginSite, cli: Cli) -> None:
    ran = cli("check", f"mcp+{site.url}")
    assert f"requires a login: log in with `skillwire login {site.url}`" in ran.out + ran.err
    assert log_in(home, site.url).returncode == 0
    assert "refunds" in cli("list", f"mcp+{site.url}").out
    site.control(forget_access=True, forget_refresh=True)
    command = skillwire("serve", f"mcp+{site.url}")
    with StdioPeer(MODERN, command, environment(home)) as peer:
        problems = peer.result("resources/read", {"uri": "skillwire://problems"})["contents"][0]["text"]
        assert f"yours has expired: log in with `skillwire login {site.url}`" in problems
    site.control()
    assert log_in(home, site.url).returncode == 0
    with StdioPeer(MODERN, command, environment(home)) as peer:
        (listed,) = peer.result("skills/list", {})["skills"]
        assert listed["uri"].endswith("/refunds/SKILL.md")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["login", "acme", "--scope", 'a"b'], "is not a scope"),
        (["login", "acme", "--port", "70000"], "is not a port"),
        (["login", "acme", "--timeout", "0"], "is not between 0 seconds and one day"),
        (["login", "acme", "--client-secret-env", "X"], "`--client-secret-env` requires `--client-id`"),
        (["login", "stdio:python server.py"], "is started by a command"),
        (["login", "nowhere"], "no client has a server `nowhere`"),
        (["logout", "nowhere"], "you are not logged in to `nowhere`"),
    ],
)
def test_wrong_usage_is_reported(home: Path, cli: Cli, arguments: list[str], told: str) -> None:
    ran = cli(*arguments)
    assert ran.code == 2
    assert told in ran.err

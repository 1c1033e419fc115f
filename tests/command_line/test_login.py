"""`login` and `logout` as processes, and what the other verbs say to somebody who is not logged in."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from skillwire.host.login.store import Logins
from tests.support.command_line import Cli
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
    """The home of somebody who calls the server `acme`, in which nobody is logged in."""
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
    """Log in as a person does whose browser is a small program."""
    env = {**environment(home), "BROWSER": browser(home)}
    command = skillwire("login", *arguments)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)


WANTED = "requires a login: log in with `skillwire login acme`"


def test_every_verb_says_how_to_log_in(home: Path, cli: Cli) -> None:
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


def test_a_person_logs_in_with_a_browser_and_out_again(home: Path, site: LoginSite, cli: Cli) -> None:
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


def test_without_a_browser_the_address_is_printed(home: Path, site: LoginSite) -> None:
    command = skillwire("login", site.url, "--no-browser")
    with subprocess.Popen(
        command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        page = process.stdout.readline().strip()
        assert page.startswith(f"{site.issuer}/authorize?")
        assert httpx2.get(page, follow_redirects=True, timeout=PATIENCE).status_code == 200
        _, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, told
    assert Logins(home / "state").find(site.label) is not None


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


def test_a_login_that_is_over_shows_among_the_servers(home: Path, site: LoginSite, cli: Cli) -> None:
    assert log_in(home, "acme").returncode == 0
    site.control(forget_access=True, forget_refresh=True)
    assert "yours has expired: log in with `skillwire login acme`" in cli("list", "acme").err
    assert cli("servers", "--json").json["servers"][0]["login"] == "login needed"
    assert "login needed" in cli("servers").out


def test_a_bridge_serves_others_while_one_server_wants_a_login(home: Path, site: LoginSite) -> None:
    write_skill(home / "mine", "returns")
    env = environment(home)
    command = skillwire("bridge", "acme", "--", *skillwire("serve", home / "mine"))
    with StdioPeer(MODERN, command, env) as peer:
        (listed,) = peer.result("skills/list", {})["skills"]
        assert listed["uri"].endswith("/returns/SKILL.md")
        problems = peer.result("resources/read", {"uri": "skillwire://problems"})["contents"][0]["text"]
        assert "`acme` requires a login: log in with `skillwire login acme`" in problems


def test_a_server_as_a_source_uses_the_login_of_its_address(home: Path, site: LoginSite, cli: Cli) -> None:
    ran = cli("check", f"mcp+{site.url}")
    assert f"requires a login: log in with `skillwire login {site.url}`" in ran.out + ran.err
    assert log_in(home, site.url).returncode == 0
    assert "refunds" in cli("list", f"mcp+{site.url}").out
    with StdioPeer(MODERN, skillwire("serve", f"mcp+{site.url}"), environment(home)) as peer:
        (listed,) = peer.result("skills/list", {})["skills"]
        assert listed["uri"].endswith("/refunds/SKILL.md")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["login", "acme", "--scope", 'a"b'], "is no scope"),
        (["login", "acme", "--port", "70000"], "is not a port"),
        (["login", "acme", "--timeout", "0"], "is not between 0 seconds and a day"),
        (["login", "acme", "--client-secret-env", "X"], "`--client-secret-env` needs a client"),
        (["login", "stdio:python server.py"], "is started by a command"),
        (["login", "nowhere"], "no file names a server `nowhere`"),
        (["logout", "nowhere"], "you are not logged in to `nowhere`"),
    ],
)
def test_wrong_usage_is_told(home: Path, cli: Cli, arguments: list[str], told: str) -> None:
    ran = cli(*arguments)
    assert ran.code == 2
    assert told in ran.err

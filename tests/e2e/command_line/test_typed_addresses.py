"""What people type or paste for a source or server, and what each command makes of it."""

import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.support.command_line import Cli
from tests.support.git_fetchers import plain_git, skill
from tests.support.git_server import Origin
from tests.support.peers import HttpServer
from tests.support.skills import write_skill


@pytest.fixture
def hosts(good: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that git fetches from instead of from `https://HOST/`: one folder for each host."""
    plain_git(monkeypatch)
    monkeypatch.setenv("SKILLWIRE_CACHE_DIR", str(good / "cache"))
    root = good / "hosts"
    known = ("github.com", "gitlab.com", "bitbucket.org", "git@github.com:")
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(known)))
    for number, host in enumerate(known):
        written = host if host.endswith(":") else f"https://{host}/"
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", f"url.file://{root}/{host.strip(':')}/.insteadOf")
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", written)
    return root


def names(cli: Cli, *arguments: str) -> list[str]:
    return [each["name"] for each in cli("list", *arguments, "--json").json]


def test_pasted_pages_of_every_host_are_listed(hosts: Path, cli: Cli) -> None:
    for place in ("github.com/o/r.git", "gitlab.com/g/s/r.git", "bitbucket.org/w/r.git"):
        origin = Origin(hosts / place)
        origin.commit({f"skills/{name}": text for name, text in skill("first").items()})
        origin.git("branch", "feature/new")
    for address in (
        "https://github.com/o/r/tree/main/skills?tab=readme#top",
        "https://github.com/o/r/blob/feature/new/skills/first/SKILL.md",
        "https://gitlab.com/g/s/r/-/tree/feature/new/skills",
        "https://bitbucket.org/w/r/src/main/",
    ):
        assert names(cli, address) == ["first"], address
    assert names(cli, "https://github.com/o/r/tree/main/skills,gitlab.com/g/s/r") == ["first"] * 2
    done = cli("list", "https://github.com/o/r/tree/none/skills")
    assert done.code == 1
    assert "has no branch, tag or commit `none`" in done.err


def test_a_branch_with_slashes_is_served_again_offline(hosts: Path, cli: Cli) -> None:
    origin = Origin(hosts / "github.com/o/r.git")
    origin.commit(skill("first"))
    origin.git("branch", "feature/new")
    address = "https://github.com/o/r/tree/feature/new/first"
    assert cli("sources", "add", address).code == 0
    assert cli("sources", "update").code == 0
    origin.folder.rename(hosts / "away")
    (row,) = cli("sources", "--json").json
    assert row["source"] == "github:o/r/new/first@feature"
    assert row["state"].startswith("fetched, ")


def test_owner_and_repository_mean_github_unless_a_folder_may(hosts: Path, good: Path, cli: Cli) -> None:
    Origin(hosts / "github.com/acme/tools.git").commit(skill("first"))
    done = cli("list", "acme/tools", "--json")
    assert [each["name"] for each in done.json] == ["first"]
    assert done.err == "there is no folder `acme/tools`, so it means `github:acme/tools`\n"
    assert cli("sources", "add", "acme/tools").code == 0
    config = next(Path.home().rglob("config.toml"))
    assert tomllib.loads(config.read_text())["sources"] == [{"source": "github:acme/tools"}]
    write_skill(good / "acme", "other")
    for command in ("list", "check", "serve", "graph"):
        refused = cli(command, "acme/tools")
        assert refused.code == 2
        assert "`./acme/tools`" in refused.err
        assert "`github:acme/tools`" in refused.err
    write_skill(good / "acme/tools", "local")
    assert names(cli, "acme/tools") == ["local"]


def test_a_folder_that_is_named_like_a_repository_is_reported(good: Path, cli: Cli) -> None:
    write_skill(good / "github.com/acme/skills", "inside")
    done = cli("list", "github.com/acme/skills")
    assert done.code == 0
    assert "is a folder here; the repository is written `https://github.com/acme/skills`" in done.err


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["github:acme/none"], "`https://github.com/acme/none.git` does not exist, or requires a token"),
        (["github:acme/empty"], "no skills here"),
        (["broken"], "broken/SKILL.md: "),
        (["none"], "the folder `none` does not exist"),
        (["https://github.com/acme/empty/issues"], "is not a page with files of a repository"),
        (["http://127.0.0.1:1/mcp"], "does not answer: All connection attempts failed"),
        (["http://127.0.0.1:1"], "cannot be fetched"),
    ],
    ids=str,
)
def test_a_source_without_skills_says_the_fault(
    hosts: Path, good: Path, cli: Cli, arguments: list[str], fault: str
) -> None:
    Origin(hosts / "github.com/acme/empty.git").commit({"README.md": "nothing\n"})
    (good / "broken").mkdir()
    (good / "broken/SKILL.md").write_text("---\nname: Broken Name\n---\n")
    done = cli("list", *arguments)
    assert fault in done.err
    assert "skillwire check" not in done.err
    assert done.raw == b""


@pytest.mark.parametrize(
    "command",
    [
        ["list", "{}"],
        ["check", "{}"],
        ["graph", "{}"],
        ["project", "{}", "--out", "out"],
        ["publish", "{}", "--out", "out"],
        ["pack", "{}", "--plugin", "codex", "out"],
        ["install", "{}", "--print"],
        ["read", "first", "--from", "{}"],
        ["show", "first", "--from", "{}"],
    ],
    ids=lambda words: words[0],
)
@pytest.mark.usefixtures("hosts")
def test_every_command_says_the_fault_of_an_empty_source(cli: Cli, command: list[str]) -> None:
    done = cli(*(word.format("github:acme/none") for word in command))
    assert done.code == 1
    shown = done.out + done.err
    assert "`https://github.com/acme/none.git` does not exist, or requires a token" in shown
    assert "no skills here" not in shown
    assert "automatically" not in shown


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("localhost:8765", ("./localhost:8765", "http://localhost:8765")),
        ("127.0.0.1:8765/mcp", ("./127.0.0.1:8765/mcp", "http://127.0.0.1:8765/mcp")),
        ("skills.example/mcp", ("./skills.example/mcp", "https://skills.example/mcp")),
        ("gh:o/r", ("https://github.com/o/r",)),
        ("gitlab:g/s/r", ("https://gitlab.com/g/s/r",)),
        ("bb:w/r", ("https://bitbucket.org/w/r",)),
        (" https://github.com/o/r\n", ("https://github.com/o/r",)),
        ("<https://github.com/o/r>", ("https://github.com/o/r",)),
        ('"git@github.com:o/r.git"', ("git@github.com:o/r.git",)),
        ("[r](https://github.com/o/r).", ("https://github.com/o/r",)),
        ("git clone https://github.com/o/r.git", ("https://github.com/o/r.git",)),
        ("file:///srv/my%20skills", ("/srv/my skills", "git+file:///srv/my%20skills")),
    ],
)
@pytest.mark.parametrize("command", ["list", "check", "serve", "install --print", "sources add"])
def test_a_mistyped_address_gets_the_right_spelling(
    cli: Cli, command: str, typed: str, meant: tuple[str, ...]
) -> None:
    done = cli(*command.split(), typed)
    assert (done.code, done.raw) == (2, b"")
    assert done.err.count("\n") == 2
    for each in meant:
        assert f"`{each}`" in done.err.splitlines()[1]
    server = cli("verify", typed)
    assert server.code == 2
    assert f"`{meant[-1]}`" in server.err.splitlines()[1]


@pytest.mark.parametrize(
    ("typed", "repository"),
    [
        ("o/r/skills", "github:o/r/skills"),
        ("o/r@v1", "github:o/r@v1"),
        ("o/r#v1", "github:o/r@v1"),
        ("o/r/tree/main/skills", "github:o/r/skills@main"),
        ("./o/r/skills", ""),
        ("here/r/skills", ""),
        ("o/r/..", ""),
    ],
)
def test_a_missing_folder_may_be_in_a_repository(good: Path, cli: Cli, typed: str, repository: str) -> None:
    (good / "here").mkdir()
    for command in ("list", "check"):
        done = cli(command, typed)
        assert (done.code, "does not exist" in done.err) == (2, True)
        assert (f"or write `{repository}` for a repository on GitHub" in done.err) == bool(repository)
        assert ("GitHub" in done.err) == bool(repository)


def test_a_list_with_a_server_is_no_server(good: Path, cli: Cli) -> None:
    write_skill(good / "local", "inside")
    done = cli("list", "./local,http://127.0.0.1:1/mcp", "--json")
    assert "inside" in [each["name"] for each in done.json]
    assert "127.0.0.1-1-mcp" in done.err


class Answering(BaseHTTPRequestHandler):
    """A website that answers every request with the same, and notes the headers."""

    body, status, seen = b"", 200, list[Any]()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        Answering.seen.append((self.command, self.path, self.headers.get("authorization")))
        self.send_response(self.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Print nothing."""


@pytest.fixture
def website() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    Answering.seen.clear()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("body", [b"{}", b"[]", b"not json", b'{"jsonrpc": "2.0"}', b"[" * 100_000])
def test_other_answers_are_no_server_and_get_no_token(
    website: str, cli: Cli, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setenv("TOKEN", "zq-secret")
    monkeypatch.setattr(Answering, "body", body)
    done = cli("sources", "add", website, "--token-env", "TOKEN")
    assert done.code == 0
    assert f"added `web+{website}` to" in done.err
    assert Answering.seen == [("POST", "/mcp", None)]
    assert cli("sources", "remove", website).code == 0


def test_a_token_needs_the_full_address_of_a_closed_server(
    good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "a-token-of-a-test-with-32-characters")
    with HttpServer(good / "good", "--http", "0", "--token-env", "A_TOKEN") as server:
        host = server.url.removesuffix("/mcp")
        refused = cli("list", host, "--token-env", "A_TOKEN")
        assert refused.code == 2
        assert f"write `{host}/mcp` for the server" in refused.err
        assert names(cli, server.url, "--token-env", "A_TOKEN") == ["refunds", "returns"]


def test_a_host_without_a_path_is_asked_for_a_server(good: Path, cli: Cli) -> None:
    with HttpServer(good / "good", "--http", "0") as server:
        host = server.url.removesuffix("/mcp")
        done = cli("list", host, "--json")
        assert sorted(each["name"] for each in done.json) == ["refunds", "returns"]
        assert f"`{host}` means the server `mcp+{host}/mcp`; its website is `web+{host}`" in done.err
        assert sorted(names(cli, server.url)) == sorted(names(cli, f"mcp+{host}/mcp"))
        assert names(cli, f"web+{host}") == ["refunds", "returns"]
        assert sorted(names(cli, f"{host}/#/skills/refunds")) == ["refunds", "returns"]
        assert cli("check", server.url).code == 0
        assert cli("show", "refunds", "--from", server.url).code == 0
        for command in (("list", host), ("show", "refunds", "--from", host), ("sources", "add", host)):
            refused = cli(*command, "--token-env", "PATH")
            assert refused.code == 2
            assert f"write `{host}/mcp` for the server, or `web+{host}` for the website" in refused.err
        assert cli("verify", host).code == 0
        assert cli("sources", "add", f"{host}/#/skills/refunds").code == 0
        assert cli("sources", "add", f"web+{host}", "--label", "site").code == 0
        rows = {row["label"]: (row["kind"], row["source"]) for row in cli("sources", "--json").json}
    assert rows["site"] == ("web", f"{host}/.well-known/agent-skills/")
    assert ("server", f"mcp+{host}/mcp") in rows.values()

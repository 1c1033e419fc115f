"""Every client's own file, as its documentation writes it, gives the servers that it names."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from skillwire.config.clients.files import ClientEnvironment
from skillwire.config.clients.known import CLIENTS
from tests.support.client_files import PROGRAM, Machine

SITE = {"type": "http", "url": "https://acme.example/mcp", "headers": {"X-Key": "${ACME_KEY}"}}
STDIO = ("acme-server", "--stdio")


def test_a_projects_file(machine: Machine) -> None:
    machine.environment["ACME_KEY"] = "k3y"
    machine.shared(".mcp.json", {"mcpServers": {"local": {**PROGRAM, "env": {"A": "1"}}, "site": SITE}})
    local, site = machine.server("local"), machine.server("site")
    assert local.target is not None
    assert local.target.command == STDIO
    assert local.target.env == {"A": "1"}
    assert local.target.cwd == machine.repository
    assert site.target is not None
    assert site.target.url == "https://acme.example/mcp"
    assert site.target.headers == {"X-Key": "k3y"}
    assert local.needs_consent
    assert site.needs_consent


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("linux", ".config/Claude/claude_desktop_config.json"),
        ("darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
    ],
)
def test_claude_desktop_on_every_platform(tmp_path: Path, platform: str, place: str) -> None:
    around = ClientEnvironment(tmp_path, tmp_path, {}, platform)
    client = next(each for each in CLIENTS if each.name == "claude-desktop")
    assert [each.path for each in client.files(around)] == [tmp_path / place]


@pytest.mark.skipif(sys.platform != "linux", reason="the file is elsewhere there")
def test_claude_desktop_knows_no_variables(machine: Machine) -> None:
    server = {"command": "acme-server", "args": ["${HOME}"]}
    machine.own(".config/Claude/claude_desktop_config.json", {"mcpServers": {"acme": server}})
    known = machine.server("acme")
    assert known.target is not None
    assert known.target.command == ("acme-server", "${HOME}")
    assert known.state == "ready"


def test_claude_code_everywhere_and_in_one_project(machine: Machine) -> None:
    document = {
        "numStartups": 3,
        "mcpServers": {"everywhere": PROGRAM, "both": {"command": "from-home"}},
        "projects": {
            str(machine.repository): {
                "mcpServers": {"here": PROGRAM, "both": {"command": "from-project"}, "off": PROGRAM},
                "disabledMcpServers": ["off"],
            },
            "/another/project": {"mcpServers": {"there": PROGRAM}},
        },
    }
    machine.own(".claude.json", document)
    known = machine.known()
    assert set(known.labels) == {"everywhere", "here", "both", "both.claude-code", "off"}
    assert known.labels["both"].declared.as_written == "from-project"
    assert known.labels["off"].state == "disabled"
    assert known.labels["here"].target is not None
    assert known.labels["here"].target.cwd == machine.repository
    assert not known.labels["here"].needs_consent, "the file is the person's own"
    assert set(machine.known(machine.home).labels) == {"everywhere", "both"}


def test_claude_code_in_a_folder_of_its_own(machine: Machine, tmp_path: Path) -> None:
    machine.environment["CLAUDE_CONFIG_DIR"] = str(tmp_path / "elsewhere")
    machine.own(".claude.json", {"mcpServers": {"old": PROGRAM}})
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/.claude.json").write_text(json.dumps({"mcpServers": {"new": PROGRAM}}), "utf-8")
    assert set(machine.known().labels) == {"new"}


VSCODE = """{
    // what this project needs
    "inputs": [{"id": "token", "type": "promptString", "password": true}],
    "servers": {
        "tools": {
            "type": "stdio",
            "command": "${workspaceFolder}/bin/tools",
            "args": ["--url", "https://not.a//comment", "${env:ACME}"], /* and no more */
            "envFile": "${workspaceFolder}/.env",
            "env": {"LEVEL": 3, "HOME_OF": "${userHome}"},
        },
        "asks": {"url": "https://acme.example/mcp", "headers": {"Authorization": "Bearer ${input:token}"}},
        "site": {"type": "http", "url": "https://acme.example/mcp"},
        "old": {"type": "sse", "url": "https://acme.example/sse"},
        "set": {"command": "${config:acme.path}"},
    },
}"""


def test_vscode(machine: Machine) -> None:
    machine.environment["ACME"] = "a-value"
    machine.shared(".vscode/mcp.json", VSCODE)
    machine.shared(".env", "# secrets\nexport ONE='1'\nLEVEL=9\n\nTWO = two words\nno equals sign\n")
    tools = machine.server("tools")
    assert tools.target is not None
    assert tools.target.command == (
        f"{machine.repository}/bin/tools",
        "--url",
        "https://not.a//comment",
        "a-value",
    )
    assert tools.target.env == {
        "ONE": "1",
        "LEVEL": "3",
        "TWO": "two words",
        "HOME_OF": str(machine.home),
    }
    assert machine.server("asks").state == (
        "its input `token` is known only to the editor, which asks for it"
    )
    assert machine.server("site").state == "ready"
    assert "SSE" in machine.server("old").state
    assert machine.server("set").state == "the value of `${config:acme.path}` is known only to the editor"


@pytest.mark.skipif(sys.platform != "linux", reason="the file is elsewhere there")
def test_vscode_of_a_person(machine: Machine) -> None:
    machine.own(".config/Code/User/mcp.json", {"servers": {"acme": PROGRAM}})
    assert machine.server("acme").client.title == "VS Code"
    assert not machine.server("acme").needs_consent


def test_cursor(machine: Machine) -> None:
    machine.environment["ACME_TOKEN"] = "t0ken"
    site = {"url": "https://acme.example/mcp", "headers": {"Authorization": "Bearer ${env:ACME_TOKEN}"}}
    machine.own(".cursor/mcp.json", {"mcpServers": {"mine": site}})
    machine.shared(".cursor/mcp.json", {"mcpServers": {"ours": PROGRAM}})
    mine = machine.server("mine")
    assert mine.target is not None
    assert mine.target.headers == {"Authorization": "Bearer t0ken"}
    assert not mine.needs_consent
    assert machine.server("ours").needs_consent


CODEX = """
model = "any"

[mcp_servers.local]
command = "acme-server"
args = ["--stdio"]
cwd = "/srv/acme"

[mcp_servers.local.env]
MODE = "quiet"

[mcp_servers.site]
url = "https://acme.example/mcp"
bearer_token_env_var = "ACME_TOKEN"
http_headers = { "X-Team" = "ours" }
env_http_headers = { "X-Key" = "ACME_KEY" }

[mcp_servers.off]
command = "acme-server"
enabled = false

[mcp_servers.neither]
enabled = true
"""


def test_codex(machine: Machine) -> None:
    machine.environment |= {"ACME_TOKEN": "t0ken", "ACME_KEY": "k3y"}
    machine.own(".codex/config.toml", CODEX)
    local, site = machine.server("local").target, machine.server("site").target
    assert local is not None
    assert (local.command, local.env, local.cwd) == (STDIO, {"MODE": "quiet"}, Path("/srv/acme"))
    assert site is not None
    assert site.headers == {"X-Team": "ours", "X-Key": "k3y", "Authorization": "Bearer t0ken"}
    assert machine.server("off").state == "disabled"
    assert machine.server("neither").state == "it has neither `command` nor `url`"


def test_codex_without_its_token(machine: Machine) -> None:
    machine.own(".codex/config.toml", CODEX)
    assert machine.server("site").state == "the variable `ACME_KEY` is not set"
    assert machine.server("local").state == "ready"


def test_codex_in_a_folder_of_its_own(machine: Machine, tmp_path: Path) -> None:
    machine.environment["CODEX_HOME"] = str(tmp_path)
    (tmp_path / "config.toml").write_text(CODEX, "utf-8")
    assert "local" in machine.known().labels


def test_a_projects_codex_asks(machine: Machine) -> None:
    machine.shared(".codex/config.toml", CODEX)
    assert machine.server("local").needs_consent


def test_gemini(machine: Machine) -> None:
    machine.environment["ACME_TOKEN"] = "t0ken"
    document = {
        "mcp": {"excluded": ["unwanted"]},
        "mcpServers": {
            "stream": {
                "httpUrl": "https://acme.example/mcp",
                "headers": {"Authorization": "Bearer $ACME_TOKEN"},
            },
            "typed": {"url": "https://acme.example/mcp", "type": "http"},
            "events": {"url": "https://acme.example/sse"},
            "unwanted": PROGRAM,
            "local": {**PROGRAM, "env": {"KEY": "${ACME_TOKEN}"}, "cwd": "./sub", "trust": True},
        },
    }
    machine.shared(".gemini/settings.json", document)
    stream, typed = machine.server("stream").target, machine.server("typed").target
    assert stream is not None
    assert stream.url == "https://acme.example/mcp"
    assert stream.headers == {"Authorization": "Bearer t0ken"}
    assert typed is not None
    assert typed.url == "https://acme.example/mcp"
    assert "SSE" in machine.server("events").state
    assert machine.server("unwanted").state == "disabled"
    local = machine.server("local").target
    assert local is not None
    assert local.cwd == machine.repository / "sub"
    assert local.env == {"KEY": "t0ken"}


def test_gemini_takes_only_what_is_allowed(machine: Machine) -> None:
    servers = {"mcpServers": {"one": PROGRAM, "two": {"command": "two"}}, "mcp": {"allowed": ["two"]}}
    machine.own(".gemini/settings.json", servers)
    assert {label: each.state for label, each in machine.known().labels.items()} == {
        "one": "disabled",
        "two": "ready",
    }


GOOSE = """
GOOSE_PROVIDER: any
extensions:
  developer:
    type: builtin
    enabled: true
    name: developer
  local:
    enabled: true
    type: stdio
    name: local
    cmd: acme-server
    args: [--stdio]
    envs: {MODE: quiet}
    env_keys: []
  kept:
    type: stdio
    cmd: acme-server
    args: []
    env_keys: [ACME_TOKEN]
  site:
    type: streamable_http
    uri: https://acme.example/mcp
    enabled: false
    headers:
      Authorization: Bearer $MODE
    envs: {MODE: t0ken}
  events:
    type: sse
    uri: https://acme.example/sse
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the file is elsewhere there")
def test_goose(machine: Machine) -> None:
    machine.own(".config/goose/config.yaml", GOOSE)
    known = machine.known().labels
    assert set(known) == {"local", "kept", "site", "events"}
    local, site = known["local"].target, known["site"].target
    assert local is not None
    assert (local.command, local.env) == (STDIO, {"MODE": "quiet"})
    assert known["kept"].state == "the variable `ACME_TOKEN` is stored in Goose, and is not set here"
    assert site is not None
    assert (site.url, site.headers) == ("https://acme.example/mcp", {"Authorization": "Bearer t0ken"})
    assert known["site"].state == "disabled"
    assert "SSE" in known["events"].state


ODD: list[tuple[Any, str]] = [
    ("text", "it is not an object"),
    ({"command": 7}, "`command` is not a string"),
    ({"command": " "}, "`command` is empty"),
    ({"command": "x", "args": "y"}, "`args` is not a list"),
    ({"command": "x", "args": [{}]}, "`args` contains a value that is not a string"),
    ({"command": "x\0"}, "its command contains a NUL character"),
    ({"command": "x", "env": []}, "`env` is not an object"),
    ({"url": "ftp://acme.example"}, "`url` is not an `http` or `https` URL"),
    ({"type": "ws", "url": "wss://acme.example"}, "its `type` `ws` is unknown"),
    (
        {"url": "https://acme.example", "headers": {"A": "é"}},
        "the header `A` contains characters that are not allowed in a header",
    ),
    ({"url": "https://acme.example", "headers": {"A B": "c"}}, "`A B` is not a header name"),
    ({}, "`url` is not an `http` or `https` URL"),
]


@pytest.mark.parametrize(("entry", "told"), ODD)
def test_one_odd_server_is_a_problem_and_the_others_stay(machine: Machine, entry: Any, told: str) -> None:
    machine.shared(".mcp.json", {"mcpServers": {"odd": entry, "good": PROGRAM}})
    assert machine.server("odd").state == told
    assert machine.server("odd").target is None
    assert machine.server("good").target is not None


@pytest.mark.parametrize("content", ["{", "[]", "\udcff", "[" * 100_000, '{"mcpServers": []}'])
def test_one_broken_file_hides_no_other(machine: Machine, content: str) -> None:
    path = machine.shared(".mcp.json", "")
    path.write_bytes(content.encode(errors="surrogateescape"))
    machine.own(".cursor/mcp.json", {"mcpServers": {"good": PROGRAM}})
    known = machine.known()
    assert set(known.labels) == {"good"}
    told = [each.file.path for each in known.unreadable]
    assert told == ([path] if "mcpServers" not in content else [])


def test_a_pipe_in_place_of_a_file_is_ignored(machine: Machine) -> None:
    os.mkfifo(machine.repository / ".mcp.json")
    assert machine.known().servers == ()


@pytest.mark.parametrize("text", ["/*" * 200_000, '"' + '\\"' * 200_000, "," * 400_000, "{" + " " * 900_000])
def test_a_file_that_is_made_to_take_long_does_not(machine: Machine, text: str) -> None:
    machine.shared(".mcp.json", text)
    assert len(machine.known().unreadable) == 1


def test_of_what_others_wrote_not_everything_is_read(machine: Machine) -> None:
    large = machine.shared(".mcp.json", {"mcpServers": {}, "padding": "x" * 1_100_000})
    many = machine.shared(
        ".gemini/settings.json", {"mcpServers": {f"ä{'!' * n}": {"command": f"x{n}"} for n in range(1200)}}
    )
    machine.own(".claude.json", {"mcpServers": {"mine": PROGRAM}, "history": "x" * 1_100_000})
    known = machine.known()
    assert {each.file.path: each.reason for each in known.unreadable} == {
        large: "it has more than 1,048,576 bytes",
        many: "it names more than 1,000 servers",
    }
    assert len(known.labels) == 1001


def test_what_is_shown_is_what_is_run(machine: Machine) -> None:
    server = {"type": "stdio", "url": "https://harmless.example", "command": "rm", "args": ["-rf", 0, True]}
    machine.shared(".mcp.json", {"mcpServers": {"acme": server}})
    acme = machine.server("acme")
    assert acme.target is not None
    assert acme.declared.as_written == " ".join(acme.target.command) == "rm -rf 0 true"


def test_an_env_file_outside_the_project_is_refused(machine: Machine) -> None:
    secrets = machine.own("secrets.env", "A=1\n")
    machine.shared(".env", "A=1\n")
    inside = {"command": "x", "envFile": "${workspaceFolder}/.env"}
    machine.shared(
        ".vscode/mcp.json", {"servers": {"in": inside, "out": {**inside, "envFile": str(secrets)}}}
    )
    assert machine.server("in").declared.added == (f"the variables in {machine.repository / '.env'}",)
    assert machine.server("out").state == "its `envFile` is outside the project"


def test_nothing_is_written(machine: Machine) -> None:
    machine.shared(".mcp.json", {"mcpServers": {"a": PROGRAM}})
    machine.own(".claude.json", {"mcpServers": {"b": PROGRAM}})
    before = {path: path.read_bytes() for path in machine.home.parent.rglob("*") if path.is_file()}
    machine.known()
    assert {path: path.read_bytes() for path in machine.home.parent.rglob("*") if path.is_file()} == before


def test_windsurf_under_both_of_its_names(machine: Machine) -> None:
    machine.environment["TEAM"] = "blue"
    site = {"serverUrl": "https://acme.example/${env:TEAM}/mcp"}
    machine.own(".codeium/windsurf/mcp_config.json", {"mcpServers": {"old": PROGRAM, "site": site}})
    machine.own(".config/devin/mcp_config.json", {"mcpServers": {"new": {"url": "https://acme.example/mcp"}}})
    targets = {name: server.target for name, server in machine.known().labels.items()}
    assert set(targets) == {"old", "site", "new"}
    assert targets["old"] is not None
    assert targets["old"].command == STDIO
    assert targets["site"] is not None
    assert targets["site"].url == "https://acme.example/blue/mcp"
    assert targets["new"] is not None
    assert targets["new"].url == "https://acme.example/mcp"

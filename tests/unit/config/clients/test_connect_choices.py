"""What a person is shown to connect a client is an entry that this client reads."""

import json
from base64 import b64decode
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from skillwire.config.clients.connect import ConnectChoice, connect_choices, generic_entry, writing_clients
from skillwire.config.clients.files import ClientEnvironment, ClientFile

COMMAND = ("/opt/my tools/skillwire", "serve", "/home/me/skills, ünd more")
URL = "http://127.0.0.1:8765/mcp"
NAMES = list(writing_clients())


def choice(client: str, reach: tuple[str, ...] | str, name: str = "team-skills") -> ConnectChoice:
    return next(each for each in connect_choices(reach, name, platform="linux") if each.client == client)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reach", [COMMAND, URL], ids=["command", "url"])
def test_each_client_reads_the_entry(tmp_path: Path, name: str, reach: tuple[str, ...] | str) -> None:
    shown = choice(name, reach)
    if name == "claude-desktop" and reach == URL:
        assert shown.text == ""
        assert "Connectors" in shown.note
        return
    client = writing_clients()[name]
    around = ClientEnvironment(tmp_path, tmp_path, {}, "linux")
    assert client.writer is not None
    known = client.writer.user_files(around)[0]
    path = tmp_path / "file"
    path.write_text(shown.text, "utf-8")
    document = ClientFile(path, format=known.format).read()
    (server,) = client.servers(document, known, around)
    assert server.name == "team-skills"
    assert server.target is not None
    assert (server.target.command or server.target.url) == reach


def test_the_link_for_vscode() -> None:
    link = choice("vscode", COMMAND).link
    start, _, query = link.partition("?")
    assert start == "vscode:mcp/install"
    assert not set(query) & set(' "{}/:,')
    entry = {"name": "team-skills", "type": "stdio", "command": COMMAND[0], "args": list(COMMAND[1:])}
    assert json.loads(unquote(query)) == entry


def test_the_link_for_cursor() -> None:
    parts = urlsplit(choice("cursor", COMMAND).link)
    assert (parts.scheme, parts.netloc, parts.path) == ("cursor", "anysphere.cursor-deeplink", "/mcp/install")
    query = parse_qs(parts.query, strict_parsing=True)
    assert query["name"] == ["team-skills"]
    assert json.loads(b64decode(query["config"][0])) == {"command": COMMAND[0], "args": list(COMMAND[1:])}


def test_the_entry_for_other_clients() -> None:
    fields = {"command": COMMAND[0], "args": list(COMMAND[1:])}
    assert generic_entry(COMMAND, "x") == {"mcpServers": {"x": fields}}


def test_a_program_that_is_downloaded_has_more_time_in_codex() -> None:
    text = choice("codex", ("/usr/bin/uvx", "--from", "git+https://example.com/s", "skillwire")).text
    assert "startup_timeout_sec = 60\n" in text
    assert "startup_timeout_sec" not in choice("codex", COMMAND).text


def test_files_of_each_platform() -> None:
    found = {
        platform: {each.client: each.file for each in connect_choices(COMMAND, platform=platform)}
        for platform in ("linux", "darwin")
    }
    assert found["darwin"]["vscode"] == "~/Library/Application Support/Code/User/mcp.json"
    assert found["linux"]["vscode"] == "~/.config/Code/User/mcp.json"
    assert found["linux"]["cursor"] == "~/.cursor/mcp.json"

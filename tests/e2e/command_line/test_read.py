"""`skillwire read`: one file, as a client would get it."""

import base64
import re
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command_line import BLOB, Cli, on_terminal
from tests.support.peers import PATIENCE, VERSIONS, HttpPeer, HttpServer, skillwire
from tests.support.skills import skill_md, write


@pytest.mark.parametrize("option", [[], ["--raw"]], ids=["", "--raw"])
def test_read_prints_the_exact_bytes_into_a_pipe(here: Path, option: list[str]) -> None:
    command = skillwire("read", "./skills/acme/refunds", "logo.png", *option)
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, BLOB, b"")


def test_read_refuses_to_pour_bytes_over_a_terminal(here: Path) -> None:
    code, shown = on_terminal("read", "./skills/acme/refunds", "logo.png")
    assert code == 1
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", shown).decode()
    assert text.startswith("error: `logo.png` is not text (image/png, 256 bytes)")
    assert "hint: add `--raw`" in text
    code, shown = on_terminal("read", "./skills/acme/refunds", "references/policy.md")
    assert (code, shown) == (0, b"# Policy\r\n")


def test_read_insists_when_told_to(here: Path) -> None:
    (here / "skills/acme/refunds/short.bin").write_bytes(b"\xff\x00\xfe")
    assert on_terminal("read", "./skills/acme/refunds", "short.bin", "--raw") == (0, b"\xff\x00\xfe")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("bytes", "SKILL.md"),
        ("bytes", "data/blob.bin"),
        ("bytes", "data/latin1.txt"),
        ("bytes", "data/empty.txt"),
        ("bytes", "ünïcode/naïve.md"),
        ("reserved", "SKILL.md"),
    ],
)
def test_read_prints_the_very_result_of_resources_read(
    served_tree: Path, http_server: HttpServer, cli: Cli, name: str, path: str
) -> None:
    done = cli("read", name, path, "--from", served_tree, "--json")
    assert done.code == 0
    with closing(HttpPeer(VERSIONS[1], http_server.url)) as peer:
        assert done.json == peer.result("resources/read", {"uri": done.json["contents"][0]["uri"]})


def test_read_prints_binary_as_base64_in_json(here: Path, cli: Cli) -> None:
    (content,) = cli("read", "refunds", "logo.png", "--from", "skills", "--json").json["contents"]
    assert base64.b64decode(content["blob"]) == BLOB
    assert content["mimeType"] == "image/png"


@pytest.mark.parametrize(
    "path", ["gone.md", "references", "../odd/SKILL.md", "/etc/passwd", "", "logo.png/", "a\nb"]
)
def test_read_of_what_is_no_file_of_the_skill_fails(here: Path, cli: Cli, path: str) -> None:
    done = cli("read", "refunds", path, "--from", "skills")
    assert (done.code, done.raw) == (1, b"")
    assert done.err.startswith("error: `refunds` has no file `")
    assert "hint: `skillwire show refunds --from skills` lists its files" in done.err


def test_a_terminal_is_not_made_to_obey_a_skill(here: Path) -> None:
    write(here / "skills/pwn", {"SKILL.md": skill_md("pwn", body="\x1b]0;pwned\x07\ttab\n")})
    code, shown = on_terminal("read", "skills/pwn")
    assert code == 0
    assert b"\x1b]0;" not in shown
    assert b"\\x1b]0;pwned\\x07" in shown


@pytest.mark.parametrize("file", ["skills/acme/refunds/SKILL.md", "skills/acme/refunds/references/policy.md"])
def test_file_instead_of_a_skill_suggests_its_folder(here: Path, cli: Cli, file: str) -> None:
    done = cli("show", file)
    assert done.code == 2
    assert f"hint: name its folder, `{Path(file).parent}`" in done.err


def test_strict_wants_at_least_one_skill(tmp_path: Path, cli: Cli) -> None:
    assert cli("check", str(tmp_path)).code == 0
    assert cli("check", str(tmp_path), "--strict").code == 1


def test_check_takes_the_folders_of_the_environment(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLS_DIR", "skills")
    assert cli("check").out == cli("check", "skills").out


def test_one_folder_in_two_spellings_is_one_source(here: Path, cli: Cli) -> None:
    assert cli("list", "skills", "./skills", str(here / "skills")).out == cli("list", "skills").out


def test_a_windows_path_is_a_path(here: Path, cli: Cli) -> None:
    assert cli("read", "refunds", "references\\policy.md", "--from", "skills").raw == b"# Policy\n"

"""`skillwire install` and `uninstall`: what they accept, print and refuse."""

import json
import os
import sys
from pathlib import Path

import pytest

from skillwire.config.program import Program, is_temporary, requirement
from skillwire.errors import UsageError
from tests.support.command_line import Cli
from tests.support.skills import write, write_skill

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses the clients' paths on Linux")


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a folder `skills`."""
    monkeypatch.chdir(tmp_path)
    write_skill(tmp_path / "skills", "refunds")
    return tmp_path


def servers(path: Path) -> dict[str, dict[str, object]]:
    return json.loads(path.read_bytes())["mcpServers"]


def test_without_a_terminal_nothing_is_written(cli: Cli, work: Path, home: Path) -> None:
    done = cli("install", "skills", "--client", "cursor")
    assert done.code == 2
    assert "`--yes`" in done.err
    assert '+    "skillwire": {' in done.out
    assert not (home / ".cursor").exists()


def test_a_dry_run_writes_nothing(cli: Cli, work: Path, home: Path) -> None:
    done = cli("install", "skills", "--client", "cursor,goose", "--dry-run")
    assert done.code == 0
    assert "+  skillwire:" in done.out
    assert list(home.iterdir()) == []


def test_an_entry_is_printed_for_any_other_client(cli: Cli, work: Path, home: Path) -> None:
    done = cli("install", "skills", "--print", "--name", "team")
    assert done.code == 0
    entry = done.json["mcpServers"]["team"]
    assert entry["args"] == ["serve", str(work / "skills")]
    assert Path(entry["command"]).is_absolute()
    assert "vscode:mcp/install?" in done.err
    assert "cursor://anysphere.cursor-deeplink/mcp/install?name=team&config=" in done.err
    printed = cli("install", "skills", "--print", "--client", "codex")
    assert printed.out.startswith("[mcp_servers.skillwire]\ncommand = ")
    assert str(home / ".codex/config.toml") in printed.err
    assert list(home.iterdir()) == []


def test_on_wsl_the_entry_for_windows_is_printed(
    cli: Cli, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")
    done = cli("install", "skills", "--print")
    entry = done.json["mcpServers"]["skillwire"]
    assert entry["command"] == "wsl.exe"
    assert entry["args"][:3] == ["-d", "Ubuntu", "--exec"]
    assert entry["args"][-2:] == ["serve", str(work / "skills")]
    assert "WSL" in cli("install", "skills", "--client", "cursor", "--yes").err


def test_one_broken_file_does_not_stop_the_others(cli: Cli, work: Path, home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text("{", "utf-8")
    (home / ".gemini").mkdir()
    done = cli("install", "skills", "--client", "all", "--yes")
    assert done.code == 1
    assert f"Cursor: cannot change `{home}/.cursor/mcp.json`: it is not JSON" in done.err
    assert "it was not changed" in done.err
    assert (home / ".cursor/mcp.json").read_text("utf-8") == "{"
    assert servers(home / ".gemini/settings.json")["skillwire"]["args"] == ["serve", str(work / "skills")]
    assert cli("install", "skills", "--client", "cursor", "--yes").code == 1


def test_all_in_a_project_skips_clients_without_one(cli: Cli, work: Path, home: Path) -> None:
    (work / ".git").mkdir()
    (home / ".cursor").mkdir()
    (home / ".config/goose").mkdir(parents=True)
    done = cli("install", "skills", "--client", "all", "--scope", "project", "--yes")
    assert done.code == 0
    assert "Goose: skipped" in done.err
    assert "paths of this machine" in done.err
    assert set(servers(work / ".cursor/mcp.json")) == {"skillwire"}
    assert cli("install", "skills", "--client", "goose", "--scope", "project", "--yes").code == 2
    assert cli("uninstall", "--client", "cursor", "--scope", "user", "--yes").code == 0
    assert (work / ".cursor/mcp.json").exists()
    assert cli("uninstall", "--client", "cursor", "--yes").code == 0
    assert not (work / ".cursor/mcp.json").exists()


def test_names_of_clients_and_entries(cli: Cli, work: Path) -> None:
    assert "did you mean `cursor`?" in cli("install", "skills", "--client", "curser", "--yes").err
    assert "`--client` is missing" in cli("install", "skills", "--yes").err
    assert "no client was found" in cli("install", "skills", "--client", "all", "--yes").err
    assert "is not a name" in cli("install", "skills", "--client", "cursor", "--name", "a b").err
    assert cli("install", "skills", "--client", "devin", "--dry-run").code == 0


@pytest.mark.parametrize(("word", "meant"), [("claude", "claude-desktop"), ("CODE", "vscode")])
def test_a_word_for_several_clients_is_refused(
    cli: Cli, work: Path, home: Path, word: str, meant: str
) -> None:
    done = cli("install", "skills", "--client", f"cursor,{word}", "--yes")
    assert (done.code, "is `" in done.err, f"`{meant}`" in done.err) == (2, True, True)
    assert "`claude-code`" in done.err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("names", ["cursor,,vscode", "cursor,", "", " "])
def test_an_empty_name_of_a_client_is_refused(cli: Cli, work: Path, home: Path, names: str) -> None:
    done = cli("install", "skills", "--client", names, "--yes")
    assert (done.code, "empty name" in done.err) == (2, True)
    assert list(home.iterdir()) == []


def test_broken_skills_are_counted_before_the_entry(cli: Cli, work: Path, home: Path) -> None:
    write_skill(work / "skills", "orders")
    (work / "skills/broken").mkdir()
    (work / "skills/broken/SKILL.md").write_text("---\nname: Bad Name\n---\n", "utf-8")
    counted = f"2 skills; 2 errors; `skillwire check {work / 'skills'}` shows them\n"
    for option in ("--dry-run", "--print", "--yes"):
        client = () if option == "--print" else ("--client", "cursor")
        done = cli("install", "skills", *client, option)
        assert (done.code, counted in done.err) == (0, True), done.err
    (work / "skills/broken/SKILL.md").unlink()
    assert "error" not in cli("install", "skills", "--client", "cursor", "--yes").err


def test_a_dry_run_names_what_is_already_installed(cli: Cli, work: Path, home: Path) -> None:
    assert cli("install", "skills", "--client", "cursor", "--yes").code == 0
    done = cli("install", "skills", "--client", "cursor", "--dry-run")
    assert f"Cursor: `skillwire` is already installed in `{home}/.cursor/mcp.json`\n" in done.err
    assert "nothing was changed" not in done.err


def test_a_source_without_skills_is_reported_first(cli: Cli, work: Path, home: Path) -> None:
    (work / "empty").mkdir()
    (work / "broken/bad").mkdir(parents=True)
    (work / "broken/bad/SKILL.md").write_text("---\nname: Bad Name\n---\n", "utf-8")
    missing = cli("install", "nowhere", "--client", "cursor", "--yes")
    assert (missing.code, "does not exist" in missing.err) == (2, True)
    empty = cli("install", "skills", "empty", "--client", "cursor", "--yes")
    assert (empty.code, "`SKILL.md`" in empty.err) == (1, True)
    broken = cli("install", "broken", "--client", "cursor", "--yes")
    assert (broken.code, "bad/SKILL.md" in broken.err) == (1, True)
    assert not (home / ".cursor").exists()


def test_sources_of_the_environment_and_the_configuration(
    cli: Cli, work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = cli("install", "--client", "cursor", "--yes")
    assert (nothing.code, "no source of skills is named" in nothing.err) == (2, True)
    monkeypatch.setenv("SKILLS_DIR", "./skills")
    assert cli("install", "--client", "cursor", "--yes").code == 0
    assert servers(home / ".cursor/mcp.json")["skillwire"]["args"] == ["serve", str(work / "skills")]
    monkeypatch.delenv("SKILLS_DIR")
    own = work / "own.toml"
    own.write_text(f'[[sources]]\nsource = "{work / "skills"}"\n', "utf-8")
    assert cli("install", "--client", "gemini", "--config", "own.toml", "--yes").code == 0
    assert servers(home / ".gemini/settings.json")["skillwire"]["args"] == ["serve", "--config", str(own)]
    monkeypatch.setenv("SKILLS_DIR", "./skills")
    both = cli("install", "--print", "--config", "own.toml").json["mcpServers"]["skillwire"]["args"]
    assert both == ["serve", str(work / "skills"), "--config", str(own), "--with-config"]
    named = cli("install", "./skills", "--print", "--config", "own.toml").json["mcpServers"]["skillwire"]
    assert named["args"] == ["serve", str(work / "skills"), "--config", str(own)]


@pytest.mark.parametrize(
    "address",
    [
        "https://me:s3cret@example.com",
        "mcp+https://example.com/mcp?token=s3cret",
        "git+https://s3cret@x.com/r",
    ],
)
def test_a_secret_in_an_address_is_not_written(cli: Cli, work: Path, home: Path, address: str) -> None:
    done = cli("install", address, "--client", "cursor", "--yes")
    assert done.code == 2
    assert "s3cret" not in done.err + done.out
    assert list(home.iterdir()) == []


def test_uninstall_removes_what_install_has_written(cli: Cli, work: Path, home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    before = '{\n  "mcpServers": {\n    "a": {"command": "x"}\n  }\n}\n'
    path.write_text(before, "utf-8")
    assert cli("uninstall", "--client", "cursor").code == 0
    assert cli("install", "skills", "--client", "cursor", "--yes").code == 0
    assert cli("install", "skills", "--client", "cursor", "--name", "two", "--yes").code == 0
    refused = cli("uninstall", "--client", "cursor")
    assert (refused.code, "`--yes`" in refused.err) == (2, True)
    assert set(servers(path)) == {"a", "skillwire", "two"}
    assert cli("uninstall", "--client", "cursor", "--dry-run").code == 0
    done = cli("uninstall", "--client", "cursor", "--yes")
    assert done.code == 0, done.err
    assert path.read_text("utf-8") == before
    assert "nothing to remove" in cli("uninstall", "--client", "all").err


def test_a_moved_folder_is_shown_and_replaced(cli: Cli, work: Path, home: Path) -> None:
    assert cli("install", "skills", "--client", "cursor", "--yes").code == 0
    write_skill(work / "moved", "refunds")
    for client in ("cursor", "all"):
        done = cli("install", "moved", "--client", client, "--yes")
        assert (done.code, f"serves other sources: `{work / 'skills'}`" in done.err) == (2, True), done.err
        assert "`--replace` changes it" in done.err
    done = cli("install", "moved", "--client", "cursor", "--replace", "--yes")
    assert done.code == 0
    assert f'-        "{work / "skills"}"' in done.out
    assert servers(home / ".cursor/mcp.json")["skillwire"]["args"] == ["serve", str(work / "moved")]


def test_secrets_of_a_replaced_entry_are_not_shown(cli: Cli, work: Path, home: Path) -> None:
    (home / ".cursor").mkdir()
    args = ["serve", "https://me:hunter2@example.com/skills", str(work / "old")]
    ours = {"command": "/bin/skillwire", "args": args, "env": {"A": "s3cret"}}
    (home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"skillwire": ours}}, indent=1), "utf-8")
    done = cli("install", "skills", "--client", "cursor", "--replace", "--dry-run")
    assert str(work / "old") in done.out
    refused = cli("install", "skills", "--client", "cursor", "--yes")
    assert refused.code == 2
    for secret in ("hunter2", "s3cret"):
        assert secret not in done.out + done.err + refused.out + refused.err


def test_uninstall_names_an_entry_of_somebody_else(cli: Cli, work: Path, home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"skillwire": {"command": "x"}}}', "utf-8")
    done = cli("uninstall", "--client", "cursor", "--yes")
    assert done.code == 0
    assert f"the entry `skillwire` in `{path}` was not written by `skillwire install`" in done.err
    assert "x" in path.read_text("utf-8")
    path.write_text("{", "utf-8")
    assert "nothing to remove" in cli("uninstall", "--client", "cursor", "--yes").err


def test_uninstall_counts_the_backups_that_stay(cli: Cli, work: Path, home: Path) -> None:
    path = home / ".cursor/mcp.json"
    assert cli("install", "skills", "--client", "cursor", "--yes").code == 0
    assert cli("install", "skills", "--client", "cursor", "--name", "two", "--yes").code == 0
    done = cli("uninstall", "--client", "cursor", "--name", "two", "--yes")
    assert f"2 backups are still there: `{path}.skillwire-backup.*`" in done.err


def test_uninstall_of_a_changed_entry_needs_its_name(cli: Cli, work: Path, home: Path) -> None:
    path = home / ".cursor/mcp.json"
    assert cli("install", "skills", "--client", "cursor", "--yes").code == 0
    path.write_text(path.read_text("utf-8").replace('"args"', '"env": {"A": "1"}, "args"'), "utf-8")
    refused = cli("uninstall", "--client", "cursor", "--yes")
    assert (refused.code, "`--name skillwire`" in refused.err) == (2, True)
    assert set(servers(path)) == {"skillwire"}
    assert cli("uninstall", "--client", "cursor", "--name", "skillwire", "--yes").code == 0
    assert not path.exists()


def test_temporary_environments_are_recognized(tmp_path: Path) -> None:
    environment = {
        "HOME": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "PIPX_HOME": str(tmp_path / "px"),
    }
    temporary = (
        ".cache/uv/archive-v0/x",
        "a/environments-v2/y",
        "uv/z",
        "px/.cache/e",
        ".local/share/pipx/.cache/e",
    )
    assert all(is_temporary(tmp_path / each, environment) for each in temporary)
    lasting = (".local/share/uv/tools/skillwire", "px/venvs/skillwire", "work/.venv")
    assert not any(is_temporary(tmp_path / each, environment) for each in lasting)


def test_what_a_temporary_program_is_installed_from() -> None:
    git = {"url": "https://x.com/r", "vcs_info": {"vcs": "git", "commit_id": "abc"}, "subdirectory": "s"}
    assert requirement(json.dumps(git)) == "git+https://x.com/r@abc#subdirectory=s"
    assert requirement('{"url": "file:///a%20b", "dir_info": {}}') == "/a b"
    assert (
        requirement('{"url": "https://x.com/s.whl", "archive_info": {}}') == "skillwire @ https://x.com/s.whl"
    )
    unusable = [None, "", "{", "[]", '{"url": "https://u:p@x.com/s.whl"}', '{"url": "https://****@x.com/s"}']
    assert [requirement(each) for each in unusable] == [None] * len(unusable)


def test_a_temporary_program_becomes_a_command_of_uvx(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "uv/archive-v0/abc"))
    uvx = tmp_path / "bin/uvx"
    uvx.parent.mkdir()
    uvx.write_text("#!/bin/sh\n", "utf-8")
    uvx.chmod(0o755)
    words = Program.current({"HOME": str(tmp_path), "PATH": str(uvx.parent)}).words
    assert words[:2] == (str(uvx), "--from")
    assert words[-1] == "skillwire"
    assert not any("archive-v0" in word for word in words)
    with pytest.raises(UsageError, match="neither `uvx` nor `pipx`"):
        Program.current({"HOME": str(tmp_path), "PATH": ""})


def test_no_failed_source_is_said_to_be_scanned_again(cli: Cli, work: Path) -> None:
    done = cli("install", f"git+file://{work}/nothing.git", "--client", "cursor", "--yes")
    assert done.code != 0
    assert "again automatically" not in done.err
    assert not any(line.startswith(".:") for line in done.err.splitlines())


def test_a_file_with_a_similar_name_is_named(cli: Cli, work: Path) -> None:
    write(work / "odd/one", {"SKILL.md.txt": "x"})
    done = cli("install", str(work / "odd"), "--client", "cursor", "--yes")
    assert done.code == 1
    assert "one/SKILL.md.txt: the folder is not a skill" in done.err

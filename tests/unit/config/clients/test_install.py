"""Writing an entry into the files of clients: what is changed, what is kept, and what is refused."""

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire.config.clients.client_file_writer import read_document, write_document
from skillwire.config.clients.connect import writing_clients
from skillwire.config.clients.edit import ClientDocument
from skillwire.config.clients.files import ClientEnvironment, ClientFile, ClientFileError, Format
from skillwire.config.clients.install import (
    Outcome,
    Plan,
    client_files,
    found_clients,
    plan_install,
    plan_uninstall,
)
from skillwire.config.clients.records import InstalledEntries, InstalledEntry, digest_of
from skillwire.errors import StateError, UsageError

COMMAND = ("/opt/skillwire", "serve", "/home/me/my skills")
UVX = ("/usr/bin/uvx", "--from", "/src", "skillwire", *COMMAND[1:])
CLIENTS = writing_clients()
NAMES = list(CLIENTS)


def around(folder: Path, **environment: str) -> ClientEnvironment:
    """Return a machine without files of clients: its home, and a repository to work in."""
    (folder / "work/.git").mkdir(parents=True, exist_ok=True)
    return ClientEnvironment(
        folder / "work", folder / "home", {"HOME": str(folder / "home"), **environment}, "linux"
    )


def file_of(client: str, env: ClientEnvironment) -> ClientFile:
    return client_files(CLIENTS[client], env, in_project=False)[0]


def plan(
    client: str, env: ClientEnvironment, *command: str, name: str = "skillwire", replace: bool = False
) -> Plan:
    file = file_of(client, env)
    return plan_install(CLIENTS[client], file, env, name, command or COMMAND, replace_other=replace)


def own(client: str, env: ClientEnvironment, content: object) -> Path:
    """Write the client's own file."""
    path = file_of(client, env).path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=4), "utf-8")
    return path


@pytest.mark.parametrize("client", NAMES)
def test_an_entry_is_written_once_and_removed(tmp_path: Path, client: str) -> None:
    env = around(tmp_path)
    first = plan(client, env)
    assert first.outcome is Outcome.ADDED
    assert not first.file.path.exists(), "a plan writes nothing"
    record = first.apply().record
    assert record is not None
    assert record.new_file
    (server,) = CLIENTS[client].servers(first.file.read(), first.file, env)
    assert server.target is not None
    assert server.target.command == COMMAND
    assert first.file.path.stat().st_mode & 0o777 == 0o600
    assert plan(client, env).outcome is Outcome.UNCHANGED
    removal = plan_uninstall(CLIENTS[client], first.file, record.name, record, force=False)
    assert removal.outcome is Outcome.REMOVED
    assert removal.apply().record is None
    assert list(first.file.path.parent.iterdir()) == []


@pytest.mark.parametrize("client", ["claude-code", "vscode", "cursor", "codex", "gemini"])
def test_an_entry_in_a_project(tmp_path: Path, client: str) -> None:
    env = around(tmp_path)
    (tmp_path / "work/inner").mkdir()
    env = ClientEnvironment(tmp_path / "work/inner", env.home, env.environment, env.platform)
    (file,) = client_files(CLIENTS[client], env, in_project=True)
    assert file.path.is_relative_to(tmp_path / "work")
    assert not file.path.is_relative_to(tmp_path / "work/inner")
    done = plan_install(CLIENTS[client], file, env, "skillwire", COMMAND).apply()
    assert done.record is not None
    assert file.path.stat().st_mode & 0o777 == 0o644
    assert (
        str(file.path) in {str(each.path) for each in CLIENTS[client].files(env)} or client == "claude-code"
    )


@pytest.mark.parametrize("client", ["claude-desktop", "goose", "windsurf"])
def test_clients_without_a_configuration_in_projects(tmp_path: Path, client: str) -> None:
    with pytest.raises(UsageError, match="has no configuration in projects"):
        client_files(CLIENTS[client], around(tmp_path), in_project=True)


WORDS = st.text("abcXYZ 012/.:#'\"\\{}[]é\n\t-", min_size=1, max_size=12)


@settings(max_examples=30)
@given(
    folder=WORDS,
    others=st.dictionaries(WORDS, st.just({"command": "x"}), max_size=3),
    client=st.sampled_from(NAMES),
)
def test_any_path_is_read_back_by_the_client(
    tmp_path_factory: pytest.TempPathFactory, folder: str, others: dict[str, Any], client: str
) -> None:
    env = around(tmp_path_factory.mktemp("machine"))
    key = plan(client, env).path[0]
    content: dict[str, Any] = {"model": "m", key: others}
    file = file_of(client, env)
    text = {
        Format.JSON: json.dumps(content),
        Format.YAML: yaml.safe_dump(content),
        Format.TOML: "".join(f"[{key}.{json.dumps(each)}]\ncommand = 'x'\n" for each in others) + "[z]\n",
    }[file.format]
    path = own(client, env, text)
    before = file.read()
    planned = plan(client, env, "/opt/skillwire", "serve", f"/{folder}")
    record = planned.apply().record
    after: Mapping[str, Any] = file.read()
    assert {**after, key: {**after[key], planned.path[-1]: None}} == {
        **before,
        key: {**before.get(key, {}), planned.path[-1]: None},  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    }
    removal = plan_uninstall(CLIENTS[client], file, planned.path[-1], record, force=False)
    removal.apply()
    assert file.read() == before
    assert path.exists()


def test_other_text_and_the_mode_stay_beside_a_backup(tmp_path: Path) -> None:
    env = around(tmp_path)
    text = '{\r\n\t// my servers\r\n\t"mcpServers": {\r\n\t\t"a": {"command": "x"}, // first\r\n\t},\r\n}\r\n'
    path = own("cursor", env, "")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    path.chmod(0o640)
    done = plan("cursor", env).apply()
    content = path.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf{\r\n\t// my servers\r\n")
    assert b'"x"}, // first\r\n\t\t"skillwire": {\r\n\t\t\t"command"' in content
    assert b"\n" not in content.replace(b"\r\n", b"")
    assert path.stat().st_mode & 0o777 == 0o640
    assert Path(done.backup).read_bytes() == b"\xef\xbb\xbf" + text.encode()
    assert Path(done.backup).stat().st_mode & 0o777 == 0o640


def test_the_number_of_backups_is_bounded(tmp_path: Path) -> None:
    env = around(tmp_path)
    path = own("cursor", env, "{}")
    for number in range(9):
        plan("cursor", env, name=f"n{number}").apply()
    backups = sorted(each for each in path.parent.iterdir() if "backup" in each.name)
    assert len(backups) == 5
    assert "n7" in backups[-1].read_text("utf-8")
    assert "n8" not in backups[-1].read_text("utf-8")


def test_a_link_to_the_file_stays(tmp_path: Path) -> None:
    env = around(tmp_path)
    path = own("cursor", env, "{}")
    kept = path.rename(tmp_path / "dotfiles.json")
    path.symlink_to(kept)
    plan("cursor", env).apply()
    assert path.is_symlink()
    assert "skillwire" in kept.read_text("utf-8")


def test_a_change_by_another_program_is_kept(tmp_path: Path) -> None:
    env = around(tmp_path)
    path = own("cursor", env, {"mcpServers": {}})
    planned = plan("cursor", env)
    calls: list[int] = []

    def step(document: ClientDocument) -> tuple[Outcome, ClientDocument | None]:
        calls.append(1)
        if len(calls) == 1:  # after the file was read, and before it is replaced
            path.write_text('{"mcpServers": {"late": {"command": "x"}}}', "utf-8")
        return planned.step(document)

    done = Plan(planned.client, planned.file, planned.path, planned.outcome, step).apply()
    assert len(calls) == 2
    assert set(json.loads(path.read_bytes())["mcpServers"]) == {"late", "skillwire"}
    assert "late" in Path(done.backup).read_text("utf-8")


def test_an_entry_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    env = around(tmp_path)
    planned = plan("cursor", env)
    path = own("cursor", env, {"mcpServers": {"skillwire": {"command": "other"}}})
    before = path.read_bytes()
    with pytest.raises((ClientFileError, UsageError)):
        planned.apply()
    assert path.read_bytes() == before


def test_a_file_that_never_stops_changing_is_left_alone(tmp_path: Path) -> None:
    env = around(tmp_path)
    path = own("cursor", env, "{}")
    calls: list[int] = []

    def edit(document: ClientDocument) -> ClientDocument:
        calls.append(1)
        path.write_text(f'{{"n": {len(calls)}}}', "utf-8")
        return document.with_entry(["x"], 1)

    with pytest.raises(ClientFileError, match="keeps changing"):
        write_document(file_of("cursor", env), edit)
    assert json.loads(path.read_bytes()) == {"n": len(calls)}
    assert os.listdir(path.parent) == [path.name]  # noqa: PTH208


REFUSED: list[tuple[str, bytes, str]] = [
    ("cursor", b'{"mcpServers": }', "not JSON"),
    ("cursor", b'{"mcpServers": "x"}', "`mcpServers` is not an object"),
    ("cursor", b'{"mcpServers": {}, "mcpServers": {}}', "more than once"),
    ("cursor", b"\xff{}", "not UTF-8"),
    ("vscode", b"[]", "not contain an object"),
    ("codex", b"[mcp_servers\n", "not TOML"),
    ("goose", b"extensions: [a]\n", "`extensions` is not an object"),
    ("goose", b"a: b: s3cret\n", r"not YAML: [^\n:]*: line 1 column 5$"),
]


@pytest.mark.parametrize(("client", "content", "reason"), REFUSED, ids=lambda each: repr(each)[:30])
def test_a_broken_file_is_never_overwritten(tmp_path: Path, client: str, content: bytes, reason: str) -> None:
    env = around(tmp_path)
    path = own(client, env, "")
    path.write_bytes(content)
    with pytest.raises(ClientFileError, match=reason):
        plan(client, env)
    assert path.read_bytes() == content
    assert len(list(path.parent.iterdir())) == 1


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    env = around(tmp_path)
    path = own("cursor", env, "{}")
    path.unlink()
    path.symlink_to(tmp_path / "nowhere.json")
    with pytest.raises(ClientFileError, match="link to nowhere"):
        plan("cursor", env)
    path.unlink()
    path.mkdir()
    with pytest.raises(ClientFileError, match="not a file"):
        plan("cursor", env)
    path.rmdir()
    path.parent.rmdir()
    path.parent.symlink_to(tmp_path / "gone")
    with pytest.raises(ClientFileError, match="link to nowhere"):
        plan("cursor", env)


def test_a_projects_file_that_leads_out_of_it_is_refused(tmp_path: Path) -> None:
    env = around(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "work/.cursor").symlink_to(tmp_path / "other")
    (file,) = client_files(CLIENTS["cursor"], env, in_project=True)
    with pytest.raises(ClientFileError, match="leads out of the project"):
        plan_install(CLIENTS["cursor"], file, env, "skillwire", COMMAND)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    env = around(tmp_path)
    path = own("goose", env, "#" * 1_100_000)
    with pytest.raises(ClientFileError, match="more than 1,048,576 bytes"):
        plan("goose", env)
    path.write_bytes(b"")
    with path.open("r+b") as opened:
        opened.truncate(65 * 1024 * 1024)
    with pytest.raises(ClientFileError, match="more than 67,108,864 bytes"):
        read_document(file_of("goose", env))


@pytest.mark.parametrize(
    ("client", "word"),
    [
        ("gemini", "/home/$USER/skills"),
        ("gemini", "/home/%USER%"),
        ("cursor", "/home/${env:USER}"),
        ("vscode", "/a/${x}"),
        ("claude-code", "/a/${x:-y}"),
        ("windsurf", "/a/${file:x}"),
        ("codex", "/a/\udcff"),
    ],
)
def test_a_value_that_the_client_would_change_is_refused(tmp_path: Path, client: str, word: str) -> None:
    with pytest.raises(UsageError, match=r"would replace|not UTF-8"):
        plan(client, around(tmp_path), "/opt/skillwire", "serve", word)


@pytest.mark.parametrize("client", NAMES)
def test_only_the_path_of_the_program_is_updated(tmp_path: Path, client: str) -> None:
    env = around(tmp_path)
    before = plan(client, env).apply().record
    file = file_of(client, env)
    document = read_document(file)
    path = plan(client, env).path
    kept = document.with_entry((*path, "env"), {"MODE": "mine"})
    file.path.write_bytes(kept.content)
    again = plan(client, env, *UVX)
    assert again.outcome is Outcome.UPDATED
    assert any("/usr/bin/uvx" in line for line in again.diff)
    record = again.apply(before).record
    assert record is not None
    assert record.new_file
    entry: Any = read_document(file).entry(path)
    assert entry["env"] == {"MODE": "mine"}
    assert (
        plan(client, env, "/usr/bin/uvx", "--from", "/src", "skillwire", *COMMAND[1:]).outcome
        is Outcome.UNCHANGED
    )
    assert ("startup_timeout_sec" in entry) == (client == "codex")


@pytest.mark.parametrize("client", NAMES)
def test_another_source_under_the_same_name_is_refused(tmp_path: Path, client: str) -> None:
    env = around(tmp_path)
    plan(client, env).apply()
    with pytest.raises(UsageError, match="serves other sources: `") as refused:
        plan(client, env, "/opt/skillwire", "serve", "/other")
    assert "--name" in refused.value.hint
    assert "--replace" in refused.value.hint
    replaced = plan(client, env, "/opt/skillwire", "serve", "/other", replace=True)
    assert replaced.outcome is Outcome.REPLACED
    replaced.apply()
    assert plan(client, env, "/opt/skillwire", "serve", "/other").outcome is Outcome.UNCHANGED


def test_a_foreign_server_is_not_shown(tmp_path: Path) -> None:
    env = around(tmp_path)
    own("cursor", env, {"mcpServers": {"skillwire": {"command": "x", "args": ["--token", "s3cret"]}}})
    with pytest.raises(UsageError, match="another server") as refused:
        plan("cursor", env)
    assert "s3cret" not in str(refused.value)
    assert "s3cret" not in "\n".join(plan("cursor", env, replace=True).diff)


@pytest.mark.parametrize("indent", [None, 2])
def test_the_difference_hides_values_of_others(tmp_path: Path, indent: int | None) -> None:
    env = around(tmp_path)
    secret = {"command": "x", "args": ["s3cret"], "env": {"KEY": "s3cret"}, "token": "s3cret"}
    content = {"mcpServers": {"a": secret}, "password": "s3cret"}
    own("cursor", env, json.dumps(content, indent=indent))
    shown = "\n".join(plan("cursor", env).diff)
    assert "s3cret" not in shown
    assert "/home/me/my skills" in shown
    own("codex", env, '[mcp_servers.a]\nenv = {KEY = "s3cret"}\ntoken = "s3cret"\n# s3cret')
    assert "s3cret" not in "\n".join(plan("codex", env).diff)
    own("goose", env, "extensions:\n  a:\n    envs: {KEY: s3cret}\n    x:\n    - s3cret\n")
    assert "s3cret" not in "\n".join(plan("goose", env).diff)


@pytest.mark.parametrize("client", NAMES)
def test_the_difference_hides_values_that_users_have_added(tmp_path: Path, client: str) -> None:
    env = around(tmp_path)
    record = plan(client, env).apply().record
    file, path = file_of(client, env), plan(client, env).path
    added = read_document(file).with_entry((*path, "env"), {"KEY": "s3cret"})
    file.path.write_bytes(added.content)
    updated = "\n".join(plan(client, env, *UVX).diff)
    assert "/usr/bin/uvx" in updated
    assert "/opt/skillwire" in updated
    removed = "\n".join(plan_uninstall(CLIENTS[client], file, path[-1], record, force=True).diff)
    assert "/opt/skillwire" in removed
    assert "s3cret" not in updated + removed


def test_a_disabled_entry_is_reported(tmp_path: Path) -> None:
    env = around(tmp_path)
    plan("goose", env).apply()
    path = file_of("goose", env).path
    path.write_text(path.read_text("utf-8").replace("enabled: true", "enabled: false"), "utf-8")
    again = plan("goose", env)
    assert (again.outcome, again.is_disabled) == (Outcome.UNCHANGED, True)


def test_a_changed_entry_is_removed_only_by_name(tmp_path: Path) -> None:
    env = around(tmp_path)
    record = plan("cursor", env).apply().record
    file = file_of("cursor", env)
    other = read_document(file).with_entry(("mcpServers", "skillwire", "env"), {"A": "1"})
    file.path.write_bytes(other.content)
    with pytest.raises(UsageError, match="has changed since") as refused:
        plan_uninstall(CLIENTS["cursor"], file, "skillwire", record, force=False)
    assert "--name skillwire" in refused.value.hint
    plan_uninstall(CLIENTS["cursor"], file, "skillwire", record, force=True).apply()
    assert not file.path.exists()


def test_an_entry_of_another_program_is_never_removed(tmp_path: Path) -> None:
    env = around(tmp_path)
    path = own("cursor", env, {"mcpServers": {"github": {"command": "github-server"}}})
    before = path.read_bytes()
    with pytest.raises(UsageError, match="does not start `skillwire serve`"):
        plan_uninstall(CLIENTS["cursor"], file_of("cursor", env), "github", None, force=True)
    assert path.read_bytes() == before


def test_goose_normalizes_the_name(tmp_path: Path) -> None:
    env = around(tmp_path)
    assert plan("goose", env, name="Team-Skills_2").path == ("extensions", "team-skills_2")
    plan("goose", env, name="Team-Skills_2").apply()
    entry: Any = yaml.safe_load(file_of("goose", env).path.read_bytes())["extensions"]["team-skills_2"]
    assert entry["name"] == "Team-Skills_2"
    assert entry["timeout"] == 300
    assert set(entry) == {
        "name",
        "type",
        "enabled",
        "cmd",
        "args",
        "envs",
        "env_keys",
        "description",
        "timeout",
    }


def test_which_files_of_windsurf_and_vscode_are_written(tmp_path: Path) -> None:
    env = around(tmp_path)

    def written(client: str) -> list[str]:
        files = client_files(CLIENTS[client], env, in_project=False)
        return [str(each.path.relative_to(env.home)) for each in files]

    new, old = ".config/devin/mcp_config.json", ".codeium/windsurf/mcp_config.json"
    assert written("windsurf") == [new]
    (env.home / old).parent.mkdir(parents=True)
    assert written("windsurf") == [old]
    (env.home / old).write_text("{}", "utf-8")
    (env.home / new).parent.mkdir(parents=True)
    (env.home / new).write_text("{}", "utf-8")
    assert written("windsurf") == [new, old]
    assert written("vscode") == [".config/Code/User/mcp.json"]
    (env.home / ".config/Code - Insiders/User").mkdir(parents=True)
    assert written("vscode") == [".config/Code - Insiders/User/mcp.json"]


def test_the_clients_on_this_machine(tmp_path: Path) -> None:
    env = around(tmp_path)
    assert found_clients(CLIENTS, env) == []
    for client in NAMES:
        plan(client, env).apply()
    (env.home / ".config/Claude/other").touch()
    assert [each.name for each in found_clients(CLIENTS, env)] == NAMES


def test_codex_keeps_its_comments(tmp_path: Path) -> None:
    env = around(tmp_path)
    text = '# mine\nmodel = "m"  # why\n\n[mcp_servers.a]\ncommand = "x"\n\n# next\n[tui]\nx = 1\n'
    path = own("codex", env, text)
    plan("codex", env).apply()
    after = path.read_text("utf-8")
    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["skillwire"]["args"] == ["serve", "/home/me/my skills"]


def test_records_are_kept_and_damage_is_reported(tmp_path: Path) -> None:
    records = InstalledEntries(tmp_path / "state")
    assert records.read() == []
    one = InstalledEntry("cursor", "/f", "a", digest_of({"x": 1, "y": [2]}), 1, new_file=True)
    records.add(one)
    records.add(InstalledEntry("cursor", "/f", "b", ""))
    records.add(one)
    assert [each.name for each in records.read()] == ["b", "a"]
    assert digest_of({"y": [2], "x": 1}) == one.digest
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    records.remove([one.place])
    assert [each.name for each in records.read()] == ["b"]
    for damaged in (b"{", b"[]", b'{"entries": [{"client": 1}]}', b'{"entries": [1]}'):
        (tmp_path / "state/installed.json").write_bytes(damaged)
        with pytest.raises(StateError, match="content is invalid"):
            records.read()

"""`skillwire push` and `skillwire registry`: what they print, and which errors they report."""

import os
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.peers import MODERN, PATIENCE, Message, StdioPeer, skillwire
from tests.support.registries import counts, revision, write_skills
from tests.support.skills import skill_md, write


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKILLWIRE_DATA_DIR", str(tmp_path / "data"))
    write_skills(tmp_path / "skills", {"acme/refunds": "one", "orders": "one"})
    yield tmp_path / "data"
    for path in tmp_path.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


def test_push_creates_the_default_registry_and_serves_from_it(cli: Cli, data: Path) -> None:
    done = cli("push", "./skills", "--version", "1.4.0")
    assert (done.code, done.out) == (0, "acme/refunds\t1.4.0\norders\t1.4.0\n")
    assert f"created the registry `{data / 'registry.db'}`" in done.err
    assert "2 skills pushed to `registry:`, channel `stable`, revision 1" in done.err
    assert "`skillwire serve registry:` serves them" in done.err
    assert cli("read", "refunds", "--from", "registry:").raw == skill_md("refunds", body="one\n")
    assert cli("check", "registry:", "--strict").code == 0
    assert (data.stat().st_mode & 0o777, (data / "registry.db").stat().st_mode & 0o777) == (0o700, 0o600)


def test_same_bytes_again_change_nothing(cli: Cli, data: Path) -> None:
    cli("push", "./skills")
    before = counts(data / "registry.db")
    done = cli("push", "./skills", "--json")
    assert (done.code, done.json["revision"], done.json["pushed"], done.json["refused"]) == (0, 1, [], [])
    assert [each["path"] for each in done.json["unchanged"]] == ["acme/refunds", "orders"]
    assert "nothing changed" in done.err
    assert counts(data / "registry.db") == before


def test_content_that_returns_is_served_again(cli: Cli, data: Path) -> None:
    for body in ("one", "two", "one"):
        write_skills(Path("skills"), {"orders": body})
        assert cli("push", "./skills").code == 0
    assert revision(data / "registry.db") == 3
    assert cli("read", "orders", "--from", "registry:").raw == skill_md("orders", body="one\n")


def test_other_bytes_under_a_published_version_are_refused(cli: Cli, data: Path) -> None:
    cli("push", "./skills", "--version", "1.0.0")
    write_skills(Path("skills"), {"orders": "two", "new": "one"})
    done = cli("push", "./skills", "--version", "1.0.0", "--json")
    assert (done.code, done.json["revision"], done.json["pushed"]) == (1, 1, [])
    assert [each["path"] for each in done.json["refused"]] == ["orders"]
    assert "`orders` is not pushed: version `1.0.0` is published already, with other content" in done.err
    assert "nothing was pushed to `registry:`" in done.err
    assert revision(data / "registry.db") == 1


def test_broken_skill_is_reported_and_the_others_are_pushed(cli: Cli, data: Path) -> None:
    write(Path("skills/broken"), {"SKILL.md": b"---\nname: Broken Name\ndescription: x\n---\n"})
    versions = "metadata:\n  version: 1.10\n"
    write(Path("skills/number"), {"SKILL.md": f"---\nname: number\ndescription: x\n{versions}---\n"})
    done = cli("push", "./skills", "--json")
    assert (done.code, len(done.json["pushed"])) == (1, 2)
    assert {each["path"] for each in done.json["refused"]} == {"broken", "number"}
    assert 'write `version: "1.1"`' in done.err
    assert counts(data / "registry.db")["pointer"] == 2


def test_channels_have_versions_of_their_own(cli: Cli, data: Path) -> None:
    cli("push", "./skills", "--version", "1.0.0")
    write_skills(Path("skills"), {"orders": "two"})
    done = cli("push", "./skills", "--version", "1.1.0", "--channel", "canary")
    assert "`skillwire serve 'registry:#canary'` serves them" in done.err
    assert cli("read", "orders", "--from", "registry:").raw == skill_md("orders", body="one\n")
    assert cli("read", "orders", "--from", "registry:#canary").raw == skill_md("orders", body="two\n")
    assert cli("push", "./skills", "--to", "registry:#canary", "--channel", "beta").code == 2
    assert cli("push", "./skills", "--channel", "Not A Channel").code == 2
    log = cli("registry", "log", "--json").json
    assert [
        (each["revision"], each["channel"], each["path"], each["before"], each["after"]) for each in log
    ] == [
        (2, "canary", "acme/refunds", None, "1.1.0"),
        (2, "canary", "orders", None, "1.1.0"),
        (1, "stable", "acme/refunds", None, "1.0.0"),
        (1, "stable", "orders", None, "1.0.0"),
    ]
    assert len(cli("registry", "log", "--limit", "1").out.splitlines()) == 2


def test_only_some_skills_can_be_pushed(cli: Cli, data: Path) -> None:
    done = cli("push", "./skills", "--only", "acme/*")
    assert done.out.startswith("acme/refunds\t")
    assert "1 skill pushed" in done.err
    assert "serves it" in done.err
    assert counts(data / "registry.db")["pointer"] == 1


def test_init_creates_a_registry_once(cli: Cli, data: Path, tmp_path: Path) -> None:
    address = f"registry+sqlite://{tmp_path}/team.db"
    assert "created" in cli("registry", "init", address).err
    assert "is there already" in cli("registry", "init", address).err
    assert cli("registry", "log", address).out == ""
    done = cli("list", address)
    assert (done.code, "the registry has no skills yet" in done.err) == (1, True)
    assert cli("registry", "init", f"registry+sqlite://{tmp_path}/none/team.db").code == 1
    assert not (tmp_path / "none").exists()


def test_error_for_a_missing_registry_says_how_to_create_it(cli: Cli, data: Path) -> None:
    for command in ("list", "check"):
        done = cli(command, "registry:")
        assert (done.code, "`skillwire push ./skills`" in done.err) == (2, True)
    done = cli("registry", "log")
    assert (done.code, "the registry `registry:` does not exist" in done.err) == (1, True)
    assert not data.exists()


def test_configured_registry_shows_whether_it_was_created(cli: Cli, data: Path, tmp_path: Path) -> None:
    config = ("--config", tmp_path / "config.toml")
    assert cli("sources", "add", "registry:#canary", *config).code == 0
    (row,) = cli("sources", "--json", *config).json
    assert (row["kind"], row["source"], row["state"]) == ("registry", "registry:#canary", "not created yet")
    cli("push", "./skills", "--channel", "canary")
    (row,) = cli("sources", "--json", *config).json
    assert row["state"] == "there"
    assert len(cli("list", *config).out.splitlines()) == 2


def test_folder_without_skills_is_not_pushed(cli: Cli, data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = cli("push", "./empty")
    assert (done.code, "nothing was pushed: no skills here" in done.err) == (1, True)
    assert not data.exists()


def test_file_that_is_no_registry_is_left_alone(cli: Cli, data: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.db"
    other.write_bytes(b"these are my notes\n" * 500)
    done = cli("push", "./skills", "--to", f"registry+sqlite://{other}")
    assert (done.code, "is damaged, or is not a registry" in done.err) == (1, True)
    assert other.read_bytes() == b"these are my notes\n" * 500


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder_is_an_error_with_its_reason(cli: Cli, data: Path) -> None:
    data.mkdir(mode=0o500)
    done = cli("push", "./skills")
    assert (done.code, "cannot be opened: permission denied" in done.err) == (1, True)


def test_file_in_place_of_the_folder_is_an_error(cli: Cli, data: Path) -> None:
    data.write_bytes(b"")
    done = cli("push", "./skills")
    assert (done.code, "cannot be opened: file exists" in done.err) == (1, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everywhere")
def test_unreadable_folder_is_an_error_of_the_source(cli: Cli, data: Path) -> None:
    data.mkdir(mode=0o000)
    done = cli("list", "registry:", "./skills")
    assert len(done.out.splitlines()) == 2
    assert "cannot be opened: permission denied" in done.err


def test_impossible_file_name_is_an_error_of_the_source(cli: Cli, data: Path) -> None:
    address = f"registry+sqlite:///{'x' * 300}.db"
    done = cli("list", address, "./skills")
    assert len(done.out.splitlines()) == 2
    assert "the registry cannot be opened: file name too long" in done.err
    assert "file name too long" in cli("push", "./skills", "--to", address).err


def test_full_disk_is_an_error_and_keeps_what_was_there(cli: Cli, data: Path) -> None:
    cli("push", "./skills")
    before = counts(data / "registry.db")
    write(Path("skills/orders"), {"large.bin": os.urandom(4_000_000)})
    size = (data / "registry.db").stat().st_size + 1_000_000

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = subprocess.run(
        skillwire("push", "./skills", "--no-config"),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "the registry `registry:` cannot be" in done.stderr
    assert counts(data / "registry.db") == before
    assert cli("push", "./skills").code == 0


def test_server_follows_a_push_and_notifies_its_client_once(cli: Cli, data: Path) -> None:
    cli("push", "./skills")
    with StdioPeer("2025-11-25", skillwire("serve", "registry:", "--no-config")) as peer:
        assert len(peer.result("resources/list")["resources"]) > 0
        write_skills(Path("skills"), {f"many/skill-{number}": "one" for number in range(50)})
        assert cli("push", "./skills").code == 0
        received: list[Message] = []
        while "notifications/resources/list_changed" not in methods(received):
            received.append(peer.receive())
        peer.send_line(b'{"jsonrpc": "2.0", "id": "last", "method": "ping"}')
        while received[-1].get("id") != "last":
            received.append(peer.receive())
        counted = Counter(methods(received))
        assert set(counted.values()) == {1}, counted
        assert len(peer.result("skills/list")["skills"]) == 50 + 2


def methods(messages: Sequence[Message]) -> list[str]:
    return [each["method"] for each in messages if "method" in each]


def test_server_started_before_the_first_push_serves_it(cli: Cli, data: Path) -> None:
    with StdioPeer(MODERN, skillwire("serve", "registry:", "--no-config")) as peer:
        assert peer.result("skills/list")["skills"] == []
        assert cli("push", "./skills").code == 0
        deadline = time.monotonic() + PATIENCE
        while not (listed := peer.result("skills/list")["skills"]) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [each["uri"] for each in listed] == [
            "skill://acme/refunds/SKILL.md",
            "skill://orders/SKILL.md",
        ]

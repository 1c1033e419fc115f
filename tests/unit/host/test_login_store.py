"""How logins are stored: in private files, and in the system keyring if there is one."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillwire.errors import KeyringStateError, StateError
from skillwire.host import Logins, State
from skillwire.host.store import logins as system_keyring
from skillwire.host.store.login_record import LoginRecord, Tokens
from tests.support.foreign_servers import ROOT
from tests.support.keyrings import FOLDER, FolderKeyring, HangingKeyring, LockedKeyring
from tests.support.logins import NO_KEYRING
from tests.support.peers import PATIENCE

SERVER = "https://acme.example/mcp"


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", NO_KEYRING)


@pytest.fixture
def logins(tmp_path: Path) -> Logins:
    return Logins(tmp_path / "state")


def a_record(**fields: Any) -> LoginRecord:
    record = LoginRecord(
        label="acme",
        identity=SERVER,
        server=SERVER,
        issuer="https://login.example",
        client_id="client",
        token_endpoint="https://login.example/token",
        renewable=True,
        tokens=Tokens("access", "refresh", "secret"),
    )
    return replace(record, **fields)


def file_of(logins: Logins) -> Path:
    (path,) = logins.folder.glob("*.json")
    return path


def test_login_file_is_readable_by_its_owner_only(logins: Logins) -> None:
    logins.save(a_record())
    assert stat.S_IMODE(file_of(logins).stat().st_mode) == 0o600
    assert stat.S_IMODE(logins.folder.stat().st_mode) == 0o700
    assert logins.with_tokens("acme", SERVER) == a_record()
    assert logins.find("acme", "https://other.example/mcp") is None
    assert logins.find("other") is None
    assert "access" not in repr(logins.with_tokens("acme", SERVER))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not JSON"),
        (b"[" * 5000, "not JSON"),
        (b"{}", "unknown version"),
        (b"x" * 300_000, "too long"),
        (json.dumps({"version": 1, "label": 3, "auth_method": "none"}).encode(), "not a string"),
        (json.dumps({"version": 1, "auth_method": "magic"}).encode(), "`auth_method` is unknown"),
    ],
)
def test_damaged_login_is_reported_and_can_be_replaced(logins: Logins, content: bytes, told: str) -> None:
    logins.save(a_record())
    file_of(logins).write_bytes(content)
    with pytest.raises(StateError, match=told) as damaged:
        logins.find("acme")
    assert damaged.value.hint == "log in again with `skillwire login acme`"
    logins.save(a_record())
    assert logins.find("acme") is not None


@pytest.mark.parametrize("field", ["token_endpoint", "revocation_endpoint", "issuer", "resource"])
@pytest.mark.parametrize(
    "url", ["login.example", "https://", "https://x:y/", "file:///etc/x", "https://a b/"]
)
def test_invalid_stored_url_is_reported(logins: Logins, field: str, url: str) -> None:
    logins.save(a_record())
    fields = json.loads(file_of(logins).read_bytes()) | {field: url}
    file_of(logins).write_text(json.dumps(fields), "utf-8")
    with pytest.raises(StateError, match=f"`{field}` is not a URL"):
        logins.find("acme")


def test_login_file_that_others_may_read_is_not_used(logins: Logins) -> None:
    logins.save(a_record())
    file_of(logins).chmod(0o640)
    with pytest.raises(StateError, match="other users may read or write it"):
        logins.find("acme")


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_link_or_pipe_as_login_file_is_not_used(logins: Logins, tmp_path: Path, kind: str) -> None:
    logins.save(a_record())
    path = file_of(logins)
    path.rename(tmp_path / "elsewhere.json")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere.json")
    else:
        os.mkfifo(path, 0o600)
    with pytest.raises(StateError, match=r"it is a link|it is not a file"):
        logins.find("acme")
    logins.save(a_record())
    assert (tmp_path / "elsewhere.json").exists()
    assert not path.is_symlink()


@pytest.mark.rule("H28")
def test_label_of_a_different_server_loses_its_login(tmp_path: Path) -> None:
    with State.open(tmp_path / "state") as state:
        state.bind("acme", SERVER)
        state.logins.save(a_record())
        state.bind("acme", SERVER)
        assert state.logins.find("acme") is not None
        state.bind("acme", "https://other.example/mcp")
        assert state.logins.find("acme") is None
        state.logins.save(a_record())
        state.forget("acme")
        assert state.logins.find("acme") is None


# The keyring


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a keyring that works."""
    folder = tmp_path / "keyring"
    folder.mkdir()
    monkeypatch.setenv(FOLDER, str(folder))
    use(monkeypatch, FolderKeyring())
    return folder


def use(monkeypatch: pytest.MonkeyPatch, backend: FolderKeyring) -> None:
    monkeypatch.setattr("keyring.get_keyring", lambda: backend)


def secrets_in(keyring: Path) -> list[str]:
    return [path.read_text("utf-8") for path in keyring.iterdir()]


def test_tokens_are_stored_in_the_keyring_not_the_file(logins: Logins, keyring: Path) -> None:
    logins.save(a_record())
    assert [json.loads(secret)["refresh"] for secret in secrets_in(keyring)] == ["refresh"]
    assert json.loads(file_of(logins).read_bytes())["tokens"] is None
    found = logins.with_tokens("acme", SERVER)
    assert found is not None
    assert found.tokens == a_record().tokens
    logins.save(a_record(issuer="https://new.example", tokens=Tokens("new")))
    assert [json.loads(secret)["access"] for secret in secrets_in(keyring)] == ["new"]
    assert logins.remove("acme")
    assert secrets_in(keyring) == []


def test_tokens_refused_by_the_keyring_are_stored_in_the_file(logins: Logins, keyring: Path) -> None:
    large = a_record(tokens=Tokens("a" * 20_000, "refresh"))
    assert not logins.save(large).in_keyring
    assert secrets_in(keyring) == []
    assert logins.with_tokens("acme", SERVER) == large


def test_tokens_missing_from_the_keyring_need_a_new_login(logins: Logins, keyring: Path) -> None:
    logins.save(a_record())
    for path in keyring.iterdir():
        path.unlink()
    found = logins.with_tokens("acme", SERVER)
    assert found is not None
    assert found.tokens is None


@pytest.mark.parametrize("priority", [0, 0.5, -1])
def test_keyring_without_protection_is_not_used(
    logins: Logins, keyring: Path, priority: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FolderKeyring, "priority", priority)
    assert not logins.save(a_record()).in_keyring
    assert secrets_in(keyring) == []


@pytest.mark.parametrize(
    ("backend", "told"), [(LockedKeyring, "it failed"), (HangingKeyring, "it did not answer in time")]
)
def test_unreadable_keyring_is_reported_and_the_login_kept(
    logins: Logins,
    keyring: Path,
    monkeypatch: pytest.MonkeyPatch,
    backend: type[FolderKeyring],
    told: str,
) -> None:
    monkeypatch.setattr(system_keyring, "_TIMEOUT", 0.2)
    logins.save(a_record())
    use(monkeypatch, backend())
    with pytest.raises(StateError, match=f"cannot be read: {told}") as failed:
        logins.with_tokens("acme", SERVER)
    assert failed.value.hint == "unlock the keyring, or log in again with `skillwire login acme`"
    assert logins.find("acme") is not None
    use(monkeypatch, FolderKeyring())
    found = logins.with_tokens("acme", SERVER)
    assert found is not None
    assert found.tokens == a_record().tokens


def test_locked_keyring_falls_back_to_the_file(
    logins: Logins, keyring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins.save(a_record())
    use(monkeypatch, LockedKeyring())
    assert not logins.save(a_record(tokens=Tokens("new"))).in_keyring
    found = logins.with_tokens("acme", SERVER)
    assert found is not None
    assert found.tokens == Tokens("new")


def test_removal_reports_tokens_that_stay_in_the_keyring(
    logins: Logins, keyring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins.save(a_record())
    use(monkeypatch, LockedKeyring())
    with pytest.raises(KeyringStateError, match="may still be in the system keyring"):
        logins.remove("acme")
    assert logins.find("acme") is None


READ = """
import sys
from skillwire.host.store import logins
from skillwire.host.store.logins import Logins
logins._TIMEOUT = 0.2
try:
    Logins(sys.argv[1]).with_tokens("acme", sys.argv[2])
except Exception as error:
    print(error)
"""


def test_process_exits_despite_a_hanging_keyring(logins: Logins, keyring: Path, tmp_path: Path) -> None:
    logins.save(a_record())
    env = {**os.environ, "PYTHON_KEYRING_BACKEND": "tests.support.keyrings.HangingKeyring"}
    command = [sys.executable, "-c", READ, str(tmp_path / "state"), SERVER]
    ran = subprocess.run(
        command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert "it did not answer in time" in ran.stdout

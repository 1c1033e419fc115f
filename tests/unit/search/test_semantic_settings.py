"""The table `[search]`, the option `--semantic`, and what the command says."""

import re
from pathlib import Path

import pytest

from skillwire.config.file import ConfigFile
from skillwire.config.search_settings import SearchSettings
from skillwire.errors import UsageError
from tests.support.command_line import run
from tests.support.embeddings_server import embeddings_server
from tests.support.skills import skill_md, write

REFUNDS: dict[str, bytes | str] = {
    "refunds/SKILL.md": skill_md("refunds", "Decides whether a customer gets money back.")
}
QUERY = "reimbursing buyers"


def settings_of(tmp_path: Path, text: str) -> SearchSettings:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return SearchSettings.read(ConfigFile(path))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLWIRE_CACHE_DIR", str(tmp_path / "cache"))


def test_a_file_without_the_table_means_words_only(tmp_path: Path) -> None:
    assert not settings_of(tmp_path, "static = true\n").is_semantic
    assert not SearchSettings.read(None).is_semantic


def test_settings_are_read(tmp_path: Path) -> None:
    assert settings_of(tmp_path, '[search]\nsemantic = "local"\n') == SearchSettings(is_local=True)
    text = '[search]\nendpoint = "http://127.0.0.1:1/v1"\nmodel = "m"\ntoken-env = "T"\n'
    assert settings_of(tmp_path, text) == SearchSettings(
        endpoint="http://127.0.0.1:1/v1", model="m", token_env="T"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("search = 1\n", "`search` is not a table"),
        ("[search]\nsemantics = 'local'\n", "did you mean `semantic`?"),
        ("[search]\ntoken_env = 'T'\n", "did you mean `token-env`?"),
        ("[search]\nsemantic = true\n", "`semantic` in `[search]` is not a string"),
        ("[search]\nsemantic = 'cloud'\n", "can only be"),
        ("[search]\nendpoint = 'https://a.example'\n", "no `model`"),
        ("[search]\nendpoint = ''\nmodel = 'm'\n", "`endpoint` in `[search]` is not a string"),
        ("[search]\nmodel = 'm'\n", "need an `endpoint`"),
        ("[search]\nsemantic = 'local'\nendpoint = 'https://a.example'\nmodel = 'm'\n", "keep one of them"),
    ],
    ids=str,
)
def test_wrong_settings_are_an_error(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        settings_of(tmp_path, text)


def test_the_option_finds_by_meaning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path / "skills", REFUNDS)
    assert run(["search", QUERY, "--from", str(root), "--no-config"]) == 1
    capfd.readouterr()
    assert run(["search", QUERY, "--from", str(root), "--no-config", "--semantic"]) == 0
    assert "skill://refunds/SKILL.md" in capfd.readouterr().out


def test_the_command_says_why_it_searched_by_words(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path / "skills", REFUNDS)
    config = tmp_path / "config.toml"
    (tmp_path / "server").mkdir()
    with embeddings_server(tmp_path / "server") as server:
        config.write_text(f'[search]\nendpoint = "{server.url}"\nmodel = "static"\n')
        assert run(["search", QUERY, "--from", str(root), "--config", str(config)]) == 0
        assert "skill://refunds/SKILL.md" in capfd.readouterr().out
    assert run(["search", "customer", "--from", str(root), "--config", str(config)]) == 0
    shown = capfd.readouterr()
    assert "skill://refunds/SKILL.md" in shown.out
    assert "searched by words only" in shown.err


def test_a_missing_token_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path / "skills", REFUNDS)
    config = tmp_path / "config.toml"
    config.write_text('[search]\nendpoint = "https://a.example"\nmodel = "m"\ntoken-env = "NO_SUCH_TOKEN"\n')
    assert run(["search", QUERY, "--from", str(root), "--config", str(config)]) == 2
    assert "`NO_SUCH_TOKEN` is empty or not set" in capfd.readouterr().err

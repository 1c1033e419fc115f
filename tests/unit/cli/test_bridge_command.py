"""`skillwire bridge` and what cannot be done. What it does is in `tests/unit/host/test_bridge_process.py`."""

from pathlib import Path

import pytest

from skillwire.config.file import default_config
from skillwire.config.settings import BRIDGES
from tests.support.command_line import Cli


@pytest.mark.parametrize(
    ("arguments", "told", "hint"),
    [
        ([], "name at least one server", "skillwire servers"),
        (["nowhere"], "no client has a server `nowhere`", "skillwire servers"),
        (["http://127.0.0.1:1/mcp", "--trust", "other"], "`--trust other`", "127.0.0.1-1-mcp"),
        (["http://127.0.0.1:1/mcp", "--token-env", "X"], "`--token-env` needs `--http`", "stdio"),
        (["http://127.0.0.1:1/mcp", "--http", "0.0.0.0:0"], "there is no token", "--allow-public"),
        (
            ["http://127.0.0.1:1/mcp", "--catalog-tokens=-1"],
            "`--catalog-tokens` is -1, which is negative",
            "tokens",
        ),
        (
            ["http://a/mcp", "http://b/mcp", "--server-token-env", "X"],
            "requires exactly one server",
            "headers",
        ),
    ],
)
def test_wrong_arguments_are_refused_with_a_hint(
    good: Path, cli: Cli, arguments: list[str], told: str, hint: str
) -> None:
    done = cli("bridge", *arguments)
    assert (done.code, done.raw) == (2, b"")
    assert told in done.err
    assert hint in done.err.split("hint: ")[1]


def test_a_bridge_that_leads_back_to_itself_is_refused(
    good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BRIDGES, "++++")
    done = cli("bridge", "http://127.0.0.1:1/mcp")
    assert done.code == 2
    assert "leads back to it" in done.err


def test_the_search_of_a_bridge_follows_the_configuration_file(good: Path, cli: Cli) -> None:
    config = default_config()
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[search]\nendpoint = "https://a.example"\nmodel = "m"\ntoken-env = "NO_SUCH_TOKEN"\n')
    done = cli("bridge", "http://127.0.0.1:1/mcp")
    assert (done.code, done.raw) == (2, b"")
    assert "`NO_SUCH_TOKEN` is empty or not set" in done.err

"""A configured source that is missing keeps its label, and a command that scans once promises no retry."""

from pathlib import Path

import pytest

from skillwire.config.choice import ConfigChoice
from skillwire.config.file import ConfigFile
from skillwire.config.library import load_library
from skillwire.host.connections.errors import LoginAdvice
from skillwire.sources import Rule


@pytest.mark.parametrize(
    ("source", "label"),
    [("./gone", "gone"), ("./gone.zip", "gone"), ("~nobody-of-this-name/x", "unavailable")],
)
def test_a_missing_configured_source_keeps_its_label(tmp_path: Path, source: str, label: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[[sources]]\nsource = '{source}'\n")
    library = load_library([], config=ConfigChoice(ConfigFile(path), sources=True))
    assert [each.label for each in library.sources] == [label]
    (problem,) = library.catalog.problems
    assert problem.rule is Rule.SOURCE_FAILED
    assert problem.message.startswith(f"the source `{label}` is not served")
    assert "run the command again" in problem.hint
    assert "automatically" not in problem.hint


def test_a_typed_server_can_also_take_a_token() -> None:
    assert "`--token-env`" in LoginAdvice("a", "https://a.example/mcp").needed()
    assert "--token-env" not in LoginAdvice("a", "a").needed()

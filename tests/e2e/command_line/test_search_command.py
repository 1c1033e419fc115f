"""`skillwire search` with odd words and wrong options."""

from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.skills import skill_md, write

ONE: dict[str, bytes | str] = {
    "one/SKILL.md": skill_md("one", "Does refunds.", "# Steps\n\nPay the money back.\n")
}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["", " "], 2, "the query is empty"),
        (["refund", "--limit", "0"], 2, "`--limit` is 0"),
        (["refund", "--limit", "51"], 2, "`--limit` is 51"),
        (["refund", "--limit", "many"], 2, "many"),
        (["refund", "--for", "nobody"], 2, "nobody"),
        (["x" * 9_000], 2, "the query is too long"),
        (["zzzzzz"], 1, "nothing was found"),
        (["the", "of"], 1, "nothing was found"),
        (["\0"], 1, "nothing was found"),
    ],
)
def test_wrong_words_and_options_are_refused_clearly(
    cli: Cli, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    write(tmp_path, ONE)
    done = cli("search", *arguments, "--from", tmp_path)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


@pytest.mark.parametrize(
    "query",
    ['"refund"', "refund*", "NEAR(refund money)", "name:refund", "refund \udcff", "refund\0", "REFUNDS 🙂"],
)
def test_odd_words_find_the_skill(cli: Cli, tmp_path: Path, query: str) -> None:
    write(tmp_path, ONE)
    done = cli("search", query, "--from", tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("one\t")


def test_folder_that_cannot_hold_an_index_is_reported(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"cache": "no folder"})
    monkeypatch.setenv("SKILLWIRE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("skillwire.search.service._MANY", 1)
    write(tmp_path / "skills", ONE)
    done = cli("search", "refund", "--from", tmp_path / "skills")
    assert (done.code, done.out[:4]) == (0, "one\t")
    assert "the search index cannot be stored" in done.err

"""`skillwire show`: all that is known of one skill."""

from pathlib import Path

from tests.support.command_line import PROBLEM_KEYS, Cli


def test_show_prints_fields_files_and_problems(here: Path, cli: Cli) -> None:
    shown = cli("show", "acme/refunds", "--from", "skills").out
    assert "uri: skill://acme/refunds/SKILL.md\n" in shown
    assert f"from: {(here / 'skills/acme/refunds').resolve()}\n" in shown
    assert "3 files" in shown
    assert [line.split()[-1] for line in shown.splitlines()[-3:]] == [
        "SKILL.md",
        "logo.png",
        "references/policy.md",
    ]
    assert "(warning: name-folder)" in cli("show", "other", "--from", "skills").out


def test_show_prints_the_entry_of_the_listing_as_json(here: Path, cli: Cli) -> None:
    done = cli("show", "other", "--from", "skills", "--json")
    assert list(done.json) == ["uri", "frontmatter", "resources", "origin", "problems"]
    assert done.json["frontmatter"]["name"] == "other"
    assert [list(resource) for resource in done.json["resources"]] == [["uri", "digest", "size"]]
    assert [list(problem) for problem in done.json["problems"]] == [PROBLEM_KEYS]

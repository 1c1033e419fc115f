"""`skillwire pack --plugin`: the files of a plugin, and what happens to other files in its folder."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skillwire.core.output_folder import MANIFEST_NAME
from skillwire.library.visibility import VisibilityPolicy
from skillwire.packing.selection import select_for_plugin
from tests.support.command_line import Cli
from tests.support.scans import catalog
from tests.support.skills import skill_md, tree_stamps, write, write_skill

NAMED = ("--name", "Acme Skills", "--version", "1.2.0", "--description", "For Acme.", "--author", "Ada")
CLAUDE = {".claude-plugin/plugin.json", ".claude-plugin/marketplace.json"}
CODEX = {".codex-plugin/plugin.json", ".agents/plugins/marketplace.json"}
SKILLS = {"skills/refunds/SKILL.md", "skills/returns/SKILL.md"}


def files_in(folder: Path) -> set[str]:
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return found - {MANIFEST_NAME}


def read_json(path: Path) -> object:
    return json.loads(path.read_bytes())


def test_claude_plugin_is_also_a_marketplace(good: Path, cli: Cli) -> None:
    done = cli("pack", "good", "--plugin", "claude", "out", *NAMED)
    assert (done.code, done.raw) == (0, b"")
    assert (
        "`claude plugin marketplace add ./out` and `claude plugin install acme-skills@acme-skills`"
        in done.err
    )
    out = good / "out"
    assert files_in(out) == SKILLS | CLAUDE
    assert (out / "skills/refunds/SKILL.md").read_bytes() == skill_md("refunds")
    assert read_json(out / ".claude-plugin/plugin.json") == {
        "name": "acme-skills",
        "version": "1.2.0",
        "description": "For Acme.",
        "author": {"name": "Ada"},
    }
    assert read_json(out / ".claude-plugin/marketplace.json") == {
        "name": "acme-skills",
        "description": "For Acme.",
        "owner": {"name": "Ada"},
        "plugins": [{"name": "acme-skills", "source": "./", "description": "For Acme."}],
    }


def test_codex_plugin_is_also_a_marketplace(good: Path, cli: Cli) -> None:
    done = cli("pack", "good", "--plugin", "codex", "out", *NAMED)
    assert (done.code, done.raw) == (0, b"")
    assert "`codex plugin marketplace add ./out` and `codex plugin add acme-skills@acme-skills`" in done.err
    out = good / "out"
    assert files_in(out) == SKILLS | CODEX
    assert read_json(out / ".codex-plugin/plugin.json") == {
        "name": "acme-skills",
        "version": "1.2.0",
        "description": "For Acme.",
        "author": {"name": "Ada"},
        "skills": "./skills/",
        "interface": {
            "displayName": "Acme Skills",
            "shortDescription": "For Acme.",
            "developerName": "Ada",
            "category": "Productivity",
        },
    }
    assert read_json(out / ".agents/plugins/marketplace.json") == {
        "name": "acme-skills",
        "interface": {"displayName": "Acme Skills"},
        "plugins": [
            {
                "name": "acme-skills",
                "source": {"source": "local", "path": "./"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": "Productivity",
            }
        ],
    }


def test_one_folder_can_be_a_plugin_for_both_clients(good: Path, cli: Cli) -> None:
    assert cli("pack", "good", "--plugin", "claude", "out").code == 0
    done = cli("pack", "good", "--plugin", "codex", "out", "--json")
    assert (done.code, set(done.json["written"]), done.json["removed"]) == (0, CODEX, [])
    assert cli("pack", "good", "--plugin", "claude", "out", "--json").json["written"] == []
    assert files_in(good / "out") == SKILLS | CLAUDE | CODEX


def test_skills_in_groups_are_one_level_deep_in_a_plugin(good: Path, cli: Cli) -> None:
    write_skill(good / "good", "acme/billing/orders", {"scripts/run": "#!/bin/sh\n"})
    (good / "good/acme/billing/orders/scripts/run").chmod(0o755)
    assert cli("pack", "good", "--plugin", "codex", "out").code == 0
    script = good / "out/skills/orders/scripts/run"
    assert (script.read_bytes(), script.stat().st_mode & 0o777) == (b"#!/bin/sh\n", 0o755)


def test_a_changed_executable_bit_changes_the_plugin(good: Path, cli: Cli) -> None:
    write(good / "good/refunds", {"run": "#!/bin/sh\n"})
    cli("pack", "good", "--plugin", "codex", "out", *NAMED)
    (good / "good/refunds/run").chmod(0o755)
    done = cli("pack", "good", "--plugin", "codex", "out", *NAMED, "--json")
    assert done.json["written"] == ["skills/refunds/run"]
    assert (good / "out/skills/refunds/run").stat().st_mode & 0o777 == 0o755


def test_packing_a_plugin_again_writes_nothing(good: Path, cli: Cli) -> None:
    cli("pack", "good", "--plugin", "claude", "out")
    before = tree_stamps(good / "out")
    done = cli("pack", "good", "--plugin", "claude", "out", "--json")
    assert (done.code, done.json["written"], done.json["removed"]) == (0, [], [])
    assert tree_stamps(good / "out") == before


def test_two_skills_of_one_name_are_refused_with_both_paths(here: Path, cli: Cli) -> None:
    done = cli("pack", "skills", "--plugin", "claude", "out")
    assert done.code == 1
    assert "`twin` is the name of `twins/one/twin` and `twins/two/twin`" in done.err
    assert not (here / "out").exists()


def test_files_of_the_user_are_never_overwritten(good: Path, cli: Cli) -> None:
    write(good / "out", {"README.md": "mine", "skills/refunds/SKILL.md": "mine"})
    done = cli("pack", "good", "--plugin", "claude", "out")
    assert (done.code, "choose another `--plugin`" in done.err) == (2, True)
    assert (good / "out/skills/refunds/SKILL.md").read_text() == "mine"
    (good / "out/skills/refunds/SKILL.md").unlink()
    assert cli("pack", "good", "--plugin", "claude", "out").code == 0
    assert (good / "out/README.md").read_text() == "mine"


def test_skills_that_are_in_place_get_only_manifests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("refunds", "returns"):
        write_skill(tmp_path / "skills", name)
    before = tree_stamps(tmp_path)
    done = cli("pack", "skills", "--plugin", "claude", ".", "--json")
    assert (done.code, set(done.json["written"])) == (0, CLAUDE)
    assert tree_stamps(tmp_path).items() >= before.items()
    write_skill(tmp_path / "skills", "team/orders")
    done = cli("pack", "skills", "--plugin", "claude", ".")
    assert (done.code, "overlap" in done.err, "`team/orders`" in done.err) == (2, True, True)
    assert not (tmp_path / "skills/orders").exists()


def test_a_skill_without_a_description_stays_out(good: Path) -> None:
    found = catalog(good / "good")
    refunds = found.entries["skill://refunds/SKILL.md"]
    blank = replace(refunds, frontmatter={"name": "refunds", "description": " "})
    selection = select_for_plugin(
        replace(found, entries={**found.entries, blank.uri: blank}), VisibilityPolicy()
    )
    assert (list(selection.skills), [each.path for each in selection.left_out]) == (["returns"], ["refunds"])


def test_names_that_claude_code_reserves_are_refused(good: Path, cli: Cli) -> None:
    done = cli("pack", "good", "--plugin", "claude", "out", "--name", "agent-skills")
    assert (done.code, "only from Anthropic" in done.err, (good / "out").exists()) == (2, True, False)
    assert cli("pack", "good", "--plugin", "codex", "out", "--name", "agent-skills").code == 0

"""`skillwire check --contract`: every rule, every format, fixes, and only what changed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import PROBLEM_KEYS, Cli, on_terminal
from tests.support.contracts import block, write_contract_skill
from tests.support.git_server import git
from tests.support.skills import tree_stamps, write, write_skill

KEBAB = "lowercase words with single hyphens between them"


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a folder `skills` in which everything keeps the contract."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "skills"
    write_contract_skill(root, "orders")
    write_contract_skill(root, "billing/refunds", block(depends_on=["orders"]))
    return tmp_path


@pytest.fixture
def repository(team: Path) -> Path:
    git("init", "-q", cwd=team)
    commit(team)
    return team


def commit(folder: Path) -> None:
    git("add", "-A", cwd=folder)
    git("commit", "-q", "-m", "skills", cwd=folder)


def rules(found: Any) -> list[tuple[str, str]]:
    return [(each["path"], each["rule"]) for each in found]


def test_skills_that_keep_the_contract_are_silent(team: Path, cli: Cli) -> None:
    done = cli("check", "skills", "--contract", "--strict")
    assert (done.code, done.raw) == (0, b"")
    assert done.err == "2 skills keep the contract; 0 errors, 0 warnings\n"


def test_without_the_option_the_block_passes_through_untouched(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "odd", {"version": 1.0, "tags": "x"})
    assert cli("check", "skills", "--strict").code == 0


def test_each_message_has_a_path_a_field_and_a_reason(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "returns", block("returns", version=1.0, tags=["A"]))
    write_skill(team / "skills", "plain")
    done = cli("check", "skills", "--contract")
    assert done.code == 1
    assert [line.partition(" (")[0] for line in done.out.splitlines()[::2]] == [
        "skills/plain/SKILL.md: x-skillwire: the skill has no such block, so it is not in the catalog",
        "skills/returns/SKILL.md:6: x-skillwire.version: `1.0` is a number, not text",
        f"skills/returns/SKILL.md:8: x-skillwire.tags[0]: `A` is not {KEBAB}",
    ]
    assert all(line.startswith("hint: ") for line in done.out.splitlines()[1::2])
    assert done.out.splitlines()[2].endswith("(error: contract-version-type)")
    assert done.err == "2 skills keep the contract; 2 errors, 1 warning\n"


def test_a_skill_that_cannot_be_served_is_also_checked(team: Path, cli: Cli) -> None:
    text = "---\nname: Not A Name\ndescription: x\nx-skillwire:\n  version: 1.0\n---\n"
    write(team / "skills/broken", {"SKILL.md": text})
    write(team / "skills/unreadable", {"SKILL.md": "---\nname: [\n---\n"})
    found = cli("check", "skills", "--contract", "--json").json
    assert rules(found) == [
        ("broken/SKILL.md", "name-format"),
        ("broken/SKILL.md", "contract-id-missing"),
        ("broken/SKILL.md", "contract-capabilities-missing"),
        ("broken/SKILL.md", "contract-version-type"),
        ("unreadable/SKILL.md", "frontmatter-yaml"),
    ]
    assert [each["line"] for each in found] == [2, 4, 4, 5, 3]


def test_what_the_standard_only_warns_of_is_an_error_once(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "folder", block("other"), name="other")
    found = cli("check", "skills", "--contract", "--json").json
    assert rules(found) == [("folder/SKILL.md", "name-folder"), ("folder/SKILL.md", "contract-id-name")]
    assert {each["severity"] for each in found} == {"error"}


def test_several_folders_are_one_repository(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "more", "shop", block("shop", depends_on=["refunds"]))
    assert cli("check", "skills", "more", "--contract").code == 0
    done = cli("check", "more", "--contract", "--json")
    assert rules(done.json) == [("shop/SKILL.md", "contract-dependency-unknown")]


def test_the_key_of_the_block_can_be_chosen(team: Path, cli: Cli) -> None:
    file = team / "skills/orders/SKILL.md"
    file.write_text(file.read_text().replace("x-skillwire", "x-acme"))
    assert cli("check", "skills/orders", "--contract", "--block-key", "x-acme", "--strict").code == 0
    assert cli("check", "skills/orders", "--contract").code == 1


def test_warnings_count_only_with_strict(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "orders", block("orders", tags=["a", "a"]))
    assert cli("check", "skills", "--contract").code == 0
    assert cli("check", "skills", "--contract", "--strict").code == 1


# Files


def test_a_reference_that_leaves_its_folder_is_reported_as_missing(team: Path, cli: Cli) -> None:
    uris = [f"resource://skills/orders/{each}" for each in ("document", "references/key")]
    inner = block("orders", references={"key": {"path": "references/key.md"}}, capabilities=uris)
    folder = write_contract_skill(team / "skills", "orders", inner)
    (team / "secret.md").write_text("secret\n")
    (folder / "references").mkdir()
    (folder / "references/key.md").symlink_to(team / "secret.md")
    found = cli("check", "skills/orders", "--contract", "--json").json
    assert "contract-reference-missing" in {each["rule"] for each in found}


def test_the_hint_for_a_metadata_file_contains_its_replacement(team: Path, cli: Cli) -> None:
    folder = write_skill(team / "skills", "plain", {"metadata.yaml": "version: 1.2\ntags: [billing]\n"})
    found = cli("check", folder, "--contract", "--json").json
    (hint,) = (each["hint"] for each in found if each["rule"] == "contract-metadata-file")
    block = hint.partition("`")[2].partition("`, and remove the file")[0]
    assert block == (
        'x-skillwire: {id: "plain", version: "1.2", '
        'capabilities: ["resource://skills/plain/document"], tags: ["billing"]}'
    )
    write(folder, {"metadata.yaml": "[not a mapping"})
    found = cli("check", folder, "--contract", "--json").json
    assert any('version: "1.0.0"' in each["hint"] for each in found)


# Keys


@pytest.mark.parametrize("key", ["x-skillwire", "x-personal-mcp"])
def test_both_keys_are_recognized(team: Path, cli: Cli, key: str) -> None:
    file = team / "skills/orders/SKILL.md"
    file.write_text(file.read_text().replace("x-skillwire", key))
    assert cli("check", "skills", "--contract", "--strict").code == 0
    assert cli("graph", "skills").out.splitlines()[0] == "refunds"


def test_both_keys_in_one_file_are_an_error(team: Path, cli: Cli) -> None:
    file = team / "skills/orders/SKILL.md"
    file.write_text(file.read_text().replace("x-skillwire:", "x-personal-mcp: {id: orders}\nx-skillwire:"))
    found, *_ = (
        each
        for each in cli("check", "skills", "--contract", "--json").json
        if each["path"] == "orders/SKILL.md"
    )
    assert (found["rule"], found["severity"]) == ("contract-block-twice", "error")
    assert found["message"] == "the skill has two blocks, `x-skillwire` and `x-personal-mcp`"


def test_a_missing_block_has_the_key_of_the_repository(team: Path, cli: Cli) -> None:
    write_skill(team / "skills", "plain")
    for file in (team / "skills").rglob("SKILL.md"):
        file.write_text(file.read_text().replace("x-skillwire", "x-personal-mcp"))
    (found,) = cli("check", "skills", "--contract", "--json").json
    assert (found["rule"], found["field"]) == ("contract-block-missing", "x-personal-mcp")


# Adopting skills


@pytest.fixture
def old_layout(team: Path) -> Path:
    """The folder of a skill with a `metadata.yaml`, beside skills that use the key `x-skillwire`."""
    files: dict[str, bytes | str] = {
        "metadata.yaml": "# ours\nversion: 1.10\ntags: [billing]\nowner: shop\n",
        "references/a.md": "A\n",
    }
    folder = write_skill(team / "skills", "returns", files)
    text = "---\nname: returns # short\ndescription: Does returns.\n# the end\n---\nSee references/a.md\n"
    write(folder, {"SKILL.md": text})
    return folder


def test_a_sidecar_moves_into_its_skill_after_a_diff(old_layout: Path, cli: Cli) -> None:
    done = cli("check", "skills", "--contract", "--fix", "--adopt", "--yes")
    assert done.code == 0
    assert "+++ b/returns/SKILL.md" in done.err
    assert "--- a/returns/metadata.yaml\n+++ /dev/null" in done.err
    assert "1 file written, 1 removed\n3 skills keep the contract; 0 errors, 0 warnings\n" in done.err
    assert not (old_layout / "metadata.yaml").exists()
    assert (old_layout / "SKILL.md").read_text() == (
        "---\nname: returns # short\ndescription: Does returns.\n# the end\n"
        "x-skillwire:\n  id: returns\n  # ours\n"
        '  version: "1.10.0"\n  tags: [billing]\n  owner: shop\n'
        "  references:\n    a:\n      path: references/a.md\n"
        "  capabilities:\n    - resource://skills/returns/document\n"
        "    - resource://skills/returns/references/a\n"
        "---\nSee references/a.md\n"
    )
    before = tree_stamps(old_layout.parent)
    assert cli("check", "skills", "--contract", "--fix", "--adopt", "--yes").code == 0
    assert tree_stamps(old_layout.parent) == before


def test_adopting_without_a_terminal_or_with_a_no_changes_nothing(old_layout: Path, cli: Cli) -> None:
    before = tree_stamps(old_layout.parent)
    done = cli("check", "skills", "--contract", "--fix", "--adopt")
    assert (done.code, tree_stamps(old_layout.parent)) == (1, before)
    assert "2 files can be fixed; nothing was written" in done.err
    assert cli("check", "skills", "--contract", "--fix", "--yes").code == 1
    assert tree_stamps(old_layout.parent) == before


def test_a_new_block_has_the_key_of_the_repository(team: Path, cli: Cli) -> None:
    folder = write_skill(team / "skills", "returns", {"references/a.md": "A\n"})
    for file in (team / "skills").rglob("SKILL.md"):
        file.write_text(file.read_text().replace("x-skillwire", "x-personal-mcp"))
    assert cli("check", "skills", "--contract", "--fix", "--adopt", "--yes").code == 0
    text = (folder / "SKILL.md").read_text()
    assert 'x-personal-mcp:\n  id: returns\n  version: "0.1.0"\n' in text
    assert "    a:\n      path: references/a.md\n" in text
    done = cli("new", "skills/more", "--contract")
    assert done.code == 0
    assert "x-personal-mcp:" in (team / "skills/more/SKILL.md").read_text()


def test_a_refused_skill_does_not_stop_the_others(old_layout: Path, cli: Cli) -> None:
    skills = old_layout.parent
    write_skill(skills, "wrong", {"metadata.yaml": "id: other\n"})
    inner = block("late", version=..., owner="x")
    write(write_contract_skill(skills, "late", inner), {"metadata.yaml": "version: 2.0.0\n"})
    write_skill(skills, "linked").joinpath("metadata.yaml").symlink_to(old_layout / "metadata.yaml")
    done = cli("check", "skills", "--contract", "--fix", "--adopt", "--yes")
    assert done.code == 1
    assert (
        "error: `wrong/SKILL.md` was not adopted: x-skillwire.id: `other` is not the same as the name"
        in done.err
    )
    assert "hint: write `id: wrong`, or change the name" in done.err
    assert "error: `linked/SKILL.md` was not adopted: `metadata.yaml` is a link" in done.err
    assert not (old_layout / "metadata.yaml").exists()
    assert (skills / "wrong/metadata.yaml").exists()
    assert "`late/SKILL.md` was not adopted: `metadata.yaml` has the field `version`" in done.err
    assert "version" not in (skills / "late/SKILL.md").read_text()


def test_adopting_requires_fixes_and_implies_the_contract(old_layout: Path, cli: Cli) -> None:
    for options in (["--adopt"], ["--adopt", "--contract"]):
        done = cli("check", "skills", *options)
        assert (done.code, done.raw) == (2, b"")
        assert "`--adopt` requires `--fix`" in done.err
    done = cli("check", "skills", "--fix", "--adopt", "--yes")
    assert (done.code, (old_layout / "metadata.yaml").exists()) == (0, False)
    assert done.err.endswith("3 skills keep the contract; 0 errors, 0 warnings\n")


# Formats


@pytest.mark.parametrize("option", [["--json"], ["--format", "json"]], ids=" ".join)
def test_json_has_exactly_the_keys_of_a_problem(team: Path, cli: Cli, option: list[str]) -> None:
    write_skill(team / "skills", "plain")
    (found,) = cli("check", "skills", "--contract", *option).json
    assert list(found) == PROBLEM_KEYS
    assert found["path"] == "plain/SKILL.md"


@pytest.mark.parametrize("where", ["skills", "."])
def test_sarif_and_annotations_have_paths_from_where_the_check_ran(team: Path, cli: Cli, where: str) -> None:
    write_skill(team / "skills", "plain")
    for place in (where, str(team / where)):
        log = json.loads(cli("check", place, "--contract", "--format", "sarif").out)
        (result,) = log["runs"][0]["results"]
        location = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert (result["ruleId"], location) == ("contract-block-missing", {"uri": "skills/plain/SKILL.md"})
        line = cli("check", place, "--contract", "--format", "github").out
        assert line.startswith(
            "::error file=skills/plain/SKILL.md,title=contract-block-missing::x-skillwire: "
        )


@pytest.mark.parametrize("kind", ["sarif", "github"])
def test_every_format_is_there_without_the_contract_too(here: Path, cli: Cli, kind: str) -> None:
    done = cli("check", "skills", "--format", kind)
    assert done.code == 1
    assert "name-format" in done.out


# Fixes


FIXABLE = block("orders", version=1.5, tags=["a", "a"], capabilities=...)


def test_without_a_terminal_a_fix_only_shows_a_diff(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "orders", FIXABLE, allowed_tools="Read, Grep")
    before = tree_stamps(team)
    done = cli("check", "skills", "--contract", "--fix")
    assert (done.code, done.raw) == (1, b"")
    assert "-allowed-tools: 'Read, Grep'\n+allowed-tools: Read Grep\n" in done.err
    assert "+++ b/orders/SKILL.md" in done.err
    assert done.err.endswith(
        "error: 1 file can be fixed; nothing was written, because stdin or stderr is not a terminal\n"
        "hint: `--fix --yes` writes without asking\n"
    )
    assert tree_stamps(team) == before


def test_a_fix_is_written_with_yes(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "orders", FIXABLE, allowed_tools="Read, Grep")
    assert cli("check", "skills/orders", "--contract", "--fix", "--yes").code == 0
    text = (team / "skills/orders/SKILL.md").read_text()
    assert 'version: "1.5.0"\n' in text
    assert "    - resource://skills/orders/document\n---\n\n# Steps\n" in text
    assert cli("check", "skills", "--contract", "--fix").code == 0


def test_what_a_fix_leaves_is_reported(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "orders", {**FIXABLE, "id": "other"}, allowed_tools="Read, Grep")
    done = cli("check", "skills/orders", "--contract", "--fix", "--yes")
    assert done.code == 1
    assert "contract-id" in done.out
    assert "contract-version" not in done.out


def test_a_broken_reference_is_reported_only_once(team: Path, cli: Cli) -> None:
    references = {"gone": {"path": "references/gone.md"}, "out": {"path": "../out.md"}}
    write_contract_skill(team / "skills", "orders", block("orders", references=references))
    found = cli("check", "skills/orders", "--contract", "--json").json
    assert [each["rule"] for each in found] == ["contract-reference-missing", "contract-reference-path"]


def test_a_fix_keeps_the_mode_of_a_file(team: Path, cli: Cli) -> None:
    folder = write_contract_skill(team / "skills", "orders", FIXABLE)
    (folder / "SKILL.md").chmod(0o600)
    cli("check", "skills", "--contract", "--fix", "--yes")
    assert (folder / "SKILL.md").stat().st_mode & 0o777 == 0o600


def test_on_a_terminal_a_fix_asks_first(team: Path) -> None:
    write_contract_skill(team / "skills", "orders", FIXABLE)
    before = tree_stamps(team)
    code, shown = on_terminal("check", team / "skills", "--contract", "--fix", typed=b"n\n")
    question, _, after = shown.partition(b"write this to 1 file? [y/N]")
    assert question
    assert b"nothing was written" in after
    assert b"contract-" in after, "the problems are reported"
    assert code == 1
    assert tree_stamps(team) == before
    on_terminal("check", team / "skills", "--contract", "--fix", typed=b"y\n")
    assert tree_stamps(team) != before


def test_without_the_contract_only_standard_fields_are_fixed(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "orders", FIXABLE, allowed_tools="Read, Grep")
    done = cli("check", "skills", "--fix", "--yes")
    assert (done.code, done.raw) == (0, b"")
    text = (team / "skills/orders/SKILL.md").read_text()
    assert "allowed-tools: Read Grep\n" in text
    assert "version: 1.5\n" in text


def test_names_are_fixed_and_the_other_problems_stay(tmp_path: Path, cli: Cli) -> None:
    write_skill(tmp_path, "refunds", name="Refund Desk")
    write_skill(tmp_path, "Big Folder", name="Big Folder")
    write_skill(tmp_path, "clone", {".git": "gitdir: elsewhere\n"}, name="its-own-name")
    write_skill(tmp_path, "moved", {"metadata.yaml": "id: old-name\n"}, name="old-name")
    done = cli("check", tmp_path, "--fix", "--yes", "--json")
    assert "-name: Refund Desk\n+name: refunds\n" in done.err
    assert "-name: Big Folder\n+name: big-folder\n" in done.err
    assert rules(done.json) == [
        ("Big Folder/SKILL.md", "name-folder"),
        ("clone/SKILL.md", "name-folder"),
        ("moved/SKILL.md", "name-folder"),
    ]
    before = tree_stamps(tmp_path)
    assert cli("check", tmp_path, "--fix", "--yes").code == 0
    assert tree_stamps(tmp_path) == before


def test_a_skill_behind_a_link_is_fixed_once(tmp_path: Path, cli: Cli) -> None:
    real = write_skill(tmp_path, "real", name="other")
    write(real, {"SKILL.md": "---\nname: other\ndescription: x\nlicense: 2\n---\n"})
    (tmp_path / "alias").symlink_to(real)
    assert cli("check", tmp_path, "--fix", "--yes").err.count("+++ b/") == 1
    text = (real / "SKILL.md").read_text()
    assert text == '---\nname: real\ndescription: x\nlicense: "2"\n---\n'
    cli("check", tmp_path, "--fix", "--yes")
    assert (real / "SKILL.md").read_text() == text


def test_a_fix_never_gives_two_skills_one_name(tmp_path: Path, cli: Cli) -> None:
    write_skill(tmp_path, "big-box")
    for name in ("big_box", "Big Box", "Small Box"):
        write_skill(tmp_path, name, name=name)
    cli("check", tmp_path, "--fix", "--yes")
    names = [each["name"] for each in cli("list", tmp_path, "--json").json]
    assert sorted(names) == ["big-box", "small-box"]


def test_only_reported_problems_are_fixed(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_skill(tmp_path / "skills", "refunds", name="other")
    cli("check", "skills", "--baseline", "old.json", "--write-baseline")
    before = tree_stamps(folder)
    for options in (["--ignore", "name"], ["--select", "body"], ["--baseline", "old.json"]):
        assert cli("check", "skills", "--fix", "--yes", *options).code == 0
        assert tree_stamps(folder) == before
    done = cli("check", "skills", "--fix", "--yes", "--baseline", "old.json", "--write-baseline")
    assert "+name: refunds" in done.err
    assert "0 problems written" in done.err


def test_a_wrong_name_is_fixed_before_its_block_is_written(tmp_path: Path, cli: Cli) -> None:
    folder = write_skill(tmp_path, "refunds", name="Refund Desk")
    done = cli("check", tmp_path, "--fix", "--adopt", "--yes")
    assert done.err.endswith("1 skill keeps the contract; 0 errors, 0 warnings\n")
    assert "  id: refunds\n" in (folder / "SKILL.md").read_text()


def test_yes_needs_fix(team: Path, cli: Cli) -> None:
    done = cli("check", "skills", "--yes")
    assert (done.code, done.err) == (
        2,
        "error: `--yes` requires `--fix`\nhint: add `--fix`, or remove `--yes`\n",
    )


# Changes


def broken_everywhere(root: Path) -> None:
    for name in ("one", "two", "three"):
        write_contract_skill(root, name, block(name, version=1.0))


def test_only_skills_that_changed_are_reported(repository: Path, cli: Cli) -> None:
    broken_everywhere(repository / "skills")
    commit(repository)
    assert cli("check", "skills", "--contract", "--changed-since", "HEAD").code == 0
    write(repository / "skills/two", {"references/new.md": "untracked\n"})
    found = cli("check", "skills", "--contract", "--changed-since", "HEAD", "--json").json
    assert {each["path"] for each in found} == {"two/SKILL.md"}
    assert len(cli("check", "skills", "--contract", "--changed-since", "HEAD~1", "--json").json) == 4


def test_a_skill_that_depends_on_a_removed_one_is_reported(repository: Path, cli: Cli) -> None:
    (repository / "skills/orders/SKILL.md").unlink()
    done = cli("check", "skills", "--contract", "--changed-since", "HEAD", "--json")
    assert rules(done.json) == [("billing/refunds/SKILL.md", "contract-dependency-unknown")]


def test_staged_removals_and_renames_count(repository: Path, cli: Cli) -> None:
    linked = block("linked", references={"policy": {"path": "references/policy.md"}})
    write_contract_skill(repository / "skills", "linked", linked)
    file = repository / "skills/linked/references/policy.md"
    write(file.parent, {file.name: "# Policy\n"})
    commit(repository)
    check = ("check", "skills", "--contract", "--changed-since", "HEAD", "--json")
    assert cli(*check).json == []
    git("mv", file, file.with_name("rules.md"), cwd=repository)
    missing = ("linked/SKILL.md", "contract-reference-missing")
    assert missing in rules(cli(*check).json)
    git("rm", "-q", "-f", file.with_name("rules.md"), cwd=repository)
    done = cli(*check)
    assert (done.code, missing in rules(done.json)) == (1, True)


@pytest.mark.parametrize("contract", [["--contract"], []])
def test_the_summary_says_what_has_not_changed(repository: Path, cli: Cli, contract: list[str]) -> None:
    check = ("check", "skills", *contract, "--strict", "--changed-since", "HEAD")
    done = cli(*check)
    assert (done.code, done.raw, done.err) == (0, b"", "no skill has changed since `HEAD`\n")
    write_contract_skill(repository / "skills", "mine", block("mine"))
    done = cli(*check)
    verdict = "keeps the contract" if contract else "can be served"
    left_out = "2 skills without changes since `HEAD` left out"
    assert (done.code, done.err) == (0, f"1 skill {verdict}; 0 errors, 0 warnings; {left_out}\n")


def test_only_changes_of_the_own_branch_count(repository: Path, cli: Cli) -> None:
    git("branch", "feature", cwd=repository)
    broken_everywhere(repository / "skills")
    commit(repository)
    main = git("rev-parse", "HEAD", cwd=repository).strip()
    git("checkout", "-q", "feature", cwd=repository)
    write_contract_skill(repository / "skills", "mine", block("mine", version=1.0))
    found = cli("check", "skills", "--contract", "--changed-since", main, "--json").json
    assert rules(found) == [("mine/SKILL.md", "contract-version-type")]


def test_changes_count_without_the_contract_too(repository: Path, cli: Cli) -> None:
    write_skill(repository / "skills", "odd", name="other")
    assert rules(cli("check", "skills", "--changed-since", "HEAD", "--json").json) == [
        ("odd/SKILL.md", "name-folder")
    ]
    commit(repository)
    assert cli("check", "skills", "--changed-since", "HEAD", "--json").json == []


@pytest.mark.parametrize(
    ("revision", "told"),
    [
        ("no-such-branch", "cannot compare with `no-such-branch`"),
        ("--output=x", "it begins with `-`"),
    ],
)
def test_a_commit_that_is_not_there_is_wrong_usage(
    repository: Path, cli: Cli, revision: str, told: str
) -> None:
    done = cli("check", "skills", "--contract", f"--changed-since={revision}")
    assert (done.code, done.raw) == (2, b"")
    assert told in done.err
    assert "hint: name a branch" in done.err


def test_a_folder_that_is_in_no_repository_is_wrong_usage(
    team: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", os.fspath(team.parent))
    done = cli("check", "skills", "--contract", "--changed-since", "HEAD")
    assert done.code == 2
    assert "error: `skills` is not in a git repository" in done.err
    assert "hint: leave `--changed-since` out" in done.err


def test_nothing_that_a_repository_configures_is_run(repository: Path, cli: Cli) -> None:
    ran = repository / "ran"
    run = f"sh -c 'touch {ran}; cat'"
    hook = write(repository / "hooks", {"post-index-change": f"#!/bin/sh\ntouch {ran}\n"})
    (hook / "post-index-change").chmod(0o755)
    settings = {
        "filter.x.clean": run,
        "filter.x.process": run,
        "diff.x.textconv": run,
        "diff.x.command": run,
        "diff.external": run,
        "core.fsmonitor": run,
        "core.pager": run,
        "core.hooksPath": str(hook),
    }
    for name, value in settings.items():
        git("config", name, value, cwd=repository)
    write(repository, {".gitattributes": "* filter=x diff=x\n"})
    broken_everywhere(repository / "skills")
    os.utime(repository / "skills/orders/SKILL.md", (1, 1))
    assert len(cli("check", "skills", "--contract", "--changed-since", "HEAD", "--json").json) == 3
    assert not ran.exists()


def test_a_repository_with_another_owner_must_be_trusted(
    repository: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.fspath(repository.parent / "settings"))
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setattr("skillwire.contract.changes.local_environment", lambda: dict(os.environ))
    done = cli("check", "skills", "--changed-since", "HEAD")
    assert done.code == 2
    assert "git does not trust `skills`" in done.err
    assert "hint: if you trust it: `git config --global --add safe.directory" in done.err
    trust = ("config", "--global", "--add", "safe.directory", repository)
    git(*trust, cwd=repository, env={"GIT_CONFIG_GLOBAL": os.environ["GIT_CONFIG_GLOBAL"]})
    assert cli("check", "skills", "--changed-since", "HEAD").code == 0


def test_different_line_ends_are_not_a_change(repository: Path, cli: Cli) -> None:
    broken_everywhere(repository / "skills")
    commit(repository)
    file = repository / "skills/one/SKILL.md"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert cli("check", "skills", "--contract", "--changed-since", "HEAD", "--json").json == []


def test_files_that_are_not_checked_out_have_not_changed(repository: Path, cli: Cli) -> None:
    git("update-index", "--skip-worktree", "skills/orders/SKILL.md", cwd=repository)
    (repository / "skills/orders/SKILL.md").unlink()
    assert cli("check", "skills", "--contract", "--changed-since", "HEAD", "--json").json == []


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_changes_in_a_submodule_count(team: Path, cli: Cli, object_format: str) -> None:
    inner = team / "inner"
    broken_everywhere(inner)
    for folder in (inner, team / "skills"):
        git("init", "-q", f"--object-format={object_format}", cwd=folder)
    commit(inner)
    allowed = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "sub")
    git(*allowed, cwd=team / "skills")
    commit(team / "skills")
    check = ("check", "skills", "--contract", "--changed-since", "HEAD", "--json")
    assert cli(*check).json == []
    write_contract_skill(team / "skills/sub", "two", block("two", version=2.0))
    assert rules(cli(*check).json) == [("sub/two/SKILL.md", "contract-version-type")]
    commit(team / "skills/sub")
    assert rules(cli(*check).json) == [("sub/two/SKILL.md", "contract-version-type")]
    commit(team / "skills")
    assert cli(*check).json == []


def test_a_repository_inside_that_git_does_not_know_is_new(repository: Path, cli: Cli) -> None:
    inner = repository / "skills/more"
    broken_everywhere(inner)
    git("init", "-q", cwd=inner)
    commit(inner)
    assert len(cli("check", "skills", "--contract", "--changed-since", "HEAD", "--json").json) == 3

"""`skillwire project`: written beside the source, the same every time, and checked in CI."""

import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest
from skills_ref import validate  # pyright: ignore[reportMissingTypeStubs] - it has annotations, but no marker

from skillwire.config.library import load_library
from skillwire.contract.projection import plan_projection, restore_block
from skillwire.contract.projection import write as write_projection
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.core.output_folder import MANIFEST_NAME, SiteFolder
from skillwire.frontmatter.document import read_document
from tests.support.command_line import Cli
from tests.support.contracts import block, write_contract_skill
from tests.support.skills import tree_stamps, write, write_skill

FIXTURES: dict[str, dict[str, Any]] = {
    "plain": {},
    "rich": {"license": "MIT", "compatibility": "Needs: git", "allowed_tools": ["Read", "Bash(git add)"]},
    "coding": {"model": "opus", "hooks": {"Stop": [{"run": "x"}]}, "argument_hint": "[file]"},
    "scalars": {"metadata": {"a": 1, "b": True, "c": "x: y", "d": "---"}},
    "texts": {"description": '  Uses: quotes "\'" # and --- dashes\n\nand lines.  '},
}


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "skills"
    for name, fields in FIXTURES.items():
        write_contract_skill(root, name, **fields)
    outer = write_contract_skill(
        root, "deep/outer", block("outer", depends_on=["plain"], own={"a": [1, None]})
    )
    write_contract_skill(outer, "inner")
    write(
        outer,
        {"scripts/run.sh": "echo 1\n", "data.bin": bytes(range(256)), "notes.md": "run.sh data.bin\r\n"},
    )
    (outer / "scripts/run.sh").chmod(0o755)
    (root / "plain/SKILL.md").write_bytes(b"\xef\xbb\xbf" + (root / "plain/SKILL.md").read_bytes())
    return tmp_path


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def test_skills_ref_accepts_every_projection_and_rejects_its_source(team: Path, cli: Cli) -> None:
    assert cli("project", "skills", "--out", "upload").code == 0
    documents = sorted((team / "upload").rglob("SKILL.md"))
    assert len(documents) == len(FIXTURES) + 2
    for document in documents:
        assert validate(document.parent) == []
        assert validate(team / "skills" / document.parent.relative_to(team / "upload")) != []


def test_only_documents_differ_and_the_source_is_never_written(team: Path, cli: Cli) -> None:
    before = tree_stamps(team / "skills")
    cli("project", "skills", "--out", "upload")
    assert tree_stamps(team / "skills") == before
    source, projected = files(team / "skills"), files(team / "upload")
    assert source.keys() == projected.keys()
    for path, content in projected.items():
        assert path.endswith("SKILL.md") or content == source[path]
    assert (team / "upload/deep/outer/scripts/run.sh").stat().st_mode & 0o100
    assert not (team / "upload/deep/outer/notes.md").stat().st_mode & 0o111


def test_the_block_of_every_projection_can_be_rebuilt(team: Path, cli: Cli) -> None:
    cli("project", "skills", "--out", "upload")
    for path, content in files(team / "upload").items():
        if path.endswith("SKILL.md"):
            raw = read_document(files(team / "skills")[path], path, None).frontmatter or {}
            made = read_document(content, path, None).frontmatter or {}
            assert restore_block(made, BLOCK_KEY)[BLOCK_KEY] == raw[BLOCK_KEY]


def test_projecting_again_and_projecting_a_projection_changes_nothing(team: Path, cli: Cli) -> None:
    cli("project", "skills", "--out", "upload")
    stamps = tree_stamps(team / "upload")
    again = cli("project", "skills", "--out", "upload", "--json").json
    assert (again["written"], again["removed"]) == ([], [])
    assert tree_stamps(team / "upload") == stamps
    cli("project", "upload", "--out", "twice")
    assert files(team / "twice") == files(team / "upload")


def test_a_check_reports_differences_and_writes_nothing(team: Path, cli: Cli) -> None:
    assert cli("project", "skills", "--out", "upload", "--check").code == 1
    assert not (team / "upload").exists()
    cli("project", "skills", "--out", "upload")
    done = cli("project", "skills", "--out", "upload", "--check")
    assert (done.code, done.raw) == (0, b"")
    write_contract_skill(team / "skills", "rich", license="Apache-2.0")
    shutil.rmtree(team / "skills/scalars")
    write_contract_skill(team / "skills", "brand-new")
    stamps = tree_stamps(team)
    done = cli("project", "skills", "--out", "upload", "--check")
    assert done.code == 1
    assert done.out.splitlines() == [
        "missing: brand-new/SKILL.md",
        "differs: rich/SKILL.md",
        "left over: scalars/SKILL.md",
    ]
    assert tree_stamps(team) == stamps
    cli("project", "skills", "--out", "upload")
    assert not (team / "upload/scalars").exists()
    assert cli("project", "skills", "--out", "upload", "--check").code == 0


def test_a_changed_file_mode_is_reported_and_restored(team: Path, cli: Cli) -> None:
    cli("project", "skills", "--out", "upload")
    (team / "upload/deep/outer/scripts/run.sh").chmod(0o644)
    assert (
        cli("project", "skills", "--out", "upload", "--check").out == "differs: deep/outer/scripts/run.sh\n"
    )
    cli("project", "skills", "--out", "upload")
    assert cli("project", "skills", "--out", "upload", "--check").code == 0


def test_dropped_fields_are_listed(team: Path, cli: Cli) -> None:
    done = cli("project", "skills", "--out", "upload", "--json")
    dropped = {each["id"]: each["dropped"] for each in done.json["skills"] if each["dropped"]}
    assert dropped == {"coding": ["argument-hint", "hooks", "model"]}
    assert "coding/SKILL.md: model: the field `model` is not in the projection (warning: " in done.err


def test_files_of_others_are_never_touched(team: Path, cli: Cli) -> None:
    write(team / "upload", {"README.md": "mine\n"})
    assert cli("project", "skills", "--out", "upload").code == 0
    write(team / "elsewhere/plain", {"SKILL.md": "mine\n"})
    done = cli("project", "skills", "--out", "elsewhere")
    assert done.code == 2
    assert (team / "elsewhere/plain/SKILL.md").read_text() == "mine\n"


def test_nothing_is_written_if_any_skill_breaks_the_contract(team: Path, cli: Cli) -> None:
    write_skill(team / "skills", "no-block")
    write_contract_skill(team / "skills", "long", compatibility="x" * 501)
    write(team / "skills/broken", {"SKILL.md": "no frontmatter"})
    done = cli("project", "skills", "--out", "upload")
    assert (done.code, done.raw) == (1, b"")
    assert not (team / "upload").exists()
    for told in ("no-block/SKILL.md: x-skillwire:", "long/SKILL.md: compatibility:", "broken/SKILL.md:1:"):
        assert told in done.err
    assert done.err.endswith("error: nothing was written: fix the errors above first\n")


@pytest.mark.parametrize("out", ["skills", "skills/upload", "."])
def test_a_projection_into_its_own_source_is_wrong_usage(team: Path, cli: Cli, out: str) -> None:
    before = tree_stamps(team)
    done = cli("project", "skills", "--out", out)
    assert done.code == 2
    assert "hint: name a folder beside the skills with `--out`" in done.err
    assert tree_stamps(team) == before


def test_a_single_skill_is_projected_into_its_own_folder(team: Path, cli: Cli) -> None:
    assert cli("project", "skills/plain", "--out", "upload").code == 0
    assert list(files(team / "upload")) == ["plain/SKILL.md"]
    assert validate(team / "upload/plain") == []


def test_a_folder_without_skills_is_not_projected(team: Path, cli: Cli) -> None:
    (team / "empty").mkdir()
    assert cli("project", "empty", "--out", "upload").code == 1
    assert not (team / "upload").exists()


# Links, and ends in the middle


@pytest.mark.parametrize("to", ["skills", "skills/deep", "nowhere"])
def test_nothing_is_written_or_removed_behind_a_link(team: Path, cli: Cli, to: str) -> None:
    cli("project", "skills", "--out", "upload")
    for target in ("fresh", "upload"):
        (team / target).mkdir(exist_ok=True)
        shutil.rmtree(team / target / "deep", ignore_errors=True)
        (team / target / "deep").symlink_to(team / to)
        before = tree_stamps(team / "skills")
        done = cli("project", "skills", "--out", target)
        assert done.code == 2
        assert "is behind a link; files behind links are never written" in done.err
        assert "hint: remove the link, or choose another `--out`" in done.err
        assert tree_stamps(team / "skills") == before
        assert not (team / "nowhere").exists()
        assert cli("project", "skills", "--out", target, "--check").code == 1


def test_removing_a_skill_keeps_the_target_of_a_link(team: Path, cli: Cli) -> None:
    cli("project", "skills", "--out", "upload")
    shutil.rmtree(team / "skills/rich")
    (team / "upload/rich").rename(team / "mine")
    (team / "upload/rich").symlink_to(team / "mine")
    assert cli("project", "skills", "--out", "upload").code == 0
    assert (team / "mine/SKILL.md").is_file()


def test_a_link_is_replaced_without_changing_its_target(team: Path, cli: Cli) -> None:
    cli("project", "skills", "--out", "upload")
    script, source = team / "upload/deep/outer/scripts/run.sh", team / "skills/deep/outer/notes.md"
    script.unlink()
    script.symlink_to(source)
    before = tree_stamps(team / "skills")
    assert cli("project", "skills", "--out", "upload", "--check").code == 1
    assert cli("project", "skills", "--out", "upload").code == 0
    assert not script.is_symlink()
    assert tree_stamps(team / "skills") == before


def test_an_interrupted_projection_is_finished_by_the_next_one(
    team: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        raise RuntimeError("ended")

    library = load_library(["skills"], follow_links=False)
    site = SiteFolder(team / "upload", "project")
    with monkeypatch.context() as dying:
        dying.setattr("skillwire.contract.projection._set_mode", ended)
        dying.setattr(SiteFolder, "save_manifest", ended)  # as after `kill -9`: the manifest is not saved
        with pytest.raises(RuntimeError, match="ended"):
            anyio.run(write_projection, library, plan_projection(library, BLOCK_KEY), site)
    assert files(team / "upload").keys() == {"coding/SKILL.md"}
    write_contract_skill(team / "skills", "coding", license="MIT")
    write(
        team / "upload/coding",
        {".SKILL.md.o4whc0ro.skillwire-tmp": "half", ".other.o4whc0ro.skillwire-tmp": "mine"},
    )
    write(team / "upload", {f".{MANIFEST_NAME}.o4whc0ro.skillwire-tmp": "half"})
    assert cli("project", "skills", "--out", "upload", "--check").code == 1
    done = cli("project", "skills", "--out", "upload")
    assert (done.code, done.err.splitlines()[-1]) == (0, "7 skills written to `upload`")
    hidden = {path.name for path in (team / "upload").rglob(".*")}
    assert hidden == {MANIFEST_NAME, ".other.o4whc0ro.skillwire-tmp"}
    assert cli("project", "skills", "--out", "upload", "--check").code == 0


def test_a_file_not_written_by_project_is_kept(team: Path, cli: Cli) -> None:
    write(team / "upload/plain", {"SKILL.md": "mine\n"})
    for _ in range(2):
        told = cli("project", "skills", "--out", "upload").err
        assert "already exists and was not written by `skillwire project`" in told
    assert (team / "upload/plain/SKILL.md").read_text() == "mine\n"


def test_without_its_list_a_projection_is_not_current(team: Path, cli: Cli) -> None:
    cli("project", "skills", "--out", "upload")
    (team / "upload" / MANIFEST_NAME).unlink()
    done = cli("project", "skills", "--out", "upload", "--check")
    assert (done.code, done.out) == (1, f"missing: {MANIFEST_NAME}\n")
    cli("project", "skills", "--out", "upload")
    assert cli("project", "skills", "--out", "upload", "--check").code == 0

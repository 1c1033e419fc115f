"""`skillwire publish`: a folder for a web server, from which others can fetch the skills."""

import shutil
from pathlib import Path

import anyio
import orjson
import pytest

from skillwire import Library, MemorySource, SkillRecord
from skillwire.cli import publish
from skillwire.core import output_folder as site_folder
from skillwire.core.atomic_write import replace_file
from skillwire.core.names import SKILL_FILE
from skillwire.features.website import SkippedSkill, build_page, choose_skills
from skillwire.protocol.delivery import Delivery
from skillwire.protocol.discovery import WELL_KNOWN_FOLDER, Artifact, read_index
from skillwire.sources import Digest, FetchedSource, MemorySkill
from skillwire.sources.web.source import WebFetcher
from tests.support.command_line import Cli
from tests.support.liars import Failing
from tests.support.peers import PATIENCE
from tests.support.scans import catalog
from tests.support.skills import skill_md, tree_stamps, write, write_skill
from tests.support.web_site import PublishingSite

WELL_KNOWN = Path("site") / WELL_KNOWN_FOLDER


def published() -> dict[str, Artifact]:
    """Return what the index names, having looked that it is there."""
    index = read_index((WELL_KNOWN / "index.json").read_bytes())
    assert index.problems == ()
    artifacts = {skill.name: skill for skill in index.skills if isinstance(skill, Artifact)}
    assert all((WELL_KNOWN / artifact.url).is_file() for artifact in artifacts.values())
    return artifacts


def test_what_is_published_is_read_back_with_the_same_digests(
    served_tree: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("bytes", "verbatim", "outer"):
        shutil.copytree(served_tree / name, tmp_path / "skills" / name)
    refunds = write_skill(
        tmp_path / "skills", "deep/er/refunds", {"scripts/run.sh": "#!/bin/sh\n", "run": b"\x7fELF\0"}
    )
    for script in ("scripts/run.sh", "run"):
        (refunds / script).chmod(0o755)
    assert cli("publish", "skills", "--out", "site").code == 0

    async def read_back() -> list[SkillRecord]:
        with anyio.fail_after(PATIENCE), PublishingSite() as site:
            site.show_folder(tmp_path / "site")
            mirror = WebFetcher(site.origin, tmp_path / "cache")
            scan = await FetchedSource(mirror, label="site").scan()
            assert scan.problems == ()
            return list(scan.entries)

    fetched = {entry.name: entry for entry in anyio.run(read_back)}
    for entry in catalog(tmp_path / "skills").entries.values():
        assert fetched[entry.name].files == entry.files
        assert fetched[entry.name].frontmatter == entry.frontmatter


def test_only_skills_with_several_files_are_published_as_archives(good: Path, cli: Cli) -> None:
    write_skill(good / "good", "large", {"references/policy.md": "# Policy\n"})
    done = cli("publish", "good", "--out", "site")
    assert (done.code, done.raw) == (0, b"")
    assert done.err == "3 skills published to `site`; serve this folder at the root of your website\n"
    found = published()
    assert {name: artifact.type for name, artifact in found.items()} == {
        "refunds": Delivery.SKILL_MD,
        "returns": Delivery.SKILL_MD,
        "large": Delivery.ARCHIVE,
    }
    assert (WELL_KNOWN / "large/references/policy.md").read_text() == "# Policy\n"
    assert (WELL_KNOWN / "refunds/SKILL.md").read_bytes() == skill_md("refunds")


def test_publishing_again_rewrites_nothing(good: Path, cli: Cli) -> None:
    write_skill(good / "good", "large", {"references/policy.md": "# Policy\n"})
    cli("publish", "good", "--out", "site")
    before = tree_stamps(good / "site")
    done = cli("publish", "good", "--out", "site", "--json")
    assert (done.code, done.json["written"], done.json["removed"]) == (0, [], [])
    assert tree_stamps(good / "site") == before


def test_the_same_skills_make_the_same_site_wherever_they_are(good: Path, cli: Cli) -> None:
    write_skill(good / "good", "large", {"scripts/run.sh": "#!/bin/sh\n"})
    shutil.copytree(good / "good", good / "elsewhere/skills")
    cli("publish", "good", "--out", "site")
    cli("publish", "elsewhere/skills", "--out", "other")
    one, two = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (good / "site", good / "other")
    )
    assert one == two


def test_a_changed_skill_changes_alone(good: Path, cli: Cli) -> None:
    cli("publish", "good", "--out", "site")
    before = published()
    write(good / "good/refunds", {"SKILL.md": skill_md("refunds", body="# Other\n")})
    done = cli("publish", "good", "--out", "site", "--json")
    after = published()
    assert after["returns"] == before["returns"]
    assert done.json["written"] == [after["refunds"].url, "refunds/SKILL.md", "index.json"]
    assert done.json["removed"] == [before["refunds"].url]


def test_the_index_never_names_a_missing_file(good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("publish", "good", "--out", "site")
    write(good / "good/refunds", {"SKILL.md": skill_md("refunds", body="# Other\n"), "more.md": "more\n"})
    shutil.rmtree(good / "good/returns")
    write_skill(good / "good", "added")
    shown: list[list[str]] = []

    def replace_and_look(path: Path, content: bytes) -> None:
        replace_file(path, content)
        found = published()
        for artifact in found.values():
            assert Digest.of((WELL_KNOWN / artifact.url).read_bytes()) == artifact.digest
        shown.append(sorted(found))

    monkeypatch.setattr(site_folder, "replace_file", replace_and_look)
    assert cli("publish", "good", "--out", "site").code == 0
    assert shown[0] == ["refunds", "returns"]
    assert shown[-1] == ["added", "refunds"]


def test_removed_skills_are_deleted_and_foreign_files_are_kept(good: Path, cli: Cli) -> None:
    write(
        good / "site",
        {
            "index.html": "home\n",
            f"{WELL_KNOWN_FOLDER}/notes.txt": "mine\n",
            f"{WELL_KNOWN_FOLDER}/returns/mine.txt": "mine\n",
        },
    )
    cli("publish", "good", "--out", "site")
    shutil.rmtree(good / "good/returns")
    done = cli("publish", "good", "--out", "site")
    assert done.code == 0
    assert "1 skill published to `site`, 2 old files removed;" in done.err
    assert list(published()) == ["refunds"]
    left = {path.relative_to(WELL_KNOWN).as_posix() for path in WELL_KNOWN.rglob("*") if path.is_file()}
    url = published()["refunds"].url
    assert left == {
        ".published-by-skillwire.json",
        "index.json",
        "notes.txt",
        "refunds/SKILL.md",
        "returns/mine.txt",
        url,
    }
    assert (good / "site/index.html").read_text() == "home\n"


def test_a_page_for_people_follows_the_skills(good: Path, cli: Cli) -> None:
    page = good / "site/index.html"
    done = cli("publish", "good", "--out", "site", "--json")
    assert done.json["page"] == "site/index.html"
    assert 'id="skill-returns"' in page.read_text(encoding="utf-8")
    shutil.rmtree(good / "good/returns")
    cli("publish", "good", "--out", "site")
    assert 'id="skill-returns"' not in page.read_text(encoding="utf-8")
    page.unlink()
    page.write_text("mine\n", encoding="utf-8")
    (good / "site/.published-by-skillwire.json").unlink()
    done = cli("publish", "good", "--out", "site", "--json")
    assert (done.code, done.json["page"], page.read_text(encoding="utf-8")) == (0, None, "mine\n")
    assert "`site/index.html` was not written by this command, so it is unchanged" in done.err


@pytest.mark.parametrize("path", ["index.json", "refunds/SKILL.md"])
def test_a_file_not_written_by_publish_is_never_overwritten(good: Path, cli: Cli, path: str) -> None:
    write(WELL_KNOWN, {path: "mine\n"})
    done = cli("publish", "good", "--out", "site")
    assert done.code == 2
    assert f"`{WELL_KNOWN / path}` already exists" in done.err
    assert "hint: move it away" in done.err
    assert (WELL_KNOWN / path).read_text() == "mine\n"
    (WELL_KNOWN / path).unlink()
    assert cli("publish", "good", "--out", "site").code == 0
    shutil.rmtree(good / "good/returns")
    cli("publish", "good", "--out", "site")
    assert not list(WELL_KNOWN.glob("returns*")), "what a failed run wrote was noted as ours"


def test_an_identical_file_of_the_user_is_never_removed(good: Path, cli: Cli, tmp_path: Path) -> None:
    assert cli("publish", "good", "--out", str(tmp_path / "copy")).code == 0
    identical = (tmp_path / "copy" / WELL_KNOWN_FOLDER / "refunds/SKILL.md").read_bytes()
    write(WELL_KNOWN, {"refunds/SKILL.md": identical})
    assert cli("publish", "good", "--out", "site").code == 0
    shutil.rmtree(good / "good/refunds")
    assert cli("publish", "good", "--out", "site").code == 0
    assert (WELL_KNOWN / "refunds/SKILL.md").read_bytes() == identical


def test_a_list_of_files_cannot_make_us_remove_others(good: Path, cli: Cli) -> None:
    write(good, {"precious.txt": "mine\n"})
    bad = ["../../../precious.txt", str(good / "precious.txt"), 7]
    write(WELL_KNOWN, {".published-by-skillwire.json": orjson.dumps({"files": bad})})
    assert cli("publish", "good", "--out", "site").code == 0
    assert (good / "precious.txt").exists()


def test_a_damaged_list_of_files_is_an_error(good: Path, cli: Cli) -> None:
    write(WELL_KNOWN, {".published-by-skillwire.json": "{"})
    done = cli("publish", "good", "--out", "site")
    assert (done.code, "is damaged" in done.err) == (2, True)


def test_a_file_may_become_a_folder_and_vice_versa(good: Path, cli: Cli) -> None:
    write(good / "good/refunds", {"a": "file\n", "b/c": "in a folder\n"})
    cli("publish", "good", "--out", "site")
    shutil.rmtree(good / "good/refunds/b")
    (good / "good/refunds/a").unlink()
    write(good / "good/refunds", {"a/c": "in a folder\n", "b": "file\n"})
    assert cli("publish", "good", "--out", "site").code == 0
    assert (WELL_KNOWN / "refunds/a/c").read_text() == "in a folder\n"
    assert (WELL_KNOWN / "refunds/b").read_text() == "file\n"


def test_skills_that_cannot_be_published_do_not_stop_the_others(here: Path, cli: Cli) -> None:
    done = cli("publish", "skills", "--out", "site", "--json")
    assert done.code == 1
    assert sorted(published()) == ["other", "refunds", "twin"]
    assert [skill["path"] for skill in done.json["left_out"]] == ["twins/two/twin"]
    assert [problem["path"] for problem in done.json["problems"]] == ["broken/SKILL.md"]
    assert "broken/SKILL.md:2: name: `Broken Name` is not" in done.err
    twice = "a site can have only one skill named `twin`; `twins/one/twin` is published"
    assert f"error: `twins/two/twin` is not published: {twice}" in done.err
    assert done.err.endswith("3 skills published to `site`; serve this folder at the root of your website\n")


def test_an_archive_that_readers_would_refuse_is_not_published(good: Path, cli: Cli) -> None:
    write(good / "good/refunds", {"data/nul.txt": "a device, on Windows\n"})
    done = cli("publish", "good", "--out", "site")
    assert done.code == 1
    assert list(published()) == ["returns"]
    assert (
        "`refunds` is not published: clients would reject its archive, which contains `data/nul.txt`"
        in done.err
    )


def test_json_lists_what_was_published(good: Path, cli: Cli) -> None:
    done = cli("publish", "good", "--out", "site", "--json")
    assert list(done.json) == ["folder", "skills", "page", "written", "removed", "left_out", "problems"]
    assert done.json["folder"] == str(WELL_KNOWN)
    (refunds, _) = done.json["skills"]
    found = published()["refunds"]
    assert refunds == {"name": "refunds", "type": "skill-md", "url": found.url, "digest": found.digest.text}


def test_a_site_is_not_emptied_by_mistake(good: Path, cli: Cli) -> None:
    cli("publish", "good", "--out", "site")
    before = tree_stamps(good / "site")
    (good / "empty").mkdir()
    done = cli("publish", "empty", "--out", "site")
    assert (done.code, "nothing was published: no skills here" in done.err) == (1, True)
    write(good / "broken/a", {"SKILL.md": "no frontmatter\n"})
    done = cli("publish", "broken", "--out", "site")
    assert (done.code, "nothing was published: no skill can be" in done.err) == (1, True)
    assert tree_stamps(good / "site") == before


def test_a_failing_source_leaves_the_site_unchanged(
    good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("publish", "good", "--out", "site")
    before = tree_stamps(good / "site")

    def load(_arguments: list[str], **_options: object) -> Library:
        library = Library([MemorySource([MemorySkill("a", {SKILL_FILE: skill_md("a")})]), Failing()])
        anyio.run(library.load)
        return library

    monkeypatch.setattr(publish, "load_library", load)
    done = cli("publish", "good", "--out", "site")
    assert done.code == 1
    assert "nothing was published: the source `failing` is not served: the disk is on fire" in done.err
    assert tree_stamps(good / "site") == before


def test_a_folder_that_cannot_be_written_is_wrong_usage(good: Path, cli: Cli) -> None:
    write(good, {"file": "x"})
    done = cli("publish", "good", "--out", "file")
    assert done.code == 2
    assert done.err.startswith("error: cannot write ")
    assert ": not a directory\n" in done.err


def test_out_must_be_said(good: Path, cli: Cli) -> None:
    assert cli("publish", "good").code == 2


def test_a_generated_skill_cannot_be_published() -> None:
    async def now() -> bytes:
        return skill_md("live")

    found = choose_skills(catalog(MemorySource([MemorySkill("live", {SKILL_FILE: now})])))
    assert found.entries == ()
    assert [(each.path, "generated" in each.message) for each in found.left_out] == [("live", True)]


def test_a_skill_that_changes_while_being_read_is_skipped() -> None:
    source = MemorySource([MemorySkill("a", {SKILL_FILE: skill_md("a"), "b.md": b"old"})])

    async def outcome() -> object:
        library = Library([source])
        (entry,) = (await library.load()).entries.values()
        source.put(MemorySkill("a", {SKILL_FILE: skill_md("a"), "b.md": b"new"}))
        return await build_page(library, entry)

    assert isinstance(anyio.run(outcome), SkippedSkill)


def test_a_description_is_as_long_as_the_format_allows(good: Path, cli: Cli) -> None:
    write(good / "good/refunds", {"SKILL.md": skill_md("refunds", "word " * 400)})
    cli("publish", "good", "--out", "site")
    assert len(published()["refunds"].description) == 1024


def test_nothing_is_published_through_a_link(tmp_path: Path, cli: Cli) -> None:
    write_skill(tmp_path / "skills", "refunds")
    (tmp_path / "site").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "site/.well-known").symlink_to(tmp_path / "elsewhere")
    done = cli("publish", tmp_path / "skills", "--out", tmp_path / "site")
    assert done.code == 2
    assert "is behind a link" in done.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("out", ["good", "good/refunds/site"])
def test_a_site_in_a_folder_of_skills_is_refused(good: Path, cli: Cli, out: str) -> None:
    before = sorted(good.rglob("*"))
    done = cli("publish", "good", "--out", out)
    assert done.code == 2
    assert "would be among the skills of" in done.err
    assert "hint: choose another folder" in done.err
    assert sorted(good.rglob("*")) == before

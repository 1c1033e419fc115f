"""Which folders are skills, and which path each skill gets."""

from pathlib import Path

import anyio
import pytest

from skillwire import FolderSource, Library
from skillwire.core.names import is_skill_name
from skillwire.sources import Limits, Rule, Severity
from tests.support.scans import catalog, faults, problems, scan, uris
from tests.support.skills import make_fifo, skill_md, write, write_skill

WARNING, ERROR = Severity.WARNING, Severity.ERROR


def paths_of(root: Path, skill: str) -> list[str]:
    (entry,) = (entry for entry in scan(root).entries if entry.path == skill)
    return [file.path for file in entry.files]


def test_root_that_is_a_skill_is_served_under_its_name(tmp_path: Path) -> None:
    write_skill(tmp_path, "refunds", {"references/policy.md": "x"})
    assert uris(scan(tmp_path / "refunds")) == ["refunds"]


def test_skills_are_found_at_any_depth(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    write_skill(tmp_path, "a/b/c/two")
    assert uris(scan(tmp_path)) == ["a/b/c/two", "one"]


def test_container_folders_are_not_part_of_paths(tmp_path: Path) -> None:
    write_skill(tmp_path, "skills/one")
    write_skill(tmp_path, ".claude/skills/two")
    write_skill(tmp_path, "plugins/x/skills/three")
    write_skill(tmp_path, "plugins/y/.claude/skills/team/four")
    assert uris(scan(tmp_path)) == ["one", "plugins/x/three", "plugins/y/team/four", "two"]


def test_container_folder_stays_in_path_to_avoid_clash(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    write_skill(tmp_path, "skills/one")
    write_skill(tmp_path, ".claude/skills/one")
    assert uris(scan(tmp_path)) == [".claude/skills/one", "one", "skills/one"]


def test_dropped_container_never_puts_skill_inside_another(tmp_path: Path) -> None:
    write_skill(tmp_path, "tool")
    write_skill(tmp_path, "skills/tool/extra")
    assert uris(scan(tmp_path)) == ["skills/tool/extra", "tool"]
    write_skill(tmp_path / "second", "tool/extra")
    write_skill(tmp_path / "second", "skills/tool")
    assert uris(scan(tmp_path / "second")) == ["skills/tool", "tool/extra"]


def test_skill_named_skills_keeps_its_name(tmp_path: Path) -> None:
    write_skill(tmp_path, "skills")
    assert uris(scan(tmp_path)) == ["skills"]


def test_hidden_and_tool_folders_are_skipped(tmp_path: Path) -> None:
    for folder in (
        ".git/one",
        ".hidden/two",
        "node_modules/three",
        "__pycache__/four",
        ".claude/five",
        ".claude/agents/six",
    ):
        write_skill(tmp_path, folder)
    found = scan(tmp_path)
    assert (uris(found), problems(found)) == ([], [])


def test_hidden_files_are_never_served(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {".env": "SECRET=1", ".git/config": "x", "a/.ssh/id": "x", "a/b.md": "x"})
    write_skill(tmp_path, "one/node_modules/pkg", {"index.js": "x"})
    assert paths_of(tmp_path, "one") == ["SKILL.md", "a/b.md"]


@pytest.mark.parametrize("patterns", ["", "nothing-like-this"])
def test_file_named_like_tool_folder_is_left_out(tmp_path: Path, patterns: str) -> None:
    write_skill(tmp_path, "one", {"node_modules": "x", "a/node_modules": "x", "a/b.md": "x"})
    if patterns:
        (tmp_path / ".skillwireignore").write_text(patterns)
    assert paths_of(tmp_path, "one") == ["SKILL.md", "a/b.md"]


@pytest.mark.rule("S16")
def test_nested_skills_are_below_the_outer_skill(tmp_path: Path) -> None:
    outer = write_skill(tmp_path, "team/outer")
    write_skill(outer, "skills/inner")
    write_skill(outer, "skills/inner/innermost")
    assert uris(scan(tmp_path)) == [
        "team/outer",
        "team/outer/skills/inner",
        "team/outer/skills/inner/innermost",
    ]
    assert paths_of(tmp_path, "team/outer") == [
        "SKILL.md",
        "skills/inner/SKILL.md",
        "skills/inner/innermost/SKILL.md",
    ]


@pytest.mark.rule("S16")
def test_nested_skill_md_without_frontmatter_is_only_a_file(tmp_path: Path) -> None:
    write_skill(tmp_path, "outer", {"templates/SKILL.md": "# A template\n"})
    found = scan(tmp_path)
    assert uris(found) == ["outer"]
    assert ("outer/templates/SKILL.md", Rule.FRONTMATTER_MISSING, ERROR) in faults(found)
    assert "templates/SKILL.md" in paths_of(tmp_path, "outer")


def test_nested_skill_is_served_if_outer_skill_is_broken(tmp_path: Path) -> None:
    write(tmp_path, {"outer/SKILL.md": "no frontmatter"})
    write_skill(tmp_path, "outer/inner", {"x.md": "x"})
    assert uris(scan(tmp_path)) == ["outer/inner"]


@pytest.mark.rule("S4")
def test_name_is_appended_if_folder_is_named_differently(tmp_path: Path) -> None:
    write_skill(tmp_path, "dup1", {"a.md": "x"}, name="dup")
    found = scan(tmp_path)
    assert uris(found) == ["dup1/dup"]
    assert ("dup1/SKILL.md", Rule.NAME_FOLDER, WARNING) in faults(found)


@pytest.mark.rule("S8", "S16")
def test_nested_skill_in_differently_named_folder_has_both_paths(tmp_path: Path) -> None:
    write_skill(tmp_path, "outer")
    write_skill(tmp_path, "outer/sub", {"a.md": "a"}, name="inner")
    write_skill(tmp_path, "outer/sub/deep", {"b.md": "b"}, name="innermost")
    found = catalog(tmp_path)
    assert uris(found) == ["outer", "outer/sub/inner", "outer/sub/inner/deep/innermost"]
    assert {problem.rule for problem in found.problems} == {Rule.NAME_FOLDER}
    for entry in found.entries.values():
        below = {uri for uri in found.files if uri.startswith(f"{entry.root}/")}
        assert below == {entry.uri_of(file.path) for file in entry.files}


@pytest.mark.rule("S8", "S16")
def test_nested_files_are_readable_under_both_paths(tmp_path: Path) -> None:
    write_skill(tmp_path, "outer")
    write_skill(tmp_path, "outer/sub", {"a.md": "a"}, name="inner")
    write_skill(tmp_path, "outer/sub/deep", {"b.md": "b"}, name="innermost")

    assert everything_reads(tmp_path)


def test_lowercase_skill_md_is_published_as_uppercase(tmp_path: Path) -> None:
    write(tmp_path, {"small/skill.md": skill_md("small"), "small/a.md": "x"})
    assert uris(scan(tmp_path)) == ["small"]
    assert paths_of(tmp_path, "small") == ["SKILL.md", "a.md"]


def test_uppercase_skill_md_wins_over_lowercase(tmp_path: Path) -> None:
    write(tmp_path, {"both/SKILL.md": skill_md("both"), "both/skill.md": skill_md("other")})
    if len(list((tmp_path / "both").iterdir())) == 1:
        pytest.fail("this test needs a file system that tells `SKILL.md` from `skill.md`")
    found = scan(tmp_path)
    assert uris(found) == ["both"]
    assert paths_of(tmp_path, "both") == ["SKILL.md"]
    assert ("both/skill.md", Rule.FILE_NAME_CLASH, WARNING) in faults(found)


def test_only_one_of_clashing_files_is_served(tmp_path: Path) -> None:
    write_skill(
        tmp_path, "one", {"Readme.md": "1", "README.md": "2", "cafe\u0301.md": "3", "caf\u00e9.md": "4"}
    )
    assert paths_of(tmp_path, "one") == ["SKILL.md", "README.md", "cafe\u0301.md"]
    assert {problem.rule for problem in problems(scan(tmp_path))} == {Rule.FILE_NAME_CLASH}


def test_files_in_ignore_file_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {".skillwireignore": "drafts/\n*.log\n!keep.log\n/one/secret.md\n"})
    write_skill(tmp_path, "drafts/two")
    write_skill(tmp_path, "one", {"a.log": "x", "keep.log": "x", "secret.md": "x", "b/secret.md": "x"})
    assert uris(scan(tmp_path)) == ["one"]
    assert paths_of(tmp_path, "one") == ["SKILL.md", "b/secret.md", "keep.log"]


def test_unreadable_ignore_file_hides_the_whole_folder(tmp_path: Path) -> None:
    write(tmp_path, {".skillwireignore": b"\xff\xfe"})
    write_skill(tmp_path, "one")
    found = scan(tmp_path)
    assert uris(found) == []
    assert faults(found) == {(".skillwireignore", Rule.IGNORE_FILE, ERROR)}


def test_links_inside_root_are_followed(tmp_path: Path) -> None:
    write(tmp_path, {"shared/common.md": "common", "shared/deep/more.md": "more"})
    one = write_skill(tmp_path, "one")
    (one / "common.md").symlink_to("../shared/common.md")
    (one / "deep").symlink_to("../shared/deep")
    assert paths_of(tmp_path, "one") == ["SKILL.md", "common.md", "deep/more.md"]


def test_links_out_of_root_are_reported_and_not_followed(tmp_path: Path) -> None:
    outside = write_skill(tmp_path, "outside/elsewhere")
    root = tmp_path / "root"
    one = write_skill(root, "one")
    (one / "passwd").symlink_to("/etc/passwd")
    (root / "elsewhere").symlink_to(outside)
    found = scan(root)
    assert uris(found) == ["one"]
    assert {("one/passwd", Rule.LINK_OUTSIDE, WARNING), ("elsewhere", Rule.LINK_OUTSIDE, WARNING)} == faults(
        found
    )
    assert uris(scan(root, follow_links=True)) == ["elsewhere", "one"]


def test_skill_md_linked_from_outside_is_not_served(tmp_path: Path) -> None:
    outside = write_skill(tmp_path, "outside/one")
    root = write(tmp_path / "root", {"one/notes.md": "x"})
    (root / "one/SKILL.md").symlink_to(outside / "SKILL.md")
    found = scan(root)
    assert uris(found) == []
    assert faults(found) == {("one/SKILL.md", Rule.LINK_OUTSIDE, ERROR)}


@pytest.mark.parametrize("secret", [".env", ".git/config", "node_modules/x/key", "private/key.pem"])
def test_link_to_hidden_or_ignored_file_is_not_followed(tmp_path: Path, secret: str) -> None:
    write(tmp_path, {secret: "SECRET", ".skillwireignore": "private/\n"})
    one = write_skill(tmp_path, "one")
    (one / "notes.md").symlink_to(tmp_path / secret)
    assert paths_of(tmp_path, "one") == ["SKILL.md"]
    assert faults(scan(tmp_path)) == {("one/notes.md", Rule.LINK_OUTSIDE, WARNING)}


def test_linked_container_does_not_duplicate_skills(tmp_path: Path) -> None:
    write_skill(tmp_path, "skills/one")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/skills").symlink_to("../skills")
    found = scan(tmp_path)
    assert (uris(found), problems(found)) == (["one"], [])


def test_link_loops_end(tmp_path: Path) -> None:
    one = write_skill(tmp_path, "one")
    (one / "self").symlink_to(".")
    (one / "up").symlink_to("..")
    (one / "round.md").symlink_to("round.md")
    (one / "ping.md").symlink_to("pong.md")
    (one / "pong.md").symlink_to("ping.md")
    (one / "nowhere.md").symlink_to("gone.md")
    found = scan(tmp_path)
    assert uris(found) == ["one"]
    assert faults(found) == {
        ("one/self", Rule.LINK_LOOP, WARNING),
        ("one/up", Rule.LINK_LOOP, WARNING),
        ("one/round.md", Rule.LINK_LOOP, WARNING),
        ("one/ping.md", Rule.LINK_LOOP, WARNING),
        ("one/pong.md", Rule.LINK_LOOP, WARNING),
        ("one/nowhere.md", Rule.FILE_UNREADABLE, WARNING),
    }


def test_links_that_multiply_folders_hit_the_limit(tmp_path: Path) -> None:
    one = write_skill(tmp_path, "one")
    for level in range(12):
        (one / f"level{level}").mkdir()
        for name in "ab":
            (one / f"level{level}/{name}").symlink_to(f"../level{level + 1}")
    found = scan(tmp_path, limits=Limits(entries=5_000))
    assert uris(found) == []
    assert Rule.FOLDER_ENTRIES in {problem.rule for problem in problems(found)}


@pytest.mark.parametrize("place", ["one/SKILL.md", "one/pipe"])
def test_pipes_are_never_opened(tmp_path: Path, place: str) -> None:
    write_skill(tmp_path, "good")
    if place != "one/SKILL.md":
        write_skill(tmp_path, "one")
    make_fifo(tmp_path / place)
    found = scan(tmp_path)
    severity = ERROR if place == "one/SKILL.md" else WARNING
    assert (place, Rule.FILE_SPECIAL, severity) in faults(found)
    assert uris(found) == (["good"] if severity is ERROR else ["good", "one"])


def test_folder_named_skill_md_is_not_a_skill(tmp_path: Path) -> None:
    write(tmp_path, {"one/SKILL.md/": b"", "one/a.md": "x"})
    found = scan(tmp_path)
    assert uris(found) == []
    assert faults(found) == {("one/SKILL.md", Rule.SKILL_UNREADABLE, ERROR)}


@pytest.mark.parametrize(
    "name", ["new\nline.md", "tab\there.md", "back\\slash.md", "bell\x07.md", "\udcff.md"]
)
def test_unpublishable_names_are_left_out_and_reported(tmp_path: Path, name: str) -> None:
    one = write_skill(tmp_path, "one", {"good.md": "x"})
    (one / name).write_bytes(b"x")
    found = scan(tmp_path)
    assert paths_of(tmp_path, "one") == ["SKILL.md", "good.md"]
    assert faults(found) == {(f"one/{name}", Rule.FILE_NAME, WARNING)}


def test_names_with_percent_signs_and_spaces_are_encoded(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {"100% #1?.md": "x"})
    (entry,) = scan(tmp_path).entries
    assert entry.uri_of(entry.files[1].path) == "skill://one/100%25%20%231%3F.md"


@pytest.mark.rule("S10")
def test_skill_with_too_many_files_is_refused_with_the_limit(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {f"f{number}.md": "x" for number in range(511)}
    write_skill(tmp_path, "full", files)
    write_skill(tmp_path, "over", {**files, "one-more.md": "x"})
    found = scan(tmp_path)
    assert uris(found) == ["full"]
    (problem,) = found.problems
    assert (problem.path, problem.rule, problem.severity) == ("over/SKILL.md", Rule.SKILL_FILES, ERROR)
    assert "513" in problem.message
    assert "512" in problem.message
    assert uris(scan(tmp_path, limits=Limits(files=513))) == ["full", "over"]


@pytest.mark.rule("S10")
def test_skill_size_is_limited_to_16_mib(tmp_path: Path) -> None:
    main = skill_md("full")
    for name, extra in (("full", 0), ("over", 1)):
        write_skill(tmp_path, name, {"big.bin": bytes(16 * 1024 * 1024 - len(main) + extra)})
    found = scan(tmp_path)
    assert uris(found) == ["full"]
    assert sum(getattr(file, "size", 0) for file in found.entries[0].files) == 16_777_216
    (problem,) = found.problems
    assert (problem.path, problem.rule) == ("over/SKILL.md", Rule.SKILL_BYTES)
    assert "16,777,217" in problem.message
    assert "16,777,216" in problem.message


def test_incompletely_listed_skill_is_not_served(tmp_path: Path) -> None:
    write_skill(tmp_path, "deep", {"/".join("abcdef") + "/x.md": "x"})
    write_skill(tmp_path, "flat", {"x.md": "x"})
    found = scan(tmp_path, limits=Limits(depth=4))
    assert uris(found) == ["flat"]
    assert ("deep/SKILL.md", Rule.FOLDER_DEPTH, ERROR) in faults(found)


def test_source_with_too_many_files_serves_complete_skills(tmp_path: Path) -> None:
    for number in range(20):
        write_skill(tmp_path, f"skill-{number:02}", {"a.md": "x", "b.md": "x"})
    found = scan(tmp_path, limits=Limits(entries=50))
    assert 0 < len(found.entries) < 20
    assert all(len(entry.files) == 3 for entry in found.entries)
    assert Rule.FOLDER_ENTRIES in {problem.rule for problem in problems(found)}


def test_unreadable_file_is_reported_and_the_rest_is_served(tmp_path: Path) -> None:
    """Use a file that even root cannot read, because tests may run as root."""
    write_skill(tmp_path, "good")
    write(tmp_path, {"nofile/SKILL.md": skill_md("nofile")})
    (tmp_path / "nofile/mem").symlink_to("/proc/self/mem")
    found = scan(tmp_path, follow_links=True)
    assert "good" in uris(found)
    assert ("nofile/mem", Rule.FILE_UNREADABLE, WARNING) in faults(found)


def test_empty_folder_has_no_skills_and_no_problems(tmp_path: Path) -> None:
    found = scan(tmp_path)
    assert (uris(found), problems(found)) == ([], [])


def test_root_that_is_a_link_is_served(tmp_path: Path) -> None:
    write_skill(tmp_path, "real/one")
    (tmp_path / "alias").symlink_to("real")
    assert uris(scan(tmp_path / "alias")) == ["one"]


def test_scan_does_not_modify_the_folder(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {"a/b.md": "x"})
    before = sorted((str(p), p.lstat().st_mtime_ns) for p in tmp_path.rglob("*"))
    scan(tmp_path)
    assert sorted((str(p), p.lstat().st_mtime_ns) for p in tmp_path.rglob("*")) == before


@pytest.mark.rule("S16")
def test_nested_lowercase_skill_md_is_published_alike_by_both(tmp_path: Path) -> None:
    write_skill(tmp_path, "outer")
    write(tmp_path, {"outer/1inner/skill.md": skill_md("1inner"), "outer/1inner/a.md": "a"})
    found = catalog(tmp_path)
    assert uris(found) == ["outer", "outer/1inner"]
    assert found.problems == ()
    assert everything_reads(tmp_path)


@pytest.mark.rule("S8")
@pytest.mark.parametrize("trap", ["inner", "inner/SKILL.md", "INNER/x.md", "inner/x.md"])
def test_nested_skill_whose_path_is_taken_is_refused_alone(tmp_path: Path, trap: str) -> None:
    write_skill(tmp_path, "outer")
    write_skill(tmp_path, "outer/folder", {trap: "plain"}, name="inner")
    found = catalog(tmp_path)
    assert uris(found) == ["outer"]
    assert (Rule.URI_TAKEN, ERROR) in {(problem.rule, problem.severity) for problem in found.problems}
    assert everything_reads(tmp_path)


@pytest.mark.rule("S8")
def test_nested_skill_with_clashing_files_is_refused(tmp_path: Path) -> None:
    write_skill(tmp_path, "outer", {"Sub/x.txt": "1", "sub/x.txt": "2"})
    write_skill(tmp_path, "outer/sub")
    found = catalog(tmp_path)
    for entry in found.entries.values():
        below = {uri for uri in found.files if uri.startswith(f"{entry.root}/")}
        assert below == {entry.uri_of(file.path) for file in entry.files}


def test_ignored_uppercase_skill_md_lets_lowercase_one_count(tmp_path: Path) -> None:
    write(
        tmp_path,
        {".skillwireignore": "SKILL.md\n", "one/SKILL.md": "ignored", "one/skill.md": skill_md("one")},
    )
    assert uris(scan(tmp_path)) == ["one"]
    assert everything_reads(tmp_path)


def test_ignored_files_stay_ignored_through_linked_folder(tmp_path: Path) -> None:
    write(
        tmp_path,
        {".skillwireignore": "/real/private/\n", "real/private/secret.txt": "x", "real/open.txt": "x"},
    )
    one = write_skill(tmp_path, "one")
    (one / "ref").symlink_to("../real")
    assert paths_of(tmp_path, "one") == ["SKILL.md", "ref/open.txt"]


def test_almost_correct_skill_md_name_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {"one/Skill.md": skill_md("one")})
    assert faults(scan(tmp_path)) == {("one/Skill.md", Rule.SKILL_FILE_NAME, WARNING)}


@pytest.mark.parametrize(
    "name",
    ["SKILL.md.txt", "SKILL.txt", "Skill.markdown", "skill.md.md", "SKILL.rtf", "Skills.md", "SKILL (1).md"],
)
def test_similar_file_names_are_reported_without_reading_the_files(tmp_path: Path, name: str) -> None:
    write(tmp_path / "one", {name: skill_md("one"), "references/a.md": "A\n", "README.md": "Hello\n"})
    (tmp_path / "one" / name).chmod(0)
    write_skill(tmp_path, "two", {name: "not the skill\n", f"references/{name}": "B\n"})
    assert faults(scan(tmp_path)) == {(f"one/{name}", Rule.SKILL_FILE_NAME, WARNING)}


def test_pages_about_skills_are_not_reported(tmp_path: Path) -> None:
    write(tmp_path / "docs", {"skills.md": "Skills\n", "index.md": "Index\n", "skillful.md": "x\n"})
    write(tmp_path / "guide", {"skills.md": "Skills\n", "images/a.png": b""})
    write(tmp_path, {"skills.md": "Skills\n"})
    write(tmp_path / "hidden", {"SKILL.txt": "x\n"})
    write(tmp_path, {".skillwireignore": "hidden/SKILL.txt\n"})
    write_skill(tmp_path, "one")
    assert not faults(scan(tmp_path))


def test_thousands_of_nested_skills_scan_in_linear_time(tmp_path: Path) -> None:
    write(tmp_path, {"SKILL.md": skill_md(tmp_path.name if is_skill_name(tmp_path.name) else "outer")})
    for number in range(600):
        write_skill(tmp_path, f"skill-{number}")
    found = scan(tmp_path)
    assert len(found.entries) == 600
    assert Rule.SKILL_FILES in {problem.rule for problem in found.problems}


def everything_reads(root: Path) -> bool:
    """Read every served URI. If the library had to rescan, its listing was wrong."""

    async def read_all() -> bool:
        library = Library([FolderSource(root)])
        found = await library.load()
        for uri in found.files:
            await library.read(uri)
        return library.catalog is found

    return anyio.run(read_all)

"""`skillwire pack --mcpb`: what is in a bundle, what is left out, and which files are replaced."""

import json
import os
import shutil
import stat
import tomllib
import zipfile
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.version import Version

from skillwire import Library, LiveSkill, Skills
from skillwire.authoring.source import CodeSource
from skillwire.library.visibility import VisibilityPolicy
from skillwire.packing.runtime import bounded, read_runtime
from skillwire.packing.selection import select_for_bundle
from tests.support.command_line import Cli, on_terminal
from tests.support.paths import ROOT
from tests.support.skills import skill_md, write, write_skill

DEPENDENCIES = [
    requirement
    for text in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    if (requirement := Requirement(text))
]


def files_in(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def manifest_of(bundle: Path) -> dict[str, object]:
    return json.loads(files_in(bundle)["manifest.json"])


def configure(text: str) -> None:
    folder = Path(os.environ["HOME"]) / ".config/skillwire"
    write(folder, {"config.toml": text})


def test_a_bundle_has_skills_skillwire_and_its_dependencies(good: Path, cli: Cli) -> None:
    done = cli("pack", "good", "--mcpb", "acme.mcpb")
    assert (done.code, done.raw) == (0, b"")
    assert done.err == "2 skills packed into `acme.mcpb`; open it to install it in Claude Desktop\n"
    files = files_in(good / "acme.mcpb")
    assert files["skills/refunds/SKILL.md"] == skill_md("refunds")
    package = {path for path in files if path.startswith("server/skillwire/")}
    source = ROOT / "src/skillwire"
    assert package == {
        f"server/skillwire/{path.relative_to(source).as_posix()}"
        for path in source.rglob("*")
        if path.is_file() and path.suffix in {".py", ".html", ".typed", ".bash", ".zsh", ".fish"}
    }
    project = tomllib.loads(files["pyproject.toml"].decode())
    assert project["tool"] == {"uv": {"package": False}}
    assert "build-system" not in project
    needed = {Requirement(text).name.lower() for text in project["project"]["dependencies"]}
    assert needed == {requirement.name.lower() for requirement in DEPENDENCIES}
    rest = {path for path in files if path not in package and not path.startswith("skills/")}
    metadata = {f"server/skillwire-0.1.0.dist-info/{name}" for name in ("METADATA", "licenses/LICENSE")}
    assert rest == {"manifest.json", "pyproject.toml", "server/main.py", *metadata}


def test_a_bundle_names_no_path_of_this_machine(good: Path, cli: Cli) -> None:
    assert cli("pack", "good", "--mcpb", "acme.mcpb").code == 0
    texts = b"\n".join(files_in(good / "acme.mcpb").values())
    assert str(good).encode() not in texts
    assert str(ROOT).encode() not in texts


def test_manifest_says_how_the_server_starts(good: Path, cli: Cli) -> None:
    options = ["--name", "Acme Skills", "--version", "2.1.0", "--description", "For Acme.", "--author", "Ada"]
    assert cli("pack", "good", "--mcpb", "acme.mcpb", *options).code == 0
    assert manifest_of(good / "acme.mcpb") == {
        "manifest_version": "0.4",
        "name": "acme-skills",
        "display_name": "Acme Skills",
        "version": "2.1.0",
        "description": "For Acme.",
        "long_description": "Serves these skills with Skillwire 0.1.0:\n\n- refunds\n- returns",
        "author": {"name": "Ada"},
        "server": {
            "type": "uv",
            "entry_point": "server/main.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server/main.py"],
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": ">=3.11"}},
    }


@pytest.mark.parametrize(
    ("source", "name"),
    [("Acme Team", "acme-team"), ("acme/skills", "acme-skills"), ("acme/.claude/skills", "acme-skills")],
)
def test_a_bundle_is_named_after_its_source(
    source: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    write_skill(tmp_path / source, "refunds")
    assert cli("pack", source, "--mcpb", "a.mcpb", "--json").json["name"] == name


def test_author_is_the_one_that_all_skills_name(good: Path, cli: Cli) -> None:
    assert cli("pack", "good", "--mcpb", "a.mcpb").code == 0
    assert manifest_of(good / "a.mcpb")["author"] == {"name": "Unknown"}
    for name in ("refunds", "returns"):
        text = skill_md(name).replace(b"---\n\n", b"metadata:\n  author: Ada\n---\n\n")
        write(good / "good" / name, {"SKILL.md": text})
    assert cli("pack", "good", "--mcpb", "a.mcpb").code == 0
    assert manifest_of(good / "a.mcpb")["author"] == {"name": "Ada"}


def test_default_version_changes_with_the_skills_alone(good: Path, cli: Cli) -> None:
    def version(source: str) -> str:
        return cli("pack", source, "--mcpb", "a.mcpb", "--json").json["version"]

    shutil.copytree(good / "good", good / "elsewhere/copy")
    first = version("good")
    assert version("elsewhere/copy") == first
    write(good / "good/refunds", {"run": "#!/bin/sh\n"})
    second = version("good")
    (good / "good/refunds/run").chmod(0o755)
    assert len({first, second, version("good")}) == 3


def test_executable_bits_are_kept_and_links_are_not_followed(good: Path, cli: Cli) -> None:
    write(good / "good/refunds", {"run": "#!/bin/sh\n", "plain.sh": "#!/bin/sh\n"})
    (good / "good/refunds/run").chmod(0o755)
    (good / "secret").write_text("secret")
    (good / "good/refunds/link.md").symlink_to(good / "secret")
    cli("pack", "good", "--mcpb", "a.mcpb")
    with zipfile.ZipFile(good / "a.mcpb") as archive:
        modes = {
            info.filename: stat.S_IMODE(info.external_attr >> 16)
            for info in archive.infolist()
            if info.filename.startswith("skills/refunds/")
        }
    assert modes == {
        "skills/refunds/SKILL.md": 0o644,
        "skills/refunds/plain.sh": 0o644,
        "skills/refunds/run": 0o755,
    }


def test_broken_skills_are_reported_and_others_packed(here: Path, cli: Cli) -> None:
    done = cli("pack", "skills", "--mcpb", "a.mcpb", "--json")
    assert done.code == 1
    assert "broken/SKILL.md" in done.err
    packed = {skill["uri"] for skill in done.json["skills"]}
    assert {"skill://acme/refunds/SKILL.md", "skill://twins/one/twin/SKILL.md"} <= packed
    assert [problem["path"] for problem in done.json["problems"]] == ["broken/SKILL.md"]
    assert (here / "a.mcpb").exists()


def test_a_summary_names_skills_that_are_not_packed(good: Path, cli: Cli) -> None:
    write(good, {"good/broken/SKILL.md": b"---\nname: Bad Name\n---\n"})
    for result in (["--mcpb", "a.mcpb"], ["--plugin", "claude", "plugin"]):
        done = cli("pack", "good", *result)
        assert done.code == 1
        assert f"2 of 3 skills packed into `{result[-1]}`; `broken` is not in it; " in done.err
    for name in ("b", "c", "d"):
        write(good, {f"good/{name}/SKILL.md": b"---\nname: Bad Name\n---\n"})
    assert "; `b`, `broken`, `c` and 1 more are not in it" in cli("pack", "good", "--mcpb", "a.mcpb").err


def test_a_missing_folder_of_the_result_is_refused(good: Path, cli: Cli) -> None:
    for result in (["--mcpb", "no pe/a.mcpb"], ["--plugin", "claude", "no pe/plugin"]):
        done = cli("pack", "good", *result)
        assert (done.code, "create it: `mkdir -p 'no pe'`" in done.err) == (2, True), done.err
        assert not (good / "no pe").exists()


def test_nothing_is_written_if_a_source_is_missing(good: Path, cli: Cli) -> None:
    assert cli("pack", "good", "nowhere", "--mcpb", "a.mcpb").code == 2
    write(good, {"empty/": b""})
    done = cli("pack", "empty", "--mcpb", "b.mcpb")
    assert (done.code, "nothing was packed" in done.err) == (1, True)
    assert sorted(path.name for path in good.iterdir()) == ["empty", "good"]


@pytest.mark.parametrize("sides", ["assistant = false", "user = false"])
def test_skills_that_the_configuration_hides_stay_out(good: Path, cli: Cli, sides: str) -> None:
    configure(f'[visibility."skill://refunds/SKILL.md"]\n{sides}\n')
    done = cli("pack", "good", "--mcpb", "a.mcpb", "--json")
    assert (done.code, [skill["name"] for skill in done.json["skills"]]) == (0, ["returns"])
    assert "`refunds` is not packed: your configuration hides it" in done.err
    assert "skills/refunds/SKILL.md" not in files_in(good / "a.mcpb")


def test_skills_above_the_default_limits_stay_out(good: Path, cli: Cli) -> None:
    configure("[limits]\nfiles = 1000\n")
    write(good / "good/refunds", {f"data/{number}": b"" for number in range(512)})
    done = cli("pack", "good", "--mcpb", "a.mcpb", "--json")
    assert (done.code, [skill["name"] for skill in done.json["skills"]]) == (1, ["returns"])
    assert done.json["left_out"][0]["message"] == "it has 513 files; the limit is 512"


def test_paths_that_differ_only_in_case_stay_out(good: Path, cli: Cli) -> None:
    write(good / "good/refunds", {"FORMS.md": "1", "forms.md": "2"})
    write_skill(good / "good", "Team/orders")
    write_skill(good / "good", "team/orders")
    done = cli("pack", "good", "--mcpb", "a.mcpb", "--json")
    assert (done.code, {each["path"] for each in done.json["left_out"]}) == (1, {"team/orders"})
    assert "warnings; `skillwire check good` shows details" in done.err
    packed = {path for path in files_in(good / "a.mcpb") if path.startswith("skills/refunds/")}
    assert packed == {"skills/refunds/SKILL.md", "skills/refunds/FORMS.md"}


def test_generated_skills_stay_out() -> None:
    clock = LiveSkill("clock", lambda: "# Now\n", description="Tells the time.")

    async def selected() -> tuple[list[str], list[str]]:
        library = Library([CodeSource(Skills().add(clock), label="code")])
        found = select_for_bundle(await library.load(), VisibilityPolicy())
        return list(found.skills), [each.path for each in found.left_out]

    assert anyio.run(selected) == ([], ["clock"])


def test_another_file_is_replaced_only_with_consent(good: Path, cli: Cli) -> None:
    other = good / "a.mcpb"
    other.write_bytes(b"mine")
    done = cli("pack", "good", "--mcpb", "a.mcpb")
    assert (done.code, other.read_bytes()) == (2, b"mine")
    assert "was not written by `skillwire pack`" in done.err
    assert cli("pack", "good", "--mcpb", "a.mcpb", "--yes").code == 0
    assert manifest_of(other)["name"] == "good"
    assert cli("pack", "good", "--mcpb", "a.mcpb", "--name", "other").code == 0
    assert manifest_of(other)["name"] == "other"


def test_a_question_is_asked_before_another_file_is_replaced(good: Path) -> None:
    other = good / "a.mcpb"
    other.write_bytes(b"mine")
    code, shown = on_terminal("pack", good / "good", "--mcpb", other, typed=b"n\n")
    assert (code, other.read_bytes(), b"Replace it? [y/N]" in shown) == (2, b"mine", True)
    code, _ = on_terminal("pack", good / "good", "--mcpb", other, typed=b"y\n")
    assert (code, zipfile.is_zipfile(other)) == (0, True)


def test_bundles_of_other_programs_and_links_are_not_replaced(good: Path, cli: Cli) -> None:
    with zipfile.ZipFile(good / "other.mcpb", "w") as archive:
        archive.writestr("manifest.json", '{"server": {"type": "node", "entry_point": "index.js"}}')
    assert cli("pack", "good", "--mcpb", "other.mcpb").code == 2
    cli("pack", "good", "--mcpb", "ours.mcpb")
    (good / "link.mcpb").symlink_to("ours.mcpb")
    assert cli("pack", "good", "--mcpb", "link.mcpb").code == 2
    assert cli("pack", "good", "--mcpb", "link.mcpb", "--yes").code == 0
    assert not (good / "link.mcpb").is_symlink()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one result to write"),
        (["--mcpb", "a.mcpb", "--plugin", "claude", "b"], "name one result to write"),
        (["--mcpb", "a.zip"], "does not end in `.mcpb`"),
        (["--mcpb", "folder.mcpb"], "is a folder"),
        (["--mcpb", "good/refunds/a.mcpb"], "would be a file of the skill"),
        (["--mcpb", "a.mcpb", "--version", "1.0"], "is not a semantic version"),
        (["--mcpb", "a.mcpb", "--name", "技能"], "no identifier can be made"),
        (["--mcpb", "a.mcpb", "--author", " "], "`--author` is empty"),
        (["--plugin", "other", "b"], "other"),
    ],
)
def test_wrong_options_are_refused(good: Path, cli: Cli, arguments: list[str], message: str) -> None:
    write(good, {"folder.mcpb/": b""})
    done = cli("pack", "good", *arguments)
    assert (done.code, message in done.err) == (2, True), done.err
    assert "Traceback" not in done.err


def test_runtime_requires_what_the_package_requires() -> None:
    packed = {(each := Requirement(text)).name.lower(): each for text in read_runtime().dependencies}
    for requirement in DEPENDENCIES:
        each = packed[requirement.name.lower()]
        assert {str(part) for part in requirement.specifier} <= {str(part) for part in each.specifier}
        assert any(part.operator == "<" for part in each.specifier)
        assert str(each.marker) == str(requirement.marker)


@given(
    st.sampled_from(["orjson", "PyYAML", "not-installed-anywhere"]),
    st.sampled_from(["", ">=1", ">=1,!=3.1", "<99", "~=3.0", "==3.1"]),
    st.sampled_from(["", "; sys_platform != 'win32'"]),
)
def test_bounded_requirement_is_a_stricter_requirement(name: str, versions: str, marker: str) -> None:
    before, after = Requirement(name + versions + marker), Requirement(bounded(name + versions + marker))
    assert (after.name, str(after.marker)) == (before.name, str(before.marker))
    assert {str(part) for part in before.specifier} <= {str(part) for part in after.specifier}
    added = {str(part) for part in after.specifier} - {str(part) for part in before.specifier}
    is_open = name != "not-installed-anywhere" and versions in {"", ">=1", ">=1,!=3.1"}
    assert len(added) == is_open
    assert all(Version(text.removeprefix("<")).release[1:] == () for text in added)

"""Folders as skills in code: found relative to the calling file, read once, refused with every problem."""

import os
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from skillwire import Skill, SkillRequest, SkillServer
from skillwire.errors import InvalidValueError
from tests.support.skills import skill_md, write, write_skill

if TYPE_CHECKING:
    from collections.abc import Sequence  # a name that only type checkers know

pytestmark = pytest.mark.anyio


@pytest.fixture
def triage(tmp_path: Path) -> Path:
    files: dict[str, bytes | str] = {
        "references/z.md": "z",
        "references/a.md": "a",
        "logo.png": b"\x89PNG\x00",
        ".hidden": "no",
        "inner/SKILL.md": skill_md("inner"),
    }
    return write_skill(tmp_path, "skills/triage", files)


async def test_from_dir_reads_every_file_once(triage: Path) -> None:
    skill = Skill.from_dir(triage).with_path("acme/support/triage")
    assert skill.name == "triage"
    assert [(each.path, each.mime_type) for each in skill.references] == [
        ("inner/SKILL.md", "text/markdown"),
        ("logo.png", "image/png"),
        ("references/a.md", "text/markdown"),
        ("references/z.md", "text/markdown"),
    ]
    server = SkillServer("x").add(skill)
    write(triage, {"references/a.md": "changed"})  # a value never changes
    (read,) = await server.read("skill://acme/support/triage/references/a.md")
    assert read["text"] == "a"


PROGRAM = """
from pathlib import Path
from skillwire import Skill
from skillwire import SkillServer

server = SkillServer("x")
server.add(Skill.from_dir("skills/triage").with_path("acme/one/triage"))

@server.skill("acme/two/triage")
def folder() -> Path:
    return Path("skills/triage")
"""


@pytest.mark.parametrize("future", [False, True])
async def test_relative_path_is_relative_to_calling_file(triage: Path, *, future: bool) -> None:
    program = triage.parent.parent / "program.py"
    program.write_text(("from __future__ import annotations\n" if future else "") + PROGRAM, "utf-8")
    server = runpy.run_path(str(program))["server"]
    assert isinstance(server, SkillServer)
    listed = await server.list_resources()
    assert [each["uri"] for each in listed][:2] == [
        "skill://acme/one/triage/SKILL.md",
        "skill://acme/two/triage/SKILL.md",
    ]


async def test_folder_of_function_is_checked_when_building_server(triage: Path) -> None:
    server = SkillServer("x")

    @server.skill("acme/other")
    def wrong_name() -> Path:
        return triage

    with pytest.raises(InvalidValueError, match="does not end in its name, `triage`"):
        server.build()
    assert callable(wrong_name)
    gone = SkillServer("x")
    gone.skill("gone")(nowhere)
    with pytest.raises(InvalidValueError, match="there is no such folder"):
        gone.build()


async def later() -> Path:
    return Path("triage")


def perhaps() -> Path | None:
    return None


def several() -> "Sequence[Path]":
    return []


def asked(request: SkillRequest) -> Path:
    return Path(request.uri)


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (later, "write `def`"),
        (perhaps, "write `-> Path`"),
        (several, "write `-> Path`"),
        (asked, "write it as in `def folder"),
    ],
)
async def test_invalid_folder_function_is_refused_with_fix(function: Any, fix: str) -> None:
    with pytest.raises(InvalidValueError, match=fix):
        SkillServer("x").skill("triage")(function)


async def test_decorator_without_path_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r'`nowhere` has no path; write it as in `@server\.skill\("'):
        SkillServer("x").skill(nowhere)  # pyright: ignore[reportArgumentType] - that is the point


@pytest.mark.parametrize(
    "said", [{"description": "x"}, {"values": {}}, {"timeout": 30.0}, {"frontmatter": {"license": "MIT"}}]
)
async def test_live_options_for_a_folder_are_refused(said: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match=f"`{next(iter(said))}` is only for live skills"):
        SkillServer("x").skill("triage", **said)(nowhere)
    with pytest.raises(InvalidValueError, match="has parameters, and a folder is one skill"):
        SkillServer("x").skill("docs/{product}/triage")(nowhere)


def nowhere() -> Path:
    return Path("no/such/folder")


async def test_every_problem_of_folder_is_reported_at_once(tmp_path: Path) -> None:
    write(tmp_path, {"SKILL.md": "---\nname: Bad Name\nlicense: 7\n---\n"})
    with pytest.raises(InvalidValueError) as refused:
        Skill.from_dir(tmp_path)
    assert "name:" in str(refused.value)
    assert "description" in str(refused.value)
    assert "skillwire check" in str(refused.value)
    with pytest.raises(InvalidValueError, match=r"holds no `SKILL\.md`"):
        Skill.from_dir(tmp_path / "..")
    with pytest.raises(InvalidValueError, match="relative to the source file that contains it"):
        Skill.from_dir("nowhere-at-all")


async def test_files_left_out_of_folder_are_reported(triage: Path, tmp_path: Path) -> None:
    write(tmp_path, {"secret": "secret"})
    os.symlink(tmp_path / "secret", triage / "link.md")  # noqa: PTH211
    server = SkillServer("x").add(Skill.from_dir(triage))
    (read,) = await server.read("skillwire://problems")
    assert "link-outside" in str(read["text"])
    assert "secret" not in [reference.path for reference in Skill.from_dir(triage).references]

"""Every skill of a server in a folder: whole skills only, and a reason for each that is refused."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from skillwire.errors import UsageError
from skillwire.host import PulledSkill, PullOutcome, PullResult, SkillsClient
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.packing import pack, pack_skill
from skillwire.sources import Digest, Limits
from tests.support.clients import ERAS
from tests.support.draft_servers import INDEX, index_of
from tests.support.hosts import honest, open_host
from tests.support.scripted import ScriptedServer, document_of

pytestmark = pytest.mark.anyio
ZIP = ArchiveFormat.ZIP


def tree(folder: Path) -> dict[str, bytes]:
    return {
        each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()
    }


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def outcomes(result: PullResult) -> dict[str, str]:
    return {each.skill.path: each.outcome.value for each in result.skills}


def reasons(result: PullResult) -> dict[str, str]:
    return {each.skill.path: each.reason for each in result.of(PullOutcome.REFUSED)}


def reads(script: ScriptedServer) -> list[str]:
    """Return what was read since the last call, without the index of early drafts."""
    read = [params["uri"] for method, params in script.asked if method == "resources/read"]
    script.asked.clear()
    return [uri for uri in read if uri != INDEX]


async def pulled(script: ScriptedServer, dest: Path, **options: Any) -> PullResult:
    async with open_host("auto", None, acme=script) as host:
        return await host.pull_all("acme", dest, **options)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.rule("H9", "H11")
async def test_second_pull_of_a_server_reads_no_file(mode: Any, tmp_path: Path) -> None:
    script = honest("one", "team/two", "team/three")
    async with open_host(mode, None, acme=script) as host:
        result = await host.pull_all("acme", tmp_path)
        assert (outcomes(result), result.complete) == (
            {"one": "pulled", "team/two": "pulled", "team/three": "pulled"},
            True,
        )
        assert set(tree(tmp_path)) == {
            f"acme/{path}/{name}" for path in outcomes(result) for name in ("SKILL.md", "references/guide.md")
        }
        assert sum(each.size for each in result.skills) == sum(map(len, script.files.values()))
        reads(script)
        again = await host.pull_all("acme", tmp_path)
    assert set(outcomes(again).values()) == {"unchanged"}
    assert reads(script) == []
    assert names(tmp_path) == ["acme"]


@pytest.mark.rule("H15")
async def test_one_refused_skill_does_not_stop_the_others(tmp_path: Path) -> None:
    script = honest("good", "lying", "live", "team/fine")
    script.publish("con/bad")
    live = next(each for each in script.entries if each["uri"] == "skill://live/SKILL.md")
    live["resources"] = "dynamic"
    script.files = {**script.files, "skill://lying/references/guide.md": b"other"}
    script.entries = [*script.entries, {"uri": "skill://broken/SKILL.md"}]
    seen: list[tuple[str, int, int]] = []

    def note(each: PulledSkill, number: int, every: int) -> None:
        seen.append((each.skill.name, number, every))

    result = await pulled(script, tmp_path, on_pulled=note)
    assert [each.skill.path for each in result.of(PullOutcome.PULLED)] == ["good", "team/fine"]
    why = reasons(result)
    assert "it was listed" in why["lying"]
    assert "its content is generated on each read" in why["live"]
    assert "its path has the name of a Windows device" in why["con/bad"]
    assert [each.path for each in result.problems] == ["skill://broken/SKILL.md"] * len(result.problems)
    assert not result.complete
    assert sorted(tree(tmp_path)) == [
        f"acme/{path}/{name}"
        for path in ("good", "team/fine")
        for name in ("SKILL.md", "references/guide.md")
    ]
    assert [(number, every) for _, number, every in seen] == [(n, 5) for n in range(1, 6)]


async def test_interrupted_pull_leaves_whole_skills_and_continues(tmp_path: Path) -> None:
    script = honest(*(f"skill-{number}" for number in range(6)))
    async with open_host("auto", None, acme=script) as host:
        with anyio.CancelScope() as scope:

            def stop(_: PulledSkill, number: int, _every: int) -> None:
                if number == 3:
                    scope.cancel()

            await host.pull_all("acme", tmp_path, on_pulled=stop)
        assert scope.cancelled_caught
        assert names(tmp_path / "acme") == ["skill-0", "skill-1", "skill-2"]
        assert names(tmp_path) == ["acme"]
        reads(script)
        result = await host.pull_all("acme", tmp_path)
    assert list(outcomes(result).values()) == ["unchanged"] * 3 + ["pulled"] * 3
    assert {uri.split("/")[2] for uri in reads(script)} == {"skill-3", "skill-4", "skill-5"}


def touched(folder: Path) -> None:
    (folder / "references/guide.md").write_bytes(b"# Mine!\n")


def with_a_file(folder: Path) -> None:
    (folder / "mine.md").write_bytes(b"mine")


def with_a_folder(folder: Path) -> None:
    (folder / "mine").mkdir()


def without_a_file(folder: Path) -> None:
    (folder / "references/guide.md").unlink()


def with_a_link(folder: Path) -> None:
    (folder / "references/guide.md").rename(folder.parent / "elsewhere.md")
    (folder / "references/guide.md").symlink_to("../../elsewhere.md")


def with_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


@pytest.mark.parametrize(
    "change", [touched, with_a_file, with_a_folder, without_a_file, with_a_link, with_a_pipe]
)
async def test_folder_with_other_files_is_replaced_only_with_force(change: Any, tmp_path: Path) -> None:
    script = honest("one", "two")
    await pulled(script, tmp_path)
    folder = tmp_path / "acme/one"
    change(folder)
    before = {each.relative_to(tmp_path): each.lstat().st_mtime_ns for each in folder.rglob("*")}
    result = await pulled(script, tmp_path)
    assert outcomes(result) == {"one": "refused", "two": "unchanged"}
    assert "replace it with `--force`" in reasons(result)["one"]
    assert before == {each.relative_to(tmp_path): each.lstat().st_mtime_ns for each in folder.rglob("*")}
    assert outcomes(await pulled(script, tmp_path, force=True)) == {"one": "pulled", "two": "unchanged"}
    assert outcomes(await pulled(script, tmp_path)) == {"one": "unchanged", "two": "unchanged"}


async def test_changed_skill_of_the_server_is_refused_until_forced(tmp_path: Path) -> None:
    script = honest("one")
    await pulled(script, tmp_path)
    script.publish("one", {"references/guide.md": b"# New\n"})
    assert outcomes(await pulled(script, tmp_path)) == {"one": "refused"}
    assert outcomes(await pulled(script, tmp_path, force=True)) == {"one": "pulled"}
    assert (tmp_path / "acme/one/references/guide.md").read_bytes() == b"# New\n"


async def test_pattern_chooses_by_path_or_name(tmp_path: Path) -> None:
    script = honest("one", "team/two", "team/deep/three")
    for only, found in (
        ("team/*", {"team/two", "team/deep/three"}),
        ("two", {"team/two"}),
        ("t*", {"team/two", "team/deep/three"}),
    ):
        assert outcomes(await pulled(script, tmp_path / only.replace("*", "x"), only=only)).keys() == found
    async with open_host("auto", None, acme=script) as host:
        with pytest.raises(UsageError, match="no skill of `acme` matches `nothing`"):
            await host.pull_all("acme", tmp_path, only="nothing")


async def test_limit_of_bytes_counts_what_is_written(tmp_path: Path) -> None:
    script = honest("one", "two", "three")
    size = sum(len(each) for uri, each in script.files.items() if "/one/" in uri)
    result = await pulled(script, tmp_path, max_bytes=2 * size)
    assert list(outcomes(result).values()) == ["pulled", "pulled", "refused"]
    assert "raise `--max-bytes`" in reasons(result)["three"]
    result = await pulled(script, tmp_path, max_bytes=2 * size + 4)  # what is there costs nothing
    assert list(outcomes(result).values()) == ["unchanged", "unchanged", "pulled"]


class SmallBudget(SkillsClient):
    """A client that reads at most 5,000 bytes until its budget is refilled."""

    def __init__(self, client: Client, limits: Limits | None = None, **more: Any) -> None:
        super().__init__(client, limits, 5000, **more)


@pytest.mark.rule("H25")
async def test_each_skill_has_the_budget_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = ScriptedServer()
    for number in range(5):
        script.publish(f"skill-{number}", {"large.md": bytes(3000)})
    monkeypatch.setattr("skillwire.host.servers.connected.SkillsClient", SmallBudget)
    result = await pulled(script, tmp_path)
    assert set(outcomes(result).values()) == {"pulled"}


def index_entry(path: str, content: bytes, digest: str | None = "") -> dict[str, Any]:
    name = path.rpartition("/")[2]
    archive = {"url": f"skill://{path}.zip", "mimeType": "application/zip", "digest": digest}
    archive["digest"] = Digest.of(content).text if digest == "" else digest
    return {"frontmatter": {"name": name, "description": f"Does {name}."}, "archives": [archive]}


async def test_archive_is_used_instead_of_many_files(tmp_path: Path) -> None:
    script = ScriptedServer()
    files = {"scripts/run.sh": b"#!/bin/sh\n", **{f"{number}.md": bytes(200) for number in range(20)}}
    uri = script.publish("one", files)
    made = pack_skill({"SKILL.md": script.files[uri], **files}, ZIP, {"scripts/run.sh"})
    script.files = {**script.files, INDEX: index_of(index_entry("one", made)), "skill://one.zip": made}
    assert outcomes(await pulled(script, tmp_path)) == {"one": "pulled"}
    assert reads(script) == ["skill://one.zip"]
    assert os.access(tmp_path / "acme/one/scripts/run.sh", os.X_OK)
    assert not os.access(tmp_path / "acme/one/1.md", os.X_OK)
    assert outcomes(await pulled(script, tmp_path)) == {"one": "unchanged"}
    assert reads(script) == []


@pytest.mark.rule("H15")
@pytest.mark.parametrize(
    "lie", ["other bytes", "other file", "more files", "fewer files", "no digest", "gone"]
)
async def test_archive_that_differs_from_the_list_is_not_used(lie: str, tmp_path: Path) -> None:
    script = ScriptedServer()
    files = {"a.md": b"a", "b.md": b"b", "c.md": b"c"}
    uri = script.publish("one", files)
    honestly = {"SKILL.md": script.files[uri], **files}
    changed = {
        "other file": {**honestly, "a.md": b"evil"},
        "more files": {**honestly, "evil.md": b"evil"},
        "fewer files": {"SKILL.md": script.files[uri]},
    }.get(lie, honestly)
    made = pack(changed, ZIP)
    entry = index_entry("one", made, None if lie == "no digest" else "")
    served = (
        {}
        if lie == "gone"
        else {"skill://one.zip": pack({**honestly, "x": b""}, ZIP) if lie == "other bytes" else made}
    )
    script.files = {**script.files, INDEX: index_of(entry), **served}
    assert outcomes(await pulled(script, tmp_path)) == {"one": "pulled"}
    assert tree(tmp_path / "acme/one") == honestly
    assert {f"skill://one/{path}" for path in honestly} <= set(reads(script))


CLIENT_FOLDERS = [
    ".claude/skills",
    ".Claude/SKILLS",
    ".agents/skills/mine",
    ".claude/plugins/x/skills",
    ".new/skills",
    ".config/x/skills",
    ".new/workspace/skills",
    ".claude/commands",
    ".claude/agents/mine",
]


@pytest.mark.rule("H10")
@pytest.mark.parametrize("folder", CLIENT_FOLDERS)
async def test_nothing_is_written_where_a_client_loads_skills(folder: str, tmp_path: Path) -> None:
    script = honest("one")
    async with open_host("auto", None, acme=script) as host:
        result = await host.pull_all("acme", tmp_path / folder)
        assert "a client loads skills from" in reasons(result)["one"]
        with pytest.raises(UsageError, match="a client loads skills from"):
            await host.pull(host.registry.resolve("acme:one"), tmp_path / folder)
        assert tree(tmp_path) == {}
        assert reads(script) == []
        result = await host.pull_all("acme", tmp_path / folder, into_client_folder=True)
        assert outcomes(result) == {"one": "pulled"}


@pytest.mark.rule("H10")
async def test_client_folders_are_found_through_links_and_names(tmp_path: Path) -> None:
    (tmp_path / "home/.claude/skills").mkdir(parents=True)
    (tmp_path / "innocent").symlink_to(tmp_path / "home/.claude/skills")
    (tmp_path / "own").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "own")
    for dest, more in ((tmp_path / "innocent", []), (tmp_path / "alias/below", [tmp_path / "own"])):
        result = await pulled(honest("one"), dest, client_folders=more)
        assert "a client loads skills from" in reasons(result)["one"]
    inside = ScriptedServer()
    inside.publish("good", {".claude/skills/evil/SKILL.md": document_of("evil")})
    inside.publish(".agents/skills/evil")
    inside.publish("fine", {"skills/other/SKILL.md": document_of("other")})
    result = await pulled(inside, tmp_path / "out")
    assert outcomes(result) == {"good": "refused", "fine": "pulled", ".agents/skills/evil": "refused"}
    assert list(tree(tmp_path / "home")) == list(tree(tmp_path / "own")) == []


async def test_links_below_the_destination_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out/acme").mkdir(parents=True)
    (tmp_path / "out/acme/team").symlink_to(tmp_path / "elsewhere")
    script = honest("one", "team/two")
    result = await pulled(script, tmp_path / "out", force=True)
    assert outcomes(result) == {"one": "pulled", "team/two": "refused"}
    assert "is a symbolic link" in reasons(result)["team/two"]
    assert tree(tmp_path / "elsewhere") == {}


def nested(*, listed: bool, inner: bytes = b"inner") -> ScriptedServer:
    """Return a server of a skill inside another. With `listed`, the outer one has its files, too."""
    script = ScriptedServer()
    own = {"a.md": b"inner"}
    copied = {"inner/SKILL.md": document_of("inner"), **{f"inner/{path}": each for path, each in own.items()}}
    script.publish("outer", {"b.md": b"outer", **(copied if listed else {})})
    before = dict(script.files)
    script.publish("outer/inner", {"a.md": inner})
    script.files = {**before, **script.files}
    return script


@pytest.mark.rule("H18")
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("first", ["", "inner", "outer"])
async def test_nested_skills_are_pulled_in_any_order(listed: Any, first: str, tmp_path: Path) -> None:
    script = nested(listed=listed)
    if first:
        await pulled(script, tmp_path, only=first)
    result = await pulled(script, tmp_path)
    if first == "inner" and listed:  # the outer skill has more files than are there
        assert outcomes(result)["outer"] == "refused"
        result = await pulled(script, tmp_path, force=True)
    assert result.complete
    assert tree(tmp_path / "acme/outer") == {
        "SKILL.md": document_of("outer"),
        "b.md": b"outer",
        "inner/SKILL.md": document_of("inner"),
        "inner/a.md": b"inner",
    }
    assert set(outcomes(await pulled(script, tmp_path)).values()) == {"unchanged"}


async def test_replacing_an_outer_skill_keeps_the_nested_one(tmp_path: Path) -> None:
    script = nested(listed=False)
    await pulled(script, tmp_path)
    (tmp_path / "acme/outer/b.md").write_bytes(b"mine")
    await pulled(script, tmp_path, only="outer", force=True)
    assert tree(tmp_path / "acme/outer")["b.md"] == b"outer"
    assert tree(tmp_path / "acme/outer")["inner/a.md"] == b"inner"


@pytest.mark.rule("H18")
async def test_nested_skill_with_other_files_than_its_outer_is_refused(tmp_path: Path) -> None:
    script = nested(listed=True, inner=b"other")
    script.files = {**script.files, "skill://outer/inner/a.md": b"inner"}
    inner_file = next(each for each in script.entries[1]["resources"] if each["uri"].endswith("a.md"))
    assert inner_file["digest"] == Digest.of(b"other").text
    result = await pulled(script, tmp_path, force=True)
    assert outcomes(result) == {"outer": "pulled", "outer/inner": "refused"}
    assert "the skill `acme:outer` has other files in its folder" in reasons(result)["outer/inner"]


async def test_failed_server_is_a_problem_of_the_result(tmp_path: Path) -> None:
    result = await pulled(ScriptedServer(pages=[{"skills": 7}]), tmp_path)
    assert (result.skills, result.complete, len(result.problems)) == ((), False, 1)
    assert tree(tmp_path) == {}


@pytest.mark.rule("H7")
@pytest.mark.parametrize("root", ["a/b/outer/../../../.config/gh", "a/b/outer/%2Fhome/gh"])
async def test_paths_that_lead_out_move_no_other_folder(root: str, tmp_path: Path) -> None:
    token = tmp_path / ".config/gh/hosts.yml"
    token.parent.mkdir(parents=True)
    token.write_text("token")
    inner = ScriptedServer()
    inner.publish("a/b/outer/inner", {"b.md": b"inner"})
    await pulled(inner, tmp_path / "dest")
    script = ScriptedServer()
    script.publish("a/b/outer", {"a.md": b"outer"})
    script.publish("gh")
    *good, gh = script.entries
    evil = json.loads(json.dumps(gh).replace("skill://gh", f"skill://{root}"))
    script.entries = [*good, evil]
    script.publish("a/b/outer/inner", {"b.md": b"inner"})
    result = await pulled(script, tmp_path / "dest", force=True)
    assert sorted(outcomes(result).values()) == ["pulled", "refused", "unchanged"]
    assert token.read_text() == "token"
    assert set(tree(tmp_path / "dest")) == {
        "acme/a/b/outer/SKILL.md",
        "acme/a/b/outer/a.md",
        "acme/a/b/outer/inner/SKILL.md",
        "acme/a/b/outer/inner/b.md",
    }


async def test_file_in_the_place_of_a_nested_skill_is_refused(tmp_path: Path) -> None:
    inner = ScriptedServer()
    inner.publish("outer/inner", {"b.md": b"inner"})
    await pulled(inner, tmp_path)
    script = ScriptedServer()
    script.publish("outer", {"inner": b"a file"})
    script.publish("outer/inner", {"b.md": b"inner"})
    result = await pulled(script, tmp_path, force=True)
    assert "is in the place of another skill" in reasons(result)["outer"]
    assert set(tree(tmp_path)) == {"acme/outer/inner/SKILL.md", "acme/outer/inner/b.md"}

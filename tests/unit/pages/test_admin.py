"""Steering a server while it runs: the library and the configuration file change together, or not at all."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from skillwire.app.gateway import ServedLibrary, open_served_library
from skillwire.config.file import ConfigFile
from skillwire.config.source_config import LibraryOptions
from skillwire.errors import UsageError
from skillwire.pages.serving import mcp_overview
from skillwire.protocol.discovery import Artifact
from skillwire.server import skills_server
from tests.support.git_server import GitServer, Origin
from tests.support.listening import listening
from tests.support.skills import skill_md, write_skill
from tests.support.web_site import NEWER, PublishingSite

pytestmark = pytest.mark.anyio


class Stage:
    """A server that can be steered, with one folder from the command line."""

    def __init__(self, tmp_path: Path, *, static: bool = False, editable: bool = True) -> None:
        self.folder, self.other = tmp_path / "named", tmp_path / "other"
        write_skill(self.folder, "one")
        write_skill(self.other, "two")
        self.file = ConfigFile(tmp_path / "config.toml")
        self.options = LibraryOptions(live=not static, frozen=static, allow_empty=True)
        self.editable = editable
        self.gateway = self.start()

    def start(self, arguments: Sequence[str] | None = None) -> ServedLibrary:
        named = [str(self.folder)] if arguments is None else arguments
        return open_served_library(named, self.options, self.file, editable=self.editable)

    @property
    def names(self) -> set[str]:
        return {entry.name for entry in self.gateway.library.catalog.entries.values()}

    @property
    def labels(self) -> list[str]:
        return [source.label for source in self.gateway.admin.sources()]

    def written(self) -> dict[str, object]:
        return tomllib.loads(self.file.path.read_text(encoding="utf-8"))


@pytest.fixture
async def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("SKILLWIRE_CACHE_DIR", str(tmp_path / "cache"))
    stage = Stage(tmp_path)
    await stage.gateway.library.load()
    return stage


async def test_added_source_is_served_now_and_after_restart(stage: Stage) -> None:
    await stage.gateway.admin.add_source(f" {stage.other} ", None, None)
    assert stage.names == {"one", "two"}
    assert stage.labels == ["named", "other"]
    assert stage.written() == {"sources": [{"source": str(stage.other)}]}
    again = stage.start()
    assert {entry.name for entry in (await again.library.load()).entries.values()} == {"one", "two"}


async def test_label_and_prefix_are_saved(stage: Stage) -> None:
    await stage.gateway.admin.add_source(str(stage.other), "acme", "team/a")
    assert "skill://team/a/two/SKILL.md" in stage.gateway.library.catalog.entries
    written = {"source": str(stage.other), "label": "acme", "prefix": "team/a"}
    assert stage.written()["sources"] == [written]


async def test_only_configured_sources_can_be_removed(stage: Stage) -> None:
    admin = stage.gateway.admin
    await admin.add_source(str(stage.other), None, None)
    assert [each.removable for each in admin.sources()] == [False, True]
    with pytest.raises(UsageError, match="comes from the command line"):
        await admin.remove_source("named")
    await admin.remove_source("other")
    assert stage.names == {"one"}
    assert stage.written() == {}
    with pytest.raises(UsageError, match="there is no source"):
        await admin.remove_source("other")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("other", "is not an absolute path"),
        ("./other", "is not an absolute path"),
        ("", "is not an absolute path"),
        ("/no/such/folder", "does not exist"),
        ("~nobody-of-this-name/x", "is not a path: there is no such home directory"),
        ("/a\0b", "is not a path: it contains a NUL"),
        ("a\0b", "is not a path: it contains a NUL"),
        ("/" + "a" * 5000, "is not a path: it is too long"),
        ("a" * 5000, "is not a path: it is too long"),
        ("~nobody-of-this-name/x.zip", "is not a path"),
        ("gopher://old", "is not a known kind of source"),
        ("github:", "repository"),
        ("git+https://user:secret@host.example/x", "the address contains a token"),
    ],
)
async def test_invalid_source_is_refused_and_not_saved(stage: Stage, source: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        await stage.gateway.admin.add_source(source, None, None)
    assert not stage.file.path.exists()
    assert stage.labels == ["named"]


@pytest.mark.parametrize(
    "path", ["~nobody-of-this-name/x", "/a\0b", "/" + "a" * 5000], ids=["~", "NUL", "long"]
)
async def test_impossible_configured_path_does_not_affect_others(stage: Stage, path: str) -> None:
    stage.file.path.write_text(f"[[sources]]\nsource = {json.dumps(path)}\n", encoding="utf-8")
    stage.gateway = stage.start()
    await stage.gateway.library.load()
    assert stage.labels == ["named", "unavailable"]
    await stage.gateway.admin.add_source(str(stage.other), None, None)
    assert stage.names == {"one", "two"}
    await stage.gateway.admin.remove_source("unavailable")
    assert stage.labels == ["named", "other"]


async def test_source_that_is_already_served_is_refused(stage: Stage) -> None:
    with pytest.raises(UsageError, match="is already served, from the command line"):
        await stage.gateway.admin.add_source(f"{stage.folder}/../named", None, None)
    await stage.gateway.admin.add_source(str(stage.other), None, None)
    with pytest.raises(UsageError, match="from the configuration"):
        await stage.gateway.admin.add_source(str(stage.other), None, None)


@pytest.mark.parametrize("text", ["sources = 1\n", "[[sources]\n", "static = 'yes'\n", "\xff"])
async def test_unreadable_configuration_is_never_overwritten(stage: Stage, text: str) -> None:
    content = text.encode("latin-1")
    stage.file.path.write_bytes(content)
    admin, uri = stage.gateway.admin, "skill://one/SKILL.md"
    for change in (
        lambda: admin.add_source(str(stage.other), None, None),
        lambda: admin.set_allowed_origins(["https://a.example"]),
        lambda: admin.set_static(static=True),
    ):
        with pytest.raises(UsageError, match="cannot be used"):
            await change()
    if text.startswith(("[[", "\xff")):
        with pytest.raises(UsageError, match="cannot be used"):
            await admin.set_visibility(uri, {"assistant": False})
        assert stage.gateway.library.catalog.visibility.overrides == {}
        assert stage.file.path.read_bytes() == content
    assert stage.names == {"one"}
    assert stage.gateway.library.frozen is False


async def test_other_configuration_is_preserved(stage: Stage) -> None:
    text = "# mine\n\n[limits]\nfiles = 100 # enough\n\n[check]\nignore = []\n"
    stage.file.path.write_text(text, encoding="utf-8")
    admin = stage.gateway.admin
    await admin.set_static(static=True)
    await admin.set_allowed_origins(["https://a.example"])
    await admin.add_source(str(stage.other), None, None)
    await admin.set_visibility("skill://one/SKILL.md", {"user": False})
    written = stage.written()
    assert written["static"] is True
    assert written["allowed-origins"] == ["https://a.example"]
    assert (written["limits"], written["check"]) == ({"files": 100}, {"ignore": []})
    assert "# mine" in stage.file.path.read_text(encoding="utf-8")
    await admin.set_static(static=False)
    await admin.set_allowed_origins([])
    await admin.remove_source("other")
    await admin.set_visibility("skill://one/SKILL.md", {"user": None})
    assert stage.file.path.read_text(encoding="utf-8").strip() == text.strip()


async def test_visibility_can_be_set_and_reset(stage: Stage) -> None:
    admin, library = stage.gateway.admin, stage.gateway.library
    uri = "skill://one/SKILL.md"
    await admin.set_visibility(uri, {"assistant": False})
    await admin.set_visibility(uri, {"user": False})
    visibility = library.catalog.visibility.of(library.catalog.entries[uri])
    assert (visibility.assistant, visibility.user) == (False, False)
    assert stage.written() == {"visibility": {uri: {"assistant": False, "user": False}}}
    await admin.set_visibility(uri, {"assistant": None, "user": None})
    assert library.catalog.visibility.overrides == {}
    with pytest.raises(UsageError, match="there is no skill"):
        await admin.set_visibility("skill://gone/SKILL.md", {"assistant": False})


async def test_static_mode_is_saved_and_can_be_turned_off(stage: Stage) -> None:
    await stage.gateway.admin.set_static(static=True)
    assert stage.gateway.library.frozen
    again = stage.start()
    await again.library.load()
    assert again.admin.settings().static
    await again.admin.set_static(static=False)
    write_skill(stage.folder, "late")
    await again.library.rescan_source(again.library.sources[0])
    assert "skill://late/SKILL.md" in again.library.catalog.entries
    assert stage.written() == {}


async def test_static_mode_of_the_command_line_cannot_be_changed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, static=True)
    await stage.gateway.library.load()
    assert stage.gateway.admin.settings().static_fixed == "command line"
    with pytest.raises(UsageError, match="on the command line"):
        await stage.gateway.admin.set_static(static=False)


async def test_while_static_sources_can_be_added_and_removed(stage: Stage) -> None:
    admin = stage.gateway.admin
    await admin.set_static(static=True)
    await admin.add_source(str(stage.other), None, None)
    assert set(stage.gateway.library.loaded.entries) == {"skill://one/SKILL.md", "skill://two/SKILL.md"}
    await admin.remove_source("other")
    assert set(stage.gateway.library.loaded.entries) == {"skill://one/SKILL.md"}


async def test_without_leave_nothing_can_be_changed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, editable=False)
    await stage.gateway.library.load()
    admin = stage.gateway.admin
    assert admin.editable is False
    for change in (
        lambda: admin.add_source(str(stage.other), None, None),
        lambda: admin.remove_source("named"),
        lambda: admin.sync_source("named"),
        lambda: admin.set_visibility("skill://one/SKILL.md", {"user": False}),
        lambda: admin.set_allowed_origins([]),
        lambda: admin.set_static(static=True),
    ):
        with pytest.raises(UsageError, match="this server cannot be changed"):
            await change()
    assert not stage.file.path.exists()


async def test_sync_rescans_a_folder(stage: Stage) -> None:
    write_skill(stage.folder, "late")  # nobody follows the library here
    await stage.gateway.admin.sync_source("named")
    assert stage.names == {"one", "late"}


def offered(site: PublishingSite, name: str) -> Artifact:
    return site.offer(name, {"SKILL.md": skill_md(name)})


async def test_sync_fetches_and_reports_the_time(stage: Stage) -> None:
    with PublishingSite() as site:
        site.index(offered(site, "published"))
        await stage.gateway.admin.add_source(site.origin, "site", None)
        assert stage.names == {"one", "published"}
        fetched = stage.gateway.admin.sources()[1].fetched
        assert fetched is not None
        site.index(offered(site, "published"), offered(site, "newer"))
        await stage.gateway.admin.sync_source("site")
        assert stage.names == {"one", "published", "newer"}
        again = stage.gateway.admin.sources()[1].fetched
        assert again is not None
        assert again >= fetched
    with pytest.raises(UsageError, match="`site` cannot be fetched"):
        await stage.gateway.admin.sync_source("site")
    assert stage.names == {"one", "published", "newer"}
    assert "source-stale" in {problem.rule for problem in stage.gateway.library.catalog.problems}


async def test_origin_is_the_repository_on_github_or_the_label(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").mkdir()
    with GitServer(tmp_path / "git") as github:
        Origin(tmp_path / "git/acme/skills.git").commit({"tools/first/SKILL.md": skill_md("first")})
        (tmp_path / "gitconfig").write_text(f'[url "{github.url}/"]\n\tinsteadOf = "https://github.com/"\n')
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        await stage.gateway.admin.add_source("github:acme/skills/tools@main", None, None)
    overview = mcp_overview(stage.gateway.context)
    shown: Any = overview.skills(0, 10)["skills"]
    assert {each["name"]: each["origin"] for each in shown} == {"one": "named", "first": "acme/skills"}
    assert shown[1]["path"].endswith("first/SKILL.md")


async def test_newly_allowed_origin_is_fetched_at_once(stage: Stage) -> None:
    with PublishingSite() as site, PublishingSite() as elsewhere:
        away = replace(offered(elsewhere, "away"), url=f"{elsewhere.origin}{NEWER}away/SKILL.md")
        site.index(offered(site, "here"), away)
        await stage.gateway.admin.add_source(site.origin, "site", None)
        assert stage.names == {"one", "here"}
        assert elsewhere.log == []
        async with listening(skills_server(stage.gateway.library), "auto", []) as (_, heard):
            await stage.gateway.admin.set_allowed_origins([elsewhere.origin])
            await heard.until_true(lambda: stage.names == {"one", "here", "away"})


async def test_an_allowed_origin_is_checked(stage: Stage) -> None:
    with pytest.raises(UsageError, match="origin"):
        await stage.gateway.admin.set_allowed_origins(["https://a.example/path"])
    await stage.gateway.admin.set_allowed_origins([" https://a.example ", "", "https://a.example"])
    assert stage.gateway.admin.settings().allowed_origins == ("https://a.example",)


async def test_listeners_are_called_after_every_change(stage: Stage) -> None:
    heard: list[int] = []
    stop = stage.gateway.admin.listen(lambda: heard.append(1))
    await stage.gateway.admin.add_source(str(stage.other), None, None)
    await stage.gateway.admin.sync_source("other")
    assert len(heard) == 2
    stop()
    await stage.gateway.admin.remove_source("other")
    assert len(heard) == 2


async def test_two_changes_at_once_are_both_made(stage: Stage, tmp_path: Path) -> None:
    write_skill(tmp_path / "third", "three")
    admin = stage.gateway.admin
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(admin.add_source, str(stage.other), None, None)
        tasks.start_soon(admin.add_source, str(tmp_path / "third"), None, None)
    assert stage.names == {"one", "two", "three"}


async def test_clients_of_a_running_server_are_notified(stage: Stage) -> None:
    async with listening(skills_server(stage.gateway.library), "auto", []) as (client, heard):
        await stage.gateway.admin.add_source(str(stage.other), None, None)
        await heard.until_true(lambda: {"prompts", "resources"} <= set(heard.all))
        assert "two" in {prompt.name for prompt in (await client.list_prompts()).prompts}

"""All files of a skill in a folder, because a person asked: verified, whole, and below its label."""

from pathlib import Path
from typing import Any

import pytest

from skillwire.errors import HostError, UnavailableError, UsageError, VerificationError
from tests.support.clients import ERAS
from tests.support.hosts import Person, honest, open_host
from tests.support.scripted import ScriptedServer

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def mode_of(path: Path) -> int:
    return path.stat().st_mode


@every_era
@pytest.mark.rule("H9", "H11")
async def test_pulled_skill_is_written_under_its_label_and_path(mode: Any, tmp_path: Path) -> None:
    script = ScriptedServer()
    script.publish("billing/refunds", {"scripts/run%20me.py": b"print()", "logo.png": b"\xff\0"})
    script.publish("owner/repo/exotic", scheme="github")
    async with open_host(mode, None, acme=script, evil=honest("billing/refunds")) as host:
        session = host.session()
        for name in ("acme:refunds", "acme:exotic", "evil:refunds"):
            await host.pull(host.registry.resolve(name), tmp_path)
        assert session.acting == ()  # a download is no load
    assert tree(tmp_path) == {
        "acme/billing/refunds/SKILL.md": script.files["skill://billing/refunds/SKILL.md"],
        "acme/billing/refunds/scripts/run me.py": b"print()",
        "acme/billing/refunds/logo.png": b"\xff\0",
        "acme/github+/owner/repo/exotic/SKILL.md": script.files["github://owner/repo/exotic/SKILL.md"],
        "evil/billing/refunds/SKILL.md": script.files["skill://billing/refunds/SKILL.md"],
        "evil/billing/refunds/references/guide.md": b"# Guide\n",
    }
    assert mode_of(tmp_path / "acme/billing/refunds/scripts/run me.py") & 0o111 == 0


def rotated(script: ScriptedServer) -> None:
    script.files = {**script.files, "skill://refunds/references/guide.md": b"evil"}


def missing(script: ScriptedServer) -> None:
    script.files = {uri: each for uri, each in script.files.items() if not uri.endswith("guide.md")}


def another_frontmatter(script: ScriptedServer) -> None:
    script.entries[0]["frontmatter"]["license"] = "MIT"


@every_era
@pytest.mark.rule("H13", "H15")
@pytest.mark.parametrize("lie", [rotated, missing, another_frontmatter])
async def test_failed_pull_leaves_no_files(mode: Any, lie: Any, tmp_path: Path) -> None:
    script = honest("refunds")
    lie(script)
    async with open_host(mode, None, acme=script) as host:
        with pytest.raises(HostError, match=r"^server `acme`: ") as refused:
            await host.pull(host.registry.resolve("acme:refunds"), tmp_path)
    assert isinstance(refused.value, UnavailableError if lie is missing else VerificationError)
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    "path",
    ["a%2F..%2Fb.md", "CON", "a%00b", "trailing.", "C:x", "a/%2e%2e/%2e%2e/b", ".git/config", "a/.GIT/HEAD"],
)
async def test_unsafe_file_names_are_not_written(path: str, tmp_path: Path) -> None:
    script = ScriptedServer()
    script.publish("refunds", {path: b"x"})
    async with open_host("auto", None, acme=script) as host:
        for skill in host.registry:  # most are declined before
            with pytest.raises(VerificationError):
                await host.pull(skill, tmp_path)
        assert len(host.registry) + len(host.registry.problems) == 1
    assert tree(tmp_path) == {}


async def test_unsafe_skill_paths_are_not_written(tmp_path: Path) -> None:
    script = ScriptedServer()
    for path in ("../../refunds", "%2e%2e/%2e%2e/refunds", "a%5c..%5c/refunds", "CON/refunds"):
        script.publish(path)
    async with open_host("auto", None, acme=script) as host:
        for skill in host.registry:
            with pytest.raises(VerificationError):
                await host.pull(skill, tmp_path / "here")
    assert tree(tmp_path) == {}


async def test_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    async with open_host("auto", None, acme=honest("refunds")) as host:
        skill = host.registry.resolve("acme:refunds")
        folder = await host.pull(skill, tmp_path)
        with pytest.raises(UsageError, match="already exists"):
            await host.pull(skill, tmp_path)
        assert (folder / "references/guide.md").read_bytes() == b"# Guide\n"


async def test_write_failure_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    async with open_host("auto", None, acme=honest("refunds")) as host:
        with pytest.raises(UsageError, match=r"cannot write .*: not a directory"):
            await host.pull(host.registry.resolve("acme:refunds"), tmp_path / "file")


async def test_dynamic_skill_is_not_pulled(tmp_path: Path) -> None:
    script = honest("live")
    script.entries[0]["resources"] = "dynamic"
    async with open_host("auto", None, acme=script) as host:
        with pytest.raises(UsageError, match="has no list of files"):
            await host.pull(host.registry.resolve("acme:live"), tmp_path)


@every_era
@pytest.mark.rule("H12")
async def test_host_reads_one_file_without_asking_for_approval(mode: Any) -> None:
    script, person = honest("refunds"), Person()
    async with open_host(mode, person, acme=script) as host:
        skill = host.registry.resolve("acme:refunds")
        assert await host.read(skill, "references/guide.md") == b"# Guide\n"
        with pytest.raises(VerificationError):
            await host.read(skill, "../x")
        with pytest.raises(VerificationError):
            await host.read(skill, "nothing.md")
        rotated(script)
        with pytest.raises(VerificationError):
            await host.read(skill, "references/guide.md")
        assert person.asked == []

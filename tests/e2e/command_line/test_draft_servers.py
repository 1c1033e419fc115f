"""Servers of earlier drafts on the command line: what is listed, approved and downloaded."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli, on_terminal
from tests.support.draft_servers import (
    FILES,
    MAIN,
    ROOT,
    ZIP,
    archive_a,
    archive_b,
    entry_a,
    entry_b,
    indexed,
)
from tests.support.older_server import OlderServer
from tests.support.peers import PATIENCE, skillwire
from tests.support.scripted import ScriptedServer, entry_of, files_of
from tests.support.scripted_site import ScriptedSite
from tests.support.skills import write_skill

INDEXED: dict[str, tuple[Callable[[], ScriptedServer], str]] = {
    "draft-b": (lambda: indexed(entry_b()), "skill-md"),
    "draft-b-both": (lambda: indexed(entry_b(archives=[archive_b(ZIP)])), "skill-md"),
    "draft-b-archive": (
        lambda: indexed(entry_b(url=None, digest=None, archives=[archive_b(ZIP)]), files={}),
        "archive",
    ),
    "draft-a": (lambda: indexed(entry_a()), "skill-md"),
    "draft-a-archive": (lambda: indexed(archive_a(ZIP), files={}), "archive"),
}


@pytest.mark.parametrize("declared", [None, {}], ids=["undeclared", "declared"])
@pytest.mark.parametrize(("made", "kind"), INDEXED.values(), ids=INDEXED)
def test_healthy_draft_server_is_listed_with_warnings_only(
    cli: Cli, made: Any, kind: str, declared: Any
) -> None:
    script = made()
    script.declared, script.methods = declared, False
    with ScriptedSite(script) as site:
        done = cli("list", f"mcp+{site.url}", "--json")
        assert (done.code, [row["type"] for row in done.json]) == (0, [kind])
        assert done.json[0]["dialect"] in {"draft-a", "draft-b"}
        assert ("has no `skills/list`" in done.err) == (declared is not None)
        assert "the server uses draft" in done.err
        assert f"\t{MAIN}\t" in cli("list", f"mcp+{site.url}").out


def test_dynamic_skill_of_a_server_is_called_dynamic(cli: Cli) -> None:
    entry = {
        "uri": MAIN,
        "frontmatter": {"name": "good", "description": "Does good."},
        "resources": "dynamic",
    }
    with ScriptedSite(ScriptedServer([entry], FILES)) as site:
        assert [row["type"] for row in cli("list", f"mcp+{site.url}", "--json").json] == ["dynamic"]


def test_broken_draft_index_still_fails_the_listing(cli: Cli) -> None:
    with ScriptedSite(indexed(entry_b(), entry_b(frontmatter={"name": "No"}))) as site:
        assert cli("list", f"mcp+{site.url}").code == 1


def test_unlisted_draft_skill_is_shown_and_read_by_its_uri(cli: Cli) -> None:
    script = indexed(entry_b(), files={**FILES, **files_of("hidden", {"a.md": b"A"})})
    with ScriptedSite(script) as site:
        source = ("--from", f"mcp+{site.url}")
        shown = cli("show", "skill://hidden/SKILL.md", *source)
        assert shown.code == 0, shown.err
        assert "Does hidden." in shown.out
        assert cli("read", "skill://hidden/SKILL.md", "a.md", *source).raw == b"A"
        assert cli("show", "skill://nothing/SKILL.md", *source).code != 0


@pytest.fixture(params=["stdio", "http"])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """Arguments that lead to our own server of two skills, which speaks only early drafts, with archives."""
    for name in ("good", "team/other"):
        folder = write_skill(tmp_path / "skills", name, {"scripts/run.sh": "#!/bin/sh\n", "a b.md": "A\n"})
        (folder / "scripts/run.sh").chmod(0o755)
    if request.param == "stdio":
        yield "--", sys.executable, "-m", "tests.support.older_server", str(tmp_path / "skills")
        return
    with ScriptedSite(OlderServer(tmp_path / "skills")) as site:
        yield "--from", f"mcp+{site.url}"


def listed_at(older: tuple[str, ...]) -> tuple[str, ...]:
    return older[1:] if older[0] == "--from" else older


def test_own_archives_are_shown_approved_and_read(cli: Cli, older: tuple[str, ...]) -> None:
    done = cli("list", "--json", *listed_at(older))
    assert (done.code, [row["dialect"] for row in done.json]) == (0, ["draft-b"] * 2)
    shown = cli("show", "good", "--json", *older).json
    assert {each["uri"] for each in shown["resources"]} == {
        "skill://good/SKILL.md",
        "skill://good/a%20b.md",
        "skill://good/scripts/run.sh",
    }
    text = cli("show", "good", *older).out
    assert "archive: skill://good.tar.gz, sha256:" in text
    assert "integrity: a digest for every file" in text
    assert cli("read", "good", "a b.md", *older).raw == b"A\n"
    approved = cli("approve", "good", "--yes", "--json", *older)
    assert (approved.code, approved.json["approval"]) == (0, "approved")
    assert approved.json["bridge"] == {"passed_on": True, "reason": None}
    assert cli("show", "good", "--json", *older).json["approval"] == "approved"
    assert cli("diff", "good", *older).code == 0
    assert "is already approved in this version" in cli("approve", "good", "--yes", *older).err
    assert cli("diff", "other", *older).code == 1


def test_broken_archive_is_shown_with_its_reason(cli: Cli) -> None:
    script = indexed(
        entry_b(url=None, digest=None, archives=[archive_b(ZIP)]), files={f"{ROOT}.zip": b"PK no"}
    )
    with ScriptedSite(script) as site:
        source = ("--from", f"mcp+{site.url}")
        shown = cli("show", "good", *source)
        assert (shown.code, "files: in an archive that cannot be used" in shown.out) == (0, True)
        assert "it was listed as" in shown.err
        assert cli("show", "good", "--json", *source).json["resources"] is None
        refused = cli("approve", "good", "--yes", *source)
        assert refused.code != 0
        assert "it was listed as" in refused.err


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: indexed(entry_b()), "its server uses `draft-b`, which lists only the `SKILL.md`"),
        (lambda: indexed(entry_a(type="archive", url=f"{ROOT}.zip")), "its archive has no digest"),
    ],
)
def test_draft_skill_without_digests_is_not_called_generated(cli: Cli, made: Any, reason: str) -> None:
    with ScriptedSite(made()) as site:
        source = ("--from", f"mcp+{site.url}")
        pulled = cli("pull", "good", "pulled", *source)
        assert (pulled.code, reason in pulled.err) == (1, True)
        for command in ("show", "pull", "approve"):
            more = ["pulled"] if command == "pull" else ["--yes"] if command == "approve" else []
            done = cli(command, "good", *more, *source)
            assert "generated" not in f"{done.out}{done.err}"


def files_below(folder: Path) -> set[str]:
    return {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()}


def test_all_own_archives_are_pulled_with_executable_bits(
    cli: Cli, older: tuple[str, ...], tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    words = (older[1], out) if older[0] == "--from" else (out,)
    more = () if older[0] == "--from" else older
    done = cli("pull", *words, "--all", "--json", *more)
    assert (done.code, done.json["complete"], len(done.json["pulled"])) == (0, True, 2)
    (label,) = {each["origin"] for each in done.json["pulled"]}
    assert files_below(tmp_path / "out" / label) == {
        f"{skill}/{path}"
        for skill in ("good", "team/other")
        for path in ("SKILL.md", "a b.md", "scripts/run.sh")
    }
    script = tmp_path / "out" / label / "good/scripts/run.sh"
    assert os.access(script, os.X_OK)
    assert not os.access(script.parent.parent / "SKILL.md", os.X_OK)
    again = cli("pull", *words, "--all", *more)
    assert (again.code, again.out) == (0, "")
    assert "2 skills of" in again.err
    assert "0 pulled, 2 unchanged, 0 refused" in again.err
    script.chmod(0o644)
    refused = cli("pull", *words, "--all", "--json", *more)
    assert (refused.code, len(refused.json["refused"]), len(refused.json["unchanged"])) == (1, 1, 1)
    assert "exists, with other files" in refused.json["refused"][0]["reason"]
    forced = cli("pull", *words, "--all", "--force", "--only", "good", *more)
    assert (forced.code, forced.out) == (0, f"{script.parent.parent}\n")
    assert os.access(script, os.X_OK)


def test_pull_all_reports_each_refusal_and_exits_with_one(cli: Cli, tmp_path: Path) -> None:
    plain = entry_b(url="skill://plain/SKILL.md", frontmatter={"name": "plain", "description": "Is plain."})
    script = indexed(entry_b(archives=[archive_b(ZIP)]), plain)
    with ScriptedSite(script) as site:
        done = cli("pull", site.url, str(tmp_path / "out"), "--all")
    assert (done.code, done.out.count("\n")) == (1, 1)
    assert "plain`: " in done.err
    assert "its server uses `draft-b`, which lists only the `SKILL.md`" in done.err
    assert "1 pulled, 0 unchanged, 1 refused" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["acme", "--all"], "`--all` needs one server and one folder"),
        (["acme:good"], "no folder to write to is named"),
        (["acme:good", "out", "--only", "x"], "`--only` chooses among all skills of a server"),
        (["http://127.0.0.1:1/mcp", "out", "--all", "--max-bytes", "-1"], "is negative"),
    ],
)
def test_wrong_use_of_pull_is_explained(cli: Cli, arguments: list[str], told: str) -> None:
    done = cli("pull", *arguments)
    assert (done.code, told in done.err) == (2, True)


def test_clients_folders_named_by_variables_are_spared(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "served").mkdir()
    monkeypatch.setenv("SKILLS_DIR", str(tmp_path / "served"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    with ScriptedSite(ScriptedServer([entry_of("good", FILES)], FILES)) as site:
        for folder in ("served", "served/below", "codex/skills"):
            done = cli("pull", "good", tmp_path / folder, "--from", site.url)
            assert (done.code, "a client loads skills from" in done.err) == (2, True)
            assert cli("pull", site.url, tmp_path / folder, "--all").code == 1
        assert files_below(tmp_path) == set()
        given = cli("pull", "good", tmp_path / "served", "--from", site.url, "--into-client-folder")
        assert given.code == 0, given.err


def test_pull_all_shows_its_progress_on_a_terminal(tmp_path: Path) -> None:
    entries = [entry_of(f"skill-{number}", files_of(f"skill-{number}")) for number in range(3)]
    files = {uri: each for number in range(3) for uri, each in files_of(f"skill-{number}").items()}
    with ScriptedSite(ScriptedServer(entries, files)) as site:
        code, shown = on_terminal("pull", site.url, tmp_path / "out", "--all")
    assert code == 0, shown
    assert b"downloading skills" in shown
    assert b"3/3" in shown
    assert b"3 pulled, 0 unchanged, 0 refused" in shown


class Blocking(ScriptedServer):
    """Never answers a read of one skill, until it is released."""

    def __init__(self, entries: Sequence[Any], files: Mapping[str, bytes]) -> None:
        super().__init__(entries, files)
        self.reached, self.released = threading.Event(), threading.Event()

    def _read(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["uri"].startswith("skill://skill-2/") and not self.released.is_set():
            self.reached.set()
            assert self.released.wait(PATIENCE)
        return super()._read(params)


def test_ctrl_c_leaves_whole_skills_and_the_next_run_continues(tmp_path: Path) -> None:
    names = [f"skill-{number}" for number in range(4)]
    script = Blocking(
        [entry_of(name, files_of(name)) for name in names],
        {uri: each for name in names for uri, each in files_of(name).items()},
    )
    with ScriptedSite(script) as site:
        command = skillwire("pull", site.url, tmp_path / "out", "--all")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert script.reached.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        script.released.set()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        (label,) = [each.name for each in (tmp_path / "out").iterdir()]  # and no temporary folder
        assert {each.name for each in (tmp_path / "out" / label).iterdir()} == {"skill-0", "skill-1"}
        script.asked.clear()
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
        assert (done.returncode, done.stdout.count(b"\n")) == (0, 2)
        assert b"2 pulled, 2 unchanged, 0 refused" in done.stderr
    read = {params["uri"] for method, params in script.asked if method == "resources/read"}
    assert not any("skill-0" in uri or "skill-1" in uri for uri in read)

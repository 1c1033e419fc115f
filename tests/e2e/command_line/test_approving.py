"""`approve`, `diff`, `revoke`, `pull` and `cache`: a person decides, bound to what was shown."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.client_files import Machine
from tests.support.command_line import COMMANDS, Cli, on_terminal
from tests.support.scripted import ScriptedServer, entry_of, files_of
from tests.support.scripted_site import ScriptedSite

FILES = files_of("good", {"references/a.md": b"# A\n"})
CHANGED = {**FILES, "skill://good/references/a.md": b"# B\n", "skill://good/new.md": b"new"}


@pytest.fixture
def site() -> Iterator[ScriptedSite]:
    with ScriptedSite(honest()) as running:
        yield running


def honest() -> ScriptedServer:
    entry = entry_of("good", FILES)
    entry["frontmatter"]["allowed-tools"] = "Bash(rm:*) Read"
    live = {**entry_of("live", files_of("live")), "resources": "dynamic"}
    content = FILES["skill://good/SKILL.md"].replace(b"---\n# ", b"allowed-tools: Bash(rm:*) Read\n---\n# ")
    files = {**FILES, "skill://good/SKILL.md": content}
    entry["resources"] = entry_of("good", files)["resources"]
    return ScriptedServer([entry, live], files)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: ScriptedSite) -> Machine:
    machine = Machine.at(tmp_path)
    machine.own(".cursor/mcp.json", {"mcpServers": {"acme": {"url": site.url}}})
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.setenv("SKILLWIRE_STATE_DIR", str(machine.home / "state"))
    monkeypatch.chdir(machine.repository)
    return machine


def change(site: ScriptedSite) -> None:
    site.script.entries = [entry_of("good", CHANGED)]
    site.script.files = CHANGED


@pytest.mark.rule("H30")
def test_without_a_terminal_nothing_is_approved(machine: Machine, cli: Cli) -> None:
    done = cli("approve", "acme:good")
    assert done.code == 2
    assert done.err.endswith(
        "error: cannot ask for approval: stdin or stderr is not a terminal\n"
        "hint: add `--yes` to approve without asking\n"
    )
    assert cli("approve", "--json").json == []


def test_everything_is_shown_before_it_is_approved(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    done = cli("approve", "acme:good", "--yes")
    assert done.code == 0
    assert done.err == "approved `acme:good`\n"
    assert done.out.splitlines()[:3] == [
        "acme:good  `Does good.`",
        f"server: acme, {site.url}",
        "uri: skill://good/SKILL.md",
    ]
    assert "asks for: `allowed-tools: Bash(rm:*)`  (not granted by this)" in done.out.splitlines()
    assert re.search(r"  4  sha256:[0-9a-f]{12}…  references/a\.md", done.out)
    (approval,) = cli("approve", "--json").json
    assert (approval["origin"], approval["uri"], approval["approval"], approval["tools"]) == (
        "acme",
        "skill://good/SKILL.md",
        "approved",
        [],
    )
    assert "is already approved" in cli("approve", "acme:good").err


@pytest.mark.parametrize(("typed", "approved"), [(b"y\n", 1), (b"n\n", 0)])
def test_a_person_is_asked_on_a_terminal(machine: Machine, cli: Cli, typed: bytes, approved: int) -> None:
    code, shown = on_terminal("approve", "acme:good", typed=typed)
    assert b"approve exactly this? [y/N/d]" in shown
    assert code == (0 if approved else 1)
    assert len(cli("approve", "--json").json) == approved


@pytest.mark.rule("H17")
def test_generated_content_cannot_be_approved(machine: Machine, cli: Cli) -> None:
    done = cli("approve", "acme:live", "--yes")
    assert done.code == 1
    assert "cannot approve `acme:live`" in done.err
    assert cli("pull", "acme:live", "pulled").code == 1
    told = cli("diff", "acme:live").err
    assert "cannot be approved permanently" in told
    assert "skillwire approve" not in told


def test_suggested_commands_name_the_server_as_typed(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    told = cli("diff", "good", "--from", site.url).err
    assert f"`skillwire approve good --from {site.url}` shows it" in told
    told = cli("read", "good", "nope.md", "--from", site.url).err
    assert f"`skillwire show good --from {site.url}` lists its files" in told


@pytest.mark.rule("H15", "H17")
def test_a_change_ends_the_approval_and_is_shown(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    assert cli("diff", "acme:good").code == 1, "nothing was approved yet"
    cli("approve", "acme:good", "--yes")
    assert site.script.count("resources/read") == 0, "an approval reads no file"
    cli("pull", "acme:good", "out")
    done = cli("diff", "acme:good")
    assert (done.code, done.err) == (0, "`acme:good` has not changed since you approved it\n")

    before = site.script.entries, site.script.files
    change(site)
    done = cli("diff", "acme:good", "--summary")
    assert done.code == 1
    changes = ["+ new.md", "~ SKILL.md", "~ references/a.md", "~ frontmatter field allowed-tools"]
    assert done.out.splitlines() == changes
    done = cli("diff", "acme:good")
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[:4] == changes
    assert "-allowed-tools: Bash(rm:*) Read" in lines
    at = lines.index("--- approved/references/a.md")
    assert lines[at + 1 : at + 5] == ["+++ now/references/a.md", "@@ -1,1 +1,1 @@", "-# A", "+# B"]
    assert cli("diff", "acme:good", "--json").json["changes"]["added"] == ["new.md"]
    assert "approval: none: it has changed since you approved it" in cli("show", "acme:good").out

    site.script.entries, site.script.files = before
    assert "approval: none" in cli("show", "acme:good").out, "going back does not restore it"
    change(site)
    done = cli("approve", "acme:good", "--yes")
    assert "changed since you approved it:" in done.out
    assert "+ new.md" in done.out
    assert cli("diff", "acme:good").code == 0


def test_problems_of_other_skills_are_not_printed(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    broken = [{**entry_of(f"broken-{number}", FILES), "resources": "none"} for number in range(50)]
    twins = [entry_of(f"{folder}/twin", files_of("twin")) for folder in ("a", "b")]
    site.script.entries = [*site.script.entries, *broken, *twins]
    assert cli("read", "acme:good").err == "from the server `acme`; no one vouches for this text:\n"
    assert cli("show", "acme:good").err == ""
    done = cli("read", "acme:broken-7")
    assert done.code == 1
    assert len(done.err.splitlines()) <= 3
    assert "problems may hide a skill" in done.err
    assert "broken-7" in cli("list", "acme").err


@pytest.mark.rule("H28")
def test_a_label_that_means_another_server_has_no_approvals(
    machine: Machine, cli: Cli, site: ScriptedSite
) -> None:
    cli("approve", "acme:good", "--yes")
    machine.own(".cursor/mcp.json", {"mcpServers": {"acme": {"url": f"{site.url}?tenant=2"}}})
    done = cli("show", "acme:good")
    assert "approval: none" in done.out
    assert "another server than before" in done.err
    assert cli("approve", "--json").json == []


def test_an_approval_is_taken_back_without_the_server(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    cli("approve", "acme:good", "--yes")
    site.script.asked.clear()
    assert cli("revoke", "acme:nobody").code == 1
    done = cli("revoke", "acme:good")
    assert (done.code, done.err) == (0, "revoked `acme:skill://good/SKILL.md`\n")
    assert site.script.asked == []
    again = cli("revoke", "acme:good")
    assert again.code == 0
    assert "its approval was already revoked: `acme:skill://good/SKILL.md`" in again.err
    assert "approval: revoked" in cli("show", "acme:good").out
    assert cli("approve").out.startswith("revoked\tacme\t")


def test_a_server_must_be_named(machine: Machine, cli: Cli) -> None:
    for verb in ("approve", "diff"):
        done = cli(verb, "good")
        assert done.code == 2
        assert "hint: write `LABEL:NAME`, or add `--from SERVER`" in done.err


@pytest.mark.rule("H23")
def test_nothing_is_ever_called_safe(machine: Machine, cli: Cli) -> None:
    said = [cli(*words) for words in (["approve", "acme:good", "--yes"], ["pull", "acme:good", "out"])]
    helped = [
        cli(verb, "--help") for verb in COMMANDS if verb in {"approve", "diff", "revoke", "pull", "verify"}
    ]
    for done in [*said, *helped]:
        assert re.search(r"\b(safe|trusted)\b", done.out + done.err, re.IGNORECASE) is None


def test_a_skill_is_pulled_whole_below_its_label(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    done = cli("pull", "acme:good", "out")
    assert done.code == 0
    assert done.out == "out/acme/good\n"
    folder = machine.repository / "out/acme/good"
    assert {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()} == {
        "SKILL.md",
        "references/a.md",
    }
    assert (folder / "SKILL.md").read_bytes() == site.script.files["skill://good/SKILL.md"]


def test_what_is_there_stays_unless_it_is_forced(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    cli("pull", "acme:good", "out")
    folder = machine.repository / "out/acme/good"
    (folder / "mine.txt").write_text("mine")
    done = cli("pull", "acme:good", "out")
    assert done.code == 2
    assert (folder / "mine.txt").exists()
    assert cli("pull", "acme:good", "out", "--force", "--json").json["folder"] == "out/acme/good"
    assert not (folder / "mine.txt").exists()
    assert (folder / "SKILL.md").exists()
    assert [each.name for each in (machine.repository / "out").iterdir()] == ["acme"]


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_one_failure_leaves_nothing_behind(
    machine: Machine, cli: Cli, site: ScriptedSite, force: list[str]
) -> None:
    (machine.repository / "out").mkdir()
    uri = "skill://good/references/a.md"
    site.script.read = {uri: {"contents": [{"uri": uri, "text": "# Z\n"}]}}
    done = cli("pull", "acme:good", "out", *force)
    assert (done.code, done.raw) == (1, b"")
    assert list((machine.repository / "out").iterdir()) == []


def test_what_is_kept_is_listed_and_thrown_away(machine: Machine, cli: Cli) -> None:
    assert cli("cache", "--json").json == []
    cli("approve", "acme:good", "--yes")
    cli("pull", "acme:good", "out")
    kept = cli("cache", "--json").json
    assert [(each["origin"], each["uri"], each["size"]) for each in kept][-1] == (
        "acme",
        "skill://good/references/a.md",
        4,
    )
    assert len(cli("cache", "list", "acme").out.splitlines()) == 2
    assert cli("cache", "list", "nobody").code == 2
    assert cli("cache", "remove", "acme").err == "2 files removed\n"
    assert cli("cache", "--json").json == []
    assert len(cli("approve", "--json").json) == 1, "approvals stay"


# Many at once


def many(site: ScriptedSite) -> None:
    for number in range(5):
        site.script.publish(f"team/skill-{number}")
    live = {**entry_of("live", files_of("live")), "resources": "dynamic"}
    site.script.entries = [*site.script.entries, live]


def test_a_pattern_approves_the_skills_of_today(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    many(site)
    done = cli("approve", "acme:team/*", "acme:good", "--yes")
    assert done.code == 0
    assert "6 skills approved" in done.err
    shown = [line.split()[0] for line in done.out.splitlines() if not line.startswith(" ")]
    approved = {each["uri"] for each in cli("approve", "--json").json}
    assert {f"acme:{uri.split('/')[-2]}" for uri in approved} == set(shown)
    site.script.publish("team/later")
    assert "approval: none" in cli("show", "acme:later").out
    again = cli("approve", "acme:*", "--yes", "--json").json
    assert (len(again["approved"]), again["refused"]) == (7, [])
    assert len(cli("approve", "--json").json) == 7, "the live skill is left out"


def test_each_failure_is_named_and_the_others_go_on(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    many(site)
    done = cli("approve", "acme:nobody", "acme:live", "acme:none-*", "acme:skill-1", "--yes", "--json")
    assert done.code == 1
    assert [each["uri"] for each in done.json["approved"]] == ["skill://team/skill-1/SKILL.md"]
    assert [each["skill"] for each in done.json["refused"]] == ["acme:nobody", "acme:none-*", "acme:live"]
    assert len(cli("approve", "--json").json) == 1


def test_many_are_asked_for_once_and_shown_on_request(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    many(site)
    code, shown = on_terminal("approve", "acme:skill-*", "--no-pager", typed=b"d\ny\n")
    assert code == 0
    assert shown.count(b"approve exactly these 5 skills? [y/N/d]") == 2
    assert b"+description: Does skill-3." in shown
    code, shown = on_terminal("approve", "acme:*", typed=b"\n")
    assert (code, len(cli("approve", "--json").json)) == (1, 5)


def test_text_that_is_not_kept_is_reported(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    cli("approve", "acme:good", "--yes")
    change(site)
    done = cli("diff", "acme:good")
    assert "references/a.md: its approved text is not kept; the whole current text follows" in done.out
    assert "+# B" in done.out
    assert "-# A" not in done.out


def test_control_characters_in_a_diff_are_visible(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    cli("approve", "acme:good", "--yes")
    uri = "skill://good/references/a.md"
    site.script.files = {
        **FILES,
        uri: b"# \x1b[2Kx\xe2\x80\xae\n",
        "skill://good/logo.png": bytes(range(256)),
    }
    site.script.entries = [entry_of("good", site.script.files)]
    done = cli("diff", "acme:good")
    assert "+# \\x1b[2Kx\\u202e" in done.out
    assert "binary: nothing before, 256 bytes now" in done.out
    assert "\x1b" not in done.out
    site.script.read = {uri: {"contents": [{"uri": uri, "text": "# lie\n"}]}}
    site.script.publish("other")
    cli("cache", "remove")
    done = cli("diff", "acme:good")
    assert "lie" not in done.out
    assert "references/a.md: it cannot be read" in done.out


def test_several_approvals_are_revoked_together(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    many(site)
    cli("approve", "acme:*", "--yes")
    done = cli("revoke", "acme:skill-*")
    assert done.code == 2
    assert "hint: add `--yes`" in done.err
    done = cli("revoke", "acme:skill-*", "acme:nobody", "--yes")
    assert done.code == 1
    assert "no skill `acme:nobody` is approved" in done.err
    states = {each["uri"]: each["approval"] for each in cli("approve", "--json").json}
    assert states.pop("skill://good/SKILL.md") == "approved"
    assert set(states.values()) == {"revoked"}
    assert cli("revoke", "acme:skill-*", "--yes").code == 1
    code, shown = on_terminal("revoke", "acme:*", typed=b"n\n")
    assert (code, b"revoke this approval?" in shown) == (1, True)


# What a bridge cannot pass on


def published(site: ScriptedSite, *entries: Any, files: Mapping[str, bytes] = FILES) -> None:
    site.script.entries, site.script.files = entries, files


def draft(name: str) -> dict[str, Any]:
    """Return an entry as draft C of the extension has it: without sizes."""
    entry = entry_of(name, files_of(name))
    entry["resources"] = [{"uri": each["uri"], "digest": each["digest"]} for each in entry["resources"]]
    return entry


def test_approve_warns_of_a_draft_that_no_bridge_passes_on(
    machine: Machine, cli: Cli, site: ScriptedSite
) -> None:
    published(site, draft("old"), files=files_of("old"))
    done = cli("approve", "acme:old", "--yes")
    assert done.code == 0
    told = "its server lists no sizes of its files (`draft-c`)"
    assert f"`skillwire bridge` cannot offer it: {told}" in done.err
    assert done.err.index("cannot offer it") < done.err.index("approved `acme:old`")
    again = cli("approve", "acme:old", "--yes", "--json")
    assert again.json["approval"] == "approved"
    assert again.json["bridge"] == {"passed_on": False, "reason": told}


def test_approve_warns_of_a_skill_that_is_not_listed(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    site.script.got = {"skill://hidden/SKILL.md": entry_of("hidden", files_of("hidden"))}
    done = cli("approve", "acme:skill://hidden/SKILL.md", "--yes", "--json")
    assert done.json["bridge"]["passed_on"] is False
    assert "the server does not list it" in done.json["bridge"]["reason"]


def test_approve_says_why_a_bridge_cannot_pass_a_skill_on(
    machine: Machine, cli: Cli, site: ScriptedSite
) -> None:
    files = files_of("odd", {"a": b"a file", "a/b.md": b"in a folder"})
    published(site, entry_of("odd", files), files=files)
    reason = cli("approve", "acme:odd", "--yes", "--json").json["bridge"]["reason"]
    assert reason == "odd/a: the path is also a folder"


def test_approve_warns_of_skills_with_the_same_path(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    uris = ["skill://good", "a://good", "A://good"]
    for uri in uris:
        site.script.publish(uri.partition("://")[2], scheme=uri.partition("://")[0])
    done = cli("approve", "acme:A://good/SKILL.md", "--yes", "--json")
    assert done.json["bridge"]["reason"] == "the server lists another skill with the same path"


def test_approve_does_not_warn_without_a_reason(machine: Machine, cli: Cli) -> None:
    done = cli("approve", "acme:good", "--yes", "--json")
    assert done.json["bridge"] == {"passed_on": True, "reason": None}
    assert "bridge" not in done.err


def test_skill_without_digests_names_the_option_of_the_bridge(machine: Machine, cli: Cli) -> None:
    done = cli("approve", "acme:live", "--yes")
    assert done.code == 1
    assert "`skillwire bridge` offers it only with `--trust acme`" in done.err


def test_approve_with_json_needs_yes(machine: Machine, cli: Cli) -> None:
    assert cli("approve", "acme:good", "--json").code == 2

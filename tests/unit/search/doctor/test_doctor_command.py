"""`skillwire doctor`: its report agrees with a running server, and its advice, followed, changes it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli, on_terminal
from tests.support.peers import MODERN, StdioPeer, skillwire
from tests.support.skills import write, write_skill

CLIENTS = ["claude-code", "codex", "chatgpt", "vscode", "skillwire"]
VERDICTS = ["shown", "shortened", "dropped", "refused"]


def skill_file(name: str, description: str, **fields: str) -> str:
    """Return a `SKILL.md` with any text as its description."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in {"description": description, **fields}.items()]
    return "\n".join(["---", f"name: {name}", *lines, "---", "# Steps\n"])


def folder_of(root: Path, descriptions: dict[str, str]) -> Path:
    return write(root, {f"{name}/SKILL.md": skill_file(name, text) for name, text in descriptions.items()})


def many(number: int, words: int = 20) -> dict[str, str]:
    """Return descriptions that have hardly a word in common."""
    return {
        f"skill-{each:04}": f"Use when {' '.join(f'word{each}x{at}' for at in range(words))}."
        for each in range(number)
    }


def report(cli: Cli, *arguments: str | Path) -> Any:
    done = cli("doctor", *arguments, "--no-config", "--json")
    assert done.code in {0, 1}, done.err
    return done.json


def client(found: Any, name: str, way: str = "") -> Any:
    return next(each for each in found["clients"] if each["client"] == name and way in each["way"])


def verdicts(found: Any) -> dict[str, str]:
    return {each["name"]: each["verdict"] for each in found["findings"]}


# What a server sends


@pytest.mark.parametrize("number", [1, 17, 40])
def test_claude_code_shows_what_fits_of_a_servers_instructions(cli: Cli, tmp_path: Path, number: int) -> None:
    skills = many(number)
    folder_of(tmp_path, skills)
    with StdioPeer(MODERN, skillwire("serve", tmp_path, "--no-config")) as peer:
        sent = peer.handshake["instructions"]
        listed = peer.result("skills/list")["skills"]
    found = client(report(cli, tmp_path), "claude-code", "MCP")
    cut = sent[:2048]
    whole = {name for name, text in skills.items() if text in cut}
    assert whole
    assert skills.keys() - verdicts(found).keys() == whole
    assert found["shown"] == len(whole)
    # `doctor` examines exactly the skills that the server lists.
    assert found["shown"] + found["shortened"] + found["dropped"] == len(listed) == number
    assert f"{len(sent):,}" in found["notes"][0]


def test_other_clients_see_what_the_server_lists_for_models(cli: Cli, tmp_path: Path) -> None:
    skills = many(60, words=40)
    folder_of(tmp_path, skills)
    with StdioPeer(MODERN, skillwire("serve", tmp_path, "--no-config", "--catalog-tokens", "2000")) as peer:
        sent = peer.handshake["instructions"]
    found = client(report(cli, tmp_path, "--catalog-tokens", "2000"), "skillwire")
    whole = {name for name, text in skills.items() if text in sent}
    assert 0 < len(whole) < 60
    assert skills.keys() - verdicts(found).keys() == whole


def test_descriptions_of_the_servers_tools_fit_into_claude_code(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, many(1))
    with StdioPeer(MODERN, skillwire("serve", tmp_path, "--no-config")) as peer:
        tools = peer.result("tools/list")["tools"]
    cut = [tool["name"] for tool in tools if len(tool["description"]) > 2048]
    notes = client(report(cli, tmp_path), "claude-code", "MCP")["notes"]
    assert [note for note in notes if "the tool" in note] == cut == []


@pytest.mark.parametrize("tokens", ["200", "4000"])
def test_a_name_inside_another_description_does_not_count(cli: Cli, tmp_path: Path, tokens: str) -> None:
    first = "Use with zebra or zebra-tools when needed. " + "x" * 300
    skills = {"a-first": first, **many(30), "zebra": "Use when stripes matter."}
    folder_of(tmp_path, skills)
    options = ("--catalog-tokens", tokens)
    found = client(report(cli, tmp_path, *options), "claude-code", "MCP")
    with StdioPeer(MODERN, skillwire("serve", tmp_path, "--no-config", *options)) as peer:
        cut = peer.handshake["instructions"][:2048]
    assert first in cut
    assert "stripes matter" not in cut
    has_own_name = re.search(r"(?<![\w-])zebra(?![\w-])", cut.replace(first, "")) is not None
    assert verdicts(found)["zebra"] == ("shortened" if has_own_name else "dropped")


def test_skills_that_the_configuration_pins_come_first(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path / "skills", many(30, words=30))
    config = tmp_path / "config.toml"
    config.write_text('[catalog]\npin = ["skill-0029"]\n', "utf-8")
    done = cli("doctor", tmp_path / "skills", "--config", config, "--json")
    assert "skill-0029" not in verdicts(client(done.json, "claude-code", "MCP"))
    assert "skill-0029" in verdicts(client(report(cli, tmp_path / "skills"), "claude-code", "MCP"))


# The limits of each client


def test_chatgpt_imports_five_skills_or_none(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path / "five", many(5))
    folder_of(tmp_path / "six", many(6))
    assert client(report(cli, tmp_path / "five"), "chatgpt")["shown"] == 5
    assert client(report(cli, tmp_path / "six"), "chatgpt")["refused"] == 6


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({f"{number}.txt": b"" for number in range(100)}, "101 files"),
        ({"SKILL.md": skill_file("large", "Use when needed.") + "x" * 256 * 1024}, "262,144"),
        ({"data.bin": bytes(1024 * 1024 + 1)}, "1,048,576"),
        ({f"{number}.bin": bytes(1024 * 1024) for number in range(5)}, "5,242,880"),
    ],
    ids=["many files", "long text", "large file", "large skill"],
)
def test_one_skill_over_a_limit_stops_the_chatgpt_import(
    cli: Cli, tmp_path: Path, files: dict[str, bytes | str], why: str
) -> None:
    write_skill(tmp_path, "small")
    write_skill(tmp_path, "large", files)
    found = client(report(cli, tmp_path), "chatgpt")
    reasons = {each["name"]: each["reason"] for each in found["findings"]}
    assert why in reasons["large"]
    assert reasons["small"] == "another skill makes the whole import fail"


def test_codex_reads_at_most_100_skills_of_an_app(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, dict.fromkeys(many(120), "Use it."))
    found = client(report(cli, tmp_path), "codex", "app")
    assert found["shown"] <= 100
    last = [each for each in found["findings"] if "first 100 skills" in each["reason"]]
    assert [each["name"] for each in last] == [f"skill-{each:04}" for each in range(100, 120)]


def test_a_larger_context_window_makes_room_for_more(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, many(60))
    shown = [
        [client(report(cli, tmp_path, "--context-window", size), name, way)["shown"] for size in sizes]
        for name, way in (("claude-code", "plugin"), ("codex", "plugin"))
        for sizes in [("20000", "200000", "2000000")]
    ]
    for counts in shown:
        assert counts == sorted(counts)
        assert counts[0] < counts[2] == 60


def test_claude_code_lists_8000_characters_of_plugin_skills(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, {f"skill-{each:04}": f"Use when {each:04} {'x' * 176}" for each in range(100)})
    found = client(report(cli, tmp_path), "claude-code", "plugin")
    line, described = len("- skill-0000\n"), len(": ") + len(f"Use when 0000 {'x' * 176}")
    assert found["shown"] == (8000 - 100 * line) // described
    assert found["shortened"] == 100 - found["shown"]


def test_skill_for_people_only_is_in_no_list_for_models(cli: Cli, tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a/SKILL.md": "---\nname: a\ndescription: Use when b.\ndisable-model-invocation: true\n---\n# A\n"},
    )
    found = report(cli, tmp_path)
    assert client(found, "claude-code", "MCP")["shown"] == 0
    assert client(found, "claude-code", "plugin")["shown"] == 0
    assert client(found, "chatgpt")["shown"] == 1


# Following the advice


def fixed_by(cli: Cli, folder: Path, name: str, about: str) -> tuple[dict[str, Any], Any]:
    found = report(cli, folder)
    [advice] = [each for each in found["advice"] if (each["name"], each["about"]) == (name, about)]
    return advice, found


def test_shortening_as_advised_makes_every_client_show_it(cli: Cli, tmp_path: Path) -> None:
    text = "Use when needed. " + "word " * 300
    folder_of(tmp_path, {"long": text})
    advice, before = fixed_by(cli, tmp_path, "long", "length")
    assert client(before, "codex", "plugin")["refused"] == 1
    assert client(before, "vscode")["shortened"] == 1
    assert client(before, "chatgpt")["refused"] == 1
    [less] = re.findall(r"by ([\d,]+) characters", advice["fix"])
    folder_of(tmp_path, {"long": text.strip()[: -int(less.replace(",", ""))]})
    after = report(cli, tmp_path)
    assert after["advice"] == []
    assert all(each["shown"] == 1 for each in after["clients"])


def test_shortening_by_less_than_advised_is_not_enough(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, {"long": "Use when needed: " + "x" * 1200})
    advice, _ = fixed_by(cli, tmp_path, "long", "length")
    [less] = re.findall(r"by (\d+) characters", advice["fix"])
    folder_of(tmp_path, {"long": ("Use when needed: " + "x" * 1200)[: 1 - int(less)]})
    advice, after = fixed_by(cli, tmp_path, "long", "length")
    assert "by 1 character" in advice["fix"]
    assert client(after, "codex", "plugin")["refused"] == 1


def test_shortening_when_to_use_as_advised_keeps_it_whole(cli: Cli, tmp_path: Path) -> None:
    def put(when: str) -> None:
        write(tmp_path, {"long/SKILL.md": skill_file("long", "d" * 1000, when_to_use=when)})

    put("w" * 800)
    advice, before = fixed_by(cli, tmp_path, "long", "length")
    assert verdicts(client(before, "claude-code", "plugin")) == {"long": "shortened"}
    [less] = re.findall(r"by (\d+) characters", advice["fix"])
    put("w" * (800 - int(less)))
    after = report(cli, tmp_path)
    assert after["advice"] == []
    assert client(after, "claude-code", "plugin")["shown"] == 1


def test_saying_when_to_use_a_skill_ends_the_advice(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, {"tides": "Computes tide tables of harbours."})
    advice, _ = fixed_by(cli, tmp_path, "tides", "when")
    assert "Use when" in advice["fix"]
    folder_of(tmp_path, {"tides": "Computes tide tables of harbours. Use when a ship leaves."})
    assert report(cli, tmp_path)["advice"] == []
    write(tmp_path, {"tides/SKILL.md": skill_file("tides", "Computes tide tables.", when_to_use="At sea.")})
    assert report(cli, tmp_path)["advice"] == []


def test_a_description_in_another_script_is_not_searched_for_when(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, {"slides": "幻灯片的制作与排版。当用户需要演示文稿时使用。"})
    assert report(cli, tmp_path)["advice"] == []


def test_distinguishing_a_near_duplicate_ends_the_advice(cli: Cli, tmp_path: Path) -> None:
    text = "Fills forms in PDF documents with names, addresses and dates from a table. Use on request."
    folder_of(tmp_path, {"forms": text, "more-forms": text.replace("table", "sheet")})
    advice, before = fixed_by(cli, tmp_path, "more-forms", "duplicate")
    assert "`forms`" in advice["message"]
    assert [each["of"] for each in before["duplicates"]] == ["forms"]
    folder_of(tmp_path, {"more-forms": "Reads tax forms of Norway. Use when a Norwegian return is due."})
    after = report(cli, tmp_path)
    assert after["duplicates"] == after["advice"] == []


def test_names_that_collide_are_listed(cli: Cli, tmp_path: Path) -> None:
    for team in ("red", "blue"):
        write_skill(tmp_path / team, "deploy")
    write_skill(tmp_path / "red", "other")
    [collision] = report(cli, tmp_path)["collisions"]
    assert collision["name"] == "deploy"
    assert sorted(collision["skills"]) == ["blue/deploy", "red/deploy"]
    reasons = {each["reason"] for each in client(report(cli, tmp_path), "chatgpt")["findings"]}
    assert "several skills have this name" in reasons


# The command


def test_exit_code_depends_on_the_named_clients(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, many(6, words=3))
    assert cli("doctor", tmp_path, "--no-config").code == 1
    assert cli("doctor", tmp_path, "--no-config", "--client", "chatgpt").code == 1
    assert cli("doctor", tmp_path, "--no-config", "--client", "vscode", "--client", "codex").code == 0
    assert cli("doctor", tmp_path, "--no-config", "--client", "vscode,codex").code == 0


def test_only_named_clients_are_reported(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, many(1))
    found = report(cli, tmp_path, "--client", "codex")
    assert {each["client"] for each in found["clients"]} == {"codex"}
    assert list(dict.fromkeys(each["client"] for each in report(cli, tmp_path)["clients"])) == CLIENTS


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--client", "codecks"], "codex"),
        (["--client", "emacs"], "`skillwire`"),
        (["--context-window", "0"], "number of tokens"),
        (["--catalog-tokens", "-1"], "negative"),
    ],
)
def test_wrong_options_are_explained(cli: Cli, tmp_path: Path, arguments: list[str], told: str) -> None:
    done = cli("doctor", tmp_path, *arguments)
    assert done.code == 2
    assert told in done.err


def test_an_empty_folder_is_reported_without_findings(cli: Cli, tmp_path: Path) -> None:
    done = cli("doctor", tmp_path, "--no-config")
    assert (done.code, done.out) == (0, "")
    assert "no skills here" in done.err
    found = report(cli, tmp_path)
    assert found["skills"] == 0
    assert all(each[verdict] == 0 for each in found["clients"] for verdict in VERDICTS)


def test_skills_with_errors_are_mentioned(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, {"good": "Use when needed.", "empty": ""})
    done = cli("doctor", tmp_path, "--no-config")
    assert "1 error" in done.err
    assert "skillwire check" in done.err
    assert report(cli, tmp_path)["skills"] == 1


def test_every_limit_has_a_source_and_a_date(cli: Cli, tmp_path: Path) -> None:
    folder_of(tmp_path, many(1))
    found = [
        limit
        for arguments in ([], ["--context-window", "1000"])
        for each in report(cli, tmp_path, *arguments)["clients"]
        for limit in each["limits"]
    ]
    assert {limit["value"] for limit in found} >= {2048, 1, 1536, 2, 8000, 100, 5, 1024, 64}
    for limit in found:
        assert limit["source"].startswith("https://")
        assert re.fullmatch(r"2026-(0[1-9]|1[0-2])-\d\d", limit["checked"])


@pytest.mark.parametrize("number", [1, 17, 1000])
def test_the_report_is_narrow_and_short(cli: Cli, tmp_path: Path, number: int) -> None:
    skills = many(number, words=6)
    skills["skill-0000"] = "Makes 幻灯片 " * 40
    folder_of(tmp_path, skills)
    done = cli("doctor", tmp_path, "--no-config")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 80
    assert cli("doctor", tmp_path, "--no-config").out == done.out


def test_the_report_fits_a_narrow_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    folder_of(tmp_path, many(30))
    code, shown = on_terminal("doctor", tmp_path, "--no-config", columns=50)
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())
    assert code == 1
    assert [line for line in text.split("\n") if len(line.rstrip("\r")) > 50] == []

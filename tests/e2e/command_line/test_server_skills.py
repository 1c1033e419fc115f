"""`list`, `show`, `read` and `verify` over servers: by label, URL and command, and whatever a server says."""

import base64
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from skillwire.sources import Digest
from tests.support.client_files import Machine
from tests.support.command_line import BLOB, Cli, on_terminal
from tests.support.draft_servers import entry_b, indexed
from tests.support.scripted import ScriptedServer, entry_of, files_of
from tests.support.scripted_site import ScriptedSite
from tests.support.skills import write_skill

FILES = files_of("good", {"a.md": b"# A\n", "logo.png": BLOB})
OTHER = files_of("other")
EVIL = "\x1b[31mred\x07\u202eback\u009b2J\U000e0041"
COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\U000e0000-\U000e007f]")
"""What a terminal obeys, or nobody sees."""


@pytest.fixture(scope="module")
def site() -> Iterator[ScriptedSite]:
    entries = [entry_of("good", FILES), entry_of("other", OTHER)]
    with ScriptedSite(ScriptedServer(entries, {**FILES, **OTHER})) as running:
        yield running


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: ScriptedSite) -> Machine:
    machine = Machine.at(tmp_path)
    machine.own(".cursor/mcp.json", {"mcpServers": {"acme": {"url": site.url}}})
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.chdir(machine.repository)
    return machine


def test_list_has_the_same_keys_for_servers(machine: Machine, cli: Cli) -> None:
    done = cli("list", "acme", "--json")
    assert done.code == 0
    assert done.json[0] == {
        "name": "good",
        "description": "Does good.",
        "type": "skill-md",
        "uri": "skill://good/SKILL.md",
        "origin": "acme",
        "dialect": "final",
        "problems": [],
    }
    assert [row["name"] for row in done.json] == ["good", "other"]


def test_every_line_says_whose_it_is(machine: Machine, cli: Cli) -> None:
    assert cli("list", "acme").out.splitlines() == [
        "acme:good\tskill://good/SKILL.md\tDoes good.",
        "acme:other\tskill://other/SKILL.md\tDoes other.",
    ]


def test_sources_and_servers_are_listed_together(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    write_skill(machine.repository / "skills", "mine")
    done = cli("list", "./skills", f"mcp+{site.url}", "--json")
    assert [(row["name"], row["dialect"]) for row in done.json] == [
        ("mine", "folder"),
        ("good", "final"),
        ("other", "final"),
    ]
    assert len(cli("list", "./skills", "acme").out.splitlines()) == 3


def test_own_problems_of_a_server_are_shown(tmp_path: Path, cli: Cli) -> None:
    program = tmp_path / "server.py"
    program.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "from skillwire import attach\n"
        "server = MCPServer('bills')\n"
        "attach(server, 'skils')\n"
        "server.run()\n"
    )
    own = (
        "the server itself reports 1 problem in `skillwire://problems`:\n"
        "  the source `skils` is missing: there is no such folder; create it, or correct its name; "
        "it is served as soon as it exists\n"
    )
    verified = cli("verify", "--", sys.executable, str(program))
    assert verified.code == 0
    assert verified.err == f"verified: 0 of 0 skills as listed; 0 findings\n{own}"
    listed = cli("list", "--", sys.executable, str(program))
    assert (listed.code, listed.raw) == (0, b"")
    assert listed.err.startswith("no skills on `")
    assert listed.err.endswith(own)


def test_all_own_problems_of_servers_are_listed_on_request(machine: Machine, cli: Cli) -> None:
    write_skill(machine.repository / "skills", "mine")
    for number in range(8):
        write_skill(machine.repository / "skills", f"broken-{number}", {"SKILL.md": "no frontmatter"})
    command = ["--", sys.executable, "-m", "skillwire", "serve", "./skills", "--no-config"]
    assert "broken" not in cli("list", *command).err
    listed = cli("list", "--problems", *command)
    assert [line.split("\t")[1] for line in listed.out.splitlines()] == ["skill://mine/SKILL.md"]
    assert "itself reports 8 problems in `skillwire://problems`:" in listed.err
    assert [f"broken-{number}/SKILL.md" in listed.err for number in range(8)] == [True] * 8
    both = cli("list", "acme", "--problems", *command)
    assert both.code == 2 or "the server `" in both.err


def test_a_command_is_a_server(machine: Machine, cli: Cli) -> None:
    write_skill(machine.repository / "skills", "mine")
    command = [sys.executable, "-m", "skillwire", "serve", "./skills", "--no-config"]
    assert [row["name"] for row in cli("list", "--json", "--", *command).json] == ["mine"]
    shown = cli("show", "mine", "--json", "--", *command).json
    assert shown["uri"] == "skill://mine/SKILL.md"
    assert cli("read", "mine", "--", *command).out.startswith("---\nname: mine\n")


def test_an_unreachable_server_hides_no_other(machine: Machine, cli: Cli) -> None:
    done = cli("list", "acme", "mcp+http://127.0.0.1:1/mcp", "--json")
    assert done.code == 1
    assert [row["name"] for row in done.json] == ["good", "other"]
    assert "`127.0.0.1-1-mcp`: does not answer" in done.err


def test_what_may_be_both_is_asked_about(machine: Machine, cli: Cli) -> None:
    write_skill(machine.repository / "acme", "mine")
    done = cli("list", "acme")
    assert (done.code, done.raw) == (2, b"")
    assert done.err == (
        "error: `acme` is both a folder and the label of a server\n"
        "hint: write `./acme` for the folder, or `acme:` for the server\n"
    )
    assert cli("list", "./acme").out.startswith("mine\t")
    assert cli("list", "acme:").out.startswith("acme:good\t")


def test_a_url_that_ends_in_mcp_is_a_server(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    for arguments in (["list"], ["show", "good", "--from"]):
        assert cli(*arguments, site.url).raw == cli(*arguments, f"mcp+{site.url}").raw != b""
        other = cli(*arguments, f"{site.url}x")
        assert (other.code, other.raw) == (2, b"")
        assert "an MCP server is written `mcp+https://host.example/mcp`" in other.err


def test_what_is_nothing_says_both(machine: Machine, cli: Cli) -> None:
    done = cli("list", "nothing")
    assert done.code == 2
    assert "the folder `nothing` does not exist, and no server has this label" in done.err
    assert "hint: write `./nothing` for a folder; `skillwire servers` lists the servers" in done.err


def test_show_prints_what_the_server_declares(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    done = cli("show", "acme:good")
    assert done.code == 0
    for line in (
        "acme:good",
        f"server: acme, {site.url}",
        "extension: declared, with directoryRead",
        "dialect: final",
        "integrity: a digest for every file",
        "approval: none",
    ):
        assert line in done.out.splitlines()
    entry = cli("show", "acme:good", "--json").json
    assert {**entry_of("good", FILES), "origin": "acme"}.items() <= entry.items()
    assert entry["extension"] == {"directoryRead": True}
    assert (entry["dialect"], entry["approval"]) == ("final", "unknown")


TEMPLATE = {
    "uriTemplate": "skill://docs/{product}/guide/SKILL.md",
    "name": "docs",
    "description": f"Guide {EVIL}.",
}
GUIDE = "skill://docs/acme/guide/SKILL.md"


@pytest.fixture
def templates(machine: Machine) -> Iterator[ScriptedSite]:
    """Yield the server `shop` of one listed skill, and of one that only a template describes."""
    script = ScriptedServer(templates=[TEMPLATE], completions={"product": ["acme", "b\u202ead", "beta"]})
    script.publish("docs/acme/guide", {"a.md": b"# A\n"})
    script.got = {GUIDE: script.entries[0]}
    script.entries = []
    script.publish("good")
    with ScriptedSite(script) as running:
        machine.own(".cursor/mcp.json", {"mcpServers": {"shop": {"url": running.url}}})
        yield running


def test_list_shows_templates_with_their_parameters(
    machine: Machine, cli: Cli, templates: ScriptedSite
) -> None:
    done = cli("list", "shop", "--json")
    assert (done.code, len(done.json)) == (0, 2)
    assert done.json[1] == {
        "name": "docs/{product}/guide",
        "description": "Guide [31mredback2J.",
        "type": "template",
        "uri": "skill://docs/{product}/guide/SKILL.md",
        "origin": "shop",
        "dialect": "final",
        "problems": [],
        "parameters": {"product": []},
    }
    line = cli("list", "shop").out.splitlines()[1]
    assert line == "shop:docs/{product}/guide\tskill://docs/{product}/guide/SKILL.md\tGuide [31mredback2J."
    assert templates.script.count("completion/complete") == 0


def test_show_of_a_template_suggests_values(machine: Machine, cli: Cli, templates: ScriptedSite) -> None:
    name = "shop:docs/{product}/guide"
    done = cli("show", name)
    assert done.code == 0
    assert done.out.splitlines()[0] == name
    assert "{product}: acme, beta" in done.out.splitlines()
    assert not COMMANDS.search(done.out)
    shown = cli("show", name, "--json").json
    assert shown["parameters"] == {"product": ["acme", "beta"]}
    assert shown["uriTemplate"] == "skill://docs/{product}/guide/SKILL.md"


def test_skill_of_a_template_is_shown_read_and_approved(
    machine: Machine, cli: Cli, templates: ScriptedSite
) -> None:
    named = "shop:docs/acme/guide"
    assert cli("show", named, "--json").json["uri"] == GUIDE
    assert cli("read", named).out.startswith("---\nname: guide\n")
    assert cli("read", named, "a.md").out == "# A\n"
    done = cli("approve", named, "--yes", "--json")
    assert done.code == 0
    assert done.json["bridge"] == {"passed_on": True, "reason": None}


def test_skill_of_a_template_needs_no_label_on_one_server(
    machine: Machine, cli: Cli, templates: ScriptedSite
) -> None:
    done = cli("read", "docs/acme/guide", "--from", "shop")
    assert done.out.startswith("---\nname: guide\n")
    done = cli("read", "docs/a{b}/guide", "--from", "shop")
    assert done.code == 1
    assert "in place of `{product}` in `docs/{product}/guide`" in done.err


def test_typo_in_a_name_gets_the_name(machine: Machine, cli: Cli, templates: ScriptedSite) -> None:
    done = cli("read", "god", "--from", "shop")
    assert done.code == 1
    assert "hint: did you mean `shop:good`?" in done.err


def test_wrong_value_is_an_error_with_a_hint(machine: Machine, cli: Cli, templates: ScriptedSite) -> None:
    for command in ("read", "approve", "pull"):
        more = ["./dest"] if command == "pull" else []
        done = cli(command, "shop:docs/{product}/guide", *more)
        assert done.code == 1
        assert "stands for many skills" in done.err
        assert "in place of `{product}` in `docs/{product}/guide`" in done.err
    done = cli("show", "shop:docs/a{b}/guide")
    assert done.code == 1
    assert "in place of `{product}` in `docs/{product}/guide`" in done.err
    done = cli("show", "shop:docs/other/guide")
    assert done.code == 1
    assert "unknown skill" in done.err


@pytest.mark.rule("H11")
def test_show_reads_no_file(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    site.script.asked.clear()
    assert cli("show", "acme:good").code == 0
    assert "resources/read" not in {method for method, _ in site.script.asked}


@pytest.mark.parametrize(
    "arguments",
    [
        ["acme:good"],
        ["acme:skill://good/SKILL.md"],
        ["good", "--from", "acme"],
        ["skill://good/SKILL.md", "--from", "acme"],
        ["acme:good", "--from", "acme"],
    ],
)
def test_a_skill_of_a_server_is_named_in_many_ways(machine: Machine, cli: Cli, arguments: list[str]) -> None:
    assert cli("show", *arguments, "--json").json["uri"] == "skill://good/SKILL.md"
    assert cli("read", *arguments).out == FILES["skill://good/SKILL.md"].decode()


def test_skill_of_a_server_is_named_by_its_path(machine: Machine, cli: Cli) -> None:
    script = ScriptedServer()
    uri = script.publish("acme/billing/refunds")
    script.publish("acme/support/refunds")
    with ScriptedSite(script) as nested:
        machine.own(".cursor/mcp.json", {"mcpServers": {"shop": {"url": nested.url}}})
        listed = [line.split("\t")[0] for line in cli("list", "shop").out.splitlines()]
        assert listed == ["shop:acme/billing/refunds", "shop:acme/support/refunds"]
        for name in (listed[0], f"shop:{uri}"):
            assert cli("show", name, "--json").json["uri"] == uri
            assert cli("read", name, "--raw").raw == script.files[uri]
            assert cli("read", name, "--json").json["contents"][0]["uri"] == uri


@pytest.mark.rule("H20")
def test_read_says_whose_content_it_is_also_into_a_pipe(machine: Machine, cli: Cli) -> None:
    done = cli("read", "acme:good", "a.md")
    assert (done.out, done.err) == ("# A\n", "from the server `acme`; no one vouches for this text:\n")


def test_a_server_with_an_earlier_draft_is_no_error(machine: Machine, cli: Cli) -> None:
    with ScriptedSite(indexed(entry_b())) as draft:
        done = cli("list", f"mcp+{draft.url}", "--json")
    assert (done.code, [row["dialect"] for row in done.json]) == (0, ["draft-b"])
    assert "the extension" in done.err


def test_an_unknown_server_is_named_by_its_label(machine: Machine, cli: Cli) -> None:
    for verb in ("approve", "show"):
        assert "no client has a server `nope`\n" in cli(verb, "nope:good").err


@pytest.mark.parametrize("named", ["acme:good/a.md", "acme:skill://good/a.md", "good/a.md"])
def test_read_takes_the_path_of_a_file_in_a_skill(machine: Machine, cli: Cli, named: str) -> None:
    done = cli("read", named, "--from", "acme")
    assert (done.code, done.out) == (0, "# A\n")
    done = cli("show", named, "--from", "acme")
    assert done.code == 1
    assert done.err == f"error: `{named}` is a file of a skill\nhint: name the skill, `acme:good`\n"


def test_read_prints_what_the_entry_promises(machine: Machine, cli: Cli) -> None:
    assert cli("read", "acme:good", "logo.png", "--raw").raw == BLOB
    assert cli("read", "acme:good", "a.md", "--json").json == {
        "contents": [{"uri": "skill://good/a.md", "mimeType": "text/markdown", "text": "# A\n"}],
        "_meta": {"dev.skillwire/server": "acme"},
    }
    assert cli("read", "acme:good", "logo.png", "--json").json["contents"][0]["blob"] == (
        base64.b64encode(BLOB).decode()
    )


@pytest.mark.rule("H15")
def test_bytes_that_were_not_listed_are_never_printed(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    lie = {"contents": [{"uri": "skill://good/a.md", "text": "# B\n"}]}
    site.script.read = {"skill://good/a.md": lie}
    try:
        done = cli("read", "acme:good", "a.md", "--raw")
    finally:
        site.script.read = {}
    assert (done.code, done.raw) == (1, b"")
    assert "server `acme`: skill://good/a.md: it was listed as sha256:" in done.err


def test_a_file_that_is_not_listed_is_not_asked_for(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    site.script.asked.clear()
    done = cli("read", "acme:good", "secret.md")
    assert (done.code, done.raw) == (1, b"")
    assert done.err == (
        "error: `acme:good` has no file `secret.md`\nhint: `skillwire show acme:good` lists its files\n"
    )
    assert all(method != "resources/read" for method, _ in site.script.asked)


@pytest.mark.rule("H10")
def test_a_local_skill_wins_over_one_of_a_server(machine: Machine, cli: Cli) -> None:
    write_skill(machine.repository / "skills", "good")
    done = cli("show", "good", "--from", "./skills", "--from", "acme", "--json")
    assert done.json["origin"] == str((machine.repository / "skills/good").resolve())
    assert cli("show", "other", "--from", "./skills", "--from", "acme", "--json").json["origin"] == "acme"


def test_a_missing_skill_error_names_the_server(machine: Machine, cli: Cli) -> None:
    done = cli("show", "acme:god")
    assert (done.code, done.raw) == (1, b"")
    assert done.err == "error: there is no skill `acme:god` on `acme`\nhint: did you mean `acme:good`?\n"
    done = cli("show", "nobody:good")
    assert done.code == 2
    assert "no client has a server `nobody`\n" in done.err


def test_content_made_when_it_is_read_can_be_looked_at(machine: Machine, cli: Cli) -> None:
    entry = {**entry_of("live", files_of("live")), "resources": "dynamic"}
    with ScriptedSite(ScriptedServer([entry], files_of("live"))) as live:
        machine.own(".cursor/mcp.json", {"mcpServers": {"live": {"url": live.url}}})
        assert cli("list", "live", "--json").json[0]["type"] == "dynamic"
        assert cli("show", "live:live", "--json").json["resources"] == "dynamic"
        assert cli("read", "live:live").out.startswith("---\nname: live\n")


def test_verify_takes_a_label(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    done = cli("verify", "acme", "--json")
    assert done.code == 0
    assert (done.json["server"], done.json["address"]) == ("acme", site.url)


# A server that wants to be obeyed


def evil_refusal() -> Any:
    raise MCPError(-32602, EVIL)


class EvilServer(ScriptedServer):
    """Says in every place what a terminal would obey."""

    def _read(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["uri"].endswith("/refused.md"):
            raise MCPError(-32603, f"no: {EVIL}")
        return super()._read(params)


@pytest.fixture(scope="module")
def evil() -> Iterator[ScriptedSite]:
    document = f"---\nname: evil\ndescription: x\n---\n{EVIL}\n".encode()
    files = {
        "skill://evil/SKILL.md": document,
        "skill://evil/%1B%5B31m.md": b"x",
        "skill://evil/\u202ea.md": b"y",
        "skill://evil/refused.md": b"z",
    }
    entry = {
        "uri": "skill://evil/SKILL.md",
        "frontmatter": {
            "name": "evil",
            "description": f"one\r\ntwo {EVIL}",
            "allowed-tools": f"Bash({EVIL}) Read",
            EVIL: {EVIL: [EVIL, 10**30, float("inf")]},
        },
        "resources": [
            {"uri": uri, "digest": Digest.of(content).text, "size": len(content)}
            for uri, content in files.items()
        ],
    }
    bad: list[Any] = [
        {"uri": f"skill://{EVIL}/SKILL.md"},
        {**entry, "uri": f"file:///{EVIL}/SKILL.md"},
        {**entry, "resources": EVIL},
        EVIL,
    ]
    script = EvilServer([entry, *bad], files, declared={EVIL: EVIL, "number": 10**30})
    with ScriptedSite(script) as running:
        yield running


@pytest.mark.parametrize(
    "arguments",
    [
        ["servers", "{}"],
        ["servers", "{}", "--json"],
        ["list", "mcp+{}"],
        ["list", "mcp+{}", "--json"],
        ["show", "evil", "--from", "mcp+{}"],
        ["show", "evil", "--from", "mcp+{}", "--json"],
        ["read", "evil", "--from", "mcp+{}", "--json"],
        ["read", "evil", "refused.md", "--from", "mcp+{}"],
        ["read", "evil", EVIL, "--from", "mcp+{}"],
        ["read", EVIL, "--from", "mcp+{}"],
        ["verify", "{}"],
        ["verify", "{}", "--json"],
        ["approve", "evil", "--from", "{}", "--yes"],
        ["approve"],
        ["approve", "--json"],
        ["diff", "evil", "--from", "{}"],
        ["pull", "evil", "pulled", "--from", "{}"],
        ["cache"],
        ["revoke", "evil"],
    ],
)
def test_no_escape_of_a_server_reaches_the_terminal(
    machine: Machine, cli: Cli, evil: ScriptedSite, arguments: list[str]
) -> None:
    done = cli(*(argument.format(evil.url) for argument in arguments))
    assert COMMANDS.findall(done.out + done.err) == []


def test_nor_on_a_real_terminal(machine: Machine, evil: ScriptedSite) -> None:
    for arguments in (
        ["list", f"mcp+{evil.url}"],
        ["show", "evil", "--from", f"mcp+{evil.url}"],
        ["read", "evil", "--from", f"mcp+{evil.url}"],
    ):
        _, shown = on_terminal(*arguments, columns=80)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())  # which are our own colours
        assert COMMANDS.findall(plain.replace("\r\n", "\n")) == []
        assert "31mred" not in shown.decode().replace("\\x1b[31mred", "").replace("[31mred", "")


def test_bad_entries_do_not_hide_the_good_one(machine: Machine, cli: Cli, evil: ScriptedSite) -> None:
    done = cli("list", f"mcp+{evil.url}", "--json")
    assert done.code == 1
    assert [row["name"] for row in done.json] == ["evil"]
    assert len(done.err.splitlines()) >= 4
    assert all(line.startswith("`127.0.0.1-") for line in done.err.splitlines())

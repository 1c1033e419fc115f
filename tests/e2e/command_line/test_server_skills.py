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


def test_a_command_is_a_server(machine: Machine, cli: Cli) -> None:
    write_skill(machine.repository / "skills", "mine")
    command = [sys.executable, "-m", "skillwire", "serve", "./skills", "--no-config"]
    assert [row["name"] for row in cli("list", "--json", "--", *command).json] == ["mine"]
    shown = cli("show", "mine", "--json", "--", *command).json
    assert shown["uri"] == "skill://mine/SKILL.md"
    assert cli("read", "mine", "--", *command).out.startswith("---\nname: mine\n")


def test_one_that_is_gone_hides_no_other(machine: Machine, cli: Cli) -> None:
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


def test_plain_url_gets_a_hint_about_mcp_servers(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    for arguments in (["list", site.url], ["show", "good", "--from", site.url]):
        done = cli(*arguments)
        assert (done.code, done.raw) == (2, b"")
        assert "an MCP server is written `mcp+https://host.example/mcp`" in done.err


def test_what_is_nothing_says_both(machine: Machine, cli: Cli) -> None:
    done = cli("list", "nothing")
    assert done.code == 2
    assert "the folder `nothing` does not exist, and no server has this label" in done.err
    assert "hint: write `./nothing` for a folder; `skillwire servers` lists the servers" in done.err


def test_show_tells_what_is_declared(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
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


@pytest.mark.rule("H11")
def test_show_reads_no_file(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    site.script.asked.clear()
    assert cli("show", "acme:good").code == 0
    assert {method for method, _ in site.script.asked} == {"skills/list"}


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


@pytest.mark.rule("H20")
def test_read_says_whose_content_it_is_also_into_a_pipe(machine: Machine, cli: Cli) -> None:
    done = cli("read", "acme:good", "a.md")
    assert (done.out, done.err) == ("# A\n", "from the server `acme`; no one vouches for this text:\n")


def test_draft_server_is_reported_and_list_succeeds(machine: Machine, cli: Cli) -> None:
    with ScriptedSite(indexed(entry_b())) as draft:
        done = cli("list", f"mcp+{draft.url}", "--json")
    assert (done.code, [row["dialect"] for row in done.json]) == (0, ["draft-b"])
    assert "the extension" in done.err


def test_unknown_server_label_is_named_in_the_error(machine: Machine, cli: Cli) -> None:
    for verb in ("approve", "show"):
        assert "no client has a server `nope`\n" in cli(verb, "nope:good").err


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
def test_a_server_never_stands_in_for_ones_own(machine: Machine, cli: Cli) -> None:
    write_skill(machine.repository / "skills", "good")
    done = cli("show", "good", "--from", "./skills", "--from", "acme", "--json")
    assert done.json["origin"] == str((machine.repository / "skills/good").resolve())
    assert cli("show", "other", "--from", "./skills", "--from", "acme", "--json").json["origin"] == "acme"


def test_unknown_skill_error_names_the_searched_server(machine: Machine, cli: Cli) -> None:
    done = cli("show", "acme:god")
    assert (done.code, done.raw) == (1, b"")
    assert done.err == (
        "error: there is no skill `acme:god` on `acme`\n"
        "hint: `skillwire list SERVER` lists the skills of a server\n"
    )
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


def test_the_good_entry_stands_beside_the_bad_ones(machine: Machine, cli: Cli, evil: ScriptedSite) -> None:
    done = cli("list", f"mcp+{evil.url}", "--json")
    assert done.code == 1
    assert [row["name"] for row in done.json] == ["evil"]
    assert len(done.err.splitlines()) >= 4
    assert all(line.startswith("`127.0.0.1-") for line in done.err.splitlines())

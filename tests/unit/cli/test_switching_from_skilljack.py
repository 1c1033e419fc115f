"""Switching from skilljack: its variables, its way to name a repository, `--http` without a port."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillwire.cli.main import with_http
from skillwire.config.settings import serve_choices
from skillwire.config.source_config import source_specs
from skillwire.config.source_kinds import canonical_place, kind_of
from tests.support.command_line import Cli
from tests.support.peers import (
    PATIENCE,
    VERSIONS,
    HttpPeer,
    HttpServer,
    Message,
    Peer,
    StdioPeer,
    skillwire,
)
from tests.support.skills import write_skill

KNOWS_SKILLS: Message = {"extensions": {"io.modelcontextprotocol/skills": {}}}
SKILL_TOOLS = ["load-skill", "skill-resource", "search-skills"]

in_both_eras = pytest.mark.parametrize("version", VERSIONS[:2])


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    write_skill(tmp_path / "skills", "refunds")
    return tmp_path / "skills"


def with_variables(variables: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, **variables}


@contextmanager
def served(
    transport: str, version: str, skills: Path, *options: str, env: Mapping[str, str]
) -> Generator[Peer]:
    arguments = [skills, "--no-config", *options]
    if transport == "stdio":
        with StdioPeer(version, skillwire("serve", *arguments), with_variables(env)) as peer:
            yield peer
        return
    with HttpServer(*arguments, "--http", "127.0.0.1:0", env=with_variables(env)) as server:
        peer = HttpPeer(version, server.url)
        yield peer
        peer.close()


def names(peer: Peer) -> list[str]:
    return [each["frontmatter"]["name"] for each in peer.result("skills/list")["skills"]]


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# The environment


@in_both_eras
@pytest.mark.parametrize(
    ("env", "frozen"),
    [
        ({"SKILLJACK_STATIC": "true"}, "SKILLJACK_STATIC"),
        ({"SKILLJACK_STATIC": "Yes"}, "SKILLJACK_STATIC"),
        ({"SKILLWIRE_STATIC": "1"}, "SKILLWIRE_STATIC"),
        ({"SKILLJACK_STATIC": "false"}, ""),
        ({"SKILLJACK_STATIC": ""}, ""),
        ({"SKILLWIRE_STATIC": "no", "SKILLJACK_STATIC": "yes"}, ""),
    ],
    ids=str,
)
def test_an_environment_variable_can_turn_on_static_mode(
    version: str, env: dict[str, str], frozen: str, skills: Path
) -> None:
    with served("stdio", version, skills, env=env) as peer:
        assert peer.capabilities()["prompts"]["listChanged"] is not bool(frozen)
    assert isinstance(peer, StdioPeer)
    told = f"`{frozen}` is set, which means `--static`"
    assert (told in peer.stderr()) is bool(frozen)
    assert ("is set" in peer.stderr()) is bool(frozen)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("variable", ["SKILLWIRE_STATIC", "SKILLJACK_STATIC"])
def test_the_variable_freezes_the_set_and_contents_stay_live(
    transport: str, variable: str, skills: Path
) -> None:
    with (
        served(transport, VERSIONS[0], skills, env={variable: "true"}) as frozen,
        served(transport, VERSIONS[0], skills, env={variable: "false"}) as live,
    ):
        assert names(frozen) == names(live) == ["refunds"]
        write_skill(skills, "later")
        (skills / "refunds" / "SKILL.md").write_text("---\nname: refunds\ndescription: Changed.\n---\n")
        wait_until(lambda: names(live) == ["later", "refunds"])
        assert names(frozen) == ["refunds"]
        read = frozen.result("resources/read", {"uri": "skill://refunds/SKILL.md"})["contents"][0]["text"]
        assert "description: Changed." in read
        assert names(frozen) == ["refunds"]
        prompts = [each["name"] for each in frozen.result("prompts/list")["prompts"]]
        assert prompts == ["skill", "refunds"]


@in_both_eras
@pytest.mark.parametrize(
    ("env", "options", "in_tool", "told"),
    [
        ({"SKILLJACK_CATALOG": "Tool-Description"}, [], True, "`SKILLJACK_CATALOG` is set"),
        ({"SKILLWIRE_CATALOG": "tool-description"}, [], True, "`SKILLWIRE_CATALOG` is set"),
        ({"SKILLJACK_CATALOG": "instructions"}, [], False, ""),
        ({"SKILLJACK_CATALOG": "tool-description"}, ["--catalog", "instructions"], False, ""),
        ({"SKILLJACK_CATALOG": "nonsense"}, ["--catalog=instructions"], False, ""),
    ],
    ids=str,
)
def test_the_list_of_skills_is_where_the_environment_says(
    version: str, env: dict[str, str], options: list[str], told: str, skills: Path, *, in_tool: bool
) -> None:
    with served("stdio", version, skills, *options, env=env) as peer:
        first = peer.result("tools/list")["tools"][0]
        assert ("<available_skills>" in first["description"]) is in_tool
        assert ("<available_skills>" in peer.handshake.get("instructions", "")) is not in_tool
    assert isinstance(peer, StdioPeer)
    assert (told or "1 skill") in peer.stderr()
    assert ("is set" in peer.stderr()) is bool(told)


@in_both_eras
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("env", "options", "plain", "knowing"),
    [
        ({}, [], True, True),
        ({"SKILLJACK_TOOLS": "always"}, [], True, True),
        ({"SKILLJACK_TOOLS": "AUTO"}, [], True, False),
        ({"SKILLJACK_TOOLS": "auto", "SKILLJACK_CATALOG": "tool-description"}, [], True, True),
        ({"SKILLJACK_TOOLS": "never"}, [], False, False),
        ({"SKILLJACK_TOOLS": "never", "SKILLWIRE_TOOLS": "always"}, [], True, True),
        ({"SKILLJACK_TOOLS": "never"}, ["--tools", "auto"], True, False),
    ],
    ids=str,
)
def test_environment_variables_decide_which_clients_get_the_skill_tools(
    transport: str,
    version: str,
    env: dict[str, str],
    options: list[str],
    skills: Path,
    *,
    plain: bool,
    knowing: bool,
) -> None:
    nothing: Message = {}
    for declares, offered in ((nothing, plain), (KNOWS_SKILLS, knowing)):
        with served(transport, version, skills, *options, env=env) as peer:
            peer.declares = declares
            tools = [each["name"] for each in peer.result("tools/list")["tools"]]
            assert tools == [*(SKILL_TOOLS if offered else []), "skill-config", "skill-display"]
            load = {"name": "load-skill", "arguments": {"name": "refunds"}}
            if offered:
                assert "# Steps" in peer.result("tools/call", load)["content"][0]["text"]
            else:
                assert peer.error("tools/call", load)["message"] == "there is no tool `load-skill`"
            assert peer.result("prompts/get", {"name": "refunds"})["messages"]


@pytest.mark.rule("S12")
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("options", "scope"),
    [
        (["--tools=auto"], "private"),
        (["--tools=auto", "--static"], "private"),
        (["--tools=auto", "--catalog=tool-description"], "public"),  # all clients get the same list
        (["--tools=always"], "public"),
        (["--tools=never"], "public"),
    ],
    ids=str,
)
def test_a_tool_list_that_depends_on_the_client_is_private(
    transport: str, options: list[str], scope: str, skills: Path
) -> None:
    nothing: Message = {}
    with served(transport, VERSIONS[0], skills, *options, env={}) as peer:
        for declares in (nothing, KNOWS_SKILLS):
            peer.declares = declares
            listed = peer.result("tools/list")
            assert (listed["cacheScope"], listed["ttlMs"]) == (
                scope,
                3_600_000 if "--static" in options else 5000,
            )
            assert peer.result("prompts/list")["cacheScope"] == "public"


@in_both_eras
def test_without_tools_the_instructions_name_none(version: str, skills: Path) -> None:
    with served("stdio", version, skills, "--tools=never", "--catalog-tokens=1", env={}) as peer:
        instructions = peer.handshake["instructions"]
    assert "1 more skill is not shown here. All of them are in `resources/list`." in instructions
    assert "load-skill" not in instructions
    assert "skill-resource" not in instructions


@in_both_eras
@pytest.mark.parametrize("variable", ["SKILLJACK_HTTP_PORT", "SKILLWIRE_HTTP_PORT"])
@pytest.mark.parametrize("options", [[], ["--http"]])
def test_the_port_of_the_environment_is_served_at(
    version: str, variable: str, options: list[str], skills: Path
) -> None:
    port = free_port()
    env = with_variables({variable: str(port)})
    with HttpServer(*options, skills, "--no-config", env=env) as server:
        assert server.url == f"http://127.0.0.1:{port}/mcp"
        assert f"`{variable}` is set, which means `--http {port}`\n" in server.log
        peer = HttpPeer(version, server.url)
        assert [each["name"] for each in peer.result("prompts/list")["prompts"]] == ["skill", "refunds"]
        peer.close()


def test_a_port_on_the_command_line_wins(skills: Path) -> None:
    env = with_variables({"SKILLJACK_HTTP_PORT": "nonsense"})
    with HttpServer("--http", "127.0.0.1:0", skills, "--no-config", env=env) as server:
        assert not any("is set" in line for line in server.log)


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("SKILLJACK_STATIC", "maybe", "one of `true`, `1`, `yes`, `false`, `0`, `no`"),
        ("SKILLJACK_CATALOG", "both", "one of `instructions`, `tool-description`"),
        ("SKILLJACK_TOOLS", "some\x1b[31m", "one of `always`, `auto`, `never`"),
        ("SKILLJACK_HTTP_PORT", "abc", "unset it to serve over stdio"),
        ("SKILLJACK_HTTP_PORT", "0", "unset it to serve over stdio"),
        ("SKILLWIRE_HTTP_PORT", "65536", "unset it to serve over stdio"),
        ("SKILLJACK_HTTP_PORT", "-1", "unset it to serve over stdio"),
    ],
)
def test_an_invalid_value_is_reported_with_a_hint(variable: str, value: str, told: str, skills: Path) -> None:
    done = subprocess.run(
        skillwire("serve", skills, "--no-config"),
        env=with_variables({variable: value}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: the environment variable `{variable}` is `")
    assert told in done.stderr.split("hint: ")[1]
    if variable.endswith("_PORT"):
        assert f"is `{value}`, which is not a port (1 to 65535)\n" in done.stderr
    assert "\x1b[31m" not in done.stderr


def test_a_list_in_the_description_of_no_tool_is_refused(skills: Path, cli: Cli) -> None:
    done = cli("serve", str(skills), "--no-config", "--tools=never", "--catalog=tool-description")
    assert done.code == 2
    assert "`--catalog tool-description` needs the tool `load-skill`, which `--tools never` removes\n" in (
        done.err
    )
    assert "hint: remove one of the two options" in done.err


# --http without a port


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["serve", "--http", "./skills"], ["serve", "--http=default", "./skills"]),
        (["serve", "./skills", "--http"], ["serve", "./skills", "--http=default"]),
        (["serve", "--http", "--static"], ["serve", "--http=default", "--static"]),
        (["serve", "--http", "C:/skills"], ["serve", "--http=default", "C:/skills"]),
        (["serve", "--http", "skills"], ["serve", "--http=default", "skills"]),
        (["serve", "--http", "github:acme/skills"], ["serve", "--http=default", "github:acme/skills"]),
        (["serve", "--http", "a/b:80"], ["serve", "--http=default", "a/b:80"]),
        (["bridge", "--http", "acme"], ["bridge", "--http=default", "acme"]),
        (["bridge", "--http", "--", "80"], ["bridge", "--http=default", "--", "80"]),
        (["bridge", "x", "--", "serve", "--http"], ["bridge", "x", "--", "serve", "--http"]),
        *(
            ([verb, "--http", value], [verb, "--http", value])
            for verb in ("serve", "bridge")
            for value in ("8765", ":80", "localhost:80", "0.0.0.0:0", "[::1]:80", "99999")
        ),
        (["serve", "--http=8765", "."], ["serve", "--http=8765", "."]),
        (["verify", "--http", "x"], ["verify", "--http", "x"]),
    ],
)
def test_http_takes_only_a_value_that_resembles_an_address(given: list[str], read: list[str]) -> None:
    assert with_http(given) == read


def test_http_without_a_value_serves_at_port_8765(skills: Path) -> None:
    with socket.socket() as taken:  # so that it says where it would, and ends
        try:
            taken.bind(("127.0.0.1", 8765))
            taken.listen()
        except OSError:
            pass  # something else has it, which is as good
        done = subprocess.run(
            skillwire("serve", "--http", skills, "--no-config"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            text=True,
        )
    assert done.returncode == 2
    assert "127.0.0.1:8765" in done.stderr


# Repositories


@pytest.mark.parametrize(
    "argument",
    [
        "github.com/acme/skills",
        "GitHub.com/acme/skills.git",
        "www.github.com/acme/skills/",
        "https://github.com/acme/skills",
    ],
)
def test_a_page_of_github_is_the_repository(argument: str) -> None:
    assert kind_of(argument).name == "repository"
    assert kind_of(argument).label(argument) == "skills"
    assert canonical_place(argument) == "github:acme/skills"


@pytest.mark.parametrize(
    ("argument", "kind"),
    [
        ("https://github.com", "web"),
        ("https://github.com/.well-known/agent-skills/", "web"),
        ("https://github.com.example/acme/skills", "web"),
        ("https://example.com/github.com/acme/skills", "web"),
        ("github.community/acme", "folder"),
        ("github.com/acme", "folder"),
        ("github.community/acme/skills", "folder"),
        ("./github.com/acme/skills", "folder"),
    ],
)
def test_only_real_github_pages_are_read_as_repositories(argument: str, kind: str) -> None:
    assert kind_of(argument).name == kind


def test_a_folder_of_that_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "github.com/acme/skills").mkdir(parents=True)
    assert kind_of("github.com/acme/skills").name == "folder"


@pytest.mark.parametrize("separator", [",", ", "])
def test_two_spellings_are_one_source_also_behind_a_comma(separator: str) -> None:
    first = separator.join(["github:acme/skills/a,b", "github.com/acme/skills", "./mine"])
    wanted = source_specs([first, "https://github.com/acme/skills"], {})
    assert [each.argument for each in wanted] == [
        "github:acme/skills/a,b",
        "github.com/acme/skills",
        "./mine",
    ]


@pytest.mark.parametrize("host", ["localhost", "0.0.0.0", "127.0.0.1", "[::1]", "::1"])
def test_a_host_without_a_port_is_refused(cli: Cli, good: Path, host: str) -> None:
    done = cli("serve", "--http", host, "good")
    assert done.code == 2
    assert f"`--http {host}` has no port" in done.err
    assert f"write `--http {host}:8765`" in done.err


@pytest.mark.parametrize(
    ("env", "http", "served"),
    [
        ({"SKILLJACK_HTTP": "true"}, None, "3000"),
        ({"SKILLJACK_HTTP": "1", "SKILLJACK_HTTP_PORT": "3001"}, None, "3001"),
        ({"SKILLJACK_HTTP": "yes"}, "127.0.0.1:4000", "127.0.0.1:4000"),
        ({"SKILLJACK_HTTP": "false"}, None, None),
    ],
)
def test_the_http_variable_of_skilljack_serves_its_port(
    env: dict[str, str], http: str | None, served: str | None
) -> None:
    assert serve_choices(env, http=http).http == served


def test_a_variable_without_effect_is_reported() -> None:
    env = {"GITHUB_ALLOWED_ORGS": "acme", "WELL_KNOWN_ALLOWED_ORIGINS": " "}
    (message,) = serve_choices(env).messages
    assert message.startswith("`GITHUB_ALLOWED_ORGS` is set, but Skillwire does not use it")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--http", "", "good"], "`HOST:PORT`"), (["good", "--http="], "`--http=` has no value")],
)
def test_an_empty_address_is_refused(cli: Cli, good: Path, arguments: list[str], says: str) -> None:
    done = cli("serve", *arguments)
    assert done.code == 2
    assert says in done.err


def test_a_folder_called_like_a_host_is_a_folder(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(good)
    (good / "localhost").mkdir()
    assert with_http(["serve", "--http", "localhost"]) == ["serve", "--http=default", "localhost"]

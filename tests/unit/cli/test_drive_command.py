"""`skillwire drive list`: what running programs offer, and what is told where nothing can be shown."""

from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path

import anyio
import pytest

from skillwire.cli.main import run
from skillwire.drive import tools as bridge
from skillwire.drive.command import ListedPath, tree_lines
from tests.support.command_line import Cli
from tests.support.drive import Drive, drive_server, program, registration, skills
from tests.support.peers import HttpServer
from tests.support.skills import write_skill

PATHS = [
    {"type": "skill", "path": "/skill.md", "description": "The shop."},
    *skills("/orders/skill.md", "/orders/open/late/skill.md", "/orders/:id/skill.md"),
    {"type": "prompt", "path": "/orders/prompt.md", "description": "Summarise\n orders."},
    {"type": "endpoint", "path": "/orders/search", "method": "POST", "description": "Find some."},
]
TREE = """\
shop                   Shop
├── skill.md           The shop.
└── orders             At /orders/skill.md.
    ├── open
    │   └── late       At /orders/open/late/skill.md.
    ├── :id            At /orders/:id/skill.md.
    ├── prompt.md      Summarise orders.
    └── search (POST)  Find some.
"""


@pytest.fixture
async def shop() -> AsyncGenerator[Drive]:
    async with drive_server() as drive, program(drive, registration("shop", PATHS)):
        yield drive


async def in_thread(call: Callable[[], int]) -> int:
    return await anyio.to_thread.run_sync(call)


@pytest.mark.anyio
@pytest.mark.parametrize("suffix", ["", "/", "/mcp"])
@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_paths_are_shown_as_a_tree_with_descriptions(
    shop: Drive, capsys: pytest.CaptureFixture[str], suffix: str, scheme: str
) -> None:
    url = f"{scheme}://{shop.authority}{suffix}"
    assert await in_thread(lambda: run(["drive", "list", url])) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == (TREE, "")


@pytest.mark.anyio
async def test_the_tree_shows_one_client_or_says_it_is_unknown(
    shop: Drive, capsys: pytest.CaptureFixture[str]
) -> None:
    async with program(shop, registration("other", skills("/a/skill.md"))):
        assert await in_thread(lambda: run(["drive", "list", shop.base, "--client", "other"])) == 0
        assert capsys.readouterr().out == "other  Other\n└── a  At /a/skill.md.\n"
        assert await in_thread(lambda: run(["drive", "list", shop.base, "--client", "othr"])) == 1
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "error: no program `othr` has registered a path\nhint: did you mean `other`?" in shown.err


@pytest.mark.anyio
async def test_json_has_every_path(shop: Drive, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert await in_thread(lambda: run(["drive", "list", shop.base, "--json"])) == 0
    assert b'"method": "POST"' in capsysbinary.readouterr().out


@pytest.mark.anyio
async def test_a_token_is_asked_for_and_sent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "secret")
    async with drive_server(token="secret") as drive, program(drive, registration("shop", PATHS)):
        assert await in_thread(lambda: run(["drive", "list", drive.base])) == 1
        assert capsys.readouterr().err == (
            "error: the server requires a token\n"
            "hint: name the variable that contains it: `--token-env VARIABLE`\n"
        )
        assert await in_thread(lambda: run(["drive", "list", drive.base, "--token-env", "SHOP_TOKEN"])) == 0
        assert capsys.readouterr().out == TREE


@pytest.fixture(scope="module")
def plain_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    root: Path = tmp_path_factory.mktemp("plain")
    write_skill(root, "refunds")
    with HttpServer(root, "--http", "0") as server:
        yield server


def test_a_server_without_live_skills_is_an_error(cli: Cli, plain_server: HttpServer) -> None:
    done = cli("drive", "list", plain_server.url)
    assert (done.code, done.out) == (1, "")
    assert "returned no list of live paths" in done.err
    assert "hint: is it an MCP server with live skills?" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["list", "http://127.0.0.1:1"], 1, "cannot reach `http://127.0.0.1:1/mcp`", "--drive`"),
        (["list", "127.0.0.1:8765"], 2, "is not a URL such as `http://127.0.0.1:8765`", "drive --help"),
        (["list"], 2, "URL", "drive --help"),
        (["forest", "http://127.0.0.1:1"], 2, "forest", "drive --help"),
    ],
)
def test_wrong_usage_and_failures_are_reported_with_a_hint(
    cli: Cli, arguments: list[str], code: int, message: str, hint: str
) -> None:
    done = cli("drive", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert hint in done.err.split("hint: ")[1]


def test_what_a_server_sends_cannot_leave_its_line() -> None:
    hostile = ListedPath("a\x1b[2J", "n\nx", "skill", "/a/skill.md", "", "one\r\n\u202etwo")
    lines = list(tree_lines([hostile]))
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


@pytest.mark.anyio
async def test_half_a_tree_is_not_shown_as_a_whole_one(
    shop: Drive, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "MAX_ANSWERS", 300)
    assert await in_thread(lambda: run(["drive", "list", shop.base])) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "has more paths than fit into one response" in shown.err
    assert "hint: choose one program with `--client PROGRAM`" in shown.err


def test_an_invalid_url_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "list", "http://["]) == 2
    assert "server `http://[` is not a URL such as" in capsys.readouterr().err

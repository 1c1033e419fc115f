"""`--help` of each command with `--json` shows the shape of its output, and the output has that shape."""

import json
import os
import re
import shutil
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from skillwire import State
from skillwire.cli.list import catalog_rows
from skillwire.cli.main import all_commands, run
from skillwire.cli.show import print_template
from tests.support.command_line import Cli
from tests.support.drive import Drive, drive_server, program, registration, skills
from tests.support.peers import HttpServer
from tests.support.skill_claims import file_claim
from tests.support.skills import write_skill
from tests.support.templates import catalog_library, code_source


@dataclass(frozen=True)
class Shape:
    """The keys of an object, or a list of such objects."""

    is_list: bool
    keys: "Mapping[str, Shape | None]"
    """The shape of each value; None if it can be anything. An optional key ends in `?`."""


def parse(text: str) -> list[Shape]:
    """Return the alternatives in a text such as `[{name, of: {a, b?}}] or {c}`. Raises `ValueError`."""
    shapes: list[Shape] = []
    for part in text.split(" or "):
        shape, rest = _parse(part)
        if rest:
            raise ValueError(text)
        shapes.append(shape)
    return shapes


def _parse(text: str) -> tuple[Shape, str]:
    is_list, keys = text.startswith("["), dict[str, Shape | None]()
    rest = _after(text.removeprefix("["), "{")
    while found := re.match(r"(?:, )?([A-Za-z_][\w ]*\??)", rest):
        key, rest = found[1], rest[found.end() :]
        keys[key] = None
        if rest.startswith(": "):
            keys[key], rest = _parse(rest[2:])
    rest = _after(rest, "}")
    return Shape(is_list, keys), _after(rest, "]") if is_list else rest


def _after(text: str, mark: str) -> str:
    if not text.startswith(mark):
        raise ValueError(text)
    return text[len(mark) :]


def fault(value: Any, shape: Shape, place: str = "it") -> str:
    """Return how a value differs from a shape, or ``."""
    if isinstance(value, list) is not shape.is_list:
        return f"{place} is {'no' if shape.is_list else 'a'} list"
    faults = (_object_fault(each, shape, place) for each in (value if shape.is_list else [value]))
    return next((each for each in faults if each), "")


def _object_fault(value: Any, shape: Shape, place: str) -> str:
    if not isinstance(value, dict):
        return f"{place} is no object"
    found = cast("dict[str, Any]", value)
    known = {key.removesuffix("?"): inner for key, inner in shape.keys.items()}
    missing = {key for key in shape.keys if not key.endswith("?")} - found.keys()
    if missing or (found.keys() - known.keys()):
        return f"{place} lacks {sorted(missing)}, and has {sorted(found.keys() - known.keys())}"
    inner = ((found[key], known[key], f"{place}.{key}") for key in found if found[key] is not None)
    faults = (fault(each, of, where) for each, of, where in inner if of is not None)
    return next((each for each in faults if each), "")


def shape_in(manual: str) -> str | None:
    """Return the shape in the help of a command; None if it has no `--json`."""
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", manual).split())
    found = re.search(r"--json (?:Same as --format json|Print JSON): (.*?)\.(?: |$)", text)
    assert found or " --json " not in text.partition("Options")[2], "`--json` without a shape"
    return found[1] if found else None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    write_skill(folder, "refunds", {"a.md": "a\n", "logo.png": bytes(range(256))})
    with HttpServer(folder, "--no-config", "--http", "127.0.0.1:0") as running:
        yield f"mcp+{running.url}"


@pytest.fixture
async def drive() -> AsyncGenerator[Drive]:
    async with drive_server() as drive, program(drive, registration("shop", skills("/orders/skill.md"))):
        yield drive


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_skill(tmp_path / "skills", "refunds", {"a.md": "a\n", "logo.png": bytes(range(256))})
    write_skill(tmp_path / "skills", "odd", name="other")
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "skills")
    assert run(["new", "team/orders", "--contract"]) == 0
    return tmp_path


EXAMPLES: Mapping[str, Sequence[Sequence[str]]] = {
    "list": (["skills"], ["SERVER"], ["skills", "SERVER"]),
    "search": (["refunds", "--from", "skills"], ["refuns", "--from", "skills", "--limit", "1"]),
    "show": (["skills/odd"], ["refunds", "--from", "SERVER"]),
    "read": (["skills/refunds"], ["skills/refunds", "logo.png"], ["refunds", "a.md", "--from", "SERVER"]),
    "verify": (["SERVER"], ["SERVER", "--surfaces"]),
    "approve": (["refunds", "--from", "SERVER", "--yes"], ["*", "--from", "SERVER", "--yes"], []),
    "diff": (["refunds", "--from", "SERVER"],),
    "pull": (["refunds", "pulled", "--from", "SERVER"], ["pulled", "--all", "--from", "SERVER"]),
    "cache": ([],),
    "servers": ([], ["SERVER", "--probe"]),
    "sources": ([], ["update"]),
    "publish": (["skills", "--out", "site"],),
    "pack": (["skills", "--mcpb", "acme.mcpb"], ["skills", "--plugin", "codex", "plugin"]),
    "visibility": (["refunds", "--from", "skills"], ["*", "--from", "skills"]),
    "check": (["skills"],),
    "doctor": (["skills"],),
    "eval": (["team"], ["team", "--level", "budget"]),
    "graph": (["team"],),
    "project": (["team", "--out", "upload"], ["team", "--out", "upload", "--check"]),
    "push": (["skills"], ["team"]),
    "registry": (["log"],),
}
"""Command lines of each command with `--json`, in their order. `drive` has a test of its own."""


def test_every_command_with_json_has_an_example(cli: Cli) -> None:
    shown = {name for name in all_commands() if shape_in(cli(name, "--help").out)}
    assert shown == {*EXAMPLES, "drive"}


def test_output_has_the_shape_in_the_help(folder: Path, server: str, cli: Cli) -> None:
    assert cli("sources", "add", "./skills").code == 0
    assert cli("sources", "add", "./packed.zip").code == 0
    with State.open(os.environ["SKILLWIRE_STATE_DIR"]) as state:
        state.bind("shop", "https://shop.example/mcp")
        assert state.cache.put("shop", file_claim("skill://refunds/a.md", b"a"), b"a")
    for name, examples in EXAMPLES.items():
        shape = shape_in(cli(name, "--help").out)
        assert shape is not None
        alternatives, met = parse(shape), set[int]()
        for example in examples:
            arguments = [server if each == "SERVER" else each for each in example]
            done = cli(name, *arguments, "--json")
            assert done.raw, (name, example, done.err)
            fitting = {at for at, each in enumerate(alternatives) if fault(done.json, each) == ""}
            assert fitting, (name, example, [fault(done.json, each) for each in alternatives])
            met |= fitting if done.json else set()
        # The second shape of `show` is a template's, which no local source of a command line has.
        expected = 1 if name == "show" else len(alternatives)
        assert len(met) >= expected, f"no example of {name} prints each of its shapes"


def test_template_has_the_second_shape_of_show(cli: Cli, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    shape = shape_in(cli("show", "--help").out)
    assert shape is not None
    library = anyio.run(catalog_library, code_source("code", [], {"docs/{product}/guide": {}}))
    print_template(library.catalog.templates[0], as_json=True)
    assert fault(json.loads(capsysbinary.readouterr().out), parse(shape)[1]) == ""
    shape = shape_in(cli("list", "--help").out)
    assert shape is not None
    assert fault(catalog_rows(library.catalog), parse(shape)[0]) == ""


@pytest.mark.anyio
async def test_drive_prints_what_its_help_shows(drive: Drive, cli: Cli) -> None:
    shape = shape_in(cli("drive", "--help").out)
    assert shape is not None
    done = await anyio.to_thread.run_sync(lambda: cli("drive", "list", drive.base, "--json"))
    assert done.json
    assert fault(done.json, parse(shape)[0]) == ""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([{"a": 1, "c": {"d": 2}}], ""),
        ([{"a": 1, "b": 1, "c": None}], ""),
        ([], ""),
        ([{"b": 1, "c": None}], "it lacks ['a'], and has []"),
        ([{"a": 1, "c": {"d": 2, "x": 3}}], "it.c lacks [], and has ['x']"),
        ({"e": 1}, "it is no list"),
        ([1], "it is no object"),
    ],
)
def test_shape_tells_outputs_apart(value: Any, told: str) -> None:
    first, second = parse("[{a, b?, c: {d}}] or {e}")
    assert fault(value, first) == told
    assert (fault(value, second) == "") is (value == {"e": 1})

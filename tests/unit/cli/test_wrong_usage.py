"""Every kind of wrong usage of every command: what is wrong and what to do, without words of the parser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import Argument

from skillwire.cli.main import known_arguments
from skillwire.cli.synonyms import ACTION_SYNONYMS, COMMAND_SYNONYMS, OPTION_SYNONYMS
from tests.support.command_line import COMMANDS, Cli
from tests.support.skills import write_skill

INTERNALS = re.compile(
    r"cyclopts|[Pp]arameter|[Tt]oken\(|Unused|Traceback|<class|Literal|NoneType|\bbool\b|\bstr\b"
)
ARGUMENTS = {command: list(known_arguments(command)) for command in COMMANDS}


def options(command: str) -> list[Argument]:
    return [argument for argument in ARGUMENTS[command] if argument.name.startswith("--")]


def mistakes(command: str) -> Iterator[list[str]]:
    """Yield wrong arguments of every kind."""
    yield ["--no-such-option"]
    yield ["--no-such-option=3"]
    yield ["-j"]
    yield ["-json"]
    for option in options(command):
        count, many = option.token_count()
        name = option.name
        yield [f"{name}="]
        yield [f"{name}x"]
        if count == 0:
            yield [f"{name}=maybe"]
            yield [name, name]
            continue
        if name != "--http":  # whose value is optional
            yield [name]
        if not many:
            yield [f"{name}=1", f"{name}=2"]
        if "Literal" in str(option.hint):
            yield [name, "no-such-choice"]
        if option.hint in {int, float}:
            yield [name, "many"]
    positional = [each for each in ARGUMENTS[command] if not each.name.startswith("--")]
    if not any(each.token_count()[1] for each in positional):
        yield ["one", "two", "three"]
    if positional and positional[0].required:
        yield []


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_arguments_are_explained_without_parser_words(cli: Cli, command: str) -> None:
    for arguments in mistakes(command):
        done = cli(command, *arguments)
        assert (done.code, done.raw) == (2, b""), arguments
        message, hint = done.err.splitlines()
        assert message.startswith("error: ")
        assert hint.startswith("hint: ")
        assert not INTERNALS.search(done.err), done.err


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["check", "--format", "yaml"],
            "`--format` cannot be `yaml`",
            "choose `text`, `json`, `sarif` or `github`;",
        ),
        (["check", "--format"], "`--format` requires a value", "choose `text`, `json`, `sarif` or `github`;"),
        (["check", "--strict", "--strict"], "`--strict` is given twice", "give it once;"),
        (
            ["check", "--strict=maybe"],
            "`--strict` takes no value, but `maybe` is given",
            "write only `--strict`;",
        ),
        (["serve", "--config="], "`--config=` has no value", "write `--config VALUE` or"),
        (
            ["serve", "--catalog-tokens", "x"],
            "`--catalog-tokens` requires a whole number, not `x`",
            "`skillwire serve",
        ),
        (["list", "--jsn"], "unknown option `--jsn`", "did you mean `--json`? `skillwire list --help`"),
        (["list", "-json"], "unknown option `-json`", "did you mean `--json`?"),
        (["serve", "--port", "80"], "unknown option `--port`", "did you mean `--http`?"),
        (["serve", "--prompt", "x"], "unknown option `--prompt`", "did you mean `--prompts`?"),
        (
            ["revoke", "a", "--from", "b"],
            "unknown option `--from`",
            "write the value as the argument `SKILL`",
        ),
        (["show", "a", "b"], "unexpected argument `b`", "`skillwire show` takes only `SKILL`;"),
        (
            ["read", "a", "b", "c"],
            "unexpected argument `c`",
            "`skillwire read` takes only `SKILL` and `PATH`;",
        ),
        (["schema", "a"], "unexpected argument `a`", "`skillwire schema` takes only options;"),
        (["show"], "`SKILL` is missing", "`skillwire show --help`"),
        (
            ["sources", "ad"],
            "`skillwire sources` has no action `ad`",
            "did you mean `skillwire sources add`?",
        ),
        (
            ["sources", "sync"],
            "`skillwire sources` has no action `sync`",
            "did you mean `skillwire sources update`?",
        ),
        (
            ["cache", "purge"],
            "`skillwire cache` has no action `purge`",
            "did you mean `skillwire cache remove`?",
        ),
        (["cache", "ls"], "`skillwire cache` has no action `ls`", "did you mean `skillwire cache list`?"),
        (
            ["drive", "tree", "x"],
            "`skillwire drive` has no action `tree`",
            "did you mean `skillwire drive list`?",
        ),
        (["cache", "xyzzy"], "`skillwire cache` has no action `xyzzy`", "choose `list` or `remove`;"),
        (["pack", "--plugin", "claude"], "`--plugin` requires 2 values", "write `--plugin CLIENT FOLDER`;"),
        (["--verson"], "unknown option `--verson`", "did you mean `skillwire --version`?"),
        (["-v"], "unknown option `-v`", "did you mean `skillwire --version`?"),
        (["--json"], "unknown option `--json`", "options follow the command"),
        (["--"], "unknown option `--`", "write the command first"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_a_mistake_gets_its_own_hint(cli: Cli, arguments: list[str], message: str, hint: str) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert done.err.startswith(f"error: {message}\nhint: {hint}")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("ls", "list"),
        ("cat", "read"),
        ("lint", "check"),
        ("validate", "check"),
        ("trust", "approve"),
        ("run", "serve"),
        ("init", "new"),
        ("update", "sources update"),
        ("clean", "cache remove"),
        ("Serve", "serve"),
        ("validte", "check"),
        ("man", "help"),
    ],
)
def test_a_synonym_of_a_command_suggests_the_command(cli: Cli, word: str, meant: str) -> None:
    done = cli(word, "x")
    assert done.code == 2
    assert done.err.startswith(f"error: unknown command `{word}`\nhint: did you mean `skillwire {meant}`")


@pytest.mark.parametrize("place", ["./skills", "skills", "github:acme/skills", "https://example.com"])
def test_a_source_without_a_command_suggests_serving_it(
    cli: Cli, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("skills").mkdir()
    done = cli(place)
    assert done.code == 2
    assert done.err == f"error: unknown command `{place}`\nhint: did you mean `skillwire serve {place}`?\n"


def test_every_synonym_leads_to_something_that_exists() -> None:
    names = {name for arguments in ARGUMENTS.values() for argument in arguments for name in argument.names}
    actions = {action for argument in ARGUMENTS["sources"] for action in str(argument.hint).split("'")[1::2]}
    for word, lines in COMMAND_SYNONYMS.items():
        assert word not in COMMANDS
        assert {line.split()[0] for line in lines} & {*COMMANDS, "help", "--version"}, word
    assert {meant for each in ACTION_SYNONYMS.values() for meant in each} <= actions
    program = {"--help", "--version"}
    for word, meant in OPTION_SYNONYMS.items():
        assert (names | program) & set(meant) or word in COMING, word


COMING = {"--search", "--grep", "--match", "--query", "-q"}
"""Synonyms of `--filter`, which `list` gets."""


@pytest.mark.parametrize("arguments", [["help"], ["help", "--help"], ["help", "help"]])
def test_help_without_a_command_lists_the_commands(cli: Cli, arguments: list[str]) -> None:
    assert cli(*arguments) == cli("--help")


def test_help_with_a_command_explains_that_command(cli: Cli) -> None:
    assert cli("help", "serve") == cli("serve", "--help")
    assert "did you mean `skillwire check`?" in cli("help", "chekc").err


def test_a_short_option_prints_the_version(cli: Cli) -> None:
    assert cli("-V") == cli("--version")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_usage_shows_which_arguments_can_be_several(cli: Cli, command: str) -> None:
    usage = cli(command, "--help").out.splitlines()[0]
    for argument in ARGUMENTS[command]:
        if not argument.name.startswith("--"):
            assert (f"{argument.name}..." in usage) == argument.token_count()[1], usage


def test_help_lists_commands_in_groups_in_order(cli: Cli) -> None:
    headings = re.findall(r"^╭─ (\w+) ", cli("--help").out, re.MULTILINE)
    assert headings == ["Serve", "Find", "Clients", "Trust", "Author", "Operate", "Options"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_with_a_value_names_it(command: str) -> None:
    for option in options(command):
        if option.token_count()[0]:
            shown = option.parameter.metavar or ""
            assert re.fullmatch(r"(?:[\[\]A-Z:_|,= …]|tag:)+", str(shown)), option.name


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "python", "server.py"],
        ["verify", "server.py"],
        ["list", "server.py"],
        ["list", "./server.py"],
    ],
)
def test_program_without_dashes_is_explained(
    cli: Cli, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server.py").write_text("")
    monkeypatch.chdir(tmp_path)
    done = cli(*arguments)
    assert (done.code, done.raw) == (2, b"")
    assert f"write `-- python {arguments[-1]}` to start a server" in done.err


def test_unknown_server_named_like_a_command_is_explained(cli: Cli) -> None:
    done = cli("verify", "python")
    assert done.code == 2
    assert "write `-- python …` to start a server" in done.err


@pytest.mark.parametrize("command", ["list", "check", "serve", "sources add", "install --client cursor"])
def test_a_path_with_spaces_needs_quotes(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "My Stuff/my skills"
    folder.mkdir(parents=True)
    done = cli(*command.split(), *str(folder).split(" "))
    assert (done.code, done.raw) == (2, b"")
    assert f"put quotes around a path with spaces: `'{folder}'`" in done.err
    assert "github" not in done.err


def test_existing_paths_side_by_side_are_separate_sources(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("my", "skills", "my skills"):
        write_skill(tmp_path / name, "refunds")
    assert len(cli("list", "my", "skills", "--json").json) == 2
    assert len(cli("list", "my skills", "--json").json) == 1


@pytest.mark.parametrize("word", ["abc", "80x", "local:http"])
def test_a_word_after_http_is_no_address(cli: Cli, good: Path, word: str) -> None:
    done = cli("serve", "good", "--http", word)
    assert (done.code, f"`{word}` is not a port or `HOST:PORT`" in done.err) == (2, True), done.err
    for place in ("./good", "good"):
        assert f"unexpected argument `{place}`" in cli("serve", "good", "--http", place).err

"""The documentation says what the code does: what exists is described, and what is described exists."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import is_dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

import cyclopts
import pytest
import yaml

from skillwire.cli.main import command_function, run
from skillwire.config import settings
from skillwire.core.problem import SERVER_RULES
from skillwire.frontmatter.body import names_in, read_body
from skillwire.frontmatter.body_rules import SkillBody, check_body
from skillwire.frontmatter.document import read_document
from skillwire.server.http.connections import HttpLimits
from skillwire.sources import Limits, Rule, Severity
from tests.support.command_line import COMMANDS
from tests.support.contracts import block, write_contract_skill
from tests.support.paths import ROOT

DOCS = ROOT / "docs"
SKILLS = ROOT / "examples/skills"
SKILL = SKILLS / "skillwire-docs"
PAGES = sorted(DOCS.glob("*.md"))
SNIPPETS = sorted((DOCS / "snippets").glob("*.py"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *PAGES, *SKILLS.rglob("*.md")])

FENCE = re.compile(r"^( *)```(\w*)[^`\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
"""A fence: its indentation, its language without further words such as `title="server.py"`, its body."""

EXAMPLE = re.compile(r"^(?:# (wrong|right)|<!-- (wrong|right)\b.*-->)\n", re.MULTILINE)
"""The line above an example of a rule: a comment of YAML or Markdown. One fence may hold both examples."""

BODY_RULES = {Rule.LINK_MISSING, Rule.LINK_CASE, Rule.FILE_UNREFERENCED, Rule.BODY_LENGTH, Rule.SCRIPT_MODE}
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(path: Path) -> str:
    return path.read_text("utf-8")


def fences(text: str, language: str) -> list[str]:
    return [body for _, spoken, body in FENCE.findall(text) if spoken == language]


def rule_examples(section: str, kind: str) -> list[str]:
    """Return the examples of one kind, `wrong` or `right`, each with the line that says so."""
    bodies = (*fences(section, "yaml"), *fences(section, "markdown"))
    return [example for body in bodies for said, example in _examples_in(body) if said == kind]


def _examples_in(body: str) -> Iterator[tuple[str, str]]:
    heads = list(EXAMPLE.finditer(body))
    ends = [*(head.start() for head in heads), len(body)]
    for head, end in zip(heads, ends[1:], strict=True):
        yield head[1] or head[2], body[head.start() : end]


def sections(text: str, level: int) -> dict[str, str]:
    """Return what stands below each heading of this level, down to the next of it or of the level above."""
    _, *parts = re.split(rf"^{'#' * level} (.+)$", text, flags=re.MULTILINE)
    ends = re.compile(rf"^{'#' * (level - 1)} ", re.MULTILINE)
    return {title: ends.split(body)[0] for title, body in zip(parts[::2], parts[1::2], strict=True)}


def anchors(text: str) -> set[str]:
    titles = HEADING.findall(FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def parameters_of(command: str) -> Iterator[str]:
    """Yield how each argument and option of a command is spelt on the command line."""
    for name, parameter in signature(command_function(command)).parameters.items():
        flags = next(
            (each for each in get_args(get_args(parameter.annotation)[0]) if is_dataclass(each)), None
        )
        if flags is None:
            yield from _spelt(parameter.annotation, name, command, parameter.kind)
            continue
        for field, annotation in get_type_hints(flags, include_extras=True).items():  # options of an area
            yield from _spelt(annotation, field, command, Parameter.KEYWORD_ONLY)


def _spelt(annotation: Any, name: str, command: str, kind: object) -> list[str]:
    given = [extra for extra in annotation.__metadata__ if isinstance(extra, cyclopts.Parameter)]
    if any(getattr(extra, "parse") is False for extra in given):  # noqa: B009 - its type is not whole
        return []
    if spelt := next((extra.name for extra in given if extra.name), None):
        return [spelt] if isinstance(spelt, str) else list(spelt)
    assert kind is Parameter.KEYWORD_ONLY, f"{command}: {name} has no name for people"
    return ["--" + name.replace("_", "-")]


def shell_lines(text: str) -> Iterator[str]:
    """Yield each line of the shell examples, without its comment."""
    for body in fences(text, "sh"):
        yield from (line.partition(" #")[0].strip() for line in body.splitlines() if line.strip())


# The skill that holds the documentation


def test_the_documentation_skill_holds_the_pages_byte_for_byte() -> None:
    copies = {path.name: path.read_bytes() for path in (SKILL / "references").iterdir()}
    assert copies == {path.name: path.read_bytes() for path in PAGES}, "run `scripts/sync-docs`"


def test_the_documentation_skill_points_at_every_page() -> None:
    linked = set(LINK.findall(text_of(SKILL / "SKILL.md")))
    assert linked == {f"references/{path.name}" for path in PAGES}


def test_the_bundled_skills_have_no_problem_at_all(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["check", str(SKILLS), "--strict", "--json"]) == 0
    assert json.loads(capsysbinary.readouterr().out) == []


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what `scripts/sync-docs` works on."""
    for folder in ("docs", "examples/skills/skillwire-docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__", "data"))
    (tmp_path / "scripts/lib").mkdir(parents=True)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "pages"))
    for script in ("sync-docs", "lib/api_page.py", "lib/promises.py", "lib/rule_table.py"):
        shutil.copy(ROOT / "scripts" / script, tmp_path / "scripts" / script)
    return tmp_path


def sync(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, checkout / "scripts/sync-docs", *arguments]
    return subprocess.run(
        command, cwd=checkout.parent, capture_output=True, text=True, timeout=30, check=False
    )


def test_the_script_reports_and_corrects_differing_copies(checkout: Path) -> None:
    copies = checkout / SKILL.relative_to(ROOT) / "references"
    (copies / "serving.md").write_bytes(b"old\n")
    (copies / "stray.md").write_bytes(b"no page\n")
    (copies / "skills.md").unlink()

    checked = sync(checkout, "--check")
    assert checked.returncode == 1
    assert [line.rpartition("/")[2] for line in checked.stdout.splitlines()] == [
        "serving.md",
        "skills.md",
        "stray.md",
    ]
    assert (copies / "stray.md").exists(), "a check changes nothing"

    assert sync(checkout).returncode == 0
    assert sync(checkout, "--check").returncode == 0
    assert {path.name: path.read_bytes() for path in copies.iterdir()} == {
        path.name: path.read_bytes() for path in PAGES
    }


def test_the_script_updates_the_tests_of_a_rule(checkout: Path) -> None:
    (checkout / "tests/test_new.py").write_text(
        "@pytest.mark.rule('S20')\ndef test_x(): ...\n", encoding="utf-8"
    )
    page = checkout / "docs/rules.md"
    checked = sync(checkout, "--check")
    assert (checked.returncode, checked.stdout) == (1, "differs: docs/rules.md\n")
    assert sync(checkout).returncode == 0
    assert "`test_new.py`" in page.read_text(encoding="utf-8")
    assert sync(checkout, "--check").returncode == 0


def test_the_script_updates_the_page_of_promises(checkout: Path) -> None:
    listed, page = checkout / "docs/promises.toml", checkout / "docs/promises.md"
    text = listed.read_text(encoding="utf-8").replace("number = 1\n", "number = 1001\n", 1)
    listed.write_text(text, encoding="utf-8")
    checked = sync(checkout, "--check")
    assert (checked.returncode, checked.stdout) == (1, "differs: docs/promises.md\n")
    assert sync(checkout).returncode == 0
    assert "\n| 1001 | " in page.read_text(encoding="utf-8")
    assert sync(checkout, "--check").returncode == 0


def test_the_script_refuses_what_it_does_not_know(checkout: Path) -> None:
    assert sync(checkout, "--chekc").returncode == 2


# Problems


PROBLEMS = sections(text_of(DOCS / "problems.md"), 3)


def test_every_rule_has_its_heading_and_every_heading_its_rule() -> None:
    # Those of the contract and of servers have pages of their own, and tests of these.
    rules = [rule for rule in Rule if rule not in SERVER_RULES and not rule.name.startswith("CONTRACT_")]
    assert list(PROBLEMS) == [rule.value for rule in rules]


def examples_of(kind: str) -> list[Any]:
    return [
        pytest.param(rule, example, id=rule)
        for rule, section in PROBLEMS.items()
        for example in rule_examples(section, kind)
        if example.startswith("#") or Rule(rule) in BODY_RULES  # whole files have tests of their own
    ]


def test_wrong_and_right_examples_come_in_pairs() -> None:
    wrong, right = ([example.id for example in examples_of(kind)] for kind in ("wrong", "right"))
    assert wrong == right
    assert (
        set(wrong)
        >= {rule.value for rule in Rule if rule.name.startswith(("NAME_F", "LICENSE", "METADATA"))}
        | BODY_RULES
    )


def read_example(rule: str, example: str) -> dict[Rule, Severity]:
    """Return the problems of an example; it leaves out the required fields where it is not about them."""
    if Rule(rule) in BODY_RULES:
        return {problem.rule: problem.severity for problem in check_body(body_of(example))}
    fields = {"name": "refunds", "description": "Decides and prepares refunds."}
    about_all = "-not-mapping" in rule or "-missing" in rule
    added = [
        f"{key}: {value}\n"
        for key, value in fields.items()
        if not about_all and not re.search(rf"^{key}:", example, re.MULTILINE)
    ]
    content = f"---\n{example}{''.join(added)}---\n"
    problems = read_document(content.encode(), "refunds/SKILL.md", "refunds").problems
    return {problem.rule: problem.severity for problem in problems}


def body_of(example: str) -> SkillBody:
    """Return a skill with this text, as the page describes it."""
    start, _, text = example.partition("-->\n")
    lines = int((re.findall(r"\d+", start) or ["0"])[0])
    files = frozenset({"SKILL.md", "references/policy.md", "scripts/total.sh"})
    return SkillBody(
        "refunds/SKILL.md",
        4,
        read_body(text + "More.\n" * max(lines - 1, 0)),
        files,
        frozenset({"references", "scripts"}),
        executable=frozenset(),
        names=names_in(text),
    )


@pytest.mark.parametrize(("rule", "example"), examples_of("wrong"))
def test_a_wrong_example_has_the_documented_severity(rule: str, example: str) -> None:
    severity = read_example(rule, example)[Rule(rule)]
    assert PROBLEMS[rule].lstrip().startswith(f"**{severity.value.capitalize()}.**")


@pytest.mark.parametrize(("rule", "example"), examples_of("right"))
def test_a_right_example_breaks_no_rule(rule: str, example: str) -> None:
    assert read_example(rule, example) == {}


@pytest.mark.parametrize("rule", [Rule.FRONTMATTER_MISSING, Rule.FRONTMATTER_UNCLOSED])
def test_a_whole_file_that_is_wrong_breaks_its_rule(rule: Rule) -> None:
    example = fences(PROBLEMS[rule], "markdown")[0]
    assert [problem.rule for problem in read_document(example.encode(), "SKILL.md", "refunds").problems] == [
        rule
    ]


def test_every_rule_says_whether_it_is_an_error() -> None:
    silent = [
        rule for rule, section in PROBLEMS.items() if not re.match(r"\s*\*\*(Error|Warning)\b", section)
    ]
    assert silent == []


# The command line


COMMAND_LINE = text_of(DOCS / "command-line.md")
COMMAND_SECTIONS = sections(COMMAND_LINE, 2)


def test_the_command_line_page_has_one_section_for_every_command() -> None:
    assert list(COMMAND_SECTIONS) == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_parameter_of_a_command_is_in_its_table(command: str) -> None:
    rows = re.findall(r"^\| `([^` …]+)", COMMAND_SECTIONS[command], re.MULTILINE)
    assert rows == list(parameters_of(command))


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_command_that_is_shown_exists(document: Path) -> None:
    for command in shell_lines(text_of(document)):
        program, *words = command.split()
        if program.startswith("scripts/"):
            assert os.access(ROOT / program, os.X_OK), command
        if program != "skillwire" or words[0].startswith("-"):
            continue
        assert words[0] in COMMANDS, command
        own = words[1 : words.index("--")] if "--" in words else words[1:]  # the rest is another command
        options = {word.partition("=")[0] for word in own if word.startswith("--")}
        assert options <= {*parameters_of(words[0]), "--help"}, command


def skeleton(value: Any) -> Any:
    """Return the shape of a JSON value: its keys, and the shape of the first item of its lists."""
    if isinstance(value, dict):
        return {key: skeleton(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return [skeleton(item) for item in value[:1]] if isinstance(value, list) else ...  # pyright: ignore[reportUnknownVariableType]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two skills, one of which cannot be served."""
    for name, called in (("refunds", "refunds"), ("broken", "Not A Name")):
        (tmp_path / name / "references").mkdir(parents=True)
        (tmp_path / name / "SKILL.md").write_text(
            f"---\nname: {called}\ndescription: Refunds.\n---\n", "utf-8"
        )
    (tmp_path / "refunds/references/policy.md").write_text("# The policy\n", "utf-8")
    write_contract_skill(tmp_path / "team", "orders", model="opus")
    write_contract_skill(tmp_path / "team", "returns", block("returns", depends_on=["orders"]))
    return tmp_path


@pytest.mark.parametrize(
    ("command", "arguments", "code"),
    [
        ("check", ["{}"], 1),
        ("list", ["{}"], 0),
        ("show", ["{}/refunds"], 0),
        ("read", ["{}/refunds", "references/policy.md"], 0),
        ("project", ["{}/team", "--out", "{}/upload"], 0),
        ("graph", ["{}/team"], 0),
        ("visibility", ["{}/refunds"], 0),
    ],
)
def test_the_json_of_a_command_has_the_documented_shape(
    command: str, arguments: list[str], code: int, folder: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run([command, *(argument.format(folder) for argument in arguments), "--json"]) == code
    shown = json.loads(fences(COMMAND_SECTIONS[command], "json")[0])
    assert skeleton(json.loads(capsysbinary.readouterr().out)) == skeleton(shown)


def test_documented_pre_commit_hooks_exist_and_run_real_commands() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load(text_of(ROOT / ".pre-commit-hooks.yaml"))}
    used = [yaml.safe_load(body) for body in fences(text_of(DOCS / "contract.md"), "yaml")]
    shown = {hook["id"] for each in used for repo in each.get("repos", ()) for hook in repo["hooks"]}
    assert shown
    assert shown <= hooks.keys()
    for hook in hooks.values():
        # With `files`, pre-commit skips the hook if a commit only removes or renames such files.
        assert (hook.get("always_run"), hook["pass_filenames"], "files" in hook) == (True, False, False)
        program, command, *options = hook["entry"].split()
        assert (program, command in COMMANDS) == ("skillwire", True)
        assert set(options) <= set(parameters_of(command))


# Settings


def test_every_environment_variable_is_documented_with_its_default() -> None:
    serving = text_of(DOCS / "serving.md")
    assert f"`{settings.SKILLS_DIR}`" in serving
    rows = re.findall(r"^\| `(SKILLWIRE_\w+)` \|.*\| ([\d,]+) \|$", serving, re.MULTILINE)
    limits = {name: f"{getattr(Limits(), limit):,}" for name, limit in settings.LIMITS.items()}
    http = HttpLimits()
    limits |= {
        name: f"{int(getattr(http, limit) / unit):,}" for name, (limit, unit) in settings.HTTP_LIMITS.items()
    }
    assert dict(rows) == limits


def test_every_environment_variable_is_on_the_serving_page() -> None:
    source = Path(settings.__file__).read_text("utf-8")
    serving = text_of(DOCS / "serving.md")
    assert {name for name in re.findall(r'"((?:SKILL|MAX_)[A-Z_]+)"', source) if name not in serving} == set()


# Snippets


@pytest.mark.parametrize("snippet", SNIPPETS, ids=named)
def test_a_snippet_is_quoted_word_for_word(snippet: Path) -> None:
    quoted = [body for page in PAGES for body in fences(text_of(page), "python")]
    assert text_of(snippet) in quoted


def test_every_python_fence_of_a_page_is_a_snippet() -> None:
    known = {text_of(snippet) for snippet in SNIPPETS}
    assert [body for page in PAGES for body in fences(text_of(page), "python") if body not in known] == []


# Everything


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_relative_link_resolves(document: Path) -> None:
    text = FENCE.sub("", text_of(document))
    for link in LINK.findall(text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.is_file(), link
        assert not anchor or anchor in anchors(text_of(target)), link


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_of_a_page_lead_only_to_pages(page: Path) -> None:
    links = [link.partition("#")[0] for link in LINK.findall(FENCE.sub("", text_of(page)))]
    assert {link for link in links if link and "://" not in link} <= {other.name for other in PAGES}


def test_the_readme_leads_to_every_page() -> None:
    assert set(LINK.findall(text_of(ROOT / "README.md"))) >= {f"docs/{page.name}" for page in PAGES}


CLIENT_PAGES = [ROOT / "README.md", DOCS / "clients.md"]
SERVER_TABLES = ("mcpServers", "servers", "mcp_servers", "extensions")
READERS = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}


def client_commands() -> list[Any]:
    """Return the command of each client configuration that a page shows."""
    found = [
        (page.name, language, server)
        for page in CLIENT_PAGES
        for language, read in READERS.items()
        for body in fences(text_of(page), language)
        for table in SERVER_TABLES
        for server in read(body).get(table, {}).values()
    ]
    return [
        pytest.param(
            [server.get("command") or server["cmd"], *server["args"]], id=f"{page}-{language}-{number}"
        )
        for number, (page, language, server) in enumerate(found)
    ]


def test_the_page_on_clients_shows_every_format() -> None:
    shown = {param.id for param in client_commands() if str(param.id).startswith("clients.md-")}
    assert len(shown) == len(SERVER_TABLES)


@pytest.mark.parametrize("command", client_commands())
def test_a_client_configuration_starts_the_server(command: list[str], tmp_path: Path) -> None:
    program, *arguments = command
    assert program == "/path/to/skillwire"
    folder = re.compile(r"^(/path/to|\$\{workspaceFolder\})/skills$")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    done = subprocess.run(
        [Path(sys.executable).with_name("skillwire"), *(folder.sub(str(SKILLS), each) for each in arguments)],
        input=json.dumps(request) + "\n",
        env={**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "hello-world" in json.loads(done.stdout)["result"]["instructions"]

"""The shape of the project: what may import what, and that nothing comes without its line and its tests."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from skillwire import Library, ServeOptions
from skillwire.config.clients.known import CLIENTS
from skillwire.config.source_kinds import KINDS
from skillwire.core.problem import SERVER_RULES
from skillwire.server import Channel
from skillwire.server.serve_options import all_features
from skillwire.sources import Rule
from tests.support.command_line import COMMANDS
from tests.support.paths import ROOT

PACKAGE = ROOT / "src/skillwire"
PUBLIC = {
    "skillwire",
    "skillwire.adapters.openai_agents",
    "skillwire.adapters.pydantic_ai",
    "skillwire.contract",
    "skillwire.drive",
    "skillwire.errors",
    "skillwire.host",
    "skillwire.library",
    "skillwire.server",
    "skillwire.sources",
}
"""Modules whose names users import."""
TESTS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if path != Path(__file__)
)


def classes(folder: str, base: str) -> set[str]:
    pattern = re.compile(rf"^class (\w+)\({base}\)", re.MULTILINE)
    texts = (path.read_text(encoding="utf-8") for path in (PACKAGE / folder).rglob("*.py"))
    return {name for text in texts for name in pattern.findall(text)}


def loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sorted(sys.modules), sep='\\n')"
    return set(
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, check=True, text=True
        ).stdout.split()
    )


def test_every_source_passes_the_contract_suite() -> None:
    contract = (ROOT / "tests/unit/sources/test_source_contract.py").read_text(encoding="utf-8")
    sources = classes("sources", "Source") | classes("sources", "Fetcher") | classes("authoring", "Source")
    sources |= classes("host", "Source")
    sources -= {"UnavailableSource", "_UnavailableState"}  # which serve nothing, on purpose
    assert len(sources) > 6
    assert all(f"{name}(" in contract for name in sources)


def test_every_method_of_every_feature_is_called_by_a_test() -> None:
    features = all_features(Library([]), ServeOptions(channel=Channel.INSTRUCTIONS))
    # In place of the prompts of all skills, and around each feature with another scheme.
    others = {"AuthoredPromptsFeature", "OtherScheme"}
    assert {type(feature).__name__ for feature in features} | others == classes("features", "Feature")
    methods = {method for feature in features for method in feature.methods()}
    assert {method for method in methods if f'"{method}"' not in TESTS} == set()


def test_every_command_is_in_the_table_and_in_the_docs() -> None:
    page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    assert set(COMMANDS) == {
        "serve",
        "check",
        "doctor",
        "list",
        "search",
        "show",
        "read",
        "install",
        "uninstall",
        "servers",
        "login",
        "logout",
        "completion",
        "diff",
        "approve",
        "revoke",
        "pull",
        "cache",
        "sources",
        "publish",
        "pack",
        "verify",
        "bridge",
        "project",
        "graph",
        "new",
        "schema",
        "visibility",
        "drive",
        "eval",
        "push",
        "registry",
    }
    assert all(f"skillwire {name}" in page for name in COMMANDS)


def test_every_known_client_is_documented_and_tested() -> None:
    page = (ROOT / "docs/servers.md").read_text(encoding="utf-8")
    rows = [client for client in CLIENTS if client.name != "project"]
    assert [client.title for client in rows if f"| {client.title} |" not in page] == []
    tested = [client.name.replace("-", "_") for client in rows]
    assert [name for name in tested if f"def test_{name}" not in TESTS] == []
    assert "def test_a_projects_file(" in TESTS


def test_every_kind_of_source_is_in_the_docs() -> None:
    page = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
    assert [kind.name for kind in KINDS if kind.name not in page] == []


def test_every_rule_for_problems_is_raised_somewhere() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    unused = [rule.name for rule in Rule if f"Rule.{rule.name}" not in code]
    assert unused == []


def test_every_rule_for_servers_is_in_the_docs_and_tested() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    page = (ROOT / "docs/verifying.md").read_text(encoding="utf-8")
    assert [rule for rule in SERVER_RULES if f"Rule.{rule.name}" not in code] == []
    assert [rule for rule in SERVER_RULES if f"| `{rule}` |" not in page] == []
    assert [rule for rule in SERVER_RULES if f"Rule.{rule.name}" not in TESTS] == []


def test_there_is_no_drawer_for_odds_and_ends() -> None:
    names = {path.stem for path in PACKAGE.rglob("*")}
    assert names & {"utils", "util", "helpers", "common", "misc"} == set()


@pytest.mark.parametrize(
    "module",
    [
        "skillwire",
        "skillwire.host",
        "skillwire.sources.folder.source",
        "skillwire.library.library",
        "skillwire.features.resources",
    ],
)
def test_reading_skills_never_loads_the_sdk(module: str) -> None:
    assert {"mcp", "mcp_types", "pydantic"} & loaded_by(f"import {module}") == set()


def test_the_package_itself_is_light() -> None:
    assert {"yaml", "anyio", "rich", "cyclopts"} & loaded_by("import skillwire") == set()


def test_tests_outside_unit_import_public_names_only() -> None:
    allowed = {"blackbox", "unit", "support", "tooling"}
    files = [
        path
        for path in (ROOT / "tests").rglob("*.py")
        if path.relative_to(ROOT / "tests").parts[0] not in allowed
    ]
    found = {
        (path.relative_to(ROOT).as_posix(), node.module)
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").split(".")[0] == "skillwire"
        and node.module not in PUBLIC
    }
    assert len(files) > 40
    assert found == set()

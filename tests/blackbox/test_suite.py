"""The suite itself: it imports nothing of the product, and every rule is proven."""

import ast
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.py"))
RULES = {f"S{number}" for number in range(1, 21)} | {f"H{number}" for number in range(1, 32)}

UNSEEN: dict[str, str] = {}
"""Rules of which nothing can be seen from outside, with the reason."""

SEEN_IN_PART = {
    "H14": "when a `SKILL.md` leaves the context only the program around a host knows",
    "H21": "the gate before code is run is a function of the library, which no command calls",
    "H22": "the question before another server's resource is read is one of the library, too",
}
"""Rules that are proven as far as they can be seen, and what cannot."""


def imported(source: str) -> set[str]:
    """Return every module that a file imports, however deep inside."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def is_ours(module: str) -> bool:
    """Whether a module may be used here: of Python, of pytest, or of this suite."""
    package = module.split(".", maxsplit=1)[0]
    return package in {*sys.stdlib_module_names, "pytest"} or module.startswith("tests.blackbox")


def rules_of(source: str) -> set[str]:
    """Return the rules that the tests of a file are marked with."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    marks = [call for call in calls if ast.unparse(call.func) == "pytest.mark.rule"]
    return {str(ast.literal_eval(argument)) for mark in marks for argument in mark.args}


def test_nothing_of_the_product_is_imported() -> None:
    foreign = {path.name: sorted(filter(is_foreign, imported(path.read_text("utf-8")))) for path in FILES}
    assert {name: modules for name, modules in foreign.items() if modules} == {}


def is_foreign(module: str) -> bool:
    return not is_ours(module) or module.split(".", maxsplit=1)[0] in {"importlib", "runpy", "pkgutil"}


def test_nothing_is_imported_in_another_way() -> None:
    words = re.compile(r"__import__|import_module|\bexec\(|import skillwire|from skillwire|python -c")
    found = {path.name for path in FILES if words.search(path.read_text("utf-8"))}
    assert found == {Path(__file__).name}


def test_names_that_may_change_are_spelled_once() -> None:
    spelled = re.compile(r'"(--no-cache|--no-cache|load-skill|skill-resource|SKILLWIRE_STATE_DIR)"')
    found = {path.name for path in FILES if spelled.search(path.read_text("utf-8"))}
    assert found == {"product.py"}


def test_every_rule_is_proven_or_cannot_be_seen() -> None:
    proven = set[str]().union(*(rules_of(path.read_text("utf-8")) for path in FILES))
    assert proven <= RULES
    assert proven | set(UNSEEN) == RULES
    assert not proven & set(UNSEEN)
    assert set(SEEN_IN_PART) <= proven


def test_the_checks_of_the_suite_can_fail() -> None:
    assert is_foreign("skillwire.server")
    assert is_foreign("tests.support.peers")
    assert is_foreign("mcp")
    assert is_foreign(".product")
    assert not is_foreign("http.client")
    assert imported("def f():\n    from a.b import c\n    import d.e") == {"a.b", "d.e"}
    assert rules_of("@pytest.mark.rule('S1', 'H2')\ndef test_x(): ...") == {"S1", "H2"}
    assert rules_of("@pytest.mark.parametrize('S3', [])\ndef test_x(): ...") == set()


def test_names_of_tests_have_at_most_ten_words() -> None:
    defined = re.compile(r"^def test_(\w+)", re.MULTILINE)
    names = [name for path in FILES for name in defined.findall(path.read_text("utf-8"))]
    assert [name for name in names if len(name.split("_")) > 10] == []

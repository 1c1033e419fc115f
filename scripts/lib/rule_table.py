"""Generate the list at the end of docs/rules.md: the test files that prove each rule."""

import ast
import re
from pathlib import Path

HEADING = "\n## Tests\n\nThese files below `tests/` prove each rule.\n\n"
ROW = re.compile(r"^\| ([SH]\d+) \| ", re.MULTILINE)


def rules_of(page: str) -> list[str]:
    """Return the ids of the rules that the page explains, in order."""
    return ROW.findall(page)


def rules_in(source: str) -> set[str]:
    """Return the ids in every `pytest.mark.rule(...)` of a test file."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    marks = (call for call in calls if ast.unparse(call.func) == "pytest.mark.rule")
    return {str(ast.literal_eval(argument)) for mark in marks for argument in mark.args}


def proven_in(tests: Path) -> dict[str, list[str]]:
    """Map each rule id in a marker to its test files, relative to `tests`."""
    proven: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        for rule in rules_in(path.read_text(encoding="utf-8")):
            proven.setdefault(rule, []).append(path.relative_to(tests).as_posix())
    return proven


def updated(page: str, proven: dict[str, list[str]]) -> str:
    """Return the page with an up-to-date list of tests."""
    start, _, _ = page.partition(HEADING)
    lines = (
        f"- {rule}: {', '.join(f'`{name}`' for name in proven.get(rule, []))}\n" for rule in rules_of(start)
    )
    return start + HEADING + "".join(lines)

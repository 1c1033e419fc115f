"""The map for maintainers names files, functions and packages that exist."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src/skillwire"
STEPS = sorted(set(re.findall(r"`([\w/]+\.py)` `([\w.]+)`", PAGE)))
FILES = sorted(set(re.findall(r"`([\w/]+\.py)`", PAGE)))


def names_in(path: Path) -> set[str]:
    """Return the functions, classes and methods of a module, methods also as `Class.method`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
            found |= {
                f"{node.name}.{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


@pytest.mark.parametrize("file", FILES)
def test_every_file_exists(file: str) -> None:
    assert (PACKAGE / file).is_file()


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_every_step_names_a_function_of_its_file(file: str, name: str) -> None:
    assert name in names_in(PACKAGE / file)


def test_the_picture_shows_every_package() -> None:
    picture = PAGE.partition("```")[2].partition("```")[0]
    shown = set(re.findall(r"^([a-z]+) ", picture, re.MULTILINE))
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert len(STEPS) > 25
    assert shown == packages | {"errors"}

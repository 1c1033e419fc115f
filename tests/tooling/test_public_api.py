"""The public names: what there is, what it costs, and that documentation and examples use nothing else."""

import ast
import builtins
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import skillwire
from skillwire import errors
from tests.support.paths import ROOT

MODULES = [
    "skillwire",
    "skillwire.errors",
    "skillwire.server",
    "skillwire.host",
    "skillwire.sources",
    "skillwire.library",
    "skillwire.drive",
    "skillwire.contract",
]
ADAPTERS = ["skillwire.adapters.openai_agents", "skillwire.adapters.pydantic_ai"]
USERS = [
    *(ROOT / "docs/snippets").glob("*.py"),
    *(ROOT / "examples/servers").rglob("*.py"),
    *(ROOT / "examples/clients").rglob("*.py"),
]
TREE_LINE = re.compile(r"^(?P<indent>[│ ]*)(?:[├└]── )?(?P<name>\w+Error)\b", re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_every_exported_name_exists_and_nothing_else_is_shown(module: str) -> None:
    public = importlib.import_module(module)
    assert dir(public) == sorted(public.__all__)
    assert [name for name in public.__all__ if getattr(public, name, None) is None] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        skillwire.Nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", ["Skill", "Library", "FolderSource", "GitSource", "Problem", "errors"])
def test_reading_skills_does_not_load_the_sdk(name: str) -> None:
    code = f"import sys, skillwire; skillwire.{name}; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_importing_the_package_is_light() -> None:
    code = "import sys, skillwire; print(*[name for name in sys.modules if name.startswith('skillwire.')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["skillwire.lazy"]


def imports_of(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] == "skillwire":
                yield from ((module, alias.name) for alias in node.names)
            case ast.Import(names=names):
                yield from ((each.name, "") for each in names if each.name.startswith("skillwire."))
            case _:
                pass


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.name)
def test_snippets_and_examples_import_public_names_only(path: Path) -> None:
    private = [
        (module, name)
        for module, name in imports_of(path)
        if module not in ADAPTERS
        and (module not in MODULES or (name and name not in importlib.import_module(module).__all__))
    ]
    assert private == []


def test_the_error_tree_stays_small() -> None:
    assert len(errors.__all__) <= 26


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_has_a_hint(name: str) -> None:
    assert getattr(errors, name).hint == ""


def test_a_hint_is_kept_apart_from_the_message() -> None:
    error = errors.UsageError("no", hint="do this")
    assert (str(error), error.hint) == ("no", "do this")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.InvalidValueError("name", "A", "lowercase"), "name `A` is not lowercase"),
        (
            errors.InvalidValueError("the name", "A", "has capitals", "write `a`"),
            "the name `A` has capitals; write `a`",
        ),
        (errors.UnavailableError("", "no answer"), "no answer"),
        (errors.UnavailableError("server `a`", "no answer"), "server `a`: no answer"),
    ],
)
def test_an_error_says_what_is_wrong_and_what_to_do(error: Exception, text: str) -> None:
    assert str(error) == text


def test_the_error_tree_is_drawn_as_it_is() -> None:
    drawn: dict[str, str] = {}
    above: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if (found := TREE_LINE.match(line)) is None:
            continue
        depth = line.index(found["name"])
        drawn[found["name"]] = next((above[at] for at in sorted(above, reverse=True) if at < depth), "")
        above = {at: name for at, name in above.items() if at < depth} | {depth: found["name"]}
    assert sorted(drawn) == errors.__all__
    for name, parent in drawn.items():
        if parent:
            assert issubclass(getattr(errors, name), getattr(errors, parent)), name


def public_callables() -> Iterator[object]:
    for module in MODULES:
        public = importlib.import_module(module)
        for value in (getattr(public, name) for name in public.__all__):
            if inspect.isclass(value):
                members = vars(value).items()
                yield from (each for name, each in members if callable(each) and not name.startswith("_"))
                yield value.__init__
            elif callable(value):
                yield value


def test_every_error_that_a_public_call_documents_is_public() -> None:
    named = {
        name
        for each in public_callables()
        for sentence in re.findall(r"Raises ([^.]*)", inspect.getdoc(each) or "")
        for name in re.findall(r"`(\w+Error)`", sentence)
    }
    exported = {name for module in MODULES for name in importlib.import_module(module).__all__}
    assert sorted(named - exported - {*dir(builtins), "MCPError"}) == []  # the last is the SDK's

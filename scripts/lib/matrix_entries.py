"""What scripts/matrix tests: which Pythons, which versions of the dependencies, and which tests."""

import ast
import fnmatch
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

OLDEST_PYTHON = 11
KNOWN_PYTHONS = range(OLDEST_PYTHON, 16)
"""Minor versions of Python 3 to look for. Those not found are reported."""
TOOLS = ("hypothesis", "playwright", "psutil", "pytest", "pytest-xdist", "skills-ref", "import-linter")
"""The packages of the extra `dev` that the tests need."""
HOLDS_BACK = {"openai-agents": "websockets"}
"""Extras that do not allow the newest version of another dependency."""
PINNED = "pinned"
"""The entry that the others are compared with."""
PICKED = ("mcp", "websockets", "fastmcp", "fastmcp-slim")
"""Packages that have entries of their own."""
RANGES = {"fastmcp-slim": "fastmcp"}
"""Packages whose allowed range is that of another package."""
MODULES = {
    "fastmcp": "fastmcp",
    "keyring": "keyring",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
    "semantic": "wordllama",
}
"""The module that each extra installs."""
# Tests that run programs of `docs` and `examples`. They need every extra.
RUNS_EXAMPLES = (
    "tests/tooling/test_docs.py",
    "tests/tooling/test_examples.py",
    "tests/e2e/examples",
    "tests/e2e/drive/test_examples.py",
)

PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "all": (("tests",), ()),
    "core": (
        ("tests",),
        (
            *RUNS_EXAMPLES,
            "tests/e2e/pages/test_in_a_browser.py",
            "tests/e2e/pages/test_drive_from_a_page.py",
            "tests/unit/contract",
            "tests/unit/sources/git",
            "tests/tooling/test_benchmarks.py",
            "tests/tooling/test_everything_has_its_place.py",
            "tests/tooling/test_rule_table.py",
            "tests/tooling/test_scripts.py",
            "tests/tooling/test_matrix.py",
            "tests/tooling/test_speed_benchmark.py",
            "tests/unit/frontmatter/test_yaml_agrees_with_npm.py",
        ),
    ),
    "sockets": (
        ("tests/unit/drive", "tests/unit/cli/test_drive_command.py", "tests/protocol/test_http_serving.py"),
        ("tests/e2e/drive/test_examples.py",),
    ),
    "fastmcp": (
        (
            "tests/unit/authoring",
            "tests/unit/host/test_foreign_servers.py",
            "tests/unit/features/test_manifests.py",
            "tests/e2e/clients/test_fastmcp_client.py",
        ),
        (),
    ),
    "fastmcp-client": (("tests/e2e/clients/test_fastmcp_client.py",), ()),
}
"""For each part of the suite: the paths it runs, and the paths below them that it skips."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One Python with one set of dependencies, and which tests run with it."""

    name: str
    python: str
    about: str
    part: str = "core"
    resolution: str = "highest"
    extras: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Further requirements."""
    overrides: tuple[str, ...] = ()
    """Requirements that win over those of `pyproject.toml`."""
    pinned: bool = False
    """Whether `constraints.txt` fixes the versions."""


@dataclass(frozen=True, slots=True)
class Project:
    """The requirements in `pyproject.toml`."""

    dependencies: tuple[Requirement, ...]
    extras: Mapping[str, tuple[Requirement, ...]]

    @classmethod
    def read(cls, text: str) -> "Project":
        project = tomllib.loads(text)["project"]
        extras = project.get("optional-dependencies", {})
        return cls(
            tuple(map(Requirement, project["dependencies"])),
            {name: tuple(map(Requirement, each)) for name, each in extras.items()},
        )

    def optional(self) -> tuple[str, ...]:
        """Return the extras for users: all but `dev`."""
        return tuple(name for name in self.extras if name != "dev")

    def range_of(self, name: str) -> SpecifierSet:
        """Return the allowed versions of a direct dependency."""
        for each in (*self.dependencies, *(one for some in self.extras.values() for one in some)):
            if canonicalize_name(each.name) == name:
                return each.specifier
        raise KeyError(name)

    def tools(self) -> list[str]:
        return [str(each) for each in self.extras["dev"] if canonicalize_name(each.name) in TOOLS]


def in_range(versions: Iterable[str], allowed: SpecifierSet) -> list[Version]:
    """Return the allowed final versions, oldest first. Ignores invalid versions."""
    found: list[Version] = []
    for text in versions:
        try:
            found.append(Version(text))
        except InvalidVersion:
            continue
    return sorted(each for each in found if not each.is_prerelease and each in allowed)


def newest_of_each(versions: Iterable[Version], places: int) -> list[Version]:
    """Return the newest version for each prefix of `places` numbers, oldest first."""
    newest: dict[tuple[int, ...], Version] = {}
    for each in sorted(versions):
        newest[each.release[:places]] = each
    return sorted(newest.values())


def entries(
    project: Project, pythons: Sequence[str], registry: Callable[[str], Sequence[str]]
) -> Iterator[Entry]:
    """Yield every entry for these Pythons, with the versions that the registry has."""
    free = tuple(name for name in project.optional() if name not in HOLDS_BACK)
    for python in pythons:
        yield Entry(f"{python}-oldest", python, "oldest dependencies, no extras", resolution="lowest-direct")
        yield Entry(
            f"{python}-newest",
            python,
            "newest dependencies, all extras but " + ", ".join(HOLDS_BACK),
            extras=free,
        )
    if not pythons:
        return
    python = pythons[0]
    every = project.optional()
    yield Entry(PINNED, python, "the versions in `constraints.txt`", extras=every, pinned=True)
    yield Entry(
        "extras-oldest",
        python,
        "oldest dependencies, oldest extras",
        resolution="lowest-direct",
        extras=every,
    )
    yield Entry("extras-newest", python, "newest dependencies, all extras", extras=every)
    yield from _newer_sdks(project, python, registry)
    yield from _websockets(project, python, registry)
    yield from _fastmcp(project, python, registry)


def not_in_registry(project: Project, registry: Callable[[str], Sequence[str]]) -> Iterator[str]:
    """Yield a sentence for each version that should be tested but is not in the registry."""
    for package in PICKED:
        if not in_range(registry(package), project.range_of(RANGES.get(package, package))):
            yield f"`{package}`: the registry has no allowed version, or cannot be reached."
    allowed = project.range_of("fastmcp")
    whole, slim = (
        {each.release[:2] for each in in_range(registry(name), allowed)}
        for name in ("fastmcp", "fastmcp-slim")
    )
    for major, minor in sorted(slim - whole):
        yield f"FastMCP {major}.{minor} as a server: the registry has `fastmcp-slim` of it, but no `fastmcp`."
    sdk = in_range(registry("mcp"), project.range_of("mcp"))
    if sdk and not _newer(project, registry):
        yield f"`mcp` beyond the allowed range: the newest in the registry is {sdk[-1]}."


def _newer(project: Project, registry: Callable[[str], Sequence[str]]) -> list[Version]:
    """Return the newest release of each minor version of the SDK above the allowed range."""
    if not (allowed := in_range(registry("mcp"), project.range_of("mcp"))):
        return []
    later = (each for each in in_range(registry("mcp"), SpecifierSet()) if each > allowed[-1])
    return newest_of_each((each for each in later if each.major == allowed[-1].major), 2)


def _newer_sdks(project: Project, python: str, registry: Callable[[str], Sequence[str]]) -> Iterator[Entry]:
    for version in _newer(project, registry):
        about = f"mcp {version}, which is not allowed yet"
        yield Entry(f"mcp-{version}", python, about, overrides=(f"mcp=={version}",))


def _websockets(project: Project, python: str, registry: Callable[[str], Sequence[str]]) -> Iterator[Entry]:
    for version in newest_of_each(in_range(registry("websockets"), project.range_of("websockets")), 1):
        name = f"websockets-{version.major}"
        yield Entry(name, python, f"websockets {version}", part="sockets", also=(f"websockets=={version}",))


def _fastmcp(project: Project, python: str, registry: Callable[[str], Sequence[str]]) -> Iterator[Entry]:
    allowed = project.range_of("fastmcp")
    for version in in_range(registry("fastmcp"), allowed):
        pin = (f"fastmcp=={version}",)
        yield Entry(f"fastmcp-{version}", python, f"FastMCP {version}", part="fastmcp", also=pin)
    for version in newest_of_each(in_range(registry("fastmcp-slim"), allowed), 2):
        pin = (f"fastmcp-slim[client]=={version}",)
        about = f"FastMCP {version} as a client (`fastmcp-slim`)"
        yield Entry(f"fastmcp-slim-{version}", python, about, part="fastmcp-client", also=pin)


def selected(known: Sequence[Entry], patterns: Sequence[str]) -> list[Entry]:
    """Return the entries that match a pattern, or all. Raises `ValueError` if a pattern matches none."""
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(each.name, pattern) for each in known):
            raise ValueError(f"there is no entry `{pattern}`")
    if not patterns:
        return list(known)
    return [each for each in known if any(fnmatch.fnmatchcase(each.name, one) for one in patterns)]


# Pythons


_IN_TEXT = re.compile(r"^\s*(?:from|import) ([A-Za-z_]\w*)", re.MULTILINE)
_DOTTED = re.compile(r"[a-z_]+(?:\.\w+)+")
_WHO = (
    "import json, sys, sysconfig, venv;"
    "print(json.dumps([sys.implementation.name, list(sys.version_info[:3]), sys.executable,"
    " bool(sysconfig.get_config_var('Py_GIL_DISABLED'))]))"
)


def python_candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield paths that may be a Python: on PATH, of pyenv, of uv, and the running one."""
    names = ("python3", "python", *(f"python3.{minor}" for minor in range(OLDEST_PYTHON, 30)), "pypy3")
    for folder in environment.get("PATH", "").split(os.pathsep):
        if folder:
            yield from (Path(folder, name) for name in names)
    home = Path(environment.get("HOME", "/nonexistent"))
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local/share")
    for versions in (Path(environment.get("PYENV_ROOT") or home / ".pyenv") / "versions", data / "uv/python"):
        if versions.is_dir():
            yield from (each / "bin/python3" for each in sorted(versions.iterdir()))
    yield Path(sys.executable)


def ask_python(program: Path) -> tuple[str, tuple[int, int, int]] | None:
    """Return a Python's short name (`3.13`) and version. None if it is no Python, or too old."""
    try:
        done = subprocess.run(
            [program, "-I", "-c", _WHO], capture_output=True, text=True, timeout=30, check=False
        )
        name, version, _, free_threaded = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    major, minor, patch = version
    if (major, minor) < (3, OLDEST_PYTHON):
        return None
    label = f"{'' if name == 'cpython' else name}{major}.{minor}{'t' if free_threaded else ''}"
    return label, (major, minor, patch)


def find_pythons(candidates: Iterable[Path]) -> dict[str, Path]:
    """Return the newest Python for each minor version, oldest minor version first."""
    best: dict[str, tuple[tuple[int, int, int], Path]] = {}
    for program in dict.fromkeys(each for each in candidates if each.is_file()):
        found = ask_python(program)
        if found is not None and (found[0] not in best or best[found[0]][0] < found[1]):
            best[found[0]] = found[1], program
    ordered = sorted(best.items(), key=lambda item: (item[1][0][:2], item[0]))
    return {name: program for name, (_, program) in ordered}


def missing_pythons(found: Iterable[str]) -> list[str]:
    """Return the versions in `KNOWN_PYTHONS` that were not found."""
    return [f"3.{minor}" for minor in KNOWN_PYTHONS if f"3.{minor}" not in set(found)]


# Tests


def modules_needed(tests: Path, file: Path) -> set[str]:
    """Return the top-level modules that a test file imports, itself or through `tests.support`."""
    needed: set[str] = set()
    waiting, seen = [file], {file}
    while waiting:
        for name in _names(waiting.pop()):
            needed.add(name.partition(".")[0])
            if name.partition(".")[0] == tests.name:
                inner = tests.parent / f"{name.replace('.', '/')}.py"
                if inner.is_file() and inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)
    return needed


def _names(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports, patches, or imports in programs that it writes."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _IN_TEXT.findall(node.value)
            if _DOTTED.fullmatch(node.value):
                yield node.value


def left_out(root: Path, part: str, absent: Iterable[str]) -> dict[str, list[str]]:
    """Map each module that is not installed to the test files of a part that need it."""
    missing, without = set(absent), dict[str, list[str]]()
    runs, never = PARTS[part]
    for place in runs:
        files = [root / place] if place.endswith(".py") else sorted((root / place).rglob("test_*.py"))
        for file in files:
            name = file.relative_to(root).as_posix()
            if _is_below(name, never) or not file.is_file():
                continue
            needs = (
                missing if _is_below(name, RUNS_EXAMPLES) else missing & modules_needed(root / "tests", file)
            )
            for module in sorted(needs)[:1]:
                without.setdefault(module, []).append(name)
    return without


def _is_below(name: str, places: Sequence[str]) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in places)


def pytest_arguments(part: str, without: Mapping[str, Sequence[str]], workers: int) -> list[str]:
    runs, never = PARTS[part]
    ignored = [*never, *(name for names in without.values() for name in names)]
    options = ["-q", "-p", "no:cacheprovider", "-n", str(workers), "--dist", "worksteal"]
    return [*options, *runs, *(f"--ignore={place}" for place in ignored)]


def node_id(name: str) -> str:
    """Return the pytest node id of a test in a JUnit report: `tests.a::b` becomes `tests/a.py::b`."""
    module, colons, test = name.partition("::")
    return f"{module.replace('.', '/')}.py{colons}{test}"


def registry_versions(output: str) -> list[str]:
    """Return the versions in the output of `pip index versions`."""
    found = re.search(r"^Available versions: (.+)$", output, re.MULTILINE)
    return [] if found is None else [each.strip() for each in found[1].split(",")]

"""`.skillwireignore`: patterns match as in git, and no pattern is slow."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillwire.sources import Rule, Severity
from skillwire.sources.folder.ignore_patterns import PathPatterns
from tests.support.scans import faults, scan, uris
from tests.support.skills import write, write_skill

_FOLDERS = ("a", "a/x", "a/x/b", "x", "x/a", "x/ab", "x/y", "x/y/z", "b.d")
_NAMES = ("b", "ab", "aab", "a.b", "[a", "a b", "c/d/e")
_TREE = {
    **{f"{folder}/{name}": False for folder in ("p", *_FOLDERS) for name in _NAMES},
    **dict.fromkeys(("pp", "bb", "aab", "a.b", "[a", "a b"), False),
    **{f"{folder}/c/d": True for folder in _FOLDERS},
    **{f"{folder}/c": True for folder in _FOLDERS},
    **dict.fromkeys(_FOLDERS, True),
}
_PIECES = (
    "a",
    "b",
    "x",
    "*",
    "**",
    "***",
    "?",
    "/",
    "/",
    "/**/",
    ".",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-b]",
    "\\a",
)
_ODD_PIECES = (
    "\\*",
    "\\[",
    "[[:alpha:]]",
    "[]a]",
    "[a",
    "[[:x:]]",
    "[b-]",
    "[[:]",
    "[\\]a]",
    " ",
    "\\ ",
    "#",
    "!",
)
_PATTERNS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "!", "/", "**/", "!/"]),
    st.lists(st.sampled_from(_PIECES) | st.sampled_from(_ODD_PIECES), min_size=1, max_size=6).map("".join),
    st.sampled_from(["", "", "/", "/**", "/*", "  "]),
)
_GIT_DIFFERS = re.compile(r"[^/*!]\*{2,}(?:/|$)")
"""Where git does not follow its documentation: behind a literal beginning, `**` is not a plain star to it."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("oracle")
    for path, is_folder in _TREE.items():
        (root / path if is_folder else (root / path).parent).mkdir(parents=True, exist_ok=True)
    for path, is_folder in _TREE.items():
        if not is_folder:
            (root / path).touch()
    _git(root, "init", "--quiet")
    return root


def _git(root: Path, *arguments: str, given: str = "", allowed: tuple[int, ...] = (0,)) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode in allowed, done.stderr
    return done.stdout


def _ignored_by_git(root: Path, lines: list[str]) -> set[str]:
    (root / ".git/info/exclude").write_text("\n".join(lines))
    paths = "\0".join(_TREE)
    return set(_git(root, "check-ignore", "-z", "--stdin", given=paths, allowed=(0, 1)).split("\0")) - {""}


def _ignored(lines: list[str]) -> set[str]:
    patterns = PathPatterns(lines)
    return {path for path, is_folder in _TREE.items() if patterns.ignores(path, folder=is_folder)}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(_PATTERNS.filter(lambda line: not _GIT_DIFFERS.search(line)), min_size=1, max_size=4))
def test_patterns_match_like_git(repository: Path, lines: list[str]) -> None:
    assert _ignored(lines) == _ignored_by_git(repository, lines)


@pytest.mark.parametrize(
    ("pattern", "left_out", "kept"),
    [
        ("a**b", ("ab", "axxb", "x/a.b"), ("a/b", "b")),
        ("/a**/b", ("a/b", "ax/b"), ("a/x/b", "ab")),
        ("ü?", ("üa", "x/üü"), ("ü", "u")),
        ("[à-ü]", ("é", "x/é"), ("e",)),
        ("\\#a", ("#a",), ("a",)),
        ("a\\ ", ("a ",), ("a",)),
        ("a/**/b", ("a/b", "a/x/b", "a/x/y/b", "a/b/c"), ("ab", "x/a/b")),
        ("a/**", ("a/b", "a/b/c"), ("a", "b/a/c")),
        ("**", ("a", "a/b"), ()),
        ("[a", (), ("[a", "a")),
        ("a" * 300, ("a" * 300,), ("a" * 299,)),
    ],
)
def test_pattern_matches_whole_names(pattern: str, left_out: tuple[str, ...], kept: tuple[str, ...]) -> None:
    patterns = PathPatterns([pattern])
    assert {path for path in (*left_out, *kept) if patterns.ignores(path, folder=False)} == set(left_out)


_HOSTILE = {
    "double stars in a name": "**a**a**a**a**ab",
    "double stars in a name, often": "**a" * 1300 + "b",
    "stars": "*a" * 2000 + "b",
    "many patterns with stars": "\n".join("*a" * 15 + f"{number}b" for number in range(450)),
    "double stars between slashes": "**/a/" * 800 + "b",
    "double stars in a folder": "/**a**a**a**a**ab/**/**/" + "**/a/" * 400 + "b/**",
    "stars and brackets": "*[a-c]*[!b]*[[:alpha:]]" * 50 + "b",
    "question marks": "*?" * 2000 + "b",
    "escapes": "**\\a" * 1000 + "b",
    "unclosed brackets": "*[" * 2000,
    "brackets in brackets": "[" + "[:" * 2040 + "]",
    "many classes": "\n".join(
        "[" + chr(0x4E00 + number) + "-" + chr(0x9000 + number) + "]*b" for number in range(450)
    ),
    "exceptions": "\n".join("!**a**a**a**a**ab**" + str(number) for number in range(400)),
}


@pytest.mark.parametrize("patterns", _HOSTILE.values(), ids=_HOSTILE.keys())
def test_no_pattern_is_slow(tmp_path: Path, patterns: str) -> None:
    write(tmp_path, {".skillwireignore": patterns})
    deep = "/".join(["a"] * 30)
    write_skill(tmp_path, "one", {"a" * 220: "x", f"{deep}/{'a' * 220}": "x", "\u4eba" * 73: "x"})
    for number in range(300):
        (tmp_path / "one" / f"{number}{'a' * 200}").touch()
    command = [sys.executable, "-m", "skillwire", "list", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "one" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "patterns",
    [
        "x\n" * 501,
        "a" * 300_000,
        "a" * 4097,
        "a\\",
        "\n".join(f"*{'a' * 40}*{number}" for number in range(450)),
    ],
    ids=["too many", "too large", "a long pattern", "half of an escape", "too many wildcards"],
)
def test_ignore_file_over_limits_hides_the_folder(tmp_path: Path, patterns: str) -> None:
    write(tmp_path, {".skillwireignore": patterns})
    write_skill(tmp_path, "one")
    found = scan(tmp_path)
    assert uris(found) == []
    assert faults(found) == {(".skillwireignore", Rule.IGNORE_FILE, Severity.ERROR)}


def test_ignore_file_without_patterns_has_no_effect(tmp_path: Path) -> None:
    write(tmp_path, {".skillwireignore": "\ufeff# nothing\n\n   \n/\n"})
    write_skill(tmp_path, "one")
    assert uris(scan(tmp_path)) == ["one"]

"""A text of a stranger is read in one walk, whatever it leaves open."""

import subprocess
import sys
from pathlib import Path

from skillwire.config.clients.base import BRACES, BRACES_AND_BARE, EDITOR, Variables
from skillwire.safe_text import redact_secrets
from tests.support.skills import skill_md, write

_TOKENS = (
    *("[", "](", "](x", "](x(", "](x(a)", "](x ", "](<", "![", "[a](", "[a]: ", "\n[a]: <", "(", ")", "()"),
    *("`", "``", "`a", "`a`", "`a/b` ", "```\n", "~~~\n", "\n````x", "<!--", "-->", "<a ", "<", ">", "\\"),
    *(
        "-",
        ".",
        "-a",
        "a.",
        "a",
        "_",
        "*",
        "%",
        "%41",
        "/",
        "a/",
        "a/ ",
        "./",
        "references/",
        "references/a.",
    ),
    *("scripts/a.b*", "run `", "\n$ ", "\n./", "\n", "\r\n", " ", "\t", "\n ", "{", "$", "#", "|", "é"),
)
_STARTS = ("", "](x", "`", "```\n", "<!--", "references/")
_LENGTH = 96 * 1024


def _timed(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout


def test_checking_takes_one_walk_over_every_text(tmp_path: Path) -> None:
    for number, token in enumerate(_TOKENS):
        name = f"skill-{number}"
        start = _STARTS[number % len(_STARTS)]
        text = (start + token * (_LENGTH // len(token))).encode()
        write(tmp_path, {f"{name}/SKILL.md": skill_md(name) + text, f"{name}/other.md": text})
    told = _timed([sys.executable, "-m", "skillwire", "check", "."], tmp_path)
    assert "body-length" in told


def test_variables_that_are_never_closed_take_one_walk() -> None:
    for pattern in (BRACES, BRACES_AND_BARE, EDITOR):
        for token in ("${", "${A:-", "${env:"):
            text = token * 100_000
            assert Variables(pattern, {}).expand(text) == text


def test_a_message_is_cut_before_addresses_are_looked_for() -> None:
    for token in ("://", "x://a:b", "://a@", "://a:1/"):
        assert len(redact_secrets(token * 100_000)) < 10_000

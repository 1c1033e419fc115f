"""The exercises at the end of the tutorial: solved, each shows what its hint promises."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.examples.servers import ROOT, SERVERS
from tests.support.peers import PATIENCE

PAGE = (ROOT / "docs/code.md").read_text("utf-8").split("\n## Exercises\n")[1]
LIST, READ, WALK = re.findall(r"```sh\n *(.*?)\n *```", PAGE)
ADDED = 'server.add(Skill("hello-world", HELLO_WORLD))\n'

GOODBYE = """server.add(Skill("goodbye", "---\\nname: goodbye\\ndescription: Says goodbye.\\n---\\n"))
"""
FAQ = """server.add(
    Skill("hello-world", HELLO_WORLD).with_reference("references/faq.md", "text/markdown", "# Asked often")
)
"""


class Exercise:
    """A copy of the examples that somebody works on."""

    def __init__(self, folder: Path) -> None:
        self.servers = folder / "servers"
        shutil.copytree(ROOT / "examples/clients", folder / "clients", ignore=shutil.ignore_patterns("__*"))
        self.servers.mkdir()
        self.text = (SERVERS / "hello_world.py").read_text("utf-8")
        assert self.text.count(ADDED) == 1

    def solved(self, added: str) -> None:
        """Write this in place of the line that adds the skill."""
        (self.servers / "hello_world.py").write_text(self.text.replace(ADDED, added), "utf-8")

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the page, as it stands there."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["sh", "-c", command],
            cwd=self.servers,
            env={**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )


@pytest.fixture
def exercise(tmp_path: Path) -> Exercise:
    return Exercise(tmp_path)


def test_a_second_skill_is_listed_behind_the_first(exercise: Exercise) -> None:
    exercise.solved(ADDED + GOODBYE)
    assert exercise.run(LIST).stdout.splitlines()[:2] == [
        "skill://hello-world/SKILL.md",
        "skill://goodbye/SKILL.md",
    ]
    exercise.solved(ADDED + GOODBYE.replace("name: goodbye", "name: bye"))
    assert "InvalidValueError" in exercise.run(LIST).stderr


def test_a_reference_is_readable_and_the_list_is_as_it_was(exercise: Exercise) -> None:
    exercise.solved(ADDED)
    before = exercise.run(LIST).stdout
    assert before.startswith("skill://hello-world/SKILL.md\n")
    assert exercise.run(READ).returncode != 0
    exercise.solved(FAQ)
    assert exercise.run(LIST).stdout == before
    assert exercise.run(READ).stdout == "# Asked often\n"


def test_a_path_moves_the_skill_and_must_end_in_its_name(exercise: Exercise) -> None:
    moved = 'server.add(Skill("hello-world", HELLO_WORLD).with_path("acme/welcome/hello-world"))\n'
    exercise.solved(moved)
    listed = exercise.run(LIST).stdout.splitlines()
    assert listed[0] == "skill://acme/welcome/hello-world/SKILL.md"
    assert "skill://hello-world/SKILL.md" not in listed
    exercise.solved(moved.replace("/hello-world", ""))
    assert "write it as in `team/topic/hello-world`" in exercise.run(LIST).stderr


def test_a_dual_surface_is_walked_and_counted_in_bytes(exercise: Exercise) -> None:
    dual = ADDED.replace("HELLO_WORLD)", 'HELLO_WORLD), prompt="start_hello"')
    exercise.solved(dual)
    assert exercise.run(WALK).stdout == "172 start_hello\n"
    exercise.text = exercise.text.replace("warmly", "wärmly")
    exercise.solved(dual)
    assert exercise.run(WALK).stdout == "173 start_hello\n"

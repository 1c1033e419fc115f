"""The exercises at the end of the tutorial: solved, each shows what its hint promises."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.examples.servers import ROOT, SERVERS
from tests.support.peers import PATIENCE

PAGE = (ROOT / "docs/code.md").read_text("utf-8").split("\n## Exercises\n")[1]
LIST, READ, _, VERIFY = re.findall(r"`(skillwire [^`]+)`", PAGE)
ADDED = 'server.add(Skill("hello-world", HELLO_WORLD))\n'

GOODBYE = """server.add(Skill("goodbye", "---\\nname: goodbye\\ndescription: Says goodbye.\\n---\\n"))
"""
FAQ = """server.add(
    Skill("hello-world", HELLO_WORLD).with_reference("references/faq.md", "text/markdown", "# Asked often")
)
"""


class Exercise:
    """A copy of the example that a reader changes."""

    def __init__(self, folder: Path) -> None:
        self.servers = folder
        self.text = (SERVERS / "hello_world.py").read_text("utf-8")
        assert self.text.count(ADDED) == 1

    def solved(self, added: str) -> None:
        """Write this in place of the line that adds the skill."""
        (self.servers / "hello_world.py").write_text(self.text.replace(ADDED, added), "utf-8")

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the page verbatim."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["sh", "-c", command],
            cwd=self.servers,
            env={
                **os.environ,
                "PATH": path,
                "PYTHONDONTWRITEBYTECODE": "1",
                "SKILLWIRE_STATE_DIR": str(self.servers / "state"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )


def listed(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the URIs that a command has listed."""
    return [line.split("\t")[1] for line in done.stdout.splitlines()]


@pytest.fixture
def exercise(tmp_path: Path) -> Exercise:
    return Exercise(tmp_path)


def test_a_second_skill_is_listed_behind_the_first(exercise: Exercise) -> None:
    exercise.solved(ADDED + GOODBYE)
    assert listed(exercise.run(LIST)) == ["skill://hello-world/SKILL.md", "skill://goodbye/SKILL.md"]
    exercise.solved(ADDED + GOODBYE.replace("name: goodbye", "name: bye"))
    assert "name: goodbye" in exercise.run(LIST).stderr


def test_a_reference_is_readable_and_the_list_is_unchanged(exercise: Exercise) -> None:
    exercise.solved(ADDED)
    before = listed(exercise.run(LIST))
    assert before == ["skill://hello-world/SKILL.md"]
    assert exercise.run(READ).returncode != 0
    exercise.solved(FAQ)
    assert listed(exercise.run(LIST)) == before
    assert exercise.run(READ).stdout.startswith("# Asked often")


def test_a_path_of_a_skill_must_end_in_its_name(exercise: Exercise) -> None:
    moved = 'server.add(Skill("hello-world", HELLO_WORLD).with_path("acme/welcome/hello-world"))\n'
    exercise.solved(moved)
    assert listed(exercise.run(LIST)) == ["skill://acme/welcome/hello-world/SKILL.md"]
    exercise.solved(moved.replace("/hello-world", ""))
    assert "team/topic/hello-world" in exercise.run(LIST).stderr


def test_a_prompt_has_the_bytes_of_its_resources(exercise: Exercise) -> None:
    exercise.solved(ADDED.replace("HELLO_WORLD)", 'HELLO_WORLD), prompt="start_hello"'))
    expected = "start_hello: 172 bytes of the prompt equal 1 resource"
    assert f"`{expected}`" in PAGE
    assert expected in exercise.run(VERIFY).stdout.splitlines()

"""A process that approves and caches one skill after the other, and says what it is at.

`python -m tests.support.state_writer FOLDER LABEL FIRST END` says, for each number, `approving`, `approved`
and `kept`, each as soon as it is true. Whoever started it may end it at any moment.
"""

import sys
from pathlib import Path

from skillwire import State
from skillwire.protocol.claims import FileClaim, SkillClaim
from tests.support.skill_claims import file_claim, skill_claim


def content_number(number: int) -> bytes:
    return f"{number}\n".encode() * 500


def skill_number(number: int) -> SkillClaim:
    return skill_claim({"SKILL.md": content_number(number)}, name=f"skill-{number}")


def file_number(number: int) -> FileClaim:
    return file_claim(f"skill://skill-{number}/SKILL.md", content_number(number))


def say(word: str, number: int) -> None:
    sys.stdout.write(f"{word} {number}\n")
    sys.stdout.flush()


def main(folder: str, label: str, first: str, end: str) -> None:
    with State.open(Path(folder)) as state:
        state.bind(label, f"https://{label}.example/mcp")
        for number in range(int(first), int(end)):
            say("approving", number)
            state.approvals.approve(label, skill_number(number))
            say("approved", number)
            assert state.cache.put(label, file_number(number), content_number(number))
            say("kept", number)


if __name__ == "__main__":
    main(*sys.argv[1:])

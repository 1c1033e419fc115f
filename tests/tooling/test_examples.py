"""The bundled skills: what they promise is there, and what they tell a reader to run works."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SKILLS = ROOT / "examples/skills"
REFUNDS = SKILLS / "acme/billing/refunds"
DOCUMENTS = sorted(SKILLS.rglob("*.md"))


def refund(*arguments: str) -> dict[str, str]:
    command = [sys.executable, REFUNDS / "scripts/refund_amount.py", *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=30).stdout)


def test_hello_world_is_the_file_whose_digest_is_published() -> None:
    content = (SKILLS / "hello-world/SKILL.md").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert (len(content), digest[:8], digest[-4:]) == (172, "a5777e88", "d43d")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(SKILLS).as_posix())
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", document.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)\)", text):  # what stands in an example is none of ours
        assert "://" in target or (document.parent / target).is_file(), target


def test_refunds_example_computes_documented_amount() -> None:
    text = (REFUNDS / "SKILL.md").read_text("utf-8")
    command = re.search(r"refund_amount\.py (.*?)```", text, re.DOTALL)
    assert command
    answer = refund(*command[1].replace("\\\n", " ").split())
    assert answer == {"refund": "220.27", "rule": "335 of 365 days unused", "approval": "lead"}
    assert answer["refund"] in text.split("## Example")[1]


@pytest.mark.parametrize(
    ("reason", "asked", "more", "amount", "approval"),
    [
        ("duplicate", "2027-01-01", [], "3000.00", "lead"),
        ("first-charge", "2026-01-15", [], "3000.00", "finance"),
        ("first-charge", "2026-01-16", [], "0.00", "none"),
        ("renewal", "2026-01-08", [], "3000.00", "finance"),
        ("renewal", "2026-01-08", ["--used"], "0.00", "none"),
        ("duplicate", "2026-01-02", ["--refunded", "2900"], "100.00", "agent"),
        ("duplicate", "2026-01-02", ["--refunded", "2900", "--repeat"], "100.00", "lead"),
        ("annual", "2026-03-02", ["--period-end", "2027-01-01"], "2506.85", "finance"),
        ("annual", "2026-03-03", ["--period-end", "2027-01-01"], "0.00", "none"),
    ],
)
def test_the_calculator_follows_the_policy(
    reason: str, asked: str, more: list[str], amount: str, approval: str
) -> None:
    facts = ["--reason", reason, "--paid", "3000", "--charged", "2026-01-01", "--asked", asked, *more]
    answer = refund(*facts)
    assert (answer["refund"], answer["approval"]) == (amount, approval)

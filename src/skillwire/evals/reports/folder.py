"""Write a report into a folder, in all forms."""

import re
from pathlib import Path

from skillwire.core.json_text import json_bytes
from skillwire.core.output_folder import SiteFolder
from skillwire.evals.report import EvalReport
from skillwire.evals.reports.junit import render_junit
from skillwire.evals.reports.page import render_page
from skillwire.evals.reports.skill_creator import benchmark, eval_metadata, grading

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


def write_folder(report: EvalReport, out: Path) -> None:
    """Write `index.html`, `report.json`, `junit.xml`, and a folder for each skill below `skill-creator`.

    Files of earlier reports in the folder are replaced or removed. Raises `UsageError`.
    """
    files: dict[str, bytes] = {
        "index.html": render_page(report).encode(),
        "report.json": json_bytes(report.to_json(), indented=True),
        "junit.xml": render_junit(report),
    }
    names = set[str]()
    for skill, results in report.by_skill.items():
        base = f"skill-creator/{_folder_name(skill, names)}"
        files[f"{base}/benchmark.json"] = json_bytes(benchmark(skill, results), indented=True)
        for number, each in enumerate(results, 1):
            run = f"{base}/eval-{number}"
            files[f"{run}/eval_metadata.json"] = json_bytes(eval_metadata(each, number), indented=True)
            files[f"{run}/with_skill/run-1/grading.json"] = json_bytes(grading(each), indented=True)
    folder = SiteFolder(out, "eval")
    folder.plan(files)
    for path, content in files.items():
        folder.write(path, content)
    folder.finish()


def _folder_name(skill: str, taken: set[str]) -> str:
    """Return a name for the folder of a skill that no other skill has."""
    name = base = _NOT_PLAIN.sub("-", skill)[:80].strip("-") or "skill"
    number = 2
    while name.lower() in taken:
        name, number = f"{base}-{number}", number + 1
    taken.add(name.lower())
    return name

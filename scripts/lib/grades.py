"""What our servers and our client must pass, and how to read the tools' reports. Starts no process."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NEWEST = "2026-07-28"
OLDER = "2025-11-25"
SKILLS = ("sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest")
SKILLS_CHECKS = 45  # in these three together; fewer checks are a failure

NO_PREFETCH = "sep-2640-client-no-prefetch"
# The problems that our client must report. The suite sees only that it stopped, not why.
CLIENT_SKILLS = {
    NO_PREFETCH: set[str](),
    "sep-2640-client-verify-digest": {"digest"},
    "sep-2640-client-verify-size": {"size", "digest"},
    "sep-2640-client-verify-frontmatter": {"frontmatter"},
}

# 2026-07-28 introduced ttlMs and cacheScope. For older versions the suite skips them.
CACHE_CHECKS = {
    "sep-2640-skills-list-cache-attributes": "SKIPPED",
    "sep-2640-skills-get-cache-attributes": "SKIPPED",
}


@dataclass(frozen=True, slots=True)
class Exam:
    """One scenario on one protocol version. `excused` maps checks that cannot succeed to their status."""

    scenario: str
    protocol: str
    excused: Mapping[str, str] = field(default_factory=dict[str, str])


EXAMS = (
    *(Exam(scenario, NEWEST) for scenario in SKILLS),
    Exam("sep-2640-skills-directory", OLDER),
    Exam("sep-2640-skills-enumeration", OLDER, excused=CACHE_CHECKS),
    Exam("sep-2640-skills-manifest", OLDER),
    Exam("dns-rebinding-protection", NEWEST),
    Exam("dns-rebinding-protection", OLDER),
    Exam("resources-list", NEWEST),
    Exam("resources-list", OLDER),
    Exam("sep-2164-resource-not-found", NEWEST),
    Exam("tools-list", NEWEST),
    Exam("tools-list", OLDER),
    Exam("prompts-list", NEWEST),
    Exam("prompts-list", OLDER),
    Exam("caching", NEWEST),
    Exam("server-initialize", OLDER),
    Exam("server-session-lifecycle", OLDER),
    Exam("ping", OLDER),
    Exam("server-sse-multiple-streams", NEWEST),
    Exam("server-sse-multiple-streams", OLDER),
)


CLIENT_EXAMS = tuple(Exam(scenario, protocol) for protocol in (NEWEST, OLDER) for scenario in CLIENT_SKILLS)


@dataclass(frozen=True, slots=True)
class Grade:
    """How many checks were made and passed, and every complaint."""

    passed: int
    asked: int
    complaints: Sequence[str] = ()


def grade_checks(checks: Iterable[Mapping[str, Any]], excused: Mapping[str, str]) -> Grade:
    """Grade the suite's checks. Only SUCCESS passes. An excused check must have its excused status."""
    counted = [check for check in checks if check["status"] != "INFO"]
    asked = [check for check in counted if check["id"] not in excused]
    bad = [check for check in asked if check["status"] != "SUCCESS"]
    statuses = {check["id"]: check["status"] for check in counted}

    complaints = [
        f"{check['status']} {check['id']}: {check.get('errorMessage') or check.get('description', '')}"
        for check in bad
    ]
    for name, expected in excused.items():
        if (found := statuses.get(name, "no result")) != expected:
            complaints.append(
                f"{name}: {found}, but excused for {expected}; correct the excuse in scripts/lib/grades.py"
            )
    if not asked:
        complaints.append("no check was made")
    return Grade(len(asked) - len(bad), len(asked), complaints)


def grade_client(exam: Exam, checks: Iterable[Mapping[str, Any]], output: str) -> Grade:
    """Grade the suite's checks of our client, and its output: one line `found: RULE` for each problem."""
    result = grade_checks(checks, exam.excused)
    lines = output.splitlines()
    found = {line.removeprefix("found: ") for line in lines if line.startswith("found: ")}
    complaints = list(result.complaints)
    if "listed: 1" not in lines:
        complaints.append("the client did not list the one skill")
    if found != (expected := CLIENT_SKILLS[exam.scenario]):
        complaints.append(f"the client reported {sorted(found)}; expected {sorted(expected)}")
    return Grade(result.passed if complaints == result.complaints else 0, result.asked, complaints)


def unknown_scenarios(listed: str) -> Grade:
    """Check that `CLIENT_SKILLS` has every client scenario of skills; `listed` is the suite's own list."""
    names = set(re.findall(r"\bsep-2640-[\w-]+", listed))
    complaints = [f"{name}: is missing in CLIENT_SKILLS" for name in sorted(names - CLIENT_SKILLS.keys())]
    complaints += [f"{name}: the suite has no such scenario" for name in sorted(CLIENT_SKILLS.keys() - names)]
    return Grade(len(names & CLIENT_SKILLS.keys()), len(names), complaints)


def grade_reports(reports: Sequence[Mapping[str, Any]], expected: Iterable[str]) -> Grade:
    """Grade the Inspector's reports, one per skill. It must have verified every `expected` file."""
    files = [file for report in reports for file in report["files"]]
    verified = verified_files(reports)
    complaints = [
        f"{report['uri']}: {report['outcome']}" for report in reports if report["outcome"] != "verified"
    ]
    complaints += [
        f"{report['uri']}: {finding['severity']} {finding['code']}: {finding['message']}"
        for report in reports
        for finding in (*report["conformance"], *report["frontmatter"])
    ]
    complaints += [
        f"{file['uri']}: {file['status']} {file.get('reason', '')}"
        for file in files
        if file["status"] != "verified"
    ]
    complaints += [f"{uri}: was not verified" for uri in sorted(set(expected) - verified)]
    if not files:
        complaints.append("no file was verified")
    return Grade(len(verified), len({file["uri"] for file in files}), complaints)


def verified_files(reports: Iterable[Mapping[str, Any]]) -> set[str]:
    return {file["uri"] for report in reports for file in report["files"] if file["status"] == "verified"}


def total(graded: Iterable[tuple[Exam, Grade]], protocol: str) -> Grade:
    """Add up the skills scenarios of one protocol version: `SKILLS_CHECKS` minus the excused checks."""
    mine = [(exam, each) for exam, each in graded if exam.protocol == protocol and exam.scenario in SKILLS]
    passed, asked = sum(each.passed for _, each in mine), sum(each.asked for _, each in mine)
    due = SKILLS_CHECKS - sum(len(exam.excused) for exam, _ in mine)
    return Grade(passed, asked, [] if asked == due else [f"the suite made {asked} checks; expected {due}"])

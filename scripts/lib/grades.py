"""What is demanded of our servers and our client, and how the judges' words are read. Starts no process."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NEWEST = "2026-07-28"
OLDER = "2025-11-25"
SKILLS = ("sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest")
SKILLS_CHECKS = 45  # in these three; should the suite ask fewer, its silence is not success

NO_PREFETCH = "sep-2640-client-no-prefetch"
# What our client must say it found: the suite sees only that it stopped, and not for which reason.
CLIENT_SKILLS = {
    NO_PREFETCH: set[str](),
    "sep-2640-client-verify-digest": {"digest"},
    "sep-2640-client-verify-size": {"size", "digest"},
    "sep-2640-client-verify-frontmatter": {"frontmatter"},
}

# 2026-07-28 introduced ttlMs and cacheScope; before it, the suite itself skips them.
CACHE_CHECKS = {
    "sep-2640-skills-list-cache-attributes": "SKIPPED",
    "sep-2640-skills-get-cache-attributes": "SKIPPED",
}


@dataclass(frozen=True, slots=True)
class Exam:
    """One scenario on one protocol version. `excused`: checks that cannot succeed, with their status."""

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
    """How many of a judge's checks passed, and every complaint."""

    passed: int
    asked: int
    complaints: Sequence[str] = ()


def grade_checks(checks: Iterable[Mapping[str, Any]], excused: Mapping[str, str]) -> Grade:
    """Grade the suite's checks. Only SUCCESS counts; an excuse covers what it names, while it is needed."""
    counted = [check for check in checks if check["status"] != "INFO"]
    asked = [check for check in counted if check["id"] not in excused]
    bad = [check for check in asked if check["status"] != "SUCCESS"]
    said = {check["id"]: check["status"] for check in counted}

    complaints = [
        f"{check['status']} {check['id']}: {check.get('errorMessage') or check.get('description', '')}"
        for check in bad
    ]
    for name, expected in excused.items():
        if (found := said.get(name, "nothing")) != expected:
            complaints.append(
                f"{name}: {found}, but excused for {expected}; mend the excuse in scripts/lib/grades.py"
            )
    if not asked:
        complaints.append("no check was made")
    return Grade(len(asked) - len(bad), len(asked), complaints)


def grade_client(exam: Exam, checks: Iterable[Mapping[str, Any]], said: str) -> Grade:
    """Grade the suite's checks of our client, and what it said itself: `found: ` and a fault in each line."""
    result = grade_checks(checks, exam.excused)
    lines = said.splitlines()
    found = {line.removeprefix("found: ") for line in lines if line.startswith("found: ")}
    complaints = list(result.complaints)
    if "listed: 1" not in lines:
        complaints.append("the client did not list the one skill")
    if found != (expected := CLIENT_SKILLS[exam.scenario]):
        complaints.append(f"the client found {sorted(found)}, and there was {sorted(expected)}")
    return Grade(result.passed if complaints == result.complaints else 0, result.asked, complaints)


def unknown_scenarios(listed: str) -> Grade:
    """Grade whether every scenario for clients of skills is demanded; `listed` is the suite's own list."""
    names = set(re.findall(r"\bsep-2640-[\w-]+", listed))
    complaints = [f"{name}: is not demanded" for name in sorted(names - CLIENT_SKILLS.keys())]
    complaints += [f"{name}: the suite has no such scenario" for name in sorted(CLIENT_SKILLS.keys() - names)]
    return Grade(len(names & CLIENT_SKILLS.keys()), len(names), complaints)


def grade_reports(reports: Sequence[Mapping[str, Any]], expected: Iterable[str]) -> Grade:
    """Grade the Inspector's reports, one a skill. Every `expected` file must be among those it verified."""
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
    """Add up the skills scenarios of one protocol version: `SKILLS_CHECKS` in all, less what is excused."""
    mine = [(exam, each) for exam, each in graded if exam.protocol == protocol and exam.scenario in SKILLS]
    passed, asked = sum(each.passed for _, each in mine), sum(each.asked for _, each in mine)
    due = SKILLS_CHECKS - sum(len(exam.excused) for exam, _ in mine)
    return Grade(passed, asked, [] if asked == due else [f"the suite made {asked} checks, but {due} are due"])

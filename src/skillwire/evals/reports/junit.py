"""A report as JUnit XML, which CI systems show: a suite for each skill, and a test for each case."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from skillwire.evals.levels.routing import CLAIM
from skillwire.evals.report import EvalReport
from skillwire.evals.reports.wording import explain, shorten
from skillwire.safe_text import escape_invisible


def render_junit(report: EvalReport) -> bytes:
    """Return the report as an XML document. Problems with case files are errors."""
    tests, failures = len(report.results), len(report.results) - report.passed
    root = Element("testsuites", name="skillwire eval", tests=str(tests + len(report.problems)))
    root.set("failures", str(failures))
    root.set("errors", str(len(report.problems)))
    for skill, results in report.by_skill.items():
        failed = sum(not each.passed for each in results)
        counts = {"tests": str(len(results)), "failures": str(failed), "errors": "0", "skipped": "0"}
        suite = SubElement(root, "testsuite", {"name": escape_invisible(skill), **counts})
        properties = SubElement(suite, "properties")
        SubElement(properties, "property", name="claim", value=CLAIM)
        for each in results:
            name = escape_invisible(f"{each.case.id}: {shorten(each.case.query)}")
            test = SubElement(suite, "testcase", classname=escape_invisible(skill), name=name, time="0")
            if not each.passed:
                should = "should" if each.case.should_trigger else "should not"
                message = escape_invisible(f"the skill {should} be used, but {each.evidence}")
                failure = SubElement(test, "failure", message=message, type=each.verdict)
                failure.text = escape_invisible(explain(each)) or None
    if report.problems:
        counts = {"tests": str(len(report.problems)), "errors": str(len(report.problems))}
        suite = SubElement(
            root, "testsuite", {"name": "eval cases", "failures": "0", "skipped": "0", **counts}
        )
        for problem in report.problems:
            path = escape_invisible(problem.path)
            test = SubElement(suite, "testcase", classname=path, name=problem.rule, time="0")
            SubElement(test, "error", message=escape_invisible(str(problem)), type=problem.rule)
    indent(root)
    return tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"

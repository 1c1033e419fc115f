"""A problem as one line of text: safe to show, whoever wrote the words in it."""

from skillwire import Problem
from skillwire.core.problem import SERVER_RULES
from skillwire.protocol.findings import Findings, server_problem
from skillwire.sources import Rule, Severity


def test_problem_text_has_path_line_field_and_message() -> None:
    problem = Problem("my skill/SKILL.md", Rule.NAME_FORMAT, Severity.ERROR, "no", field="name", line=2)
    assert str(problem) == "my skill/SKILL.md:2: name: no"


def test_server_text_is_quoted_in_problems() -> None:
    problem = server_problem("skill://a: all is well", Rule.ENTRY_URI, "no\x1b[2J")
    assert str(problem) == "`skill://a: all is well`: no\\x1b[2J"


def test_problem_of_one_of_several_servers_starts_with_its_label() -> None:
    assert str(Problem("", Rule.TIMEOUT, Severity.ERROR, "no", label="acme")) == "`acme`: no"


def test_server_problem_is_a_warning_only_if_skills_are_usable() -> None:
    warnings = {rule for rule in SERVER_RULES if server_problem("x", rule, "no").severity is Severity.WARNING}
    assert warnings == {Rule.OLD_DRAFT, Rule.TEMPLATE, Rule.ENTRY_NONCONFORMING}


def test_findings_above_the_limit_are_counted() -> None:
    found = Findings()
    found.add(*[server_problem("x", Rule.DIGEST, "no")] * 1001)
    assert (len(found.kept), found.more, found.rules) == (1000, 1, {Rule.DIGEST})

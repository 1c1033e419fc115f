"""Which rules `check` reports, and with which severity."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.config.file import ConfigFile
from skillwire.config.rule_selection import (
    ALWAYS_REPORTED,
    CheckSettings,
    RuleSelection,
    parse_selectors,
    parse_severities,
)
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import UsageError

RULES = st.sampled_from(list(Rule))
SELECTORS = st.one_of(
    st.just("all"),
    RULES.map(lambda rule: rule.value),
    RULES.map(lambda rule: rule.value.split("-")[0]),
)
PROBLEMS = st.lists(
    st.builds(Problem, st.just("a/SKILL.md"), RULES, st.sampled_from(list(Severity)), st.just("x")),
    max_size=20,
)


def problem(rule: Rule, severity: Severity = Severity.WARNING) -> Problem:
    return Problem("a/SKILL.md", rule, severity, "wrong")


def reported(rules: RuleSelection) -> set[str]:
    return {rule.value for rule in Rule if rules.reports(rule) and rule not in ALWAYS_REPORTED}


def test_the_first_words_of_a_rule_select_a_group() -> None:
    assert reported(RuleSelection(select=("link",))) == {
        "link-missing",
        "link-case",
        "link-outside",
        "link-loop",
    }
    assert reported(RuleSelection(select=("name-folder",))) == {"name-folder"}
    assert all(each.startswith("contract-") for each in reported(RuleSelection(select=("contract",))))


def test_selectors_may_have_commas_and_stars() -> None:
    assert parse_selectors(["link-*, NAME,", "link"], "--select") == ("link", "name")


def test_the_selector_with_more_words_decides() -> None:
    rules = RuleSelection().changed(select=["all,name-folder"], ignore=["name"])
    assert "name-folder" in reported(rules)
    assert "name-format" not in reported(rules)
    assert reported(RuleSelection(("name",), ("name",))) == set()


@pytest.mark.parametrize(
    ("word", "near"), [("name-fodler", "name-folder"), ("body-lenght", "body-length"), ("linkk", "link")]
)
def test_an_unknown_rule_is_an_error_with_a_suggestion(word: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_selectors([f"link,{word}"], "--ignore")
    assert str(caught.value) == f"`--ignore`: there is no rule `{word}`"
    assert caught.value.hint == f"did you mean `{near}`?"


def test_a_failed_source_is_always_reported() -> None:
    assert RuleSelection(("name",), ("all",)).reports(Rule.SOURCE_FAILED)
    for option in ({"ignore": ["source-failed"]}, {"severity": ["source-failed=off"]}):
        with pytest.raises(UsageError, match="cannot be turned off"):
            RuleSelection().changed(**option)


def test_a_severity_changes_the_problem_and_off_removes_it() -> None:
    rules = RuleSelection().changed(severity=["body=error, link-missing = off", "name-format=warning"])
    found = rules.apply(
        [
            problem(Rule.BODY_LENGTH),
            problem(Rule.LINK_MISSING),
            problem(Rule.NAME_FORMAT, Severity.ERROR),
            problem(Rule.NAME_SHARED),
        ]
    )
    assert [(each.rule.value, each.severity.value) for each in found] == [
        ("body-length", "error"),
        ("name-format", "warning"),
        ("name-shared", "warning"),
    ]


@pytest.mark.parametrize("pair", ["body-length", "body-length=", "body-length=info", "=error"])
def test_a_wrong_severity_says_what_to_write(pair: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_severities([pair])
    assert "=error" in caught.value.hint or "rule" in caught.value.hint


@given(selectors=st.lists(SELECTORS, min_size=1, max_size=5), problems=PROBLEMS)
def test_selected_and_ignored_problems_are_all_problems(
    selectors: list[str], problems: list[Problem]
) -> None:
    problems = [each for each in problems if each.rule not in ALWAYS_REPORTED]
    selected = RuleSelection(select=tuple(selectors)).apply(problems)
    rest = RuleSelection(ignore=tuple(selectors)).apply(problems)
    rules = {each.rule for each in selected}
    assert rules.isdisjoint(each.rule for each in rest)
    assert [each for each in problems if each in (selected if each.rule in rules else rest)] == problems


# The configuration file


def settings(folder: Path, text: str) -> CheckSettings:
    file = folder / "skillwire.toml"
    file.write_text(text)
    return CheckSettings.read(ConfigFile(file))


def test_a_configuration_file_has_the_same_settings(tmp_path: Path) -> None:
    text = '[check]\nselect = ["name"]\nignore = ["name-shared"]\nbaseline = "old.json"\n'
    found = settings(tmp_path, f'{text}[check.severity]\nname-folder = "error"\n')
    assert reported(found.rules) == reported(RuleSelection(("name",))) - {"name-shared"}
    assert found.rules.severities == {"name-folder": Severity.ERROR}
    assert found.baseline == str(tmp_path / "old.json")
    assert settings(tmp_path, "") == CheckSettings()


def test_options_replace_lists_of_the_file_and_add_severities(tmp_path: Path) -> None:
    text = '[check]\nignore = ["name"]\nseverity = {body = "error"}\n'
    rules = settings(tmp_path, text).rules.changed(ignore=["link"], severity=["body-length=off"])
    assert rules.ignore == ("link",)
    assert rules.severities == {"body": Severity.ERROR, "body-length": None}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("check = 1", "`check` is not a table"),
        ("[check]\nselekt = []", "has no setting `selekt`"),
        ("[check]\nselect = 'name'", "`check.select` is not a list"),
        ("[check]\nignore = [1]", "`check.ignore` is not a list"),
        ("[check]\nignore = ['nam']", "there is no rule `nam`"),
        ("[check]\nseverity = []", "`check.severity` is not a table"),
        ("[check]\nseverity = {body = 'bad'}", "`--severity` does not accept `body=bad`"),
        ("[check]\nbaseline = ''", "`check.baseline` is not a path"),
    ],
)
def test_a_wrong_setting_is_wrong_usage(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match="cannot be used") as caught:
        settings(tmp_path, text)
    assert reason in str(caught.value)
    assert caught.value.hint

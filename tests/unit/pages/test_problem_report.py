"""All pages count the same problems: per skill, per source, per rule and in all."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import FolderSource, Library, Problem
from skillwire.core.problem import Rule, Severity
from skillwire.features.resources import catalog_problems
from skillwire.library.catalog import Catalog
from skillwire.library.compose import compose
from skillwire.pages.problem_report import ProblemReport
from tests.support.skills import skill_md, write, write_skill

EMPTY = compose([])
problems = st.lists(
    st.builds(
        Problem,
        st.sampled_from(["a/SKILL.md", "b/SKILL.md"]),
        st.sampled_from([Rule.NAME_FORMAT, Rule.BODY_LENGTH, Rule.NAME_SHARED]),
        st.sampled_from(Severity),
        st.just("is wrong"),
    ),
    max_size=40,
)


@given(problems, st.integers(0, 50))
def test_a_limited_list_has_some_of_each_group(found: list[Problem], limit: int) -> None:
    report = ProblemReport(EMPTY, found, ["only"])
    shown = report.first(limit)
    assert len(shown) == min(limit, len(found))
    groups = {(each["rule"], each["severity"]) for each in report.groups()}
    assert sum(int(str(each["count"])) for each in report.groups()) == len(found)
    assert report.count(Severity.ERROR) + report.count(Severity.WARNING) == len(found)
    if limit >= len(groups):
        assert {(each["rule"], each["severity"]) for each in shown} == groups


@pytest.fixture
async def catalog(tmp_path: Path) -> Catalog:
    for team in ("red", "blue"):
        write_skill(tmp_path / "one", f"{team}/pdf")
    write(tmp_path / "one", {"wrong/SKILL.md": skill_md("Wrong Name")})
    write(tmp_path / "two", {"nothing/SKILL.md": "---\nname: nothing\n---\n"})
    write_skill(tmp_path / "two", "alone")
    return await Library([FolderSource(tmp_path / "one"), FolderSource(tmp_path / "two")]).load()


@pytest.mark.anyio
async def test_sources_and_skills_add_up_to_the_total(catalog: Catalog) -> None:
    report = ProblemReport(catalog, catalog_problems(catalog), ["one", "two"])
    for severity in Severity:
        assert report.count(severity) == sum(report.count(severity, label) for label in ("one", "two"))
    of_skills = [row for entry in catalog.entries.values() for row in report.of_skill(entry)]
    assert {str(row["rule"]) for row in of_skills} == {"name-shared"}
    assert [row["source"] for row in report.rows if row["rule"] == "description-missing"] == ["two"]
    assert all(row["uri"] in catalog.entries for row in of_skills)

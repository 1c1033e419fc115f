"""Level 1: the ranks are those of the search for models, and the report explains what did not pass."""

import json
import random
import string
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import FolderSource, Library
from skillwire.core.record import SkillRecord
from skillwire.evals.case_files import CaseSet, read_case_set
from skillwire.evals.cases import TriggerCase
from skillwire.evals.levels.routing import find_confusions, route
from skillwire.evals.report import EvalReport, compare
from skillwire.evals.statistics import PairedDifference
from skillwire.evals.verdict import CaseResult, Rates, SearchEvidence, Verdict
from skillwire.library.search import MAX_LIMIT, Audience
from tests.support.skills import skill_md, write

SKILLS = {
    "refunds": "Decides about returns and chargebacks. Use when an order comes back.",
    "invoices": "Writes and sends invoices to a customer. Use for bills, payments and money that is owed.",
    "weather": "Tells the weather of a city. Use for forecasts, rain and temperatures.",
}


def library_of(
    root: Path, cases: dict[str, list[tuple[str, bool]]], more: str = ""
) -> tuple[Library, CaseSet]:
    for name, description in SKILLS.items():
        text = skill_md(name, description)
        if more and name == more:
            text = text.replace(b"---\n\n", b"disable-model-invocation: true\n---\n\n")
        write(root / name, {"SKILL.md": text})
    for name, each in cases.items():
        listed = [{"query": query, "should_trigger": should} for query, should in each]
        write(root / name, {"evals/triggers.json": json.dumps(listed)})
    library = Library([FolderSource(root)])
    anyio.run(library.load)
    records = library.catalog.entries.values()
    return library, read_case_set(library.catalog, records, (), _unknown)


def _unknown(name: str) -> SkillRecord:
    raise AssertionError(name)


def results(root: Path, cases: dict[str, list[tuple[str, bool]]], more: str = "") -> list[CaseResult]:
    return anyio.run(route, *library_of(root, cases, more))


def result(skill: str, query: str, *, should: bool, rank: int | None, first: str = "other") -> CaseResult:
    case = TriggerCase(f"f#{query}", query, should_trigger=should)
    return CaseResult(skill, case, SearchEvidence(rank, skill if rank == 1 else first, weak=False))


# Verdicts


def test_verdicts_tell_which_skill_is_used(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        {
            "refunds": [
                ("is this chargeback justified?", True),
                ("a customer wants money for a kettle", True),
                ("translate a letter into French", True),
                ("will it rain in the city", False),
                ("returns and chargebacks of an order", False),
            ]
        },
    )
    assert [each.verdict for each in found] == [
        Verdict.TRIGGERED,
        Verdict.OTHER,
        Verdict.NONE,
        Verdict.OTHER,
        Verdict.TRIGGERED,
    ]
    assert [each.passed for each in found] == [True, False, False, True, False]


def test_a_confusion_names_the_words_that_cause_it(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        {"refunds": [("a customer wants money for a kettle", True), ("money for an order", True)]},
    )
    (confusion,) = find_confusions(found)
    assert (confusion.skill, confusion.used) == ("refunds", "invoices")
    assert {"customer", "money"} <= set(confusion.words)
    assert "order" not in confusion.words  # both have it
    assert "kettle" not in confusion.words  # none has it


def test_changing_the_words_removes_the_confusion(tmp_path: Path) -> None:
    cases = {"refunds": [("a customer wants money back for a kettle", True)]}
    (before,) = results(tmp_path, cases)
    better = skill_md("refunds", "Decides whether a customer gets money back for what came back.")
    library, found = library_of(tmp_path, cases)
    write(tmp_path / "refunds", {"SKILL.md": better})
    library = Library([FolderSource(tmp_path)])
    anyio.run(library.load)
    (after,) = anyio.run(route, library, found)
    assert (before.passed, after.passed) == (False, True)
    assert set(before.words) == {"customer", "money"}


def test_missing_words_explain_that_no_skill_is_found(tmp_path: Path) -> None:
    (found,) = results(tmp_path, {"refunds": [("the parcel arrived smashed", True)]})
    assert (found.verdict, set(found.words)) == (Verdict.NONE, {"parcel", "arrived", "smashed"})


def test_words_of_a_skill_explain_that_it_is_used_wrongly(tmp_path: Path) -> None:
    (found,) = results(tmp_path, {"refunds": [("returns of an order of printers", False)]})
    assert (found.verdict, found.passed) == (Verdict.TRIGGERED, False)
    assert set(found.words) == {"returns", "order"}


def test_skills_that_models_may_not_load_are_never_used(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        {"refunds": [("money owed by a customer", True)], "invoices": [("send invoices", True)]},
        more="invoices",
    )
    assert all(each.evidence.first != "invoices" for each in found)
    assert not any(each.skill == "invoices" and each.evidence.rank is not None for each in found)
    assert all("money" not in each.words for each in found if each.verdict is Verdict.OTHER)


WORDS = sorted({word for text in SKILLS.values() for word in text.lower().strip(".").split()})


@pytest.mark.parametrize("seed", range(20))
def test_ranks_are_those_of_the_search_for_models(tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    queries = [" ".join(source.sample(WORDS, source.randint(1, 6))) for _ in range(8)]
    library, cases = library_of(tmp_path, {"refunds": [(query, True) for query in dict.fromkeys(queries)]})

    async def check() -> None:
        for each in await route(library, cases):
            found = await library.search(each.case.query, limit=MAX_LIMIT, audience=Audience.MODELS)
            ranks = {one.name: one.rank for one in found.results}
            assert each.evidence.rank == ranks.get("refunds")
            assert each.evidence.first == (found.results[0].name if found.results else "")
            assert each.evidence.weak == found.weak

    anyio.run(check)


@pytest.mark.parametrize(("place", "rank"), [(2, 3), (3, 4), (49, 50), (50, None)])
def test_a_skill_down_the_list_has_its_rank(tmp_path: Path, place: int, rank: int | None) -> None:
    for number in range(60):
        write(tmp_path / f"s{number:03}", {"SKILL.md": skill_md(f"s{number:03}", "Handles orders of goods.")})
    write(
        tmp_path / f"s{place:03}", {"evals/a.json": '[{"query": "orders of goods", "should_trigger": true}]'}
    )
    library = Library([FolderSource(tmp_path)])
    anyio.run(library.load)
    cases = read_case_set(library.catalog, library.catalog.entries.values(), (), _unknown)
    (found,) = anyio.run(route, library, cases)
    assert (found.evidence.rank, found.evidence.first) == (rank, "s000")


def test_evidence_without_a_result_has_no_rank() -> None:
    with pytest.raises(ValueError, match="needs a result"):
        SearchEvidence(1, "", weak=False)


# Rates

RESULTS = st.lists(
    st.builds(
        result,
        st.sampled_from(["a", "b", "c"]),
        st.text(string.ascii_letters, min_size=1, max_size=5),
        should=st.booleans(),
        rank=st.none() | st.integers(1, 4),
    ),
    max_size=30,
)


@given(RESULTS, st.randoms(use_true_random=False))
def test_order_and_labels_of_cases_do_not_change_rates(
    found: Sequence[CaseResult], random: random.Random
) -> None:
    relabelled = [
        replace(each, case=replace(each.case, id=f"g#{number}"), skill=f"{each.skill}-x")
        for number, each in enumerate(found)
    ]
    random.shuffle(relabelled)
    assert Rates.of(relabelled) == Rates.of(found)


@given(RESULTS)
def test_rates_count_each_case_once(found: Sequence[CaseResult]) -> None:
    rates = Rates.of(found)
    assert rates.trigger.total + rates.false.total == len(found)
    passed = rates.trigger.successes + rates.false.total - rates.false.successes
    assert passed == sum(each.passed for each in found) == EvalReport(tuple(found), 3).passed


@given(RESULTS, RESULTS)
def test_a_comparison_counts_only_cases_of_both_reports(
    before: Sequence[CaseResult], after: Sequence[CaseResult]
) -> None:
    earlier = {(each.skill, each.case.query, each.case.should_trigger): each.passed for each in before}
    found = compare(tuple(after), earlier)
    both = [each for each in after if (each.skill, each.case.query, each.case.should_trigger) in earlier]
    assert found.difference.total == len(both)
    assert found.difference.only_after == len(found.fixed)
    assert found.difference.only_before == len(found.broken)
    assert found.difference.after.successes == sum(each.passed for each in both)


def test_a_report_compared_with_itself_differs_nowhere() -> None:
    same = (result("a", "x", should=True, rank=1), result("a", "y", should=True, rank=2))
    found = compare(same, {("a", "x", True): True, ("a", "y", True): False, ("a", "z", True): True})
    assert found.difference == PairedDifference(both=1, neither=1)
    assert (found.fixed, found.broken, found.gone) == ((), (), 1)


def test_second_and_third_places_are_near_misses() -> None:
    ranks = [1, 2, 3, 4, None]
    assert [result("a", "x", should=True, rank=rank).is_near_miss for rank in ranks] == [
        False,
        True,
        True,
        False,
        False,
    ]

"""What a skill is called: its name while that is its own, else its path, and always its URI."""

import time

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import Catalog, MemorySource
from skillwire.library.names import AmbiguousNameError, Names, UnknownNameError, did_you_mean
from tests.support.clients import library_of, skill
from tests.support.scans import catalog

pytestmark = pytest.mark.rule("S17")


def catalog_of(*paths: str) -> Catalog:
    return anyio.run(lambda: library_of(*map(skill, paths))).catalog


def handles(found: Catalog) -> list[str]:
    return list(Names(found).handles())


def test_a_name_is_enough_while_it_is_unique() -> None:
    assert handles(catalog_of("acme/refunds", "returns")) == ["refunds", "returns"]


def test_skills_that_share_a_name_are_distinguished_by_path() -> None:
    assert handles(catalog_of("one/twin", "two/twin", "other")) == ["one/twin", "two/twin", "other"]


def test_skill_at_the_root_keeps_its_bare_name() -> None:
    assert handles(catalog_of("twin", "two/twin")) == ["twin", "two/twin"]


def test_two_skills_with_one_name_are_served_with_a_problem() -> None:
    found = catalog_of("one/twin", "two/twin")
    assert len(found.entries) == 2
    assert {problem.rule for problem in found.problems} == {"name-shared"}


def test_the_label_distinguishes_a_skill_of_a_later_source() -> None:
    sources = [MemorySource([skill("refunds")], label=label) for label in ("team", "mine")]
    assert handles(catalog(*sources)) == ["refunds", "mine/refunds"]


@pytest.mark.parametrize("order", [("team", "mine"), ("mine", "team")])
def test_label_and_name_mean_the_root_skill_in_any_order(order: tuple[str, str]) -> None:
    names = Names(catalog(*(MemorySource([skill("a/twin"), skill("twin")], label=each) for each in order)))
    for label in order:
        for name in (f"{label}:twin", f"{label}/twin", f"/{label}/twin/skill.md"):
            found = names.find(name)
            assert (found.origin.source, found.origin.path.partition("/")[0]) == (label, "twin")


@pytest.mark.parametrize(
    "name", ["twin", "skill://one/tw", "on/twin", "", "/", "skill://", "one/twin/other.md", "../one/twin"]
)
def test_unknown_or_ambiguous_name_is_refused(name: str) -> None:
    with pytest.raises((AmbiguousNameError, UnknownNameError)):
        Names(catalog_of("one/twin", "two/twin")).find(name)


def test_a_path_is_found_decoded_or_percent_encoded() -> None:
    found = catalog_of("für alle/refunds", "other/refunds")
    entry = next(iter(found.entries.values()))
    assert entry.path == "f%C3%BCr%20alle/refunds"
    assert Names(found).handle(entry) == "für alle/refunds"
    for name in ("für alle/refunds", "f%C3%BCr%20alle/refunds", entry.uri, entry.root, f"{entry.root}/"):
        assert Names(found).find(name) is entry


paths = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join)


@settings(max_examples=60)
@given(st.lists(paths, unique=True, min_size=1, max_size=8))
def test_every_handle_is_unique_and_finds_its_skill(chosen: list[str]) -> None:
    nested = {path for path in chosen for other in chosen if path.startswith(f"{other}/")}
    found = catalog_of(*(path for path in chosen if path not in nested))
    names = Names(found)
    assert len(set(names.handles())) == len(found.entries)
    for entry in found.entries.values():
        for name in (names.handle(entry), entry.uri, entry.root):
            assert names.find(name) is entry


def test_the_closest_three_are_suggested_among_those_that_are_offered() -> None:
    names = Names(catalog_of("refund-a", "refund-b", "refund-c", "refund-d"))
    with pytest.raises(UnknownNameError) as caught:
        names.find("refund-x")
    assert str(caught.value).count("`refund-") == 1 + 3
    with pytest.raises(UnknownNameError, match=r"; did you mean `refund-d`\?$"):
        names.find("refund-x", offered=["refund-d"])


def test_very_long_name_is_refused_quickly() -> None:
    known = [f"skill-{number}" for number in range(10_000)]
    began = time.monotonic()
    assert did_you_mean("s" * 1_000_000, known) == ""
    assert time.monotonic() - began < 5  # comparing would take minutes

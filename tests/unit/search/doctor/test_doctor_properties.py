"""Properties of `skillwire doctor`: for any descriptions, the counts add up, and searches are complete."""

import time
from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire.core.json_text import json_bytes
from skillwire.library.library import Library
from skillwire.search.doctor.command import Report, examine
from skillwire.search.doctor.limits import CLIENTS, LIMITS
from skillwire.search.doctor.offer import OfferedSkill, Seen, read_offer, seen_in
from skillwire.search.doctor.similar import SIMILAR, find_duplicates
from skillwire.search.doctor.verdicts import Verdict, report_clients
from skillwire.server.serve_options import ServeOptions
from skillwire.sources.memory import MemorySkill, MemorySource
from tests.unit.search.doctor.test_doctor_command import skill_file

DESCRIPTIONS = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200),
    st.integers(0, 5000).map(lambda length: "x" * length),
    st.integers(0, 1000).map(lambda words: "use when " * words),
    st.sampled_from(["", " ", "s-0", "<name>s-1</name>", "&lt;", "</skill>", "a", "日本語のスキル", "مهارة"]),
)


async def loaded(descriptions: Sequence[str]) -> Library:
    skills = [
        MemorySkill(f"s-{at}", {"SKILL.md": skill_file(f"s-{at}", text).encode()})
        for at, text in enumerate(descriptions)
    ]
    library = Library([MemorySource(skills)], once=True)
    await library.load()
    return library


def examined(descriptions: Sequence[str], window: int | None = None) -> Report:
    async def run() -> Report:
        return await examine(await loaded(descriptions), window=window)

    return anyio.run(run)


@settings(max_examples=60)
@given(
    st.lists(DESCRIPTIONS, max_size=12),
    st.one_of(st.none(), st.integers(1, 2_000_000)),
)
def test_counts_add_up_for_any_descriptions(descriptions: list[str], window: int | None) -> None:
    report = examined(descriptions, window)
    served = {f"s-{at}" for at in range(len(descriptions))}
    for each in report.clients:
        counts = [each.count(verdict) for verdict in Verdict]
        assert min(counts) >= 0
        assert sum(counts) == each.skills <= report.skills
        names = [finding.name for finding in each.findings]
        assert len(names) == len(set(names))
        assert set(names) <= served
    assert json_bytes(report.to_json())
    assert examined(descriptions, window) == report


@pytest.mark.parametrize("length", [1, 1023, 1024, 1025, 1536, 5000])
def test_codex_refuses_from_1025_characters_and_vs_code_cuts(length: int) -> None:
    found = {(each.client, each.way): each for each in examined(["x" * length]).clients}
    codex = next(each for (name, way), each in found.items() if name == "codex" and "folder" in way)
    [vscode] = [each for (name, _), each in found.items() if name == "vscode"]
    assert codex.count(Verdict.REFUSED) == int(length > 1024)
    assert vscode.count(Verdict.SHORTENED) == int(length > 1024)


def shared_evenly(skills: Sequence[OfferedSkill], budget: int, *, tokens: bool) -> set[str]:
    """Return the skills whose description is cut if characters are given out one by one, in turn.

    This is how the source code of Codex describes it. All names fit.
    """

    def cost(skill: OfferedSkill, length: int) -> int:
        text = f" {skill.description[:length]}" if length else ""
        line = f"- {skill.name}:{text} (file: r0/{skill.name}/SKILL.md)\n"
        return (len(line.encode()) + 3) // 4 if tokens else len(line)

    kept = dict.fromkeys(skills, 0)
    left = budget - sum(cost(skill, 0) for skill in skills)
    assert left >= 0
    changed = True
    while changed:
        changed = False
        for skill in skills:
            if kept[skill] == len(skill.description):
                continue
            more = cost(skill, kept[skill] + 1) - cost(skill, kept[skill])
            if more <= left:
                left, kept[skill], changed = left - more, kept[skill] + 1, True
    return {skill.handle for skill in skills if kept[skill] < len(skill.description)}


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 900).map("é".__mul__), min_size=2, max_size=9),
    st.one_of(st.none(), st.integers(12_000, 60_000)),
)
def test_codex_shares_its_list_like_its_source_code(descriptions: list[str], window: int | None) -> None:
    async def run() -> None:
        offer = await read_offer(await loaded(descriptions), ServeOptions())
        report, _ = report_clients(offer, ["codex"], window)
        budget = 8000 if window is None else window * 2 // 100
        cut = shared_evenly(offer.every, budget, tokens=window is not None)
        assert {each.name for each in report.findings} == cut

    anyio.run(run)


# Descriptions that are nearly the same


def skill(at: int, description: str) -> OfferedSkill:
    return OfferedSkill(
        f"s-{at}", f"skill://s-{at}/SKILL.md", f"s-{at}", description, "", manual=False, files=()
    )


WORDS = st.sampled_from(["apple", "brick", "crane", "delta", "ember", "flute", "grape", "hotel", "igloo"])


@given(st.lists(st.lists(WORDS, max_size=9).map(" ".join), max_size=20))
def test_every_similar_pair_is_found(descriptions: list[str]) -> None:
    found = {each.name: each for each in find_duplicates([skill(*each) for each in enumerate(descriptions)])}
    sets = [frozenset(text.split()) for text in descriptions]
    for at, words in enumerate(sets):
        before = [other for other in sets[:at] if len(words) >= 3 and len(other) >= 3]
        best = max((len(words & other) / len(words | other) for other in before), default=0)
        assert (f"s-{at}" in found) == (best >= SIMILAR)
        if best >= SIMILAR:
            assert found[f"s-{at}"].similarity == round(best, 2)


@pytest.mark.parametrize("number", [1000, 10_000])
def test_many_similar_descriptions_take_a_bounded_time(number: int) -> None:
    common = "converts documents between formats and keeps their layout when asked by people"
    skills = [skill(at, f"{common} variant{at}") for at in range(number)]
    started = time.process_time()
    assert len(find_duplicates(skills)) == number - 1
    # A comparison of all pairs would need 50 million comparisons, and minutes.
    assert time.process_time() - started < 0.004 * number


def test_limits_name_known_clients() -> None:
    assert {limit.client for limit in LIMITS} <= set(CLIENTS)
    assert len({(limit.client, limit.what) for limit in LIMITS}) == len(LIMITS)


# Other forms of the list


def test_names_count_in_any_form_of_the_list() -> None:
    descriptions = ["Use when alpha.", "Use when beta & gamma.", "Use when s-3 fails.", "Use when delta."]

    async def run() -> None:
        offer = await read_offer(await loaded(descriptions), ServeOptions())
        text = "Skills: `s-0`, s-1, (s-2).\n\ns-1: Use when beta &amp; gamma.\n- s-2: Use when s-3 fails.\n"
        assert seen_in(text, offer) == {
            "s-0": Seen(name=True, whole=False),
            "s-1": Seen(name=True, whole=True),
            "s-2": Seen(name=True, whole=True),
            "s-3": Seen(name=False, whole=False),
        }
        cut = seen_in(text, offer, len("Skills: `s-0`, s-1, (s-2).\n\ns-1: Use when beta"))
        assert cut["s-1"] == Seen(name=True, whole=False)
        assert cut["s-2"] == Seen(name=True, whole=False)

    anyio.run(run)


def test_equal_descriptions_are_told_apart_where_the_text_ends() -> None:
    async def run() -> None:
        offer = await read_offer(await loaded(["Use when needed."] * 3), ServeOptions())
        first = offer.instructions.find("Use when needed.")
        end = offer.instructions.find("Use when needed.", first + 1) + len("Use when needed.")
        seen = seen_in(offer.instructions, offer, end)
        assert [seen[name].whole for name in ("s-0", "s-1", "s-2")] == [True, True, False]

    anyio.run(run)

"""Skills that somebody may not start are not found, and change nothing that is found."""

from functools import partial

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import MemorySource
from skillwire.library.search import Audience
from skillwire.library.visibility import Override, VisibilityPolicy
from skillwire.sources import MemorySkill
from tests.support.searching import (
    TYPED,
    WithheldSource,
    all_pages,
    library_with_index,
    queries,
    searchable,
    texts,
)

pytestmark = pytest.mark.anyio

FOR_PEOPLE = "disable-model-invocation: true\n"
FOR_MODELS = "user-invocable: false\n"
HIDDEN_FROM = {FOR_PEOPLE: [Audience.MODELS], FOR_MODELS: [Audience.PEOPLE]}
FOR_NOBODY = FOR_PEOPLE + FOR_MODELS
HIDDEN_FROM[FOR_NOBODY] = [Audience.MODELS, Audience.PEOPLE]


def skill_of(name: str, words: tuple[str, str], more: str = "") -> MemorySkill:
    return searchable(name, words[0], f"# Steps\n\n{words[1]}", more)


pairs = st.tuples(texts, texts)


@given(
    shown=st.lists(pairs, max_size=6),
    hidden=st.lists(
        st.tuples(pairs, st.sampled_from([FOR_PEOPLE, FOR_MODELS, FOR_NOBODY])), min_size=1, max_size=4
    ),
    withheld=st.lists(pairs, max_size=3),
    asked=st.lists(queries, min_size=1, max_size=4),
    at_once=st.booleans(),
)
@settings(max_examples=60)
def test_adding_hidden_skills_leaves_every_answer_unchanged(
    shown: list[tuple[str, str]],
    hidden: list[tuple[tuple[str, str], str]],
    withheld: list[tuple[str, str]],
    asked: list[str],
    at_once: bool,  # noqa: FBT001 - drawn by Hypothesis
) -> None:
    async def compare(audience: Audience) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("skillwire.search.service._MANY", 1 if at_once else 500)
            source = MemorySource([skill_of(f"s{at}", words) for at, words in enumerate(shown)], label="own")
            secret = WithheldSource(label="withheld")
            library = library_with_index(source, secret)
            before = [await all_pages(library, query, audience) for query in asked]
            for at, (words, more) in enumerate(hidden):
                if audience in HIDDEN_FROM[more]:
                    source.put(skill_of(f"h{at}", words, more))
            for at, words in enumerate(withheld):
                secret.put(skill_of(f"w{at}", words))
            await library.rescan_source(source)
            await library.rescan_source(secret)
            assert [await all_pages(library, query, audience) for query in asked] == before

    for audience in (Audience.MODELS, Audience.PEOPLE):
        anyio.run(partial(compare, audience))


async def test_correction_never_comes_from_a_hidden_skill() -> None:
    shown = searchable("shown", "a cluster", "Runs kubernetes.")
    hidden = searchable("hidden", "kubernetes", more=FOR_PEOPLE)
    library = library_with_index(MemorySource([shown, hidden]))
    found = await library.search("kuberntes", audience=Audience.MODELS)
    assert (found.results, found.corrections) == ((), {})
    found = await library.search("kuberntes", audience=Audience.PEOPLE)
    assert found.corrections == {"kuberntes": "kubernetes"}
    assert {each.name for each in found.results} == {"shown", "hidden"}


async def test_beginning_of_a_word_ignores_terms_of_hidden_skills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.search.index._MAX_PREFIX_TERMS", 2)
    monkeypatch.setattr("skillwire.search.service._MANY", 1)
    hidden = [searchable(f"h{word}", word, more=FOR_PEOPLE) for word in ("kubaaa", "kubbbb", "kubccc")]
    library = library_with_index(MemorySource([*hidden, searchable("shown", "kubernetes")]))
    assert [each.name for each in (await library.search("kub", audience=Audience.MODELS)).results] == [
        "shown"
    ]


async def test_each_audience_finds_what_it_may_start() -> None:
    skills = [
        searchable("both", "refund"),
        searchable("for-people", "refund", more=FOR_PEOPLE),
        searchable("for-models", "refund", more=FOR_MODELS),
        searchable("for-nobody", "refund", more=FOR_NOBODY),
    ]
    secret = WithheldSource([searchable("withheld", "refund")], label="withheld")
    library = library_with_index(MemorySource(skills), secret)

    async def names(audience: Audience) -> set[str]:
        return {each.name for each in (await library.search("refund", audience=audience)).results}

    assert await names(Audience.MODELS) == {"both", "for-models"}
    assert await names(Audience.PEOPLE) == {"both", "for-people"}
    assert await names(Audience.EVERYONE) == {"both", "for-people", "for-models", "for-nobody"}
    uris = {each.name: each.uri for each in library.catalog.entries.values()}
    overrides = {
        uris["both"]: Override(assistant=False),
        uris["for-people"]: Override(assistant=True, user=False),
        uris["withheld"]: Override(assistant=True, user=True),
    }
    await library.set_visibility(VisibilityPolicy(overrides))
    assert await names(Audience.MODELS) == {"for-people", "for-models"}
    assert await names(Audience.PEOPLE) == {"both"}
    assert await names(Audience.EVERYONE) == {"both", "for-people", "for-models", "for-nobody"}
    await library.set_visibility(VisibilityPolicy())
    assert await names(Audience.MODELS) == {"both", "for-models"}


@pytest.mark.parametrize("audience", [Audience.MODELS, Audience.PEOPLE])
async def test_no_query_finds_a_skill_for_nobody(audience: Audience) -> None:
    library = library_with_index(MemorySource([searchable("hidden", " ".join(TYPED[:12]), "", FOR_NOBODY)]))
    for query in [*TYPED, "hidden", "Hidden", "About"]:
        found = await library.search(query, audience=audience)
        assert (found.results, found.total, found.weak, found.corrections) == ((), 0, False, {})

"""The index after any sequence of changes ranks like a new index of the same library."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import FolderSource, Library, MemorySource
from skillwire.library.search import Audience, SearchResults
from skillwire.library.visibility import Override, VisibilityPolicy
from skillwire.search.document import MAX_WEIGHT, Document, exact_term
from skillwire.search.index import Index, Ranking
from skillwire.search.query import Query
from skillwire.search.segments import Segments, SegmentWriter
from skillwire.search.text import term_of_word, words
from skillwire.sources import MemorySkill
from tests.support.searching import (
    TYPED,
    WORDS,
    WithheldSource,
    all_pages,
    library_with_index,
    queries,
    searchable,
    texts,
)
from tests.support.skills import skill_md, write

NAMES = ["alpha", "beta", "gamma", "refunds", "pdf-form", "deploy", "release-notes", "kubernetes"]
HIDDEN = ["", "disable-model-invocation: true\n", "user-invocable: false\n"]
BUDGETS = {"usual": (20_000, 300, 3_000_000, 65_536, 1_000), "tiny": (5, 3, 4, 3, 2)}


@pytest.fixture(scope="module", params=BUDGETS)
def budget(request: pytest.FixtureRequest) -> Iterator[str]:
    """Limits so small that few documents reach them, or the usual ones."""
    postings, candidates, segment, numbers, prefixes = BUDGETS[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skillwire.search.index._MAX_POSTINGS", postings)
        patch.setattr("skillwire.search.index._MAX_CANDIDATES", candidates)
        patch.setattr("skillwire.search.index._MAX_PREFIX_TERMS", prefixes)
        patch.setattr("skillwire.search.segments._SEGMENT_POSTINGS", segment)
        patch.setattr("skillwire.search.segments.MAX_SEGMENT", numbers)
        yield request.param


# The index alone


@dataclass(frozen=True)
class Put:
    uri: str
    document: Document


@dataclass(frozen=True)
class Remove:
    uri: str


@dataclass(frozen=True)
class Store:
    """Write all documents to new segments, and use those."""


URIS = [f"skill://{name}/SKILL.md" for name in NAMES]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Return a document with few weights, so that many documents have equal scores."""
    terms = [term for word in draw(texts).split() for each in words(word) if (term := term_of_word()[each])]
    weights = {term: draw(st.sampled_from([1, 20_000, MAX_WEIGHT])) for term in terms}
    if draw(st.booleans()):
        weights[exact_term(draw(st.sampled_from(NAMES)))] = MAX_WEIGHT
    known = {each for each in draw(texts).split() if each.isalpha() and term_of_word()[each] in weights}
    return Document(weights, frozenset(known))


steps = st.lists(
    st.builds(Put, st.sampled_from(URIS), documents())
    | st.builds(Remove, st.sampled_from(URIS))
    | st.builds(Store),
    max_size=24,
)


def in_segments(index: Index) -> Index:
    writer = SegmentWriter(Segments())
    index.copy_to(writer)
    writer.finish()
    return Index(writer.segments)


def after(taken: list[Put | Remove | Store]) -> tuple[Index, dict[str, Document]]:
    """Return the index after these steps, and what it should contain."""
    index, expected = Index(), dict[str, Document]()
    for step in taken:
        match step:
            case Put(uri, document):
                index.put(uri, b"", document)
                expected[uri] = document
            case Remove(uri):
                index.remove(uri)
                expected.pop(uri, None)
            case Store():
                index = in_segments(index)
    return index, expected


def fresh(expected: dict[str, Document]) -> Index:
    index = Index()
    for uri in sorted(expected):
        index.put(uri, b"", expected[uri])
    return index


def ranked(index: Index, query: str, hidden: frozenset[str] = frozenset()) -> Ranking:
    return index.rank(Query.parse(query), index.numbers_of(hidden), URIS.index)


@given(taken=steps, query=queries, hidden=st.frozensets(st.sampled_from(URIS)))
@settings(max_examples=200)
def test_index_after_changes_equals_fresh_index(
    budget: str, taken: list[Put | Remove | Store], query: str, hidden: frozenset[str]
) -> None:
    index, expected = after(taken)
    assert sorted(index.uris) == sorted(expected)
    assert ranked(index, query, hidden) == ranked(fresh(expected), query, hidden)


@given(taken=steps, query=queries, hidden=st.frozensets(st.sampled_from(URIS)))
@settings(max_examples=200)
def test_hidden_documents_change_nothing_for_others(
    budget: str, taken: list[Put | Remove | Store], query: str, hidden: frozenset[str]
) -> None:
    index, expected = after(taken)
    others = fresh({uri: each for uri, each in expected.items() if uri not in hidden})
    found = ranked(index, query, hidden)
    assert found == ranked(others, query)
    assert not hidden.intersection(found.uris)


@given(taken=steps, added=st.lists(documents(), max_size=4))
@settings(max_examples=50)
def test_segments_written_at_once_equal_segments_copied(
    budget: str, taken: list[Put | Remove | Store], added: list[Document]
) -> None:
    index, expected = after(taken)
    writer = SegmentWriter(Segments())
    replaced = URIS[: len(added)]
    index.copy_to(writer, replaced)
    for uri, document in zip(replaced, added, strict=True):
        writer.add(uri, b"", document)
        expected[uri] = document
    writer.finish()
    for query in TYPED:
        assert ranked(Index(writer.segments), query) == ranked(fresh(expected), query)


# The index of a library


@dataclass
class World:
    """A library under change, and the skills that it should contain."""

    folder: Path
    source: MemorySource = field(default_factory=lambda: MemorySource(label="own"))
    withheld: WithheldSource = field(default_factory=lambda: WithheldSource(label="withheld"))
    skills: dict[str, MemorySkill] = field(default_factory=dict[str, MemorySkill])
    secret: dict[str, MemorySkill] = field(default_factory=dict[str, MemorySkill])
    overrides: dict[str, Override] = field(default_factory=dict[str, Override])

    def __post_init__(self) -> None:
        self.library = self.opened()

    def opened(self) -> Library:
        return library_with_index(
            self.source, self.withheld, folder=self.folder, overrides=dict(self.overrides)
        )

    async def rescan(self) -> None:
        await self.library.rescan_source(self.source)
        await self.library.rescan_source(self.withheld)

    async def take(self, step: "Step") -> None:
        kind, name, skill, override = step
        match kind:
            case "put":
                self.skills[name] = skill
                self.source.put(skill)
            case "withhold":
                self.secret[name] = skill
                self.withheld.put(skill)
            case "remove" if name in self.skills:
                del self.skills[name]
                self.source.remove(name)
            case "decide":
                self.overrides[f"skill://{name}/SKILL.md"] = override
                await self.library.set_visibility(VisibilityPolicy(dict(self.overrides)))
            case "reopen":
                self.library = self.opened()
                await self.library.load()
            case "search":
                await self.library.search("refund")
            case _:
                pass
        await self.rescan()

    def fresh(self) -> Library:
        return library_with_index(
            MemorySource(self.skills.values(), label="own"),
            WithheldSource(self.secret.values(), label="withheld"),
            overrides=self.overrides,
        )


Step = tuple[str, str, MemorySkill, Override]


@st.composite
def library_steps(draw: st.DrawFn) -> Step:
    name = draw(st.sampled_from(NAMES))
    more = draw(st.sampled_from(HIDDEN)) + f"tags: [{draw(st.sampled_from(WORDS[:8]))}]\n"
    heading = draw(st.sampled_from(WORDS))
    skill = searchable(name, draw(texts), f"# {heading}\n\n{draw(texts)}", more)
    kinds = ["put", "put", "put", "withhold", "remove", "decide", "reopen", "search", "search"]
    decided = st.sampled_from([None, True, False])
    return draw(st.sampled_from(kinds)), name, skill, Override(draw(decided), draw(decided))


async def answers(library: Library, asked: list[str]) -> dict[tuple[str, Audience], SearchResults]:
    return {(query, each): await all_pages(library, query, each) for query in asked for each in Audience}


@given(
    taken=st.lists(library_steps(), min_size=2, max_size=12),
    asked=st.lists(queries, min_size=2, max_size=3),
    many=st.sampled_from([1, 2, 500]),
)
@settings(max_examples=40)
def test_library_after_changes_answers_like_a_fresh_one(
    budget: str, taken: list[Step], asked: list[str], many: int
) -> None:
    async def compare(folder: Path) -> None:
        world = World(folder)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("skillwire.search.service._MANY", many)  # how much is written as a new file
            await world.library.load()
            for step in taken:
                await world.take(step)
            found = await answers(world.library, asked)
            reopened = world.opened()
            again = await answers(reopened, asked)
        expected = await answers(world.fresh(), asked)
        assert found == expected
        assert again == expected
        secret = {f"skill://{name}/SKILL.md" for name in world.secret.keys() - world.skills.keys()}
        assert not secret.intersection(each.uri for page in found.values() for each in page.results)

    with TemporaryDirectory() as folder:
        anyio.run(partial(compare, Path(folder) / "search"))


@pytest.mark.anyio
async def test_folder_after_edits_and_renames_answers_like_fresh(
    budget: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.search.service._MANY", 3)
    root = tmp_path / "skills"
    for number, word in enumerate(WORDS[:8]):
        write(
            root, {f"s{number}/SKILL.md": skill_md(f"s{number}", f"About {word}.", f"# {WORDS[-number]}\n")}
        )
    source = FolderSource(root, label="skills")
    library = library_with_index(source, folder=tmp_path / "search")

    async def same() -> None:
        await library.rescan_source(source)
        other = Library([FolderSource(root, label="skills")])
        assert await answers(library, TYPED) == await answers(other, TYPED)

    await same()
    write(root, {"s1/SKILL.md": skill_md("s1", "About spreadsheets and refunds.")})
    await same()
    (root / "s2").rename(root / "t2")
    write(root, {"t2/SKILL.md": skill_md("t2", "Moved invoices."), "t2/references/kubernetes.md": "x\n"})
    await same()
    (root / "s3" / "SKILL.md").write_bytes(b"\xff\xfe broken")
    await same()
    (root / "group").mkdir()
    for name in ("s4", "s5", "s6", "s7"):
        (root / name).rename(root / "group" / name)
    await same()

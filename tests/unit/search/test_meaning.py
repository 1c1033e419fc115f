"""Ranking by meaning with the real local model: what it finds, whom it obeys, and what it stores."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from tokenizers import Tokenizer

from skillwire import Library, MemorySource
from skillwire.library.search import Audience, SearchResults
from skillwire.search.semantic.embedder import Passage
from skillwire.search.semantic.local_model import LocalModel, model_folder
from skillwire.search.semantic.ranker import SemanticRanker
from skillwire.search.service import LibrarySearch
from skillwire.sources import MemorySkill
from tests.support.clients import library_of, skill

pytestmark = pytest.mark.anyio
MODEL = LocalModel()
HIDDEN = "disable-model-invocation: true\n"
ABOUT = {
    "refunds": "Decides whether a customer gets money back.",
    "slides": "Makes presentations and slide decks.",
    "backups": "Copies databases to another disk every night.",
    "recipes": "Plans meals and writes shopping lists for cooking.",
    "invoices": "Writes bills and reminds customers who have not paid.",
    "translations": "Translates letters between German, French and Spanish.",
    "photos": "Crops and resizes pictures.",
    "hiking": "Plans walking tours in the mountains.",
}


def described(name: str, more: str = "") -> MemorySkill:
    return skill(name, f"description: {ABOUT[name]}\n{more}")


SKILLS = [described(name) for name in ABOUT]


class CountingModel(LocalModel):
    """The local model, which counts what it embeds."""

    def __init__(self, expected: int = 0) -> None:
        super().__init__()
        self.passages, self._expected = 0, expected
        self.reached = anyio.Event()
        """Set when `expected` skills are embedded."""

    async def embed_passages(self, passages: Sequence[Passage]) -> Any:
        self.passages += len(passages)
        if self.passages >= self._expected:
            self.reached.set()
        return await super().embed_passages(passages)


def by_meaning(library: Library, folder: Path | None = None, model: LocalModel = MODEL) -> LibrarySearch:
    return LibrarySearch(library, folder, SemanticRanker(library, model, folder))


def names(found: SearchResults) -> list[str]:
    return [each.name for each in found.results]


async def test_a_skill_without_a_word_of_the_query_is_found() -> None:
    library = await library_of(*SKILLS)
    query = "reimbursing buyers"
    assert names(await LibrarySearch(library).search(query)) == []
    found = await by_meaning(library).search(query)
    assert names(found)[0] == "refunds"
    assert (found.weak, found.fallback) == (True, "")


async def test_a_skill_that_the_query_names_comes_first() -> None:
    library = await library_of(*SKILLS, skill("pictures", "description: Not what you think.\n"))
    assert names(await by_meaning(library).search("pictures"))[0] == "pictures"


@pytest.mark.parametrize("query", ["quantum chromodynamics", "xyzzy plugh", "!?"])
async def test_a_query_about_nothing_here_finds_nothing(query: str) -> None:
    found = await by_meaning(await library_of(*SKILLS)).search(query)
    assert found.results == ()


@pytest.mark.parametrize("query", ["\ud800", "🧗", "日本語のスライド", "a" * 8_000, "'\" * NEAR(", "the"])
async def test_any_query_is_answered(query: str) -> None:
    found = await by_meaning(await library_of(*SKILLS)).search(query)
    assert found.fallback == ""


@settings(max_examples=25)
@given(
    hidden=st.sets(st.sampled_from(sorted(ABOUT))),
    query=st.sampled_from(
        ["money", "slide decks", "trip outdoors", "pay the bill", "food", "store data safely"]
    ),
)
def test_hidden_skills_do_not_affect_the_result(hidden: set[str], query: str) -> None:
    async def check() -> None:
        with_hidden = await library_of(*(described(name, HIDDEN if name in hidden else "") for name in ABOUT))
        without = await library_of(*(described(name) for name in ABOUT if name not in hidden))
        seen = await by_meaning(with_hidden).search(query, audience=Audience.MODELS)
        assert seen == await by_meaning(without).search(query, audience=Audience.MODELS)
        assert not hidden & set(names(seen))

    anyio.run(check)


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(ABOUT)), st.sampled_from(["remove", "hiking", "slides", "own"]))
    )
)
def test_vectors_after_changes_equal_new_ones(changes: list[tuple[str, str]]) -> None:
    async def check() -> None:
        source = MemorySource(SKILLS)
        library = Library([source])
        await library.load()
        index = by_meaning(library)
        await index.search("walk")
        removed = set[str]()
        for name, change in changes:
            if change == "remove":
                if name not in removed:
                    source.remove(name)
                removed.add(name)
            else:
                removed.discard(name)
                source.put(skill(name, f"description: {ABOUT[name if change == 'own' else change]}\n"))
            await library.rescan_source(source)
            await index.search("walk")
        for query in ("walk", "earn money", "pictures of food"):
            assert await index.search(query) == await by_meaning(library).search(query)

    anyio.run(check)


async def test_pages_neither_skip_nor_repeat() -> None:
    library = await library_of(
        *(skill(f"s{n}", f"description: Handles money matter {n}.\n") for n in range(30))
    )
    index = by_meaning(library)
    everything = await index.search("cash", limit=50)
    pages, cursor = list[str](), None
    while True:
        page = await index.search("cash", limit=4, cursor=cursor)
        pages += names(page)
        if (cursor := page.next_cursor) is None:
            break
    assert len(pages) > 4
    assert pages == names(everything)


async def test_stored_vectors_are_not_computed_again(tmp_path: Path) -> None:
    first, second = CountingModel(), CountingModel()
    before = await by_meaning(await library_of(*SKILLS), tmp_path, first).search("cash")
    after = await by_meaning(await library_of(*SKILLS), tmp_path, second).search("cash")
    assert (first.passages, second.passages) == (len(SKILLS), 0)
    assert after == before


async def test_an_edit_embeds_one_skill() -> None:
    source, model = MemorySource(SKILLS), CountingModel()
    library = Library([source])
    await library.load()
    index = by_meaning(library, model=model)
    await index.search("cash")
    source.put(skill("photos", "description: Paints pictures with watercolours.\n"))
    await library.rescan_source(source)
    assert names(await index.search("aquarelle painter"))[0] == "photos"
    assert model.passages == len(SKILLS) + 1


@pytest.mark.parametrize("damage", [b"", b"nonsense", None], ids=["empty", "nonsense", "one byte"])
async def test_damaged_vectors_are_computed_again(tmp_path: Path, damage: bytes | None) -> None:
    before = await by_meaning(await library_of(*SKILLS), tmp_path).search("cash")
    (path,) = [path async for path in anyio.Path(tmp_path).glob("*.vectors")]
    content = await path.read_bytes()
    await path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if damage is None else damage)
    model = CountingModel()
    assert await by_meaning(await library_of(*SKILLS), tmp_path, model).search("cash") == before
    assert model.passages == len(SKILLS)


async def test_vectors_stay_in_memory_if_they_cannot_be_stored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    index = by_meaning(await library_of(*SKILLS), tmp_path / "file")
    assert names(await index.search("reimbursing buyers"))[0] == "refunds"


async def test_background_work_computes_vectors() -> None:
    model = CountingModel(len(SKILLS))
    index = by_meaning(await library_of(*SKILLS), model=model)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(index.follow)
        with anyio.fail_after(20):
            await model.reached.wait()
            assert names(await index.search("reimbursing buyers"))[0] == "refunds"
        tasks.cancel_scope.cancel()


def test_search_by_words_does_not_load_numpy(tmp_path: Path) -> None:
    program = (
        "import sys; from skillwire.cli.main import run; code = run(sys.argv[1:]); "
        "assert 'skillwire.search.service' in sys.modules; "
        "sys.exit(f'loaded: {sorted(found)}' if (found := {'numpy', 'tokenizers'} & set(sys.modules)) else 0)"
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").write_text("---\nname: a\ndescription: Does a.\n---\n")
    command = [sys.executable, "-c", program, "search", "a", "--from", str(tmp_path), "--no-config"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


async def test_the_model_is_the_same_as_in_its_package() -> None:
    (tokens,) = model_folder().glob("tokenizers/*.json")
    (weights,) = model_folder().glob("weights/*.safetensors")
    ids = Tokenizer.from_file(str(tokens)).encode("slide decks", add_special_tokens=False).ids
    opened: Any = safe_open
    with opened(weights, framework="np") as file:
        mean = file.get_tensor("embedding.weight")[ids].astype("float64").mean(axis=0)
    found = (await MODEL.embed_query("slide decks"))[0]
    assert found @ mean / (mean @ mean) ** 0.5 == pytest.approx(1, abs=1e-6)

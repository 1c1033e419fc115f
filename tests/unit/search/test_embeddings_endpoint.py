"""An endpoint of embeddings: what is sent to it, and search when it is away, slow or answers nonsense."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillwire import Library, MemorySource
from skillwire.errors import SourceError
from skillwire.search.semantic.endpoint import Endpoint
from skillwire.search.semantic.ranker import SemanticRanker
from skillwire.search.service import LibrarySearch
from skillwire.sources import MemorySkill
from tests.support.clients import library_of, skill
from tests.support.embeddings_server import NONSENSE, EmbeddingsServer, embeddings_server
from tests.unit.search.test_meaning import SKILLS, described, names

pytestmark = pytest.mark.anyio
QUERY = "customer reimbursement"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddingsServer]:
    with embeddings_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def server(shared: EmbeddingsServer) -> EmbeddingsServer:
    shared.behave("well")
    (shared.folder / "requests").unlink(missing_ok=True)
    return shared


def asking(
    library: Library, url: str, folder: Path | None = None, *, token: str | None = None, seconds: float = 10
) -> LibrarySearch:
    endpoint = Endpoint(url, "static", token, query_seconds=seconds)
    return LibrarySearch(library, folder, SemanticRanker(library, endpoint, folder, retry_seconds=0))


def rules(library: Library) -> list[str]:
    return [each.rule.value for each in library.catalog.problems]


async def test_an_endpoint_finds_by_meaning(server: EmbeddingsServer) -> None:
    found = await asking(await library_of(*SKILLS), server.url, token="secret").search("reimbursing buyers")
    assert names(found)[0] == "refunds"
    assert found.fallback == ""
    assert {each["token"] for each in server.requests} == {"Bearer secret"}
    assert {each["body"]["model"] for each in server.requests} == {"static"}


async def test_stored_vectors_are_not_asked_for_again(server: EmbeddingsServer, tmp_path: Path) -> None:
    before = await asking(await library_of(*SKILLS), server.url, tmp_path).search(QUERY)
    sent = len(server.texts)
    assert sent == len(SKILLS) + 1
    after = await asking(await library_of(*SKILLS), server.url, tmp_path).search(QUERY)
    assert server.texts[sent:] == [QUERY]
    assert after == before


@pytest.mark.parametrize("more", [[], [skill("new")]], ids=["unchanged", "edited"])
async def test_vectors_of_another_model_are_replaced(
    server: EmbeddingsServer, tmp_path: Path, more: list[MemorySkill]
) -> None:
    await asking(await library_of(*SKILLS), server.url, tmp_path).search(QUERY)
    server.behave("another model")
    index = asking(await library_of(*SKILLS, *more), server.url, tmp_path)
    assert (await index.search(QUERY)).fallback
    found = await index.search(QUERY)
    assert found.fallback == ""
    assert found == await asking(await library_of(*SKILLS, *more), server.url).search(QUERY)
    restarted = asking(await library_of(*SKILLS, *more), server.url, tmp_path)
    assert await restarted.search(QUERY) == found


async def test_one_query_is_sent_once(server: EmbeddingsServer) -> None:
    index = asking(await library_of(*SKILLS), server.url)
    await index.search(QUERY)
    sent = len(server.texts)
    await index.search(QUERY, limit=2)
    assert len(server.texts) == sent


@pytest.mark.parametrize("behavior", NONSENSE)
async def test_nonsense_falls_back_to_words(server: EmbeddingsServer, behavior: str) -> None:
    library = await library_of(*SKILLS)
    index = asking(library, server.url)
    await index.search("warm up")
    server.behave(behavior)
    found = await index.search(QUERY)
    by_words = await LibrarySearch(library).search(QUERY)
    assert found.results == by_words.results
    assert "127.0.0.1" in found.fallback
    assert rules(library) == ["search-by-words"]
    server.behave("well")
    assert (await index.search(QUERY)).fallback == ""
    assert rules(library) == []


async def test_nonsense_for_skills_falls_back_to_words(server: EmbeddingsServer) -> None:
    library = await library_of(*SKILLS)
    server.behave("text")
    found = await asking(library, server.url).search(QUERY)
    assert names(found) == names(await LibrarySearch(library).search(QUERY))
    assert found.fallback
    assert rules(library) == ["search-by-words"]


async def test_a_slow_endpoint_is_not_waited_for(server: EmbeddingsServer) -> None:
    library = await library_of(*SKILLS)
    index = asking(library, server.url, seconds=0.5)
    await index.search("warm up")
    server.behave("slow")
    found = await index.search(QUERY)
    assert "takes longer than 0.5 seconds" in found.fallback
    assert found.results == (await LibrarySearch(library).search(QUERY)).results


async def test_an_endpoint_that_is_away_falls_back_to_words(tmp_path: Path) -> None:
    library = await library_of(*SKILLS)
    with embeddings_server(tmp_path) as server:
        index = asking(library, server.url)
        await index.search("warm up")
    found = await index.search(QUERY)
    assert found.results == (await LibrarySearch(library).search(QUERY)).results
    assert found.fallback
    assert rules(library) == ["search-by-words"]


async def test_a_failed_endpoint_is_left_alone_for_a_while(server: EmbeddingsServer) -> None:
    library = await library_of(*SKILLS)
    index = LibrarySearch(library, None, SemanticRanker(library, Endpoint(server.url, "static")))
    server.behave("status 500")
    assert (await index.search(QUERY)).fallback
    sent = len(server.requests)
    assert (await index.search("another query")).fallback
    assert len(server.requests) == sent


async def test_only_the_query_is_sent_after_a_removal(server: EmbeddingsServer) -> None:
    source = MemorySource([described("photos"), described("hiking")])
    library = Library([source])
    await library.load()
    index = asking(library, server.url)
    await index.search("walk")
    source.remove("photos")
    await library.rescan_source(source)
    sent = len(server.texts)
    await index.search("a second walk")
    assert server.texts[sent:] == ["a second walk"]


@pytest.mark.parametrize(
    "url", ["http://embeddings.example/v1", "ftp://127.0.0.1/v1", "https://user:pass@embeddings.example/v1"]
)
def test_an_unsafe_address_is_refused(url: str) -> None:
    with pytest.raises(SourceError):
        Endpoint(url, "static")

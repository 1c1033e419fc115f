"""Pages of a search together equal one long answer, and a cursor fits nothing else."""

import base64
from collections.abc import Callable

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import Library, MemorySource
from skillwire.errors import BadParamsError
from skillwire.library.search import MAX_LIMIT, Audience
from tests.support.searching import all_pages, library_with_index, queries, searchable, texts

pytestmark = pytest.mark.anyio


async def many(number: int = 260) -> tuple[Library, MemorySource]:
    """Return a library in which most skills have equal scores."""
    skills = (searchable(f"s{each:03}", "refund " * (each % 3 + 1), "refund") for each in range(number))
    source = MemorySource(skills)
    library = library_with_index(source)
    await library.load()
    return library, source


@given(descriptions=st.lists(texts, max_size=12), query=queries, limit=st.integers(1, 5))
@settings(max_examples=40)
def test_pages_equal_one_long_answer(descriptions: list[str], query: str, limit: int) -> None:
    async def compare() -> None:
        library = library_with_index(
            MemorySource([searchable(f"s{at}", text) for at, text in enumerate(descriptions)])
        )
        for audience in Audience:
            whole = await library.search(query, limit=MAX_LIMIT, audience=audience)
            assert whole.next_cursor is None
            assert await all_pages(library, query, audience, limit) == whole
            assert [each.rank for each in whole.results] == [*range(1, whole.total + 1)]
            assert len({each.uri for each in whole.results}) == whole.total

    anyio.run(compare)


@pytest.mark.parametrize("limit", [1, 7, 50])
async def test_all_pages_hold_at_most_200_results(limit: int) -> None:
    library, _ = await many()
    found = await all_pages(library, "refund", Audience.MODELS, limit)
    assert found.total == len({each.uri for each in found.results}) == 200
    assert [each.rank for each in found.results] == [*range(1, 201)]


async def first_cursor(library: Library) -> str:
    found = await library.search("refund", limit=2, audience=Audience.MODELS)
    assert found.next_cursor is not None
    return found.next_cursor


async def refused(library: Library, query: str, cursor: str, audience: Audience = Audience.MODELS) -> str:
    with pytest.raises(BadParamsError) as error:
        await library.search(query, limit=2, audience=audience, cursor=cursor)
    message = str(error.value)
    assert "without a cursor" in message
    assert len(message) < 1_000
    return message


async def test_cursor_of_another_query_or_audience_is_refused() -> None:
    library, _ = await many(10)
    cursor = await first_cursor(library)
    await refused(library, "refunds", cursor)
    await refused(library, "refund", cursor, Audience.PEOPLE)
    await refused(library, "refund", cursor, Audience.EVERYONE)


async def test_cursor_is_refused_once_earlier_results_have_changed() -> None:
    library, source = await many(10)
    cursor = await first_cursor(library)
    source.put(searchable("refund", "refund"))
    await library.rescan_source(source)
    assert "have changed" in await refused(library, "refund", cursor)


async def test_cursor_still_fits_if_only_later_results_change() -> None:
    library, source = await many(10)
    cursor = await first_cursor(library)
    before = await all_pages(library, "refund", Audience.MODELS)
    source.remove("s000")
    source.put(searchable("other", "Something else"))
    await library.rescan_source(source)
    later = await library.search("refund", limit=50, audience=Audience.MODELS, cursor=cursor)
    assert [each.uri for each in later.results] == [
        each.uri for each in before.results[2:] if "s000" not in each.uri
    ]


DAMAGE: list[Callable[[str], str]] = [
    lambda _: "",
    lambda _: "x",
    lambda _: "nonsense",
    lambda _: "naïve",
    lambda _: "\ud800",
    lambda _: "\0",
    lambda _: "a" * 1_000_000,
    lambda cursor: cursor[:-4],
    lambda cursor: cursor + "\n",
    lambda cursor: cursor + cursor,
    lambda cursor: " " + cursor,
    lambda cursor: changed(cursor, 0, "skills"),
    lambda cursor: changed(cursor, 2, "-2"),
    lambda cursor: changed(cursor, 2, "0"),
    lambda cursor: changed(cursor, 2, "+2"),
    lambda cursor: changed(cursor, 2, "3"),
    lambda cursor: changed(cursor, 2, "201"),
    lambda cursor: changed(cursor, 2, "9" * 5_000),
    lambda cursor: changed(cursor, 3, "0" * 16),
    lambda _: base64.urlsafe_b64encode(b"\xff\xfe").decode(),
]


def changed(cursor: str, place: int, part: str) -> str:
    parts = base64.urlsafe_b64decode(cursor).decode().split("\0")
    parts[place] = part
    return base64.urlsafe_b64encode("\0".join(parts).encode()).decode()


@pytest.mark.parametrize("damage", DAMAGE, ids=range(len(DAMAGE)))
async def test_damaged_cursor_is_refused_with_a_clear_error(damage: Callable[[str], str]) -> None:
    library, _ = await many(10)
    await refused(library, "refund", damage(await first_cursor(library)))


async def test_every_changed_character_of_a_cursor_is_noticed() -> None:
    library, _ = await many(10)
    cursor = await first_cursor(library)
    for at, letter in enumerate(cursor):
        await refused(library, "refund", cursor[:at] + ("A" if letter != "A" else "B") + cursor[at + 1 :])

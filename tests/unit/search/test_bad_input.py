"""Odd queries and odd skills give a result or a clear error, after bounded work."""

import json
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client

from skillwire import FolderSource, Library, MemorySource, ServeOptions
from skillwire.core.record import Digest, Origin, SkillFile, SkillRecord, Trust
from skillwire.errors import BadParamsError
from skillwire.library.search import Audience
from skillwire.search.document import identity, make_document, matched_fields
from skillwire.search.query import MAX_QUERY_BYTES
from skillwire.search.snippet import MAX_LENGTH, find_snippet
from skillwire.search.text import Terms, term_of_word
from skillwire.search.tool import SearchOptions
from skillwire.server import skills_server
from skillwire.sources import MemorySkill
from tests.support.clients import ERAS, text_of
from tests.support.searching import WORDS, library_with_index, searchable
from tests.support.skills import skill_md, write

pytestmark = pytest.mark.anyio

SECONDS = 1.5
"""CPU time after which a query counts as slow. Usual queries take a thousandth of it."""


@contextmanager
def bounded_work(seconds: float = SECONDS) -> Generator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < seconds


def usual_library() -> Library:
    return library_with_index(
        MemorySource(
            searchable(f"s{at}", f"{word} {WORDS[-at]}", f"# {word}\n\nHow to {word}.")
            for at, word in enumerate(WORDS)
        )
    )


MATCHING = {
    "phrase": '"refund"',
    "star": "refund*",
    "near": "NEAR(refund invoice, 2)",
    "column": "name:refund",
    "operators": "refund AND NOT (invoice OR pdf)",
    "caret": "^refund + invoice -pdf",
    "unbalanced": '"refund ((',
    "sql": "refund'; DROP TABLE document; --",
    "surrogate": "refund \ud800\udfff",
    "nul": "refund\0",
    "accents": "r\u00e9fund REFUND",
    "emoji": "🙂🙂 refund 🙂",
    "controls": "\x1b[2;1H refund\x1b[0m\r\n\t",
    "right-to-left": "עברית",
    "override": "\u202erefund\u202c",
    "han": "日本語",
    "thai": "ไทย",
    "hindi": "हिन्दी",
    "full width": "".join(chr(ord(letter) + 0xFEE0) for letter in "refund"),
}


@pytest.mark.parametrize("query", MATCHING.values(), ids=MATCHING)
async def test_odd_query_finds_the_words_that_it_contains(query: str) -> None:
    with bounded_work():
        found = await usual_library().search(query)
    assert found.results
    assert found.results[0].fields


NOTHING = {
    "stop words": "the of and with a to",
    "quotes": '""',
    "star": "*",
    "colon": ":",
    "nul": "\0",
    "surrogate": "\ud800",
    "emoji": "👩‍👩‍👧‍👦",
    "marks": "\u0301\u0301",
    "long word": "x" * 5_000,
    "unknown": "zzzzqqqq",
    "unknown arabic": "مرحبا بالعالم",
    "unknown han": "漢字",
}


@pytest.mark.parametrize("query", NOTHING.values(), ids=NOTHING)
async def test_query_without_a_known_word_finds_nothing(query: str) -> None:
    with bounded_work():
        found = await usual_library().search(query)
    assert (found.results, found.total, found.weak, found.next_cursor) == ((), 0, False, None)


@pytest.mark.parametrize("query", ["", " ", "\n\t \u2003\u3000"])
async def test_empty_query_is_refused(query: str) -> None:
    with pytest.raises(BadParamsError, match="the query is empty"):
        await usual_library().search(query)


@pytest.mark.parametrize("letter", ["x", "é", "\ud800", "\0", "日", "refund "])
async def test_query_of_a_megabyte_is_refused(letter: str) -> None:
    with bounded_work(0.5), pytest.raises(BadParamsError, match="too long; the limit is 8,192 bytes"):
        await usual_library().search(letter * 1_000_000)


LONGEST = {
    "unknown words": " ".join(f"unkno{at:x}" for at in range(2_000))[:MAX_QUERY_BYTES],
    "one word": "refund " * (MAX_QUERY_BYTES // 7),
    "letters": "a " * (MAX_QUERY_BYTES // 2),
    "han": "".join(chr(0x4E00 + at) for at in range(MAX_QUERY_BYTES // 3)),
    "thai": "ก" * (MAX_QUERY_BYTES // 3),
    "marks": "e" + "\u0301" * (MAX_QUERY_BYTES // 2 - 1),
    "hash": "c# " * (MAX_QUERY_BYTES // 3),
    "ligature": "\ufdfa" * (MAX_QUERY_BYTES // 3),
    "hyphens": "refund-" * (MAX_QUERY_BYTES // 7),
}


@pytest.mark.parametrize("query", LONGEST.values(), ids=LONGEST)
async def test_longest_query_takes_bounded_work(query: str) -> None:
    library = usual_library()
    await library.search("refund")
    with bounded_work():
        found = await library.search(query)
    assert len(found.corrections) <= 4


@given(query=st.text(st.characters(), max_size=200))
@settings(max_examples=150)
def test_any_text_is_searched_or_refused_clearly(query: str) -> None:
    async def search() -> None:
        if not query.strip():
            with pytest.raises(BadParamsError, match="the query is empty"):
                await SHARED.search(query)
            return
        found = await SHARED.search(query, limit=3)
        assert len(found.results) == min(3, found.total)
        assert all(len(each.snippet) <= MAX_LENGTH for each in found.results)

    anyio.run(search)


SHARED = usual_library()


@pytest.mark.parametrize("limit", [0, -1, 51, 10**9])
async def test_wrong_limit_is_refused(limit: int) -> None:
    with pytest.raises(BadParamsError, match="the limit must be a number from 1 to 50"):
        await usual_library().search("refund", limit=limit)


# The tool


@pytest.mark.parametrize("mode", ERAS)
async def test_tool_answers_wrong_arguments_with_clear_errors(mode: Any) -> None:
    library = usual_library()
    server = skills_server(library, options=ServeOptions(additions=(SearchOptions(),)))
    limits: list[object] = [0, -1, 51, 10**9, 1e300, 1.5, "3", "", True, False, None, [], {}]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "`query` must be a string"),
        ({"query": None}, "`query` must be a string"),
        ({"query": 3}, "`query` must be a string"),
        ({"query": ["refund"]}, "`query` must be a string"),
        ({"query": {"text": "refund"}}, "`query` must be a string"),
        ({"query": " \n"}, "the query is empty"),
        ({"query": "x" * 9_000}, "too long"),
        *(
            ({"query": "refund", "limit": limit}, "the limit must be a number from 1 to 50")
            for limit in limits
        ),
        ({"query": "refund", "cursor": 3}, "`cursor` must be a string"),
        ({"query": "refund", "cursor": []}, "`cursor` must be a string"),
        ({"query": "refund", "cursor": ""}, "without a cursor"),
        ({"query": "refund", "cursor": "bad\0"}, "without a cursor"),
    ]
    async with Client(server, mode=mode) as client:
        for arguments, message in wrong:
            answer = await client.call_tool("search-skills", arguments)
            assert answer.is_error is True, arguments
            assert message in text_of(answer), arguments
        for limit in (1, 50, 3.0):
            found = await client.call_tool(
                "search-skills", {"query": "refund", "limit": limit, "cursor": None, "more": 1}
            )
            assert not found.is_error
            assert found.structured_content is not None
            assert found.structured_content["results"][0]["rank"] == 1
            assert json.loads(text_of(found)) == found.structured_content


# Skills


def test_threads_that_share_stems_never_mix_words() -> None:
    """The stemmer is one object, and threads of several libraries and requests use it at the same time."""
    expected = Terms()
    listed = [
        f"{word}{end}"
        for word in ("organiz", "relat", "nation", "gener")
        for end in ("ational", "ing", "ings", "ization", "fulness", "ousli", "edly", "ies")
    ]
    alphabet = [
        word + "".join(chr(97 + (at // 26**k) % 26) for k in range(3)) for word in listed for at in range(120)
    ]
    shared, before = Terms(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [Thread(target=lambda: [shared[word] for word in alphabet]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert {word: shared[word] for word in alphabet} == {word: expected[word] for word in alphabet}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(frontmatter=st.dictionaries(st.text(max_size=8), values, max_size=5), text=st.text(max_size=300))
@settings(max_examples=150)
def test_any_frontmatter_and_text_are_indexed(frontmatter: dict[str, Any], text: str) -> None:
    named = {**frontmatter, "name": "odd", "description": "Odd."}
    content = SkillFile("SKILL.md", "text/markdown", Digest.of(b""), 0)
    entry = SkillRecord(
        "skill://odd/SKILL.md", named, (content,), (), Origin("own", "odd", "odd"), trust=Trust.OWN
    )
    document = make_document(entry, text)
    assert document.weights["=odd"]
    assert all(word and term_of_word()[word] in document.weights for word in document.vocabulary)
    assert len(identity(entry)) == 16
    assert "name" in matched_fields(entry, text, {"odd"})
    assert len(find_snippet(text, {"odd"})) <= MAX_LENGTH


async def test_metadata_of_any_depth_and_size_takes_bounded_work() -> None:
    deep = "deep: " + "{a: " * 40 + "refund" + "}" * 40
    wide = "wide: [" + ", ".join(f"w{at}" for at in range(20_000)) + "]"
    odd = "odd: {1: 2, null: x, true: [~, 1.5, .inf], '': ''}\nwhen_to_use: [refund]\ntags: refund"
    source = MemorySource(
        [searchable("usual", "invoice")]
        + [
            searchable(name, "invoice", more=f"{more}\n")
            for name, more in {"deep": deep, "wide": wide, "odd": odd}.items()
        ]
    )
    library = library_with_index(source)
    with bounded_work(5):
        catalog = await library.load()
        found = await library.search("invoice")
    assert found.total == len(catalog.entries) >= 2
    assert "usual" in {each.name for each in found.results}


HUGE = {
    "headings": "# refund it\n" * 85_000,
    "one line": "refund " * 150_000,
    "hashes": "#" * 1_000_000 + " refund",
    "blanks": "\n" * 500_000 + "refund" + " " * 500_000,
    "han": "日本語" * 110_000,
    "one word": "x" * 1_000_000,
    "rules": "---\n" * 250_000,
    "markup": "*" * 500_000 + "|" * 500_000,
    "many words": " ".join(f"word{at:x}" for at in range(100_000)),
}


@pytest.mark.parametrize("body", HUGE.values(), ids=HUGE)
async def test_skill_of_a_megabyte_takes_bounded_work(body: str) -> None:
    library = library_with_index(MemorySource([searchable("huge", "refund", body)]))
    with bounded_work(5):
        found = await library.search("refund")
    assert [each.name for each in found.results] == ["huge"]
    with bounded_work():
        (result,) = (await library.search("refund")).results
    assert len(result.snippet) <= MAX_LENGTH


async def test_page_of_huge_skills_takes_bounded_work() -> None:
    body = "# Steps\n" + "refund the invoice\n" * 50_000
    library = library_with_index(MemorySource(searchable(f"huge{at}", "refund", body) for at in range(50)))
    await library.search("refund", limit=1)
    with bounded_work(5):
        found = await library.search("refund", limit=50)
    assert len(found.results) == 50


async def test_names_of_512_files_are_searched_within_limits() -> None:
    files = {f"references/part-{at}-kubernetes.md": b"x\n" for at in range(511)}
    main = skill_md("many", "Has many files.")
    library = library_with_index(
        MemorySource([MemorySkill("many", {"SKILL.md": main, **files}), searchable("few", "one file")])
    )
    with bounded_work(5):
        found = await library.search("kubernetes")
    (result,) = found.results
    assert (result.name, result.fields, result.snippet) == ("many", ("files",), "")


async def test_broken_skill_files_never_hide_the_others(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "good/SKILL.md": skill_md("good", "Does refunds."),
            "binary/SKILL.md": bytes(range(256)) * 40,
            "utf16/SKILL.md": "---\nname: utf16\ndescription: refund\n---\n".encode("utf-16"),
            "empty/SKILL.md": b"",
            "nul/SKILL.md": skill_md("nul", "Does refunds.", "refund\0\0 it\n"),
            "bom/SKILL.md": b"\xef\xbb\xbf" + skill_md("bom", "Does refunds.", "Pays back.\n"),
            "latin/SKILL.md": skill_md("latin", "Does refunds.") + "caf\xe9 refund\n".encode("latin-1"),
        },
    )
    library = library_with_index(FolderSource(tmp_path))
    found = await library.search("refund", audience=Audience.MODELS)
    assert {"good", "bom"} <= {each.name for each in found.results}
    assert found.total == len(library.catalog.entries)


# What a result says


async def test_fields_name_only_where_the_words_are() -> None:
    skills = {
        "by-description": searchable("by-description", "refund", "# Steps\n\nPay.\n"),
        "by-heading": searchable("by-heading", "money", "# Refund\n\nPay.\n"),
        "by-text": searchable("by-text", "money", "# Steps\n\nRefund it.\n"),
        "by-metadata": searchable("by-metadata", "money", "# Steps\n", "tags: [refund]\n"),
        "refund": searchable("refund", "money", "# Steps\n"),
    }
    found = await library_with_index(MemorySource(skills.values())).search("refund")
    assert {each.name: each.fields for each in found.results} == {
        "by-description": ("description",),
        "by-heading": ("headings", "text"),
        "by-text": ("text",),
        "by-metadata": ("metadata",),
        "refund": ("name",),
    }


async def test_snippet_never_shows_frontmatter_after_a_byte_order_mark(tmp_path: Path) -> None:
    main = b"\xef\xbb\xbf" + skill_md("bom", "Does refunds.", "Pays back.\n")
    write(tmp_path, {"bom/SKILL.md": main})
    (result,) = (await library_with_index(FolderSource(tmp_path)).search("refund")).results
    assert (result.fields, result.snippet) == (("description",), "")

"""Skills in code are cached like those in folders, and the cache never changes an answer."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from skillwire import LiveSkill, MemorySource, Skill, SkillRequest, Skills
from skillwire.authoring.source import CodeSource
from skillwire.sources import MemorySkill
from tests.support.cached_answers import ServerPair, both, headers_for, modern

REFUNDS = "skill://acme/refunds/SKILL.md"
numbers = count()


async def clock(_request: SkillRequest) -> str:
    return f"read {next(numbers)}"


async def of_region(request: SkillRequest) -> str:
    return f"in {request.params['region']}"


def in_memory(text: str = "first") -> MemorySkill:
    body = f"---\nname: notes\ndescription: Notes.\n---\n{text}\n"
    return MemorySkill("notes", {"SKILL.md": body.encode(), "more.md": text.encode()})


@pytest.fixture
def in_code() -> Iterator[ServerPair]:
    body = "---\nname: refunds\ndescription: Refund an order.\n---\nAsk first.\n"
    refunds = (
        Skill("refunds", body)
        .with_path("acme/refunds")
        .with_reference("terms.md", "text/markdown", "Thirty days.")
        .with_reference("logo.bin", "application/octet-stream", b"\x00\xff")
    )
    skills = Skills().add(
        refunds,
        LiveSkill("clock", clock, description="What time it is."),
        LiveSkill("sales/{region}", of_region, description="Sales.", values={"region": ["north", "south"]}),
    )
    with both(CodeSource(skills)) as served:
        yield served


@pytest.fixture
def memory() -> Iterator[tuple[MemorySource, ServerPair]]:
    source = MemorySource([in_memory()])
    with both(source) as served:
        yield source, served


def asked(served: ServerPair, method: str, **params: str) -> tuple[Any, int]:
    """Return an answer that is the same with the cache and without, and how often the cache gave it."""
    message = modern(method, **params)
    line, before = json.dumps(message).encode(), served.response_cache.answered
    expected = served.without.ask(line)
    assert [served.with_cache.ask(line) for _ in range(3)] == [expected] * 3
    posted = served.posts_without.post(headers_for(message), line)[2]
    assert [served.posts_with_cache.post(headers_for(message), line)[2] for _ in range(2)] == [posted] * 2
    return expected["result"], served.response_cache.answered - before


@pytest.mark.rule("S12", "S19")
@pytest.mark.parametrize("uri", [REFUNDS, "skill://acme/refunds/terms.md", "skill://acme/refunds/logo.bin"])
def test_files_of_code_skills_come_from_cache(in_code: ServerPair, uri: str) -> None:
    result, cached = asked(in_code, "resources/read", uri=uri)
    assert result["contents"][0]["uri"] == uri
    assert cached == 5


def test_lists_and_records_of_code_skills_are_cached(in_code: ServerPair) -> None:
    result, cached = asked(in_code, "skills/list")
    assert {each["uri"] for each in result["skills"]} == {REFUNDS, "skill://clock/SKILL.md"}
    assert cached == 5
    assert asked(in_code, "skills/get", uri=REFUNDS)[1] == 5


def test_live_text_is_never_cached(in_code: ServerPair) -> None:
    line = json.dumps(modern("resources/read", uri="skill://clock/SKILL.md")).encode()
    texts = {in_code.with_cache.ask(line)["result"]["contents"][0]["text"] for _ in range(4)}
    assert len(texts) == 4
    assert in_code.response_cache.answered == 0


def test_skill_matched_by_pattern_is_not_cached(in_code: ServerPair) -> None:
    result, cached = asked(in_code, "resources/read", uri="skill://sales/north/SKILL.md")
    assert "in north" in result["contents"][0]["text"]
    assert cached == 0


@pytest.mark.rule("S19")
def test_replaced_memory_file_is_not_served_from_cache(
    memory: tuple[MemorySource, ServerPair],
) -> None:
    source, served = memory
    result, cached = asked(served, "resources/read", uri="skill://notes/more.md")
    assert (result["contents"][0]["text"], cached) == ("first", 5)
    source.put(in_memory("second"))
    line = json.dumps(modern("resources/read", uri="skill://notes/more.md")).encode()
    assert served.with_cache.ask(line)["result"]["contents"][0]["text"] == "second"
    assert asked(served, "resources/read", uri="skill://notes/more.md")[0]["contents"][0]["text"] == "second"


def test_removed_memory_skill_is_not_served_from_cache(
    memory: tuple[MemorySource, ServerPair],
) -> None:
    source, served = memory
    asked(served, "resources/read", uri="skill://notes/SKILL.md")
    source.remove("notes")
    line = json.dumps(modern("resources/read", uri="skill://notes/SKILL.md")).encode()
    assert "error" in served.with_cache.ask(line)

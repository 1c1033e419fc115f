"""What a server itself reports about its skills: shown as its own words, escaped and bounded."""

import json
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from skillwire.host.own_problems import read_own_problems
from skillwire.safe_text import escape_invisible

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
PROBLEM = st.fixed_dictionaries({}, optional=dict.fromkeys(["path", "line", "message", "hint"], JSON))


def lines_of(content: bytes) -> list[str]:
    async def read(uri: str) -> bytes:
        assert uri == "skillwire://problems"
        return content

    async def run() -> list[str]:
        return await read_own_problems(read)

    return anyio.run(run)


def of(*problems: Any) -> list[str]:
    return lines_of(json.dumps({"problems": problems}).encode())


def test_problem_is_shown_with_place_reason_and_hint() -> None:
    problem = {"path": "bad/SKILL.md", "line": 3, "message": "not YAML", "hint": "quote it"}
    assert of(problem) == [
        "the server itself reports 1 problem in `skillwire://problems`:",
        "  bad/SKILL.md:3: not YAML; quote it",
    ]


def test_only_first_problems_are_shown() -> None:
    lines = of(*({"path": ".", "message": f"m{number}"} for number in range(40)))
    assert lines[0] == "the server itself reports 40 problems in `skillwire://problems`:"
    assert lines[1:] == ["  m0", "  m1", "  m2", "  m3", "  m4", "  and 35 more"]


def test_text_of_server_is_escaped_and_cut() -> None:
    (_, line) = of({"path": "a\nverified: 9 of 9", "message": "\x1b[31m" + "x" * 10_000})
    assert line.isprintable()
    assert len(line) < 1000


@given(st.lists(PROBLEM | JSON, max_size=8))
def test_any_document_gives_few_bounded_lines(problems: list[Any]) -> None:
    lines = of(*problems)
    assert len(lines) <= 7
    assert all(escape_invisible(each) == each and len(each) < 10_000 for each in lines)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"problems": {}}',
        b'{"problems": []}',
        b"[" * 100_000,
        b" " * 5_000_000,
    ],
)
def test_other_content_is_ignored(content: bytes) -> None:
    assert lines_of(content) == []


@pytest.mark.anyio
async def test_server_that_refuses_the_resource_has_no_problems() -> None:
    async def refuse(_uri: str) -> bytes:
        raise MCPError(-32002, "no such resource")

    assert await read_own_problems(refuse) == []

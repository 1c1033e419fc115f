"""JSON of others: its values are counted before they are parsed."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.errors import SkillwireError

_TEXT = st.text(alphabet='",[]{}:\\\\ aé\n', max_size=8)
_SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | _TEXT
_DOCUMENTS = st.recursive(_SCALARS, lambda each: st.lists(each) | st.dictionaries(_TEXT, each), max_leaves=30)
_WRITERS: list[Callable[[Any], bytes]] = [
    orjson.dumps,
    lambda value: orjson.dumps(value, option=orjson.OPT_INDENT_2),
]

_ATTACK = """
import resource
from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
content = b"[" + b"{}," * (16 << 20) + b"{}]"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load_bounded_json(content, max_values=100_000)
except JsonTooLargeError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def _count(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count, cast("dict[str, object]", value).values()))
    return 1 + sum(map(_count, cast("list[object]", value))) if isinstance(value, list) else 1


@given(value=_DOCUMENTS, writer=st.sampled_from(_WRITERS))
def test_a_document_within_the_limit_is_loaded(value: object, writer: Callable[[Any], bytes]) -> None:
    # An empty list or object counts twice, because what follows its bracket is not looked at.
    assert load_bounded_json(writer(value), max_values=2 * _count(value)) == value


@given(value=_DOCUMENTS, writer=st.sampled_from(_WRITERS))
def test_a_document_above_the_limit_is_refused(value: object, writer: Callable[[Any], bytes]) -> None:
    with pytest.raises(JsonTooLargeError):
        load_bounded_json(writer(value), max_values=_count(value) - 1)


def test_separators_in_strings_do_not_count() -> None:
    text = '[{,"\\' * 100_000
    assert load_bounded_json(orjson.dumps([text, text]), max_values=3) == [text, text]


def test_the_count_holds_across_the_steps_of_counting() -> None:
    value = ["x" * (1 << 16), ",", "y" * ((1 << 16) - 3), "[", '","', "\\\\" * (1 << 16)]
    assert load_bounded_json(orjson.dumps(value), max_values=7) == value
    with pytest.raises(JsonTooLargeError, match="more than 6 values"):
        load_bounded_json(orjson.dumps(value), max_values=6)


def test_refusal_is_a_skillwire_error_and_a_value_error() -> None:
    assert issubclass(JsonTooLargeError, SkillwireError)
    assert issubclass(JsonTooLargeError, ValueError)


def test_text_that_is_not_json_is_reported_as_such() -> None:
    with pytest.raises(orjson.JSONDecodeError):
        load_bounded_json(b'"unclosed, [ {', max_values=10)


def test_refusing_takes_little_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ATTACK], capture_output=True, text=True, timeout=60, check=True
    )
    assert int(done.stdout) < 100 * 1024

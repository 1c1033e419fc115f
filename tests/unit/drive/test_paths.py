"""The grammar of live paths, and which registered path answers what is asked for."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.drive.paths import MAX_PATH, LivePath, best_match
from skillwire.errors import InvalidValueError
from tests.support.recorded import path_vectors

static = st.from_regex(r"\A\.?[a-z0-9][a-z0-9_-]{0,5}\Z").map(str)
parameter = st.from_regex(r"\A:[a-z0-9][a-z0-9_-]{0,5}\Z").map(str)
leaf = st.sampled_from(["skill.md", "SKILL.md", "prompt.md", "PROMPT.md"])


def path_of(segments: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Paths of these segments, with or without a leaf."""
    return st.tuples(st.lists(segments, max_size=5), st.none() | leaf).map(
        lambda parts: "/" + "/".join([*parts[0], *([parts[1]] if parts[1] else [] if parts[0] else ["a"])])
    )


@pytest.mark.parametrize(("path", "accepted"), path_vectors().items())
def test_accepted_paths_match_the_reference(path: str, *, accepted: bool) -> None:
    try:
        parsed = LivePath.parse(path)
    except InvalidValueError:
        assert not accepted
    else:
        assert accepted
        assert parsed.text == path


@pytest.mark.parametrize(
    "path", ["/", "/a/:", "/a/:B/skill.md", "/..a/skill.md", "/a\n", "/" + "a" * MAX_PATH]
)
def test_invalid_path_error_contains_the_rule(path: str) -> None:
    with pytest.raises(InvalidValueError, match="is not a path such as"):
        LivePath.parse(path)


@given(path_of(static | parameter))
def test_every_valid_path_is_kept_unchanged(path: str) -> None:
    parsed = LivePath.parse(path)
    assert "/" + "/".join(parsed.segments) == path
    assert len(parsed.parameters) == path.count(":")
    assert parsed.depth >= 1


@given(st.text(max_size=40))
def test_any_text_parses_or_raises_invalid_value_error(text: str) -> None:
    with suppress(InvalidValueError):
        assert LivePath.parse(text).text == text


@given(path_of(static))
def test_a_path_without_parameters_answers_itself_and_nothing_else(path: str) -> None:
    parsed = LivePath.parse(path)
    assert parsed.match(parsed) == {}
    assert parsed.match(LivePath.parse(f"/deeper{path}")) is None


@given(st.lists(static, min_size=1, max_size=4), st.data())
def test_the_parameters_are_the_segments_that_they_stand_for(
    segments: list[str], data: st.DataObject
) -> None:
    hidden = [data.draw(st.booleans()) for _ in segments]
    names = [
        f":p{at}" if hide else segment
        for at, (segment, hide) in enumerate(zip(segments, hidden, strict=True))
    ]
    pattern, asked = (LivePath.parse("/" + "/".join([*each, "skill.md"])) for each in (names, segments))
    assert pattern.match(asked) == {f"p{at}": segments[at] for at, hide in enumerate(hidden) if hide}


@pytest.mark.parametrize(
    ("registered", "asked", "answers"),
    [
        (["/users/:id/skill.md", "/users/me/skill.md"], "/users/me/skill.md", "/users/me/skill.md"),
        (["/users/:id/skill.md", "/users/me/skill.md"], "/users/42/skill.md", "/users/:id/skill.md"),
        (["/:a/b/skill.md", "/a/:b/skill.md"], "/a/b/skill.md", "/a/:b/skill.md"),
        (["/a/:x", "/a/skill.md"], "/a/skill.md", "/a/skill.md"),
        (["/a/:first/skill.md", "/a/:second/skill.md"], "/a/b/skill.md", "/a/:first/skill.md"),
        (["/a/:x/skill.md"], "/a/b/c/skill.md", None),
        (["/a/:x/skill.md"], "/a/b/prompt.md", None),
        ([], "/a/skill.md", None),
    ],
)
def test_the_most_specific_path_answers_then_the_first(
    registered: list[str], asked: str, answers: str | None
) -> None:
    found = best_match(map(LivePath.parse, registered), LivePath.parse(asked))
    assert (found[0].text if found else None) == answers


@pytest.mark.parametrize(
    ("path", "depth"),
    [
        ("/skill.md", 1),
        ("/search", 1),
        ("/summaries/prompt.md", 1),
        ("/workspace/review/skill.md", 1),
        ("/workspace/review/files/skill.md", 2),
        ("/a/b/c/d/skill.md", 3),
    ],
)
def test_the_depth_counts_segments_below_the_first_two(path: str, depth: int) -> None:
    assert LivePath.parse(path).depth == depth

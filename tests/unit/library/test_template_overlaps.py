"""Templates of several sources that describe skills at the same paths."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import Library
from skillwire.core.template import SkillTemplate
from skillwire.core.template_overlap import find_shared_path
from skillwire.sources import MemorySource, Problem, Rule, Severity
from tests.support.clients import skill
from tests.support.templates import catalog_library, code_source

TEXTS = ["a", "b", "x", "A b"]
"""The last one cannot be the name of a skill."""
segments = st.tuples(
    st.sampled_from(["a", "b", None]),  # None for a parameter
    st.none() | st.lists(st.sampled_from(TEXTS), unique=True, max_size=3),
)


@st.composite
def templates(draw: st.DrawFn) -> SkillTemplate:
    """Return a template in which no parameter is repeated."""
    parts = draw(st.lists(segments, min_size=1, max_size=3))
    path = "/".join(f"{{p{place}}}" if text is None else text for place, (text, _) in enumerate(parts))
    known = {
        f"p{place}": values
        for place, (text, values) in enumerate(parts)
        if text is None and values is not None
    }
    return SkillTemplate(path, "D.", "code", path, values=known)


def has_skill(template: SkillTemplate, path: str) -> bool:
    values = template.match_path(path)
    return values is not None and template.entry(template.expand(values)) is not None


@given(templates(), templates())
def test_shared_path_is_found_exactly_if_there_is_one(one: SkillTemplate, other: SkillTemplate) -> None:
    lengths = {each.path.count("/") + 1 for each in (one, other)}
    paths = ["/".join(each) for length in lengths for each in product(TEXTS, repeat=length)]
    shared = [path for path in paths if has_skill(one, path) and has_skill(other, path)]
    found = find_shared_path(one, other)
    assert (found in shared) if shared else (found is None)


def overlaps(problems: tuple[Problem, ...]) -> list[Problem]:
    return [each for each in problems if each.rule is Rule.TEMPLATE_OVERLAP]


@pytest.mark.anyio
async def test_overlap_of_two_sources_is_one_warning_with_both() -> None:
    library = await catalog_library(
        code_source("one", [], {"docs/{p}/guide": {"p": ["x", "y"]}, "{any}/{thing}": {}}),
        code_source("two", [], {"docs/{q}/guide": {"q": ["y", "z"]}, "kb/{area}": {}, "{a}/b/{c}/d": {}}),
        code_source("three", [], {"docs/{q}/guide": {"q": ["w"]}}),
    )
    first, second = overlaps(library.catalog.problems)
    assert (first.path, first.severity) == ("two/docs/{q}/guide", Severity.WARNING)
    assert first.message == (
        "skills at paths such as `docs/y/guide` belong to the template `docs/{p}/guide` of `one`, "
        "which comes first"
    )
    assert "give one of the sources a prefix" in first.hint
    assert second.path == "two/kb/{area}"
    assert "`kb/x` belong to the template `{any}/{thing}` of `one`" in second.message


@pytest.mark.anyio
async def test_templates_of_one_source_may_overlap() -> None:
    one = code_source("one", [], {"docs/{p}/guide": {"p": ["x"]}, "docs/{a}/{b}": {}})
    library = await catalog_library(one, code_source("two", [], {"kb/{area}": {}}))
    assert overlaps(library.catalog.problems) == []


@pytest.mark.anyio
async def test_change_of_other_skills_keeps_the_computed_warnings() -> None:
    memory = MemorySource([skill("refunds")])
    sources = [code_source(label, [], {"docs/{p}": {}}) for label in ("one", "two")]
    library = Library([*sources, memory])
    before = (await library.load()).template_overlaps
    memory.put(skill("returns"))
    await library.rescan_source(memory)
    assert "skill://returns/SKILL.md" in library.catalog.entries
    assert len(before) == 1
    assert library.catalog.template_overlaps is before
    assert overlaps(library.catalog.problems) == list(before)

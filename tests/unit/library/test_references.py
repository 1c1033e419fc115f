"""References: every spelling that the text of a skill, a person or a model uses for a skill or file."""

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import Catalog, Library, MemorySource
from skillwire.core.template import SkillTemplate
from skillwire.library.names import AmbiguousNameError, Names, Reference, UnknownNameError
from skillwire.sources import Scan, Source
from tests.support.clients import skill

FILES = {"references/guide.md": b"g\n", "scripts/run.py": b"r\n"}
ODD_FILES = {
    "notes/skill.md": b"n\n",
    "a b/größe 50%.md": b"o\n",
    "%41.md": b"p\n",
    "A.md": b"q\n",
    ":x,y.md": b"z\n",
}


class Templated(MemorySource):
    """Skills in memory, and templates beside them."""

    def __init__(self, label: str, paths: Sequence[str], templates: Sequence[SkillTemplate] = ()) -> None:
        super().__init__([skill(path, files=FILES) for path in paths], label=label)
        self._templates = tuple(templates)

    async def scan(self, progress: object = None) -> Scan:
        found = await super().scan()
        return Scan(found.entries, found.problems, self._templates)


def template(path: str, label: str = "team", **values: Sequence[str]) -> SkillTemplate:
    return SkillTemplate(path, "About {product}.", label, path, values=values)


def catalog_of(*sources: Source) -> Catalog:
    return anyio.run(Library(sources).load)


def names_of(*paths: str, templates: Sequence[SkillTemplate] = ()) -> Names:
    return Names(catalog_of(Templated("team", paths, templates)))


def shown(found: Reference) -> str:
    return f"{found.entry.path} {found.path}".strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("review", "acme/workspace/review"),
        ("acme/workspace/review", "acme/workspace/review"),
        ("/acme/workspace/review/", "acme/workspace/review"),
        ("acme/workspace/review/SKILL.md", "acme/workspace/review"),
        ("/acme/workspace/review/skill.md", "acme/workspace/review"),
        ("workspace/review", "acme/workspace/review"),
        ("/workspace/review/skill.md", "acme/workspace/review"),
        ("review/SKILL.md", "acme/workspace/review"),
        ("./review", "acme/workspace/review"),
        ("team:review", "acme/workspace/review"),
        ("team:acme/workspace/review", "acme/workspace/review"),
        ("team/review", "acme/workspace/review"),
        ("skill://acme/workspace/review/SKILL.md", "acme/workspace/review"),
        ("skill://acme/workspace/review/skill.md", "acme/workspace/review"),
        ("skill://acme/workspace/review", "acme/workspace/review"),
        ("skill://acme/workspace/review/", "acme/workspace/review"),
        ("acme/workspace/review/references/guide.md", "acme/workspace/review references/guide.md"),
        ("review/references/guide.md", "acme/workspace/review references/guide.md"),
        ("workspace/review/references/guide.md", "acme/workspace/review references/guide.md"),
        ("team:review/references/guide.md", "acme/workspace/review references/guide.md"),
        ("review/references", "acme/workspace/review references"),
        (
            "skill://acme/workspace/review/references/guide.md",
            "acme/workspace/review references/guide.md",
        ),
        ("skill://acme/workspace/review/references", "acme/workspace/review references"),
    ],
)
def test_every_spelling_finds_the_same_skill(text: str, expected: str) -> None:
    assert shown(names_of("acme/workspace/review", "other").resolve(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "SKILL.md",
        "..",
        "../review",
        "review/../review",
        "nothere",
        "review/nothere.md",
        "skill://review/../review",
        "skill://",
        "team:",
        "other-team:review",
        "x" * 5000,
        "/".join("abc" for _ in range(200)),
        "review\0",
        "rev\ud800iew",
        "%",
        "%2e%2e/review",
    ],
)
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(UnknownNameError):
        names_of("acme/review").resolve(text)


def test_path_in_a_skill_is_relative_to_that_skill() -> None:
    names = names_of("one/review", "one/files", "two/review", "two/files")
    base = names.resolve("two/review").entry
    assert shown(names.resolve("references/guide.md", base=base)) == "two/review references/guide.md"
    assert shown(names.resolve("./scripts/run.py", base=base)) == "two/review scripts/run.py"
    assert shown(names.resolve("SKILL.md", base=base)) == "two/review"
    with pytest.raises(AmbiguousNameError) as caught:
        names.resolve("files/skill.md", base=base)
    assert caught.value.handles == ["one/files", "two/files"]


def test_file_of_a_skill_comes_before_path_ends() -> None:
    names = names_of("review", "b/review/references")
    assert shown(names.resolve("review/references")) == "review references"
    assert shown(names.resolve("b/review/references")) == "b/review/references"


def test_ambiguous_end_of_a_path_lists_every_fit() -> None:
    names = names_of("a/team/review", "b/team/review", "c/review")
    with pytest.raises(AmbiguousNameError) as caught:
        names.resolve("/team/review/skill.md")
    assert caught.value.handles == ["a/team/review", "b/team/review"]
    with pytest.raises(AmbiguousNameError) as caught:
        names.resolve("team/review/scripts/run.py")
    assert caught.value.handles == ["a/team/review/scripts/run.py", "b/team/review/scripts/run.py"]
    for handle in caught.value.handles:
        assert shown(names.resolve(handle)).endswith(" scripts/run.py")


@pytest.mark.parametrize("listed", ["files/skill.md", "files/SKILL.md"])
@pytest.mark.parametrize("last", ["skill.md", "SKILL.md", "Skill.md"])
def test_inner_document_without_a_skill_is_a_file(listed: str, last: str) -> None:
    """Text such as `/acme/review/files/skill.md` also works if the folder `files` is not a skill."""
    source = MemorySource([skill("acme/review", files={listed: b"inner\n"}), skill("other")], label="team")
    names = Names(catalog_of(source))
    review = names.resolve("review").entry
    for start in ("/acme/review", "acme/review", "review", "/review", "team:review", "skill://acme/review"):
        assert names.resolve(f"{start}/files/{last}") == Reference(review, listed), start
    assert names.resolve(f"files/{last}", base=review) == Reference(review, listed)
    assert names.resolve("skill://acme/review/files") == Reference(review, "files")
    assert names.resolve("review/files") == Reference(review, "files")


@pytest.mark.parametrize(("text", "meant"), [("REVEW", "review"), ("Acme/Revew", "acme/review")])
def test_suggestions_ignore_case(text: str, meant: str) -> None:
    names = names_of("acme/review", "b/deploy") if "/" not in text else names_of("acme/review", "b/review")
    with pytest.raises(UnknownNameError) as caught:
        names.resolve(text)
    assert f"did you mean `{meant}`" in str(caught.value)


TEMPLATES = (
    template("docs/{product}/guide", product=["acme", "beta"]),
    template("app/users/{id}"),
)


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("docs/acme/guide", "skill://docs/acme/guide/SKILL.md"),
        ("/docs/acme/guide/skill.md", "skill://docs/acme/guide/SKILL.md"),
        ("team:docs/beta/guide", "skill://docs/beta/guide/SKILL.md"),
        ("skill://docs/beta/guide/SKILL.md", "skill://docs/beta/guide/SKILL.md"),
        ("skill://docs/beta/guide", "skill://docs/beta/guide/SKILL.md"),
        ("/users/7/skill.md", "skill://app/users/7/SKILL.md"),
        ("users/7", "skill://app/users/7/SKILL.md"),
        ("app/users/7", "skill://app/users/7/SKILL.md"),
    ],
)
def test_instance_of_a_template_is_found_by_path(text: str, uri: str) -> None:
    assert names_of("review", templates=TEMPLATES).resolve(text).entry.uri == uri


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("docs/other/guide", "write one of `acme`, `beta` in place of `{product}` in `docs/{product}/guide`"),
        ("docs/{product}/guide", "write one of `acme`, `beta` in place of `{product}`"),
        ("guide", "write `docs/{product}/guide` with a value for `{product}`"),
        ("users/Not A Name", "write lowercase letters, digits and single hyphens"),
        ("app/users/{id}", "in place of `{id}` in `app/users/{id}`"),
    ],
)
def test_wrong_value_says_which_parameter_and_what_fits(text: str, hint: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        names_of("review", templates=TEMPLATES).resolve(text)
    assert hint in str(caught.value)


def test_listed_skill_takes_precedence_over_a_template() -> None:
    names = names_of("app/users/me", templates=TEMPLATES)
    assert not names.resolve("app/users/me").entry.dynamic
    assert not names.resolve("/users/me/skill.md").entry.dynamic
    assert names.resolve("users/you").entry.dynamic


def test_further_source_renames_nothing() -> None:
    first, second = Templated("first", ["deploy", "ops/review"]), Templated("second", ["deploy", "review"])
    before, after = Names(catalog_of(first)), Names(catalog_of(first, second))
    assert list(before.handles()) == ["deploy", "review"]
    assert list(after.handles()) == ["deploy", "review", "second/deploy", "second/review"]
    assert {problem.rule.value for problem in catalog_of(first, second).problems} == {"name-shared"}
    assert len(catalog_of(first, second).problems) == 2
    for name in before.handles():
        assert after.resolve(name).entry.uri == before.resolve(name).entry.uri


def test_uri_in_the_own_source_is_found_below_the_label() -> None:
    first, second = Templated("first", ["ops/review"]), Templated("second", ["ops/review"], TEMPLATES)
    names = Names(catalog_of(first, second))
    moved = names.resolve("second/ops/review").entry
    assert moved.path == "second/ops/review"
    for uri, expected in (
        ("skill://ops/review/SKILL.md", "ops/review"),
        ("skill://ops/review/references/guide.md", "ops/review references/guide.md"),
    ):
        assert shown(names.resolve(uri)) == expected  # what a URI means here comes first
    third = Templated("third", ["third/deploy"])
    names = Names(catalog_of(first, third))
    for text, expected in (
        ("skill://deploy/skill.md", "third/deploy"),
        ("skill://deploy", "third/deploy"),
        ("skill://deploy/references", "third/deploy references"),
        ("skill://deploy/scripts/run.py", "third/deploy scripts/run.py"),
    ):
        assert shown(names.resolve(text)) == expected
    for text in ("skill://review/SKILL.md", "skill://third", "skill://", "skill://../deploy"):
        with pytest.raises(UnknownNameError):
            names.resolve(text)
    both = Names(catalog_of(third, Templated("fourth", ["fourth/deploy"])))
    with pytest.raises(AmbiguousNameError) as caught:
        both.resolve("skill://deploy/SKILL.md")
    assert caught.value.handles == ["deploy", "fourth/deploy"]
    fourth = both.resolve("fourth/deploy").entry
    assert both.resolve("skill://deploy/SKILL.md", base=fourth) == Reference(fourth)


segments = st.sampled_from(["a", "b", "c", "team", "mine"])
odd_segments = st.sampled_from(["..", "", "SKILL.md", "%2f", "{p}"])
paths = st.lists(segments, min_size=1, max_size=3).map("/".join)


@st.composite
def sources(draw: st.DrawFn) -> list[Source]:
    labels = draw(
        st.lists(st.sampled_from(["team", "mine", "b", "a c"]), unique=True, min_size=1, max_size=3)
    )
    chosen: list[Source] = []
    for label in labels:
        own = draw(st.lists(paths, unique=True, max_size=5))
        outer = [path for path in own if not any(path.startswith(f"{other}/") for other in own)]
        files = draw(st.sampled_from([FILES, FILES | ODD_FILES]))
        chosen.append(MemorySource([skill(path, files=files) for path in outer], label=label))
    return chosen


@settings(max_examples=80, deadline=None)
@given(sources())
def test_every_handle_and_file_resolves_to_exactly_itself(given_sources: list[Source]) -> None:
    found = catalog_of(*given_sources)
    names = Names(found)
    assert len(set(names.handles())) == len(found.entries)
    for entry in found.entries.values():
        handle = names.handle(entry)
        assert "://" not in handle
        for text in (handle, f"{handle}/SKILL.md", entry.uri, entry.root):
            assert names.resolve(text) == Reference(entry), text
        assert names.resolve(f"{entry.path}/scripts/run.py").entry.name == entry.name
        for file in (each.path for each in entry.files if each.path != "SKILL.md"):
            assert names.resolve(entry.uri_of(file)) == Reference(entry, file)
            assert names.resolve(f"{names.handle(entry)}/{file}") == Reference(entry, file)
            assert names.resolve(file, base=entry) == Reference(entry, file)


@settings(max_examples=80, deadline=None)
@given(sources(), sources())
def test_names_of_the_first_source_never_move(one: list[Source], others: list[Source]) -> None:
    first = one[0]
    alone = Names(catalog_of(first))
    more = [source for source in others if source.label != first.label]
    together = Names(catalog_of(first, *more))
    for handle in alone.handles():
        assert together.resolve(handle).entry.uri == alone.resolve(handle).entry.uri


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=60)
    | st.lists(segments | st.sampled_from(["..", "", "SKILL.md", "%2f", "{p}"])).map("/".join)
)
def test_any_text_resolves_or_is_refused(text: str) -> None:
    names = names_of("a/b", "b", "c/team", templates=TEMPLATES)
    for base in (None, names.resolve("a/b").entry):
        try:
            found = names.resolve(text, base=base)
        except (AmbiguousNameError, UnknownNameError):
            continue
        assert found.path in {"", *(f.path for f in found.entry.files), *found.entry.directories}

"""URIs under another scheme: translated both ways without loss, and which schemes are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import ServeOptions
from skillwire.errors import InvalidValueError
from skillwire.protocol.uri_base import UriBase

GITHUB = UriBase("github", "owner/repo")
DOCS = UriBase("docs")

segments = st.from_regex(r"[A-Za-z0-9._~%!$&'()*+,;=-]{1,12}", fullmatch=True)
skill_uris = st.lists(segments, min_size=1, max_size=4).map(lambda parts: "skill://" + "/".join(parts))
safe_segments = st.from_regex(r"[A-Za-z0-9_~-]{1,12}", fullmatch=True)
bases = st.builds(
    UriBase,
    st.sampled_from(["github", "docs", "x", "a+b.c-1"]),
    st.none() | st.lists(safe_segments, min_size=1, max_size=3).map("/".join),
)


@pytest.mark.parametrize(
    ("base", "outer"),
    [
        (GITHUB, "github://owner/repo/refunds/SKILL.md"),
        (UriBase("github", "owner/repo/skills"), "github://owner/repo/skills/refunds/SKILL.md"),
        (DOCS, "docs://refunds/SKILL.md"),
    ],
)
def test_path_of_the_skill_follows_scheme_and_authority(base: UriBase, outer: str) -> None:
    assert base.to_outer("skill://refunds/SKILL.md") == outer
    assert base.to_inner(outer) == "skill://refunds/SKILL.md"


@given(bases, skill_uris)
def test_translating_there_and_back_changes_nothing(base: UriBase, uri: str) -> None:
    outer = base.to_outer(uri)
    assert base.to_inner(outer) == uri
    if uri != "skill://index.json":
        assert outer.endswith(uri.removeprefix("skill://"))
        assert not outer.startswith("skill://")
        assert base.to_inner(uri) is None  # one skill has one URI


@given(bases, st.text(max_size=40))
def test_other_uris_are_unchanged(base: UriBase, text: str) -> None:
    if not text.startswith("skill://"):
        assert base.to_outer(text) == text
        if not text.startswith(base.prefix):
            assert base.to_inner(text) == text


@pytest.mark.parametrize("uri", ["skillwire://problems", "resource://skills/x", "ui://skillwire/a.html"])
def test_uris_of_further_resources_stay(uri: str) -> None:
    assert (GITHUB.to_outer(uri), GITHUB.to_inner(uri), GITHUB.in_text(uri)) == (uri, uri, uri)


def test_the_index_of_early_drafts_keeps_its_fixed_uri() -> None:
    assert GITHUB.to_outer("skill://index.json") == GITHUB.to_inner("skill://index.json")
    assert GITHUB.to_inner("github://owner/repo/index.json") is None
    text = "read `skill://index.json`, then `skill://index.json-lines/SKILL.md` or skill://a"
    assert GITHUB.in_text(text) == (
        "read `skill://index.json`, then `github://owner/repo/index.json-lines/SKILL.md` or github://owner/repo/a"
    )


@pytest.mark.parametrize(
    "uri", ["github://owner/repository/a", "github://owner/repo", "GITHUB://owner/repo/a", "github://a"]
)
def test_uris_beside_the_base_name_no_skill(uri: str) -> None:
    assert GITHUB.to_inner(uri) == uri


REFUSED = ["file", "http", "https", "skill", "skillwire", "resource", "ui", "data", "javascript", "ws", "ftp"]


@pytest.mark.parametrize("scheme", REFUSED)
def test_a_scheme_with_another_meaning_is_refused(scheme: str) -> None:
    with pytest.raises(InvalidValueError, match=rf"^the scheme `{scheme}` .*; choose another"):
        ServeOptions(scheme=scheme)


@pytest.mark.parametrize(
    "scheme", ["", "GitHub", "git hub", "1git", "git_hub", "git:", "x" * 64, "gît", "a\n"]
)
def test_an_invalid_scheme_is_refused(scheme: str) -> None:
    with pytest.raises(InvalidValueError, match="is not a URI scheme: a lowercase letter, then"):
        ServeOptions(scheme=scheme, authority="owner")


@pytest.mark.parametrize(
    "authority",
    [
        "",
        "/",
        "a/",
        "/a",
        "a//b",
        ".",
        "a/..",
        "a b",
        "a@b",
        "a:1",
        "a?b",
        "a#b",
        "%41",
        "{a}",
        "<",
        "é",
        "a" * 257,
    ],
)
def test_an_invalid_authority_is_refused(authority: str) -> None:
    with pytest.raises(InvalidValueError, match="is not a path of letters, digits"):
        ServeOptions(scheme="github", authority=authority)


def test_an_authority_without_a_scheme_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="the authority `a/b` has no scheme; name one"):
        ServeOptions(authority="a/b")

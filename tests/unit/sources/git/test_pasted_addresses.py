"""Addresses of repositories as people paste them: what they mean, and what they never do."""

from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillwire.errors import InvalidValueError
from skillwire.sources.git.address import Repository
from skillwire.sources.git.pages import canonical_address, names_repository

SSH = "git+git@github.com:o/r.git"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("https://github.com/o/r", "github:o/r"),
        ("http://www.github.com/o/r/", "github:o/r"),
        ("github.com/o/r", "github:o/r"),
        ("https://github.com/o/r.git?tab=readme-ov-file#install", "github:o/r"),
        ("https://github.com/o/r/tree/main/skills?x=1#y", "github:o/r/skills@main"),
        ("https://github.com/o/r/tree/refs/heads/main/skills/", "github:o/r/skills@main"),
        ("https://github.com/o/r/blob/main/x/SKILL.md", "github:o/r/x@main"),
        ("https://github.com/o/r/blob/main/SKILL.md#L3", "github:o/r@main"),
        ("https://github.com/o/r/raw/refs/tags/v1/x/skill.md", "github:o/r/x@v1"),
        ("https://github.com/o/r/tree/main/a%20b/%40c", "github:o/r/a b/@c@main"),
        ("https://github.com/o/r/tree/a%2Fb/x", "github:o/r/x@a/b"),
        ("https://github.com/o/r/tree/main/a@b", "git+https://github.com/o/r.git@main#a@b"),
        ("https://raw.githubusercontent.com/o/r/refs/heads/main/x/SKILL.md", "github:o/r/x@main"),
        ("git@github.com:o/r", "git+git@github.com:o/r"),
        ("git@github.com:o/r.git", SSH),
        ("ssh://git@github.com:22/o/r.git/", "git+ssh://git@github.com:22/o/r.git"),
        ("https://gitlab.com/g/s/r", "git+https://gitlab.com/g/s/r.git"),
        ("gitlab.com/g/r", "git+https://gitlab.com/g/r.git"),
        ("https://gitlab.com/g/s/r/-/tree/main/x?ref_type=heads", "git+https://gitlab.com/g/s/r.git@main#x"),
        ("https://gitlab.com/g/r/-/blob/main/x/SKILL.md", "git+https://gitlab.com/g/r.git@main#x"),
        ("https://git.example/g/r/-/raw/v1/x/SKILL.md", "git+https://git.example/g/r.git@v1#x"),
        ("https://git.example:8443/a/b.git/", "git+https://git.example:8443/a/b.git"),
        ("https://bitbucket.org/w/r/", "git+https://bitbucket.org/w/r.git"),
        ("https://bitbucket.org/w/r/src/main/x/", "git+https://bitbucket.org/w/r.git@main#x"),
        (
            "https://bb.example/c/projects/P/repos/r/browse/a?at=refs%2Fheads%2Ff%2Fx",
            "git+https://bb.example/c/scm/P/r.git@f/x#a",
        ),
        ("https://bb.example/users/u/repos/r/browse", "git+https://bb.example/scm/~u/r.git"),
    ],
)
def test_a_pasted_address_has_a_canonical_form(text: str, canonical: str) -> None:
    assert names_repository(text)
    repository = Repository.parse(text)
    assert repository.place == canonical
    assert Repository.parse(canonical) == repository


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("https://github.com/o/r/issues/4", "write `github:o/r`"),
        ("https://github.com/o/r/pull/4/files?diff=split", "write `github:o/r`"),
        ("github.com/o/r/releases", "write `github:o/r`"),
        ("https://github.com/o/r/blob/main/x/notes.md", "name its folder, `github:o/r/x@main`"),
        ("https://raw.githubusercontent.com/o/r", "write `github:owner/repo`"),
        ("https://gitlab.com/g/r/-/issues", "write `git+https://gitlab.com/g/r.git`"),
        ("https://gitlab.com/group", "write `https://gitlab.com/group/project`"),
        ("https://bitbucket.org/w/r/pull-requests/1", "write `git+https://bitbucket.org/w/r.git`"),
    ],
)
def test_a_page_without_a_folder_is_refused_with_a_hint(text: str, fix: str) -> None:
    assert names_repository(text)
    with pytest.raises(InvalidValueError) as caught:
        Repository.parse(text)
    assert caught.value.fix == fix


@pytest.mark.parametrize("login", ["zq-secret", "alice:zq-secret", "zq-secret:x-oauth-basic"])
@pytest.mark.parametrize("rest", ["github.com/o/r", "gitlab.com/g/r.git?a=1", "git.example/g/r.git"])
def test_credentials_are_refused_and_never_shown(login: str, rest: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Repository.parse(f"https://{login}@{rest}")
    assert "zq-secret" not in str(caught.value)
    assert "--token-env" in caught.value.fix


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com@evil.example/o/r",
        "https://github.com:8443/o/r",
        "https://github.com.evil.example/o/r",
        "https://evil.example/github.com/o/r",
        "https://evil.example/?x=https://github.com/o/r",
        "https://github.com./o/r",
        "evil.example:o/r",
    ],
)
def test_other_hosts_are_not_taken_for_known_ones(text: str) -> None:
    assert not names_repository(text)
    assert canonical_address(text) is None


PARTS = [
    *("https://", "http://", "ssh://", "git@", "www.", "github.com", "gitlab.com", "bitbucket.org"),
    *("raw.githubusercontent.com", "host.example", "user:pw@", ":8443", "/", "/o/r", "/tree/", "/blob/"),
    *("/-/", "raw/", "src/", "main", "refs/heads/", "/projects/P/repos/r/browse", "?at=", "SKILL.md", ".git"),
    *("@", "#", "?", "..", "%2F", "%00", "%40", ":", "-", "[", "\\", "\t"),
]


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=4), max_size=12).map("".join))
@example("https://git\thub.com/o/r")
@example("https://github.com/o/r/tree/main/%0a")
@example("https://bb.example/projects/P/repos/r/browse?at=%00")
@example("https://[::1]/a/b.git")
def test_any_pasted_text_keeps_its_host_or_is_refused(text: str) -> None:
    with suppress(InvalidValueError):
        repository = Repository.parse(text)
        again = Repository.parse(repository.place)
        assert (again.place, again.url, again.path, again.ref) == (
            repository.place,
            repository.url,
            repository.path,
            repository.ref,
        )
        if text.lower().startswith(("https://", "http://")):
            named, used = urlsplit(text), urlsplit(repository.url)
            host = (named.hostname or "").removeprefix("www.")
            assert used.hostname in {host, "github.com" if host == "raw.githubusercontent.com" else host}
            assert "@" not in named.netloc


def test_a_branch_may_continue_in_the_path() -> None:
    repository = Repository.parse("https://github.com/o/r/tree/feature/new/skills/x")
    interpretations = [(each.ref, each.path) for each in repository.interpretations()]
    assert interpretations == [
        ("feature", "new/skills/x"),
        ("feature/new", "skills/x"),
        ("feature/new/skills", "x"),
        ("feature/new/skills/x", ""),
    ]
    pinned = Repository.parse(f"https://github.com/o/r/tree/{'a' * 40}/x")
    assert pinned.interpretations() == (pinned,)

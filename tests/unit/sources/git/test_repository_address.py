"""Addresses of repositories, and those that are refused before git is started."""

from contextlib import suppress
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillwire.errors import InvalidValueError
from skillwire.sources.git.address import Repository

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "url", "path", "ref"),
    [
        ("github:acme/skills", "https://github.com/acme/skills.git", "", ""),
        ("github:acme/skills.git", "https://github.com/acme/skills.git", "", ""),
        ("github:acme/a.b_c-d/x/y", "https://github.com/acme/a.b_c-d.git", "x/y", ""),
        ("github:acme/skills/x/", "https://github.com/acme/skills.git", "x", ""),
        ("github:acme/skills@v1.2", "https://github.com/acme/skills.git", "", "v1.2"),
        ("github:acme/skills/x@feature/new", "https://github.com/acme/skills.git", "x", "feature/new"),
        ("github:acme/skills/@acme/x@main", "https://github.com/acme/skills.git", "@acme/x", "main"),
        ("github:acme/skills@tool@1.0.0", "https://github.com/acme/skills.git", "", "tool@1.0.0"),
        (f"github:acme/skills@{COMMIT.upper()}", "https://github.com/acme/skills.git", "", COMMIT),
        ("github.com/acme/skills", "https://github.com/acme/skills.git", "", ""),
        ("github.com/acme/skills/x/y@v1", "https://github.com/acme/skills.git", "x/y", "v1"),
        ("GitHub.com/acme/skills.git", "https://github.com/acme/skills.git", "", ""),
        ("www.github.com/acme/skills/", "https://github.com/acme/skills.git", "", ""),
        ("http://github.com/acme/skills", "https://github.com/acme/skills.git", "", ""),
        ("https://github.com/acme/skills.git", "https://github.com/acme/skills.git", "", ""),
        ("https://github.com/acme/skills/tree/v1/", "https://github.com/acme/skills.git", "", "v1"),
        (
            "https://github.com/acme/skills/tree/v1/a%20b/c",
            "https://github.com/acme/skills.git",
            "a b/c",
            "v1",
        ),
        ("github.com/acme/skills/blob/main/x/SKILL.md", "https://github.com/acme/skills.git", "x", "main"),
        ("git+https://host.example/a/b.git", "https://host.example/a/b.git", "", ""),
        ("git+https://host.example:8443/b@v1#x/y", "https://host.example:8443/b", "x/y", "v1"),
        ("git+http://[::1]:80/b.git#x", "http://[::1]:80/b.git", "x", ""),
        ("git+ssh://git@host.example/b.git@main", "ssh://git@host.example/b.git", "", "main"),
        ("git+ssh://host.example:22/~me/b.git", "ssh://host.example:22/~me/b.git", "", ""),
        ("git+git@host.example:a/b.git@v1#x", "git@host.example:a/b.git", "x", "v1"),
        ("git+git://host.example/b.git", "git://host.example/b.git", "", ""),
        ("git+file:///srv/b@main#my skills", "file:///srv/b", "my skills", "main"),
        ("git+HTTPS://host.example/b", "https://host.example/b", "", ""),
    ],
)
def test_each_form_of_address_is_parsed(text: str, url: str, path: str, ref: str) -> None:
    repository = Repository.parse(text)
    assert (repository.url, repository.path, repository.ref) == (url, path, ref)
    assert Repository.parse(repository.place) == repository


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("github:acme/skills", "skills"),
        ("github:acme/skills/x/writing@v1", "writing"),
        ("git+https://host.example/a/tools.git", "tools"),
        ("git+https://host.example/a/tools/", "tools"),
        ("git+git@host.example:tools.git", "tools"),
        ("git+https://host.example/%00", "skills"),
    ],
)
def test_label_is_folder_or_repository_name(text: str, label: str) -> None:
    assert Repository.parse(text).label == label


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("github:acme/skills//etc", "path"),
        ("github:acme/skills/a\\b", "path"),
        ("git+https://host.example/b#/etc", "path"),
        ("git+https://host.example/b#a\\..\\b", "path"),
        ("github:acme/skills@", "ref"),
        ("github:acme/skills@--upload-pack=x", "ref"),
        ("github:acme/skills@a..b", "ref"),
        ("github:acme/skills@a b", "ref"),
        ("github:acme/skills@a:b", "ref"),
        ("github:acme/skills@a.lock", "ref"),
        ("github:acme/skills@/a", "ref"),
        ("github:acme/skills@a@{1}", "ref"),
        ("git+https://host.example/b@-x", "ref"),
        ("github.com/acme/skills/tree/v1/%2e%2e/x", "path"),
        ("https://github.com/acme/skills/tree/--upload-pack=x", "ref"),
        ("github.com/", "repository"),
        ("github.com/acme", "repository"),
        ("https://github.com/-acme/skills", "repository"),
        ("github:", "repository"),
        ("github:acme", "repository"),
        ("github:/skills", "repository"),
        ("github:acme/", "repository"),
        ("github:acme/..", "repository"),
        ("github:acme/.git", "repository"),
        ("github:-acme/skills", "repository"),
        ("git+", "repository"),
        ("git+ext::sh -c x", "repository"),
        ("git+ext://sh/x", "repository"),
        ("git+ftp://host.example/b", "repository"),
        ("git+--upload-pack=x", "repository"),
        ("git+https://-x/b", "repository"),
        ("git+ssh://-oProxyCommand=x/b", "repository"),
        ("git+ssh://-oProxyCommand=x@host.example/b", "repository"),
        ("git+git@-host:b", "repository"),
        ("git+git@host.example:-b", "repository"),
        ("git+https:///b", "repository"),
        ("git+https://host.example", "repository"),
        ("git+https://host.example/", "repository"),
        ("git+https://host.example:port/b", "repository"),
        ("git+https://[::1/b", "repository"),
        ("git+https://host.example/b?x=1", "repository"),
        ("git+https://host.example/a b", "repository"),
        ("git+file://host.example/b", "repository"),
        ("git+/srv/b", "repository"),
        ("git+https://host.example/b\n", "repository"),
        ("github:acme/skills@\x00", "repository"),
        ("github:acme/\udcff", "repository"),
        ("https://host.example/b", "repository"),
    ],
)
def test_unsafe_addresses_are_refused_with_the_rule(text: str, field: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        Repository.parse(text)
    assert caught.value.field == field
    assert " is not " in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "github:acme/skills/..",
        "github:acme/skills/../x@v1",
        "github:acme/skills/x/../../y",
        "git+https://host.example/b#..",
        "git+https://host.example/b@v1#x/../../y",
    ],
)
def test_path_out_of_repository_is_refused_with_hint(text: str) -> None:
    with pytest.raises(InvalidValueError, match="not a folder in the repository, such as `skills/writing`"):
        Repository.parse(text)


def test_commit_is_pinned_and_branch_is_not() -> None:
    assert Repository.parse(f"github:acme/skills@{COMMIT}").is_pinned
    assert Repository.parse(f"github:acme/skills@{COMMIT}{COMMIT[:24]}").is_pinned
    assert not Repository.parse(f"github:acme/skills@{COMMIT[:12]}").is_pinned
    assert not Repository.parse("github:acme/skills").is_pinned


def test_credentials_are_parsed_and_never_shown() -> None:
    repository = Repository.parse("git+https://alice:s%2Fcret@host.example/b.git@v1#x")
    assert (repository.user, repository.token) == ("alice", "s/cret")
    assert repository.place == "git+https://host.example/b.git@v1#x"
    assert "alice" not in repr(repository)


def test_password_in_ssh_address_is_refused_and_not_repeated() -> None:
    for protocol in ("ssh", "git", "file"):
        with pytest.raises(InvalidValueError) as caught:
            Repository.parse(f"git+{protocol}://git:zq-secret@host.example/b.git")
        assert "zq-secret" not in str(caught.value) + caught.value.value


FRAGMENTS = [
    "github:",
    "git+",
    "https://",
    "ssh://",
    "git@",
    "file:///",
    "@",
    "#",
    "/",
    "..",
    ":",
    "-",
    "[",
    "%",
]


@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6), max_size=10).map("".join))
@example("git+https://\u2100/x")
def test_any_text_parses_or_raises_invalid_value(text: str) -> None:
    with suppress(InvalidValueError):
        repository = Repository.parse(text)
        assert Repository.parse(repository.place).place == repository.place
        assert not repository.url.startswith("-")
        assert not repository.ref.startswith("-")
        assert ".." not in repository.path.split("/")
        assert repository.label


SECRETS = st.text(min_size=1, max_size=12).map(lambda text: f"zq{text}zq")


@given(SECRETS, SECRETS, st.text(max_size=12))
@example("zqazq", "zqbzq", "?token=zqbzq")
@example("zqazq", "zqbzq", "\n")
def test_secret_never_appears_in_place_repr_or_error(user: str, token: str, rest: str) -> None:
    shown: list[str] = []
    spelled = [quote(secret, safe="", errors="replace") for secret in (user, token)]
    for who in (f"{spelled[0]}:{spelled[1]}", f"{user}:{token}"):
        if (
            "/" in who or "#" in who
        ):  # the address ends before the secret does: no secret any more, but a path
            continue
        try:
            repository = Repository.parse(f"git+https://{who}@host.example/b.git{rest}")
        except InvalidValueError as error:
            shown += [str(error), repr(error), error.value]
        else:
            shown += [repository.place, repr(repository), str(repository), repository.url, repository.label]
    assert not any(secret in text for secret in (*spelled, user, token) for text in shown)

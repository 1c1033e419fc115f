"""Random secrets stand for a value until they expire, are revoked, or too many others came."""

import pytest
from starlette.datastructures import Headers

from skillwire.server.http.credentials import ExpiringSecrets, bearer_token


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_secret_returns_its_value_until_it_expires() -> None:
    clock, ended = _Clock(), list[str]()
    secrets = ExpiringSecrets[str](10, 5, clock=clock, ended=ended.append)
    secret = secrets.issue("a")
    clock.now = 9.9
    assert secrets.find(secret) == "a"
    clock.now = 10.0
    assert secrets.find(secret) is None
    assert ended == ["a"]


def test_secret_above_the_limit_displaces_the_oldest() -> None:
    ended = list[str]()
    secrets = ExpiringSecrets[str](10, 2, ended=ended.append)
    issued = [secrets.issue(value) for value in ("a", "b", "c")]
    assert [secrets.find(each) for each in issued] == [None, "b", "c"]
    assert ended == ["a"]


def test_a_revoked_secret_ends_once() -> None:
    ended = list[str]()
    secrets = ExpiringSecrets[str](10, 2, ended=ended.append)
    secret = secrets.issue("a")
    secrets.revoke(secret)
    secrets.revoke(secret)
    assert secrets.find(secret) is None
    assert ended == ["a"]


@pytest.mark.parametrize(
    ("sent", "token"),
    [
        (["Bearer abc"], "abc"),
        (["bearer  abc "], "abc"),
        (["Basic abc"], None),
        (["Bearer abc", "Bearer abc"], None),
        ([], None),
    ],
)
def test_only_one_bearer_token_counts(sent: list[str], token: str | None) -> None:
    headers = Headers(raw=[(b"authorization", each.encode()) for each in sent])
    assert bearer_token(headers) == token

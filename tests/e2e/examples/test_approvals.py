"""Approval tokens of code mode: for this code, this user and this session, once, for five minutes."""

from base64 import urlsafe_b64decode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from approved_code.approvals import LIFETIME, Approvals, Caller, Reason, RefusedError

ADA = Caller("ada", "session-1")
CODE = "sum(o['total_cents'] for o in orders)"
VARIABLES = {"least": 1, "where": ["DE", "AT"]}
KEY = bytes(range(32))


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def approvals(clock: Clock) -> Approvals:
    return Approvals("shop", key=KEY, clock=clock)


def refused(
    approvals: Approvals, token: str, caller: Caller = ADA, code: str = CODE, variables: Any = VARIABLES
) -> Reason:
    """Return why a token is refused."""
    with pytest.raises(RefusedError) as caught:
        approvals.redeem(token, caller, code, variables)
    assert "call `validate_code`" in str(caught.value)
    return caught.value.reason


def issued(approvals: Approvals) -> str:
    return approvals.issue(ADA, CODE, VARIABLES, "low")


def test_a_token_works_once(approvals: Approvals) -> None:
    token = issued(approvals)
    approvals.redeem(token, ADA, CODE, VARIABLES)
    assert refused(approvals, token) is Reason.USED


def test_only_one_of_many_simultaneous_uses_of_a_token_succeeds(approvals: Approvals) -> None:
    token, together = issued(approvals), Barrier(8)

    def attempt(_: int) -> bool:
        together.wait(timeout=30)
        try:
            approvals.redeem(token, ADA, CODE, VARIABLES)
        except RefusedError as error:
            return error.reason is not Reason.USED
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(8))) == 1


def test_two_tokens_for_the_same_code_are_two(approvals: Approvals) -> None:
    first, second = issued(approvals), issued(approvals)
    approvals.redeem(first, ADA, CODE, VARIABLES)
    approvals.redeem(second, ADA, CODE, VARIABLES)


def test_a_token_works_for_five_minutes(approvals: Approvals, clock: Clock) -> None:
    early, late = issued(approvals), issued(approvals)
    clock.now += 299.999
    approvals.redeem(early, ADA, CODE, VARIABLES)
    clock.now += 0.001
    assert LIFETIME == 300
    assert refused(approvals, late) is Reason.EXPIRED


def test_a_used_token_is_still_refused_after_it_expires(approvals: Approvals, clock: Clock) -> None:
    token = issued(approvals)
    approvals.redeem(token, ADA, CODE, VARIABLES)
    clock.now += LIFETIME
    approvals.redeem(issued(approvals), ADA, CODE, VARIABLES)
    assert refused(approvals, token) is Reason.EXPIRED


def test_a_token_from_the_future_is_refused(approvals: Approvals, clock: Clock) -> None:
    token = issued(approvals)
    clock.now -= 1
    assert refused(approvals, token) is Reason.EXPIRED


@pytest.mark.parametrize("other", [replace(ADA, user="bob"), replace(ADA, session="session-2")])
def test_a_token_of_another_caller_is_refused(approvals: Approvals, other: Caller) -> None:
    assert refused(approvals, issued(approvals), other) is Reason.FOREIGN


@pytest.mark.parametrize(
    "elsewhere", [Approvals("shop"), Approvals("other", key=KEY), Approvals("shop", key=KEY[::-1])]
)
def test_a_token_of_another_server_is_none(elsewhere: Approvals) -> None:
    assert refused(elsewhere, issued(Approvals("shop", key=KEY))) is Reason.FORGED


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"least": 2, "where": ["DE", "AT"]},
        {"least": True, "where": ["DE", "AT"]},
        {"least": 1.0, "where": ["DE", "AT"]},
        {"least": "1", "where": ["DE", "AT"]},
        {"least": 1, "where": ["AT", "DE"]},
        {"least": 1, "where": ["DE", "AT"], "more": None},
    ],
)
def test_other_variables_need_another_token(approvals: Approvals, variables: dict[str, Any]) -> None:
    token = issued(approvals)
    assert refused(approvals, token, variables=variables) is Reason.ALTERED_VARIABLES
    approvals.redeem(token, ADA, CODE, VARIABLES)  # a refusal does not use it up


def test_the_order_of_variables_does_not_matter(approvals: Approvals) -> None:
    approvals.redeem(issued(approvals), ADA, CODE, dict(reversed(VARIABLES.items())))


def test_a_token_reveals_neither_the_caller_nor_the_code(clock: Clock) -> None:
    ours, theirs = (issued(Approvals("shop", key=key, clock=clock)) for key in (KEY, KEY[::-1]))
    digests = slice(44, -66)
    assert ours[:16] == theirs[:16], "the times are there to be read"
    same = [one for one, other in zip(ours[digests], theirs[digests], strict=True) if one == other]
    assert len(same) < len(ours[digests]) / 2, "what is digested without the key could be guessed"


def test_a_digest_of_code_never_passes_for_one_of_variables(approvals: Approvals) -> None:
    claims = urlsafe_b64decode(approvals.issue(ADA, "{}", {}, "low")[:108])
    assert claims[48:64] != claims[64:80]


def test_a_token_is_short_enough_for_a_model_to_repeat(approvals: Approvals) -> None:
    assert len(issued(approvals)) < 160


# Properties: one token for all examples, which no refusal uses up

SHARED = Approvals("shop", key=KEY, clock=Clock())
TOKEN = issued(SHARED)


def test_a_token_with_each_of_its_bits_changed_is_forged() -> None:
    for bit in range(len(TOKEN) * 8):
        changed = bytearray(TOKEN.encode())
        changed[bit // 8] ^= 1 << bit % 8
        assert refused(SHARED, changed.decode("latin-1")) is Reason.FORGED


@given(
    st.one_of(
        st.text(),
        st.text(min_size=len(TOKEN)),
        st.text().map(TOKEN.__add__),
        st.text().map(f".{TOKEN}".__add__),
    )
)
def test_what_is_no_token_of_ours_is_forged(text: str) -> None:
    assume(text != TOKEN)
    assert refused(SHARED, text) is Reason.FORGED


@given(st.characters(), st.integers(0, len(CODE)), st.integers(0, 1))
def test_code_with_one_character_more_or_another_needs_another_token(new: str, at: int, cut: int) -> None:
    code = CODE[:at] + new + CODE[at + cut :]
    assume(code != CODE)
    assert refused(SHARED, TOKEN, code=code) is Reason.ALTERED_CODE


@given(st.text(), st.text())
def test_no_other_caller_can_use_a_token(user: str, session: str) -> None:
    assume((user, session) != ("ada", "session-1"))
    assert refused(SHARED, TOKEN, Caller(user, session)) is Reason.FOREIGN

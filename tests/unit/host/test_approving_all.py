"""Many approvals at once: exactly the skills that were shown, in exactly the versions that were shown."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import State
from skillwire.cli.select_skills import matching
from skillwire.core.patterns import matches
from skillwire.core.record import Digest
from skillwire.host.store import cache
from skillwire.host.store.approvals import ApprovalStatus
from skillwire.protocol.claims import FileClaim
from tests.support.hosts import honest, open_host

NAMES = ("ab", "ac", "bc", "bd")
SOME = st.sets(st.sampled_from(NAMES))


@pytest.fixture
def remembered(tmp_path: Path) -> Iterator[State]:
    with State.open(tmp_path / "state") as state:
        yield state


def approved_in(state: State) -> set[str]:
    return {
        each.uri.split("/")[-2]
        for each in state.approvals.all()
        if each.approval_status is ApprovalStatus.APPROVED
    }


@pytest.mark.rule("H17")
@settings(max_examples=15)
@given(
    pattern=st.sampled_from(["*", "a*", "?c", "ab", "[ab]d", "acme:b*", "none*"]),
    changed=SOME,
    removed=SOME,
)
def test_the_skills_that_were_shown_are_approved(pattern: str, changed: set[str], removed: set[str]) -> None:
    async def run(state: State) -> None:
        script = honest(*NAMES)
        async with open_host("auto", None, state, acme=script) as host:
            shown = matching(host, pattern)
            wanted = {name for name in NAMES if matches(pattern.removeprefix("acme:"), name, name)}
            assert {each.name for each in shown} == wanted
            for name in changed:
                script.publish(name, {"new.md": b"other"})
            script.entries = [each for each in script.entries if each["frontmatter"]["name"] not in removed]
            script.publish("abc")
            outcomes = await host.approve_all(shown)
            assert [each.skill for each in outcomes] == shown
            refused = {each.skill.name for each in outcomes if each.reason}
            assert refused == wanted & (changed | removed)
            assert approved_in(state) == wanted - refused

    with tempfile.TemporaryDirectory() as folder, State.open(Path(folder) / "state") as state:
        anyio.run(run, state)


@pytest.mark.anyio
@pytest.mark.rule("H15")
async def test_kept_text_is_compared_with_the_text_of_now(remembered: State) -> None:
    script = honest("refunds")
    script.publish("refunds", {"a.md": b"old\n", "logo.png": b"\0", "same.md": b"same"})
    async with open_host("auto", None, remembered, acme=script) as host:
        (skill,) = host.registry
        await host.approve_all([skill])
        assert await host.keep_texts(skill) == 0
        script.publish("refunds", {"a.md": b"new\n", "b.md": b"b", "same.md": b"same"})
        (skill,) = await host.discover()
        found = {each.path: each async for each in host.changed_texts(skill)}
    assert found.keys() == {"a.md", "b.md", "logo.png"}
    assert (found["a.md"].before, found["a.md"].after, found["a.md"].reason) == (b"old\n", b"new\n", "")
    assert (found["b.md"].before, found["b.md"].after, found["b.md"].is_new) == (None, b"b", True)
    assert found["logo.png"].is_removed


@pytest.mark.anyio
@pytest.mark.rule("H11")
async def test_text_that_was_used_is_kept_for_comparison(remembered: State) -> None:
    script = honest("refunds")
    script.publish("refunds", {"a.md": b"old\n", "unread.md": b"1\n"})
    async with open_host("auto", None, remembered, acme=script) as host:
        (skill,) = host.registry
        await host.approve_all([skill])
        await host.read(skill, "a.md")
        script.publish("refunds", {"a.md": b"new\n", "unread.md": b"2\n"})
        (skill,) = await host.discover()
        for _ in range(2):  # the first comparison replaces the cached file
            found = {each.path: each async for each in host.changed_texts(skill)}
            assert (found["a.md"].before, found["a.md"].after) == (b"old\n", b"new\n")
            assert found["unread.md"].before is None
            assert found["unread.md"].reason == "its approved text was not stored"


def claim_of(content: bytes) -> FileClaim:
    return FileClaim("skill://one/a.md", Digest.of(content), len(content))


def test_kept_copies_are_verified_and_limited(remembered: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "KEPT_BYTES", 1000)
    remembered.bind("acme", "https://acme.example/mcp")
    texts = [bytes([number]) * 100 for number in range(30)]
    assert all(remembered.cache.keep("acme", each) for each in texts)
    kept = [each for each in texts if remembered.cache.kept("acme", claim_of(each)) == each]
    assert texts[-1] in kept
    assert len(kept) <= 10
    assert not remembered.cache.keep("acme", bytes(cache.KEPT_FILE_BYTES + 1))
    (path,) = remembered.cache.folder.glob(f"*/kept~{Digest.of(texts[-1]).raw.hex()}")
    path.write_bytes(b"other")
    assert remembered.cache.kept("acme", claim_of(texts[-1])) is None
    remembered.bind("acme", "https://other.example/mcp")
    assert all(remembered.cache.kept("acme", claim_of(each)) is None for each in texts)

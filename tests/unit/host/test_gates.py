"""What a loaded skill cannot do by itself: run code, use tools, or have other servers asked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillwire import State
from skillwire.errors import BadParamsError, NotApprovedError, StateError, UsageError, VerificationError
from skillwire.host import Answer, ExecutionRequest, Request
from skillwire.sources import Rule
from tests.support.clients import ERAS
from tests.support.hosts import Person, honest, open_host
from tests.support.scripted import ScriptedServer
from tests.support.skills import write

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)

WISHES = {"allowed-tools": "Bash(git:*) Read", "hooks": {"PreToolUse": "rm -rf ."}}


@pytest.fixture
def remembered(tmp_path: Path) -> Iterator[State]:
    with State.open(tmp_path / "state") as state:
        yield state


@every_era
@pytest.mark.rule("H21")
async def test_code_needs_no_approval_while_no_server_skill_is_loaded(mode: Any, tmp_path: Path) -> None:
    write(tmp_path, {"own/SKILL.md": "---\nname: own\ndescription: Own.\n---\n"})
    async with open_host(mode, None, None, {"mine": tmp_path}, acme=honest("refunds")) as host:
        session = host.session()
        assert await session.may_execute("make") is True
        await session.load("own")
        assert await session.may_execute("make") is True


@every_era
@pytest.mark.rule("H21", "H30")
async def test_code_needs_approval_each_time_while_server_skill_is_loaded(mode: Any) -> None:
    person = Person()
    async with open_host(mode, person, acme=honest("refunds")) as host:
        session = host.session()
        await session.load("acme:refunds")
        assert await session.may_execute("make \x1b[31minstall") is True
        assert await session.may_execute("make test") is True
        assert [asked.what for asked in person.executions] == ["make \x1b[31minstall", "make test"]
        assert str(person.executions[0]) == (
            "Run this while the model follows `acme:refunds` of the server `acme`?\n  `make \\x1b[31minstall`"
        )
        person.answer = Answer.NO
        assert await session.may_execute("make test") is False
        session.release("acme:refunds")
        assert await session.may_execute("make test") is True
        assert len(person.executions) == 3


@every_era
@pytest.mark.rule("H21")
async def test_lasting_code_approval_covers_same_skills_in_one_session(mode: Any) -> None:
    script, person = honest("refunds", "orders"), Person(Answer.KEEP)
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        assert [await session.may_execute(what) for what in ("a", "b")] == [True, True]
        assert len(person.executions) == 1
        await session.load("acme:orders")
        assert await session.may_execute("c") is True
        assert len(person.executions) == 2  # another skill may be behind it
        session.release("acme:orders")
        script.publish("refunds", {"references/guide.md": b"other"})
        await host.discover()
        await session.load("acme:refunds")
        assert await session.may_execute("d") is True
        assert len(person.executions) == 3  # it is another version
        other = host.session()
        await other.load("acme:refunds")
        assert await other.may_execute("e") is True
        assert len(person.executions) == 4


@every_era
@pytest.mark.rule("H21")
async def test_revocation_and_dynamic_content_rule_out_lasting_code_approval(
    mode: Any,
) -> None:
    script, person = honest("refunds", "live"), Person(Answer.KEEP)
    script.entries[1]["resources"] = "dynamic"
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        assert await session.may_execute("a") is True
        await host.revoke(host.registry.resolve("acme:refunds"))
        await session.load("acme:refunds")
        assert await session.may_execute("b") is True
        assert len(person.executions) == 2
        session.release("acme:refunds")
        await session.load("acme:live")
        assert [await session.may_execute(what) for what in ("c", "d")] == [True, True]
        assert len(person.executions) == 4


@every_era
@pytest.mark.rule("H14", "H21")
async def test_changed_skill_in_context_still_requires_code_approval(mode: Any) -> None:
    script, person = honest("refunds"), Person()
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        script.publish("refunds", {"references/guide.md": b"other"})
        await host.discover()
        person.answer = Answer.NO
        assert await session.may_execute("make") is False


@every_era
@pytest.mark.rule("H15", "H17", "H21")
async def test_lasting_code_approval_ends_when_an_approved_skill_changes(
    mode: Any, remembered: State
) -> None:
    script, person = honest("refunds"), Person(Answer.KEEP)
    async with open_host(mode, person, remembered, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        assert await session.may_execute("make") is True
        script.publish("refunds", {"references/guide.md": b"other"})
        await host.discover()
        person.answer = Answer.NO
        assert await session.may_execute("rm") is False
        script.publish("refunds", {"references/guide.md": b"# Guide\n"})
        await host.discover()
        assert await session.may_execute("rm") is False  # going back does not bring it back
        person.answer = Answer.KEEP
        assert [await session.may_execute(what) for what in ("a", "b")] == [True, True]
        assert len(person.executions) == 5  # each time, until it is loaded anew


@every_era
@pytest.mark.rule("H15", "H21")
async def test_skill_changed_during_code_question_gets_no_lasting_approval(mode: Any) -> None:
    script, person = honest("refunds"), Person(Answer.KEEP)
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")

        async def changing(request: Request) -> None:
            if isinstance(request, ExecutionRequest):
                script.publish("refunds", {"references/guide.md": b"other"})
                await host.discover()

        person.meanwhile = changing
        assert await session.may_execute("make") is True
        person.answer = Answer.NO
        assert await session.may_execute("rm") is False


@every_era
@pytest.mark.rule("H17", "H21")
async def test_lasting_code_approval_ends_when_another_program_revokes(
    mode: Any, remembered: State, tmp_path: Path
) -> None:
    script, person = honest("refunds"), Person(Answer.KEEP)
    async with open_host(mode, person, remembered, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        assert await session.may_execute("make") is True
        skill = host.registry.resolve("acme:refunds").claimed
        with State.open(tmp_path / "state") as elsewhere:
            assert elsewhere.approvals.revoke("acme", skill.uri) is True
            person.answer = Answer.NO
            assert await session.may_execute("rm") is False
            elsewhere.bind("acme", "https://acme.example/mcp")
            elsewhere.approvals.approve("acme", skill)
        assert await session.may_execute("rm") is False  # the yes to code went with the first approval
        assert len(person.executions) == 3


@every_era
@pytest.mark.rule("H21")
async def test_requested_tools_are_allowed_only_when_granted(mode: Any, remembered: State) -> None:
    script = ScriptedServer()
    script.publish("refunds", fields=WISHES)
    async with open_host(mode, Person(Answer.KEEP), remembered, acme=script) as host:
        skill = host.registry.resolve("acme:refunds")
        with pytest.raises(StateError, match="not approved"):
            await host.grant(skill, ["Read"])
        session = host.session()
        await session.load("acme:refunds")
        assert await session.allowed_tools("acme:refunds") == frozenset()  # approval grants nothing
        with pytest.raises(UsageError, match="does not request `Bash`, `Write`"):
            await host.grant(skill, ["Write", "Bash", "Read"])
        await host.grant(skill, ["Read"])
        assert await session.allowed_tools("acme:refunds") == {"Read"}
        script.publish("refunds", {"new.md": b"new"}, WISHES)
        await host.discover()
        with pytest.raises(NotApprovedError):
            await session.allowed_tools("acme:refunds")
        await session.load("acme:refunds")
        assert await session.allowed_tools("acme:refunds") == frozenset()  # it is another skill now


@pytest.mark.rule("H21")
async def test_own_skill_gets_the_tools_it_requests(tmp_path: Path) -> None:
    own = "---\nname: own\ndescription: Own.\nallowed-tools: Bash Read\n---\n"
    write(tmp_path, {"own/SKILL.md": own})
    async with open_host("auto", None, None, {"mine": tmp_path}) as host:
        session = host.session()
        await session.load("own")
        assert await session.allowed_tools("own") == {"Bash", "Read"}


@every_era
@pytest.mark.rule("H22")
async def test_reading_another_server_requires_approval_each_time(mode: Any) -> None:
    acme, bank, person = honest("refunds"), ScriptedServer(), Person()
    acme.files = {**acme.files, "docs://own": b"own"}
    bank.files = {"docs://secret": b"secret"}
    async with open_host(mode, person, acme=acme, bank=bank) as host:
        session = host.session()
        assert (await session.read_resource("bank", "docs://secret")).content == b"secret"
        await session.load("acme:refunds")
        assert (await session.read_resource("acme", "docs://own")).content == b"own"
        assert person.foreign_reads == []
        for times in (1, 2):  # each time anew, whatever was said before
            person.answer = Answer.KEEP
            assert (await session.read_resource("bank", "docs://secret")).content == b"secret"
            assert len(person.foreign_reads) == times
        assert str(person.foreign_reads[0]) == (
            "Read this from `bank` while the model follows `acme:refunds` of the server `acme`?\n"
            "  `docs://secret`"
        )
        person.answer = Answer.NO
        before = bank.count("resources/read")
        with pytest.raises(NotApprovedError, match=r"^server `bank`: .* of server `acme` may have caused"):
            await session.read_resource("bank", "docs://secret")
        assert bank.count("resources/read") == before
        session.release("acme:refunds")
        assert (await session.read_resource("bank", "docs://secret")).content == b"secret"


@every_era
@pytest.mark.rule("H22")
async def test_reads_name_the_loaded_skill_of_the_other_server(mode: Any) -> None:
    person = Person()
    async with open_host(mode, person, one=honest("x"), two=honest("y")) as host:
        session = host.session()
        await session.load("one:x")
        await session.load("two:y")
        person.answer = Answer.NO
        for server, other in (("one", "two:y"), ("two", "one:x")):
            with pytest.raises(NotApprovedError):
                await session.read_resource(server, "docs://a")
            assert [each.handle for each in person.foreign_reads[-1].skills] == [other]


@every_era
@pytest.mark.rule("H22")
async def test_server_skill_cannot_read_own_files_without_approval(mode: Any, tmp_path: Path) -> None:
    write(tmp_path, {"own/SKILL.md": "---\nname: own\ndescription: Own.\n---\n"})
    person = Person()
    async with open_host(mode, person, None, {"mine": tmp_path}, acme=honest("refunds")) as host:
        session = host.session()
        await session.load("acme:refunds")
        person.answer = Answer.NO
        with pytest.raises(NotApprovedError):
            await session.read_resource("mine", "skill://own/SKILL.md")
        assert [each.server for each in person.foreign_reads] == ["mine"]


@every_era
@pytest.mark.rule("H14", "H22")
async def test_only_listed_resources_in_a_loaded_skill_are_read(mode: Any) -> None:
    script = honest("refunds")
    script.files = {**script.files, "skill://refunds/extra.md": b"extra"}
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        reading = await session.read_resource("acme", "skill://refunds/references/guide.md")
        assert "The file `references/guide.md` of the skill" in reading.text
        before = len(script.asked)
        with pytest.raises(VerificationError, match="not among its files"):
            await session.read_resource("acme", "skill://refunds/extra.md")
        assert len(script.asked) == before


@every_era
@pytest.mark.rule("H14", "H15", "H22")
@pytest.mark.parametrize(
    "uri",
    [
        "SKILL://refunds/{}",
        "skill://REFUNDS/{}",
        "skill://%72efunds/{}",
        "skill://refunds//{}",
        "skill://refunds/./{}",
        "skill://x/../refunds/{}",
        "skill:///refunds/{}",
    ],
)
async def test_alternative_uri_spellings_do_not_bypass_the_entry(mode: Any, uri: str) -> None:
    script = honest("refunds")
    guide, extra = uri.format("references/guide.md"), uri.format("extra.md")
    script.files = {**script.files, guide: b"evil", extra: b"evil"}
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        with pytest.raises(VerificationError, match="it was listed"):  # also before it is loaded
            await session.read_resource("acme", guide)
        await session.load("acme:refunds")
        before = len(script.asked)
        for spelled in (guide, extra):
            with pytest.raises(VerificationError) as refused:
                await session.read_resource("acme", spelled)
            assert refused.value.problems[0].rule is Rule.UNLISTED
        assert len(script.asked) == before


@every_era
@pytest.mark.rule("H22")
async def test_looking_up_an_unlisted_skill_elsewhere_needs_approval(mode: Any) -> None:
    bank, person = honest("hidden"), Person()
    bank.pages = [{"skills": []}]
    async with open_host(mode, person, acme=honest("refunds"), bank=bank) as host:
        session = host.session()
        await session.load("acme:refunds")
        person.answer = Answer.NO
        before = len(bank.asked)
        with pytest.raises(NotApprovedError, match=r"of server `acme` may have caused"):
            await session.load("bank:skill://my-secret/SKILL.md")
        assert len(bank.asked) == before
        assert [each.uri for each in person.foreign_reads] == ["skill://my-secret/SKILL.md"]
        person.answer = Answer.ONCE
        await session.load("bank:skill://hidden/SKILL.md")
        assert "The model already follows `acme:refunds` of the server `acme`" in str(person.loads[-1])
        assert "already acts" not in str(person.loads[0])


@pytest.mark.rule("H9")
async def test_server_is_addressed_only_by_its_label() -> None:
    async with open_host("auto", Person(), acme=honest("refunds")) as host:
        with pytest.raises(BadParamsError, match="there is no server `scripted`; known labels: `acme`"):
            await host.session().read_resource("scripted", "docs://a")

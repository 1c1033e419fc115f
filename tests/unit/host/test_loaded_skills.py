"""While a skill is in the context: which of its files are read, and what happens when it changes."""

from collections.abc import Callable
from typing import Any

import pytest

from skillwire.errors import ChangedError, NotApprovedError, RequestError, UnavailableError, VerificationError
from skillwire.host import Answer
from skillwire.sources import Rule
from tests.support.clients import ERAS
from tests.support.hosts import Person, honest, open_host
from tests.support.scripted import ScriptedServer

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)

GUIDE = "skill://refunds/references/guide.md"


def refunds(**files: bytes) -> ScriptedServer:
    script = ScriptedServer()
    script.publish("refunds", {"references/guide.md": b"# Guide\n", "logo.png": b"\x89PNG\0", **files})
    return script


def reads(script: ScriptedServer) -> list[str]:
    return [params["uri"] for method, params in script.asked if method == "resources/read"]


@every_era
@pytest.mark.rule("H14", "H19")
@pytest.mark.parametrize(
    "path",
    [
        "references/guide.md",
        "./references/guide.md",
        "references//guide.md",
        "references/./guide.md",
        "references%2Fguide.md",
        "%72eferences/guide.md",
        GUIDE,
    ],
)
async def test_listed_file_is_read_by_equivalent_path_spellings(mode: Any, path: str) -> None:
    script = refunds()
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        reading = await session.read_file("acme:refunds", path)
        assert (reading.content, reading.uri) == (b"# Guide\n", GUIDE)
    assert reads(script) == ["skill://refunds/SKILL.md", GUIDE]


@every_era
@pytest.mark.rule("H14", "H19")
@pytest.mark.parametrize(
    "path",
    [
        "references/other.md",
        "../other/SKILL.md",
        "references/../../other/SKILL.md",
        "%2e%2e/other/SKILL.md",
        "references/%2e%2e%2f%2e%2e/other/SKILL.md",
        "..%5cother",
        "..\\other",
        "/etc/passwd",
        "%2fetc/passwd",
        "\\\\server\\share",
        "file:///etc/passwd",
        "skill://other/SKILL.md",
        "skill://refunds/references/../../other/SKILL.md",
        "references/guide.md\0",
        "references/guide.md\u202e",
        "References/Guide.md",
        "x" * 10_000,
    ],
)
async def test_unlisted_path_is_refused_without_asking_the_server(mode: Any, path: str) -> None:
    script = refunds()
    script.files = {**script.files, "skill://other/SKILL.md": b"secret", f"skill://refunds/{path}": b"secret"}
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        asked = len(script.asked)
        with pytest.raises(VerificationError, match=r"^server `acme`: ") as refused:
            await session.read_file("acme:refunds", path)
        assert {each.rule for each in refused.value.problems} == {Rule.UNLISTED}
        assert len(str(refused.value)) < 500
        assert len(script.asked) == asked


@every_era
@pytest.mark.rule("H19")
async def test_encoded_file_names_are_read_by_plain_or_encoded_path(mode: Any) -> None:
    script = ScriptedServer()
    script.publish("x", {"with%20space.md": b"space", "a%25b.md": b"percent", "%C3%A4.md": b"umlaut"})
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        await session.load("acme:x")
        for path, content in [
            ("with space.md", b"space"),
            ("with%20space.md", b"space"),
            ("a%b.md", b"percent"),
            ("ä.md", b"umlaut"),
        ]:
            assert (await session.read_file("acme:x", path)).content == content


@every_era
@pytest.mark.rule("H14")
async def test_files_are_readable_only_between_load_and_release(mode: Any) -> None:
    script = refunds()
    async with open_host(mode, Person(), acme=script) as host:
        session, other = host.session(), host.session()
        await session.load("acme:refunds")
        with pytest.raises(RequestError, match="not loaded"):
            await other.read_file("acme:refunds", "logo.png")
        assert (await session.read_file("refunds", "logo.png")).content == b"\x89PNG\0"
        session.release("acme:refunds")
        assert session.acting == ()
        for again in (session.read_file("acme:refunds", "logo.png"), session.list_files("acme:refunds")):
            with pytest.raises(RequestError, match="not loaded"):
                await again
        with pytest.raises(RequestError, match="not loaded"):
            session.release("acme:refunds")


@every_era
@pytest.mark.rule("H14")
async def test_loaded_skill_stays_readable_after_it_is_unlisted(mode: Any) -> None:
    script = refunds()
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        script.pages = [{"skills": []}]
        assert len(await host.discover()) == 0
        for name in ("acme:refunds", "refunds", "acme:skill://refunds/SKILL.md"):
            assert (await session.read_file(name, "references/guide.md")).content == b"# Guide\n"


def rotated(script: ScriptedServer) -> str:
    script.publish("refunds", {"references/guide.md": b"# Evil\n", "logo.png": b"\x89PNG\0"})
    return "`references/guide.md` has changed"


def added(script: ScriptedServer) -> str:
    script.publish(
        "refunds", {"references/guide.md": b"# Guide\n", "logo.png": b"\x89PNG\0", "new.md": b"new"}
    )
    return "`new.md` is new"


def removed(script: ScriptedServer) -> str:
    script.publish("refunds", {"logo.png": b"\x89PNG\0"})
    return "`references/guide.md` was removed"


def made_live(script: ScriptedServer) -> str:
    script.entries[0]["resources"] = "dynamic"
    return "`SKILL.md` was removed"


CHANGES: list[Callable[[ScriptedServer], str]] = [rotated, added, removed, made_live]


@every_era
@pytest.mark.rule("H15", "H17")
@pytest.mark.parametrize("change", CHANGES)
async def test_changed_skill_needs_new_approval_even_after_reverting(
    mode: Any, change: Callable[[ScriptedServer], str]
) -> None:
    script, person = refunds(), Person()
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        told = change(script)
        await host.discover()
        with pytest.raises(ChangedError, match="has changed and needs to be approved again") as refused:
            await session.read_file("acme:refunds", "logo.png")
        assert told in str(refused.value)
        script.publish("refunds", {"references/guide.md": b"# Guide\n", "logo.png": b"\x89PNG\0"})
        await host.discover()
        with pytest.raises(ChangedError):
            await session.read_file("acme:refunds", "logo.png")
        assert len(session.acting) == 1  # it is still in the context
        assert len(person.asked) == 1
        await session.load("acme:refunds")
        assert len(person.asked) == 2
        assert (await session.read_file("acme:refunds", "logo.png")).content == b"\x89PNG\0"


@every_era
@pytest.mark.rule("H15")
async def test_changed_file_refetches_the_entry_and_needs_new_approval(mode: Any) -> None:
    script, person = refunds(), Person()
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        rotated(script)
        with pytest.raises(ChangedError, match=r"server `acme`: the skill `acme:refunds` has changed"):
            await session.read_file("acme:refunds", "references/guide.md")
        assert script.count("skills/get") == 1
        with pytest.raises(ChangedError):  # and from then on nothing is read
            await session.read_file("acme:refunds", "logo.png")
        assert len(reads(script)) == 2
        await session.load("acme:refunds")
        asked = person.loads[-1]
        assert str(asked.inspection.changes) == "`references/guide.md` has changed"
        assert "It was approved before, and has changed" in str(asked)
        assert (await session.read_file("acme:refunds", "references/guide.md")).content == b"# Evil\n"


@every_era
@pytest.mark.rule("H15")
async def test_skill_changed_before_loading_is_asked_about_again(mode: Any) -> None:
    script, person = refunds(), Person()
    async with open_host(mode, person, acme=script) as host:
        script.publish("refunds", body="# New steps\n")
        assert "# New steps" in (await host.session().load("acme:refunds")).text
        assert len(person.loads) == 2
        assert "`SKILL.md` has changed" in str(person.loads[1].inspection.changes)


@every_era
@pytest.mark.rule("H15")
async def test_refusing_the_new_version_blocks_all_reads(mode: Any) -> None:
    script, person = refunds(), Person()
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        rotated(script)
        await host.discover()
        person.answer = Answer.NO
        with pytest.raises(NotApprovedError):
            await session.load("acme:refunds")
        with pytest.raises(ChangedError):
            await session.read_file("acme:refunds", "logo.png")


@every_era
@pytest.mark.rule("H15")
async def test_skill_changed_during_approval_is_asked_about_again(mode: Any) -> None:
    script = refunds()

    class Thinking(Person):
        async def __call__(self, request: Any) -> Answer:
            if not self.asked:
                added(script)  # and its document stays as it was
                await host.discover()
            return await super().__call__(request)

    person = Thinking()
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        assert len(person.asked) == 2
        assert "`new.md` is new" in str(person.loads[1])
        assert (await session.read_file("acme:refunds", "new.md")).content == b"new"


@every_era
@pytest.mark.rule("H15")
async def test_missing_file_does_not_block_other_files(mode: Any) -> None:
    script = refunds()
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        script.files = {uri: each for uri, each in script.files.items() if uri != GUIDE}
        with pytest.raises(UnavailableError, match=r"^server `acme`: .*the server refused"):
            await session.read_file("acme:refunds", "references/guide.md")
        assert (await session.read_file("acme:refunds", "logo.png")).content == b"\x89PNG\0"


@every_era
@pytest.mark.rule("H17")
async def test_reordering_files_is_not_a_change(mode: Any) -> None:
    script, person = refunds(), Person()
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        script.entries[0]["resources"].reverse()
        await host.discover()
        assert (await session.read_file("acme:refunds", "logo.png")).content == b"\x89PNG\0"
        await session.load("acme:refunds")
    assert len(person.asked) == 1


@every_era
@pytest.mark.rule("H16")
async def test_folder_listing_shows_only_files_of_the_entry(
    mode: Any,
) -> None:
    script = refunds()
    extra = "skill://refunds/references/extra.md"
    script.folders = {"skill://refunds/references": {"resources": [{"uri": GUIDE}, {"uri": extra}]}}
    script.files = {**script.files, extra: b"extra"}
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        for folder in ("references", "references/", "./references"):
            listed = await session.list_files("acme:refunds", folder)
            assert "references/guide.md (8 bytes)" in listed
            assert "extra" not in listed
        with pytest.raises(VerificationError):
            await session.read_file("acme:refunds", "references/extra.md")
    assert script.count("resources/directory/read") == 0


@every_era
@pytest.mark.rule("H16")
async def test_dynamic_skill_folder_lists_only_its_direct_children(mode: Any) -> None:
    script = honest("live")
    script.entries[0]["resources"] = "dynamic"
    children = [{"uri": "skill://live/SKILL.md"}, {"uri": "skill://live/references"}]
    outside = {"resources": [{"uri": "skill://live/references/a.md"}, {"uri": "skill://other/b.md"}]}
    script.folders = {"skill://live": {"resources": children}, "skill://live/references": outside}
    async with open_host(mode, Person(), acme=script) as host:
        session = host.session()
        await session.load("acme:live")
        listed = await session.list_files("acme:live")
        assert [line for line in listed.splitlines() if "mark" not in line][2:4] == ["SKILL.md", "references"]
        with pytest.raises(VerificationError, match="not a direct child of the folder"):
            await session.list_files("acme:live", "references")
        with pytest.raises(VerificationError):
            await session.read_file("acme:live", "../other/b.md")


@every_era
@pytest.mark.rule("H18", "H19")
async def test_nested_skill_needs_its_own_approval_to_load(mode: Any) -> None:
    script, person = ScriptedServer(), Person()
    inner = {"allowed-tools": "Bash", "hooks": {"PreToolUse": "rm"}}
    script.publish("outer/inner", {"help.md": b"inner help"}, inner)
    files = {uri.removeprefix("skill://outer/"): content for uri, content in script.files.items()}
    entry = script.entries[0]
    script.publish("outer", {**files, "help.md": b"outer help"})
    script.entries = [*script.entries, entry]
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:outer")
        text = (await session.read_file("acme:outer", "inner/SKILL.md")).text
        assert "its frontmatter has no effect, and the paths that it names are relative to" in text
        assert [each.handle for each in session.acting] == ["acme:outer"]
        assert await session.allowed_tools("acme:outer") == frozenset()
        with pytest.raises(RequestError, match="not loaded"):
            await session.read_file("acme:inner", "help.md")
        person.answer = Answer.NO
        with pytest.raises(NotApprovedError):
            await session.load("acme:inner")
        person.answer = Answer.ONCE
        await session.load("acme:inner")
        assert [each.skill.handle for each in person.loads] == ["acme:outer", "acme:inner", "acme:inner"]
        assert (await session.read_file("acme:inner", "help.md")).content == b"inner help"
        assert (await session.read_file("acme:outer", "help.md")).content == b"outer help"
        assert (await session.read_file("acme:outer", "inner/help.md")).content == b"inner help"


@every_era
@pytest.mark.rule("H14", "H15")
async def test_revoked_approval_ends_reads_of_a_loaded_skill(mode: Any) -> None:
    script, person = refunds(), Person()
    async with open_host(mode, person, acme=script) as host:
        session = host.session()
        await session.load("acme:refunds")
        await host.revoke(host.registry.resolve("acme:refunds"))
        with pytest.raises(NotApprovedError, match="is not approved any more"):
            await session.read_file("acme:refunds", "logo.png")
        await session.load("acme:refunds")
        assert len(person.asked) == 2

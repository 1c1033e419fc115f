"""A server as a source: under its label, as promised or not at all, and never in the way of the others."""

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest

from skillwire import Library, MemorySource, ServerSource
from skillwire.errors import (
    NotServedError,
    SkillwireError,
    SourceUnavailableError,
    UntrustedContentError,
)
from skillwire.library import Change
from skillwire.protocol.claims import FileClaim
from skillwire.protocol.translate import skill_entry
from skillwire.server import skills_server
from skillwire.sources import Limits, Rule, Severity
from tests.support.clients import ERAS, skill
from tests.support.links import Wire
from tests.support.peers import PATIENCE
from tests.support.scripted import ScriptedServer, block_of, entry_of, files_of

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon: how long a pause is proves nothing."""
    monkeypatch.setattr("skillwire.host.servers.link._MIN_PAUSE", 0.05)


FILES = files_of("x", {"refs/a.md": b"A", "logo.png": b"\x89PNG\0", "with space & 100%.md": b"odd"})
MAIN, OURS = "skill://x/SKILL.md", "skill://upstream/x/SKILL.md"


def quoted_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {uri.replace(" ", "%20").replace("100%.", "100%25."): content for uri, content in files.items()}


async def library_of(*scripts: ScriptedServer, limits: Limits | None = None) -> Library:
    labels = ["upstream", "second"]
    links = [
        Wire(script.server()).link(limits, label) for script, label in zip(scripts, labels, strict=False)
    ]
    library = Library([ServerSource(link, trusted=True) for link in links])
    await library.load()
    return library


def reads(script: ScriptedServer) -> list[str]:
    return [params["uri"] for method, params in script.asked if method == "resources/read"]


async def test_entries_are_passed_on_unchanged_under_the_label() -> None:
    files = quoted_files(FILES)
    entry = entry_of("x", files)
    entry["frontmatter"] |= {"metadata": {"a": [1, 2.5, None, True]}, "license": "MIT", "odd": {"b": "ü"}}
    document = (
        "---\nname: x\ndescription: Does x.\nmetadata: {a: [1, 2.5, null, true]}\n"
        "license: MIT\nodd: {b: ü}\n---\n# Steps\n"
    ).encode()
    files[MAIN] = document
    entry["resources"] = entry_of("x", files)["resources"]
    library = await library_of(ScriptedServer([entry], files))
    passed = skill_entry(library.catalog.skill(OURS))
    assert passed["frontmatter"] == entry["frontmatter"]
    ours = {uri.replace("skill://", "skill://upstream/") for uri in files}
    resources: Any = passed["resources"]
    assert {each["uri"] for each in resources} == ours
    promised = {(each["digest"], each["size"]) for each in entry["resources"]}
    assert {(each["digest"], each["size"]) for each in resources} == promised
    for uri, content in files.items():
        assert (await library.read(uri.replace("skill://", "skill://upstream/"))).content == content


@pytest.mark.rule("H11")
async def test_only_the_requested_file_is_read_from_the_server() -> None:
    script = ScriptedServer([entry_of("x", files := quoted_files(FILES))], files)
    library = await library_of(script)
    assert reads(script) == []
    await library.read(OURS)
    assert reads(script) == [MAIN]


@pytest.mark.rule("H9")
async def test_two_servers_with_the_same_uris_stay_apart() -> None:
    other = {**files_of("x"), MAIN: files_of("x")[MAIN] + b"Others.\n"}
    library = await library_of(
        ScriptedServer([entry_of("x", files_of("x"))], files_of("x")),
        ScriptedServer([entry_of("x", other)], other),
    )
    assert list(library.catalog.entries) == [OURS, "skill://second/x/SKILL.md"]
    assert (await library.read(OURS)).content == files_of("x")[MAIN]
    assert (await library.read("skill://second/x/SKILL.md")).content == other[MAIN]


@pytest.mark.rule("H4")
async def test_skills_with_other_schemes_get_distinct_uris() -> None:
    def foreign(scheme: str) -> tuple[dict[str, Any], dict[str, bytes]]:
        files = {uri.replace("skill://", scheme): content for uri, content in files_of("x").items()}
        entry = entry_of("x", files)
        return {**entry, "uri": f"{scheme}x/SKILL.md"}, files

    made = [foreign(scheme) for scheme in ("skill://", "github://", "custom:/", "file:///")]
    script = ScriptedServer(
        [entry for entry, _ in made], {u: c for _, files in made for u, c in files.items()}
    )
    library = await library_of(script)
    assert list(library.catalog.entries) == [
        OURS,
        "skill://upstream/github/x/SKILL.md",
        "skill://upstream/custom/x/SKILL.md",
    ]
    told = [(each.rule, each.severity) for each in library.catalog.problems]
    assert told.count((Rule.URI_TAKEN, Severity.WARNING)) == 2
    assert told.count((Rule.SERVER_ENTRY, Severity.ERROR)) == 1
    for uri in library.catalog.entries:
        await library.read(uri)


@pytest.mark.rule("H5")
async def test_bad_entries_are_reported_and_good_ones_kept() -> None:
    good = entry_of("x", files_of("x"))
    bad = {**entry_of("y", files_of("y")), "resources": "none"}
    half = entry_of("z", files_of("z"))
    half["frontmatter"]["odd"] = "\ud800"
    odd = entry_of("w", {"skill://a/%01/w/SKILL.md": b""}) | {"uri": "skill://a/%01/w/SKILL.md"}
    library = await library_of(ScriptedServer([7, bad, half, odd, good], files_of("x")))
    assert list(library.catalog.entries) == [OURS]
    told = {each.path: each for each in library.catalog.problems}
    assert told["."].rule is Rule.SERVER_LIST
    assert told["."].message.startswith("`upstream`: ")
    assert told["y/SKILL.md"].rule is Rule.SERVER_ENTRY
    assert "(entry-resources)" in told["y/SKILL.md"].message
    assert "a lone surrogate" in told["z/SKILL.md"].message
    assert all(each.hint for each in told.values())
    assert len(told) == 4


@pytest.mark.rule("H8")
async def test_skill_above_the_limits_is_declined_without_reading_it() -> None:
    files = files_of("x", {"a.md": b"A" * 10})
    script = ScriptedServer([entry_of("x", files)], files)
    size = sum(map(len, files.values()))
    assert OURS in (await library_of(script, limits=Limits(files=2, bytes=size))).catalog.entries
    for limits in (Limits(files=1), Limits(bytes=size - 1)):
        library = await library_of(script, limits=limits)
        assert library.catalog.entries == {}
        assert ["(entry-limits)" in each.message for each in library.catalog.problems] == [True]
    assert reads(script) == []


async def test_dynamic_skill_is_read_anew_each_time() -> None:
    script = ScriptedServer([{**entry_of("x", {}), "resources": "dynamic"}], files_of("x"))
    library = await library_of(script)
    assert skill_entry(library.catalog.skill(OURS))["resources"] == "dynamic"
    assert [(await library.read(OURS)).content for _ in range(2)] == [files_of("x")[MAIN]] * 2
    assert reads(script) == [MAIN, MAIN]
    script.files = {MAIN: files_of("x")[MAIN].replace(b"Does x", b"Does much more")}
    with pytest.raises(SkillwireError, match="the field `description` differs from the document"):
        await library.read(OURS)


@pytest.mark.rule("H15")
async def test_unlisted_bytes_are_refused_after_refetching_the_entry() -> None:
    files = files_of("x", {"a.md": b"A"})
    script = ScriptedServer([entry_of("x", files)], files, read={"skill://x/a.md": {"contents": []}})
    library = await library_of(script)
    for lie in (block_of("skill://x/a.md", b"B"), block_of("skill://x/a.md", b"AA"), block_of(MAIN, b"A")):
        script.read = {"skill://x/a.md": {"contents": [lie]}}
        script.asked.clear()
        with pytest.raises(
            UntrustedContentError, match="`upstream` sent something other than what it listed"
        ):
            await library.read("skill://upstream/x/a.md")
        assert [method for method, _ in script.asked] == ["resources/read", "skills/get", "resources/read"]
    script.read = {}
    assert (await library.read("skill://upstream/x/a.md")).content == b"A"


@pytest.mark.rule("H15")
async def test_wrong_size_is_refused_even_with_the_right_digest() -> None:
    files = files_of("x", {"a.md": b"A"})
    entry = entry_of("x", files)
    entry["resources"][1]["size"] = 2
    library = await library_of(ScriptedServer([entry], files))
    with pytest.raises(UntrustedContentError, match=r"listed with 2 bytes and has 1 \(size\)"):
        await library.read("skill://upstream/x/a.md")


@pytest.mark.rule("H13")
async def test_a_document_that_contradicts_its_entry_is_refused() -> None:
    entry = entry_of("x", files_of("x"))
    entry["frontmatter"]["description"] = "Something nicer."
    library = await library_of(ScriptedServer([entry], files_of("x")))
    with pytest.raises(UntrustedContentError, match="the field `description`"):
        await library.read(OURS)


@pytest.mark.rule("H15")
async def test_changed_file_is_served_under_its_new_digest() -> None:
    files = files_of("x", {"a.md": b"A"})
    script = ScriptedServer([entry_of("x", files)], files)
    library = await library_of(script)
    before = library.catalog.skill(OURS)
    script.files = {**files, "skill://x/a.md": b"B"}
    script.entries = [entry_of("x", script.files)]
    reading = await library.read("skill://upstream/x/a.md")
    assert (reading.content, reading.served.entry == before) == (b"B", False)
    assert sum(method == "skills/list" for method, _ in script.asked) == 1


async def test_removed_skill_is_no_longer_served() -> None:
    script = ScriptedServer([entry_of("x", files_of("x"))], files_of("x"))
    library = await library_of(script)
    script.entries, script.files = [], {}
    with pytest.raises(NotServedError):
        await library.read(OURS)
    assert library.catalog.entries == {}


class Shelf:
    """A cache that remembers what it was asked."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, FileClaim], bytes] = {}

    def get(self, label: str, file: FileClaim) -> bytes | None:
        return self.held.get((label, file))

    def put(self, label: str, file: FileClaim, content: bytes) -> None:
        self.held[label, file] = content


async def test_verified_file_is_served_from_cache_without_the_server() -> None:
    files = files_of("x", {"a.md": b"A"})
    script = ScriptedServer([entry_of("x", files)], files)
    wire, shelf = Wire(script.server()), Shelf()
    library = Library([ServerSource(wire.link(), cache=shelf, trusted=True)])
    await library.load()
    script.read = {"skill://x/a.md": {"contents": [block_of("skill://x/a.md", b"B")]}}
    with pytest.raises(UntrustedContentError):
        await library.read("skill://upstream/x/a.md")
    assert shelf.held == {}
    script.read = {}
    await library.read("skill://upstream/x/a.md")
    assert [(label, file.uri) for label, file in shelf.held] == [("upstream", "skill://x/a.md")]
    wire.up = False
    wire.cut()
    assert (await library.read("skill://upstream/x/a.md")).content == b"A"
    with pytest.raises(SourceUnavailableError, match="the wire is cut"):
        await library.read(OURS)


@pytest.mark.rule("H1")
async def test_server_without_the_extension_is_reported_and_gets_no_requests() -> None:
    script = ScriptedServer([entry_of("x", files_of("x"))], files_of("x"), declared=None)
    library = await library_of(script)
    assert [each.rule for each in library.catalog.problems] == [Rule.SERVER_LIST]
    assert script.asked == []


class Followed:
    """A library that is followed, and waits for what it should become."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._changed = anyio.Event()
        library.listen(self._note)

    def _note(self, _change: Change) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    @property
    def rules(self) -> set[Rule]:
        return {each.rule for each in self.library.catalog.problems}

    async def until(self, *uris: str, failing: bool = False) -> None:
        await self.until_true(
            lambda: (
                set(self.library.catalog.entries) == set(uris)
                and failing == (Rule.SOURCE_FAILED in self.rules)
            )
        )

    async def until_true(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE):
            while not condition():
                await self._changed.wait()


@pytest.mark.parametrize("mode", ERAS)
async def test_library_follows_server_outages_and_changes(mode: str) -> None:
    upstream = MemorySource([skill("one", files={"a.md": b"a"})])
    wire = Wire(skills_server(Library([upstream])), mode)
    beside = MemorySource([skill("mine")])
    wire.up = False
    library = Library([beside, ServerSource(wire.link(), live=True, trusted=True)])
    await library.load()
    followed = Followed(library)
    mine, one, two = "skill://mine/SKILL.md", "skill://upstream/one/SKILL.md", "skill://upstream/two/SKILL.md"
    assert list(library.catalog.entries) == [mine]
    (failed,) = library.catalog.problems
    assert (failed.rule, failed.hint[:13]) == (Rule.SOURCE_FAILED, "nothing to do")
    assert "the wire is cut" in failed.message
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        wire.up = True
        await followed.until(mine, one)
        upstream.put(skill("two"))
        await followed.until(mine, one, two)
        before = library.catalog.skill(one)
        upstream.put(skill("one", files={"a.md": b"b"}))
        await followed.until_true(lambda: library.catalog.skill(one) != before)
        assert (await library.read("skill://upstream/one/a.md")).content == b"b"
        wire.up = False
        wire.cut()
        await followed.until(mine, one, two, failing=True)
        assert (await library.read(mine)).content
        with pytest.raises(SourceUnavailableError):
            await library.read(one)
        upstream.remove("two")
        wire.up = True
        await followed.until(mine, one)
        assert (await library.read(one)).content
        tasks.cancel_scope.cancel()

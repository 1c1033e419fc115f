"""A server cannot make a client keep, read or wait without end."""

from typing import Any

import pytest
from mcp import Client

from skillwire.host import Outcome, Report, SkillsClient, verify_server
from skillwire.host.compare_prompts import compare_prompts
from skillwire.host.dialects.client import MAX_ENTRIES, Listing
from skillwire.protocol.findings import MAX_FINDINGS, server_problem
from skillwire.sources import Rule
from tests.support.scripted import ScriptedServer, block_of, entry_of, files_of

pytestmark = pytest.mark.anyio

FILES = files_of("x", {"a.md": b"A" * 100})
MAIN = "skill://x/SKILL.md"


async def listed(*pages: dict[str, Any]) -> tuple[Listing, ScriptedServer]:
    script = ScriptedServer(pages=pages)
    async with Client(script.server()) as client:
        return await SkillsClient(client).list(), script


@pytest.mark.rule("H2")
async def test_bad_entries_count_towards_the_entry_limit() -> None:
    full, _ = await listed({"skills": [7] * MAX_ENTRIES})
    assert full.complete is True
    assert (len(full.findings.kept), full.findings.more) == (MAX_FINDINGS, MAX_ENTRIES - MAX_FINDINGS)
    over, script = await listed(
        {"skills": [7] * MAX_ENTRIES, "nextCursor": "1"}, {"skills": [7], "nextCursor": "2"}
    )
    assert over.complete is False
    assert Rule.LIST_ENDLESS in over.findings.rules
    assert len(script.asked) == 2


@pytest.mark.rule("H2")
async def test_list_with_exactly_the_maximum_entries_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.host.dialects.client.MAX_ENTRIES", 2)
    entries = [entry_of(name, files_of(name)) for name in ("a", "b", "c")]
    full, _ = await listed({"skills": entries[:2]})
    assert (full.complete, len(full.skills), full.findings.kept) == (True, 2, [])
    over, _ = await listed({"skills": entries})
    assert (over.complete, len(over.skills)) == (False, 2)


@pytest.mark.rule("H2", "H25")
async def test_listing_stops_after_too_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.host.dialects.client.MAX_LIST", 5_000)
    first, junk = entry_of("a", files_of("a")), {"junk": [["x" * 1_000] * 9]}
    listing, script = await listed({"skills": [first, junk], "nextCursor": "1"}, {"skills": [first]})
    assert (listing.complete, [each.name for each in listing.skills]) == (False, ["a"])
    assert listing.findings.rules == {Rule.LIST_ENDLESS}
    assert "more than 5,000 bytes" in listing.findings.kept[0].message
    assert len(script.asked) == 1


@pytest.mark.rule("H5", "H25")
async def test_only_the_entry_with_oversized_frontmatter_is_dropped() -> None:
    fat, good = entry_of("fat", files_of("fat")), entry_of("good", files_of("good"))
    fields: list[dict[str, Any]] = [{"a": "x" * 300_000}, {"x" * 300_000: 1}, {"a": [[]] * 40_000}]
    for more in fields:
        listing, _ = await listed({"skills": [{**fat, "frontmatter": {**fat["frontmatter"], **more}}, good]})
        assert [each.name for each in listing.skills] == ["good"]
        assert [str(each) for each in listing.findings.kept] == [
            "skill://fat/SKILL.md: its frontmatter has more than 262,144 bytes"
        ]


async def test_overlong_cursor_ends_the_listing() -> None:
    listing, script = await listed({"skills": [], "nextCursor": "9" * 100_000})
    assert (listing.complete, len(script.asked)) == (False, 1)


async def test_excess_findings_are_counted_but_not_kept() -> None:
    script = ScriptedServer(pages=[{"skills": [7] * 5000}])
    async with Client(script.server()) as client:
        report = await verify_server(SkillsClient(client))
    *kept, last = report.all_findings()
    assert (len(kept), last.rule, last.message) == (MAX_FINDINGS, Rule.MORE, "and 4,000 more")
    assert report.count == 5000
    assert report.other_findings() == report.all_findings()
    assert report.outcome() is Outcome.NONCONFORMANT


async def test_finding_beyond_the_limit_still_decides_the_outcome() -> None:
    report = Report()
    report.note(*[server_problem("x", Rule.READ_FAILED, "no")] * MAX_FINDINGS)
    assert report.outcome() is Outcome.INCOMPLETE
    report.note(server_problem("x", Rule.DIGEST, "no"))
    assert report.outcome() is Outcome.NONCONFORMANT


@pytest.mark.rule("H25")
async def test_the_budget_counts_skills_without_digests() -> None:
    names = ["a", "b", "c", "d"]
    files = {uri: content + b"." * 100 for name in names for uri, content in files_of(name).items()}
    entries = [{**entry_of(name, {}), "resources": "dynamic"} for name in names]
    script = ScriptedServer(entries, files)
    async with Client(script.server()) as client:
        report = await verify_server(SkillsClient(client, budget=300))
    assert [skill.files for skill in report.skills] == [1, 1, 0, 0]
    assert report.found.rules == {Rule.READ_BUDGET}
    assert "the limit is 300 bytes for one server" in report.found.kept[0].message
    assert sum(method == "resources/read" for method, _ in script.asked) == 3  # once it is spent, none


@pytest.mark.rule("H25")
async def test_budget_allows_exactly_its_number_of_bytes() -> None:
    files = files_of("x", {"a.bin": b"\xff" * 100, "b.bin": b"\xff" * 101, "c": b""})
    script = ScriptedServer([entry_of("x", files)], files)
    for short, faults in ((0, set[Rule]()), (1, {Rule.READ_BUDGET})):
        async with Client(script.server()) as client:
            budget = sum(map(len, files.values())) - short
            report = await verify_server(SkillsClient(client, budget=budget))
        assert report.found.rules == faults


async def surfaces(meta: dict[str, Any], budget: int = 10_000) -> tuple[set[Rule], int]:
    script = ScriptedServer([entry_of("x", FILES)], FILES, prompts={"start": (meta, "")})
    async with Client(script.server()) as client:
        reports = [each async for each in compare_prompts(SkillsClient(client, budget=budget))]
    reads = sum(method == "resources/read" for method, _ in script.asked)
    return {each.finding.rule for each in reports if each.finding}, reads


@pytest.mark.rule("H25")
async def test_budget_counts_files_named_by_prompts() -> None:
    named = {"dev.skillwire/skill": MAIN, "dev.skillwire/resources": [MAIN, *["skill://x/a.md"] * 400]}
    faults, reads = await surfaces(named)
    assert faults == {Rule.READ_BUDGET}
    assert reads < 105


async def test_prompt_naming_too_many_files_is_a_finding() -> None:
    named = {"dev.skillwire/skill": MAIN, "dev.skillwire/resources": [MAIN] * 513}
    assert await surfaces(named) == ({Rule.SURFACE_SHAPE}, 0)


async def test_overlong_prompt_name_is_shortened_in_the_finding() -> None:
    script = ScriptedServer(prompts={"p" * 100_000: ({"dev.skillwire/skill": MAIN}, "")})
    async with Client(script.server()) as client:
        (report,) = [each async for each in compare_prompts(SkillsClient(client))]
    assert report.finding is not None
    assert (report.finding.rule, len(str(report.finding)) < 200) == (Rule.SURFACE_SHAPE, True)
    assert [method for method, _ in script.asked] == ["prompts/list"]


async def test_overlong_field_name_is_shortened_in_the_finding() -> None:
    files = files_of("x")
    entry = entry_of("x", files)
    entry["frontmatter"]["y" * 100_000] = 1
    script = ScriptedServer([entry], files, read={MAIN: {"contents": [block_of(MAIN, files[MAIN])]}})
    async with Client(script.server()) as client:
        report = await verify_server(SkillsClient(client))
    assert [len(finding.message) < 400 for finding in report.all_findings()] == [True]

"""`verify`: the honest server is accepted, and each lie of a dishonest one is found."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from skillwire.core.json_text import json_equal
from skillwire.errors import VerificationError
from skillwire.host import Outcome, Report, SkillsClient, verify_server
from skillwire.host.dialects.client import MAX_PAGES
from skillwire.protocol.claims import SkillClaim, parse_entry
from skillwire.sources import Rule
from tests.support.clients import ERAS
from tests.support.peers import skillwire
from tests.support.scripted import ScriptedServer, entry_of, files_of
from tests.support.skills import write, write_skill

pytestmark = pytest.mark.anyio

GOOD = files_of("good", {"references/a.md": b"a", "logo.png": b"\x89PNG\x00"})
GOOD_ENTRY = entry_of("good", GOOD)
MAIN = "skill://good/SKILL.md"
every_era = pytest.mark.parametrize("mode", ERAS)


def honest() -> ScriptedServer:
    return ScriptedServer([copy.deepcopy(GOOD_ENTRY)], dict(GOOD))


async def verified(script: ScriptedServer, mode: Any = "auto", **more: Any) -> Report:
    async with Client(script.server(), mode=mode) as client:
        return await verify_server(SkillsClient(client, **more))


def faults(report: Report) -> set[Rule]:
    return {finding.rule for finding in report.all_findings()}


@every_era
@pytest.mark.rule("H13")
async def test_an_honest_server_is_verified_file_by_file(mode: Any) -> None:
    script = honest()
    report = await verified(script, mode)
    assert report.all_findings() == []
    assert [(skill.uri, skill.files) for skill in report.skills] == [(MAIN, 3)]
    assert report.outcome(require_digests=True) is Outcome.VERIFIED
    assert {params["uri"] for method, params in script.asked if method == "resources/read"} == set(GOOD)


def other_bytes(script: ScriptedServer) -> None:
    script.files = {**script.files, "skill://good/references/a.md": b"b"}


def longer_bytes(script: ScriptedServer) -> None:
    script.files = {**script.files, "skill://good/references/a.md": b"aa"}


def missing_file(script: ScriptedServer) -> None:
    script.files = {uri: each for uri, each in script.files.items() if not uri.endswith("a.md")}


def extra_block(script: ScriptedServer) -> None:
    block = {"uri": MAIN, "text": GOOD[MAIN].decode()}
    script.read = {MAIN: {"contents": [block, block]}}


def other_uri(script: ScriptedServer) -> None:
    script.read = {MAIN: {"contents": [{"uri": "skill://other/SKILL.md", "text": GOOD[MAIN].decode()}]}}


def not_a_page(script: ScriptedServer) -> None:
    script.pages = [{"skills": [], "_meta": 7}]


def bad_base64(script: ScriptedServer) -> None:
    script.read = {MAIN: {"contents": [{"uri": MAIN, "blob": "!!!!"}]}}


def too_long(script: ScriptedServer) -> None:
    script.read = {MAIN: {"contents": [{"uri": MAIN, "blob": "A" * (23 * 1024 * 1024)}]}}


def other_frontmatter(script: ScriptedServer) -> None:
    script.entries[0]["frontmatter"]["description"] = "Harmless."


def hidden_field(script: ScriptedServer) -> None:
    document = GOOD[MAIN].replace(b"---\n#", b"allowed-tools: Bash\n---\n#")
    script.files = {**GOOD, MAIN: document}
    script.entries = [entry_of("good", script.files)]


def other_entry(script: ScriptedServer) -> None:
    script.got = {MAIN: entry_of("other", files_of("other"))}


def different_entry(script: ScriptedServer) -> None:
    entry = copy.deepcopy(GOOD_ENTRY)
    entry["resources"].pop()
    script.got = {MAIN: entry}


def undeclared(script: ScriptedServer) -> None:
    script.declared = None


def not_a_list(script: ScriptedServer) -> None:
    script.pages = [{"skills": {"a": 1}}]


def listed_twice(script: ScriptedServer) -> None:
    script.entries = [GOOD_ENTRY, GOOD_ENTRY]


def repeated_cursor(script: ScriptedServer) -> None:
    script.pages = [{"skills": [], "nextCursor": "0"}]


LIES: list[tuple[Callable[[ScriptedServer], None], Rule, Outcome]] = [
    (other_bytes, Rule.DIGEST, Outcome.NONCONFORMANT),
    (longer_bytes, Rule.SIZE, Outcome.NONCONFORMANT),
    (missing_file, Rule.READ_FAILED, Outcome.INCOMPLETE),
    (extra_block, Rule.READ_SHAPE, Outcome.NONCONFORMANT),
    (other_uri, Rule.READ_SHAPE, Outcome.NONCONFORMANT),
    (not_a_page, Rule.READ_SHAPE, Outcome.NONCONFORMANT),
    (bad_base64, Rule.READ_SHAPE, Outcome.NONCONFORMANT),
    (too_long, Rule.READ_BUDGET, Outcome.INCOMPLETE),
    (other_frontmatter, Rule.FRONTMATTER, Outcome.NONCONFORMANT),
    (hidden_field, Rule.FRONTMATTER, Outcome.NONCONFORMANT),
    (other_entry, Rule.ENTRY_OTHER, Outcome.NONCONFORMANT),
    (different_entry, Rule.ENTRY_OTHER, Outcome.NONCONFORMANT),
    (undeclared, Rule.LIST_SHAPE, Outcome.NONCONFORMANT),
    (not_a_list, Rule.LIST_SHAPE, Outcome.NONCONFORMANT),
    (listed_twice, Rule.ENTRY_TWICE, Outcome.NONCONFORMANT),
    (repeated_cursor, Rule.LIST_ENDLESS, Outcome.INCOMPLETE),
]


@every_era
@pytest.mark.rule("H13", "H25")
@pytest.mark.parametrize(
    ("lie", "fault", "outcome"), LIES, ids=lambda value: getattr(value, "__name__", None)
)
async def test_every_lie_is_found(mode: Any, lie: Any, fault: Rule, outcome: Outcome) -> None:
    script = honest()
    lie(script)
    report = await verified(script, mode)
    assert fault in faults(report), report.all_findings()
    assert report.outcome() is outcome


@pytest.mark.rule("H1")
async def test_undeclared_server_gets_no_requests() -> None:
    script = honest()
    undeclared(script)
    await verified(script)
    assert script.asked == []


BAD_ENTRIES: list[tuple[Any, Rule]] = [
    (7, Rule.ENTRY_SHAPE),
    ({}, Rule.ENTRY_URI),
    ({**GOOD_ENTRY, "uri": 7}, Rule.ENTRY_URI),
    ({**GOOD_ENTRY, "uri": "file:///etc/good/SKILL.md"}, Rule.ENTRY_URI),
    ({**GOOD_ENTRY, "uri": "FILE:///etc/good/SKILL.md"}, Rule.ENTRY_URI),
    ({**GOOD_ENTRY, "uri": "good/SKILL.md"}, Rule.ENTRY_URI),
    ({**GOOD_ENTRY, "uri": "skill://good"}, Rule.ENTRY_URI),
    ({**GOOD_ENTRY, "frontmatter": None}, Rule.ENTRY_SHAPE),
    ({**GOOD_ENTRY, "frontmatter": {"name": "Bad Name", "description": "x"}}, Rule.ENTRY_NAME),
    ({**GOOD_ENTRY, "frontmatter": {"name": "other", "description": "x"}}, Rule.ENTRY_NAME),
    ({**GOOD_ENTRY, "frontmatter": {"name": "good"}}, Rule.ENTRY_DESCRIPTION),
    ({key: GOOD_ENTRY[key] for key in ("uri", "frontmatter")}, Rule.ENTRY_RESOURCES),
    ({**GOOD_ENTRY, "resources": "static"}, Rule.ENTRY_RESOURCES),
    ({**GOOD_ENTRY, "resources": []}, Rule.ENTRY_RESOURCES),
    ({**GOOD_ENTRY, "resources": GOOD_ENTRY["resources"][1:]}, Rule.ENTRY_RESOURCES),
    (
        {**GOOD_ENTRY, "resources": [*GOOD_ENTRY["resources"], GOOD_ENTRY["resources"][1]]},
        Rule.ENTRY_RESOURCES,
    ),
    ({**GOOD_ENTRY, "resources": GOOD_ENTRY["resources"] * 200}, Rule.ENTRY_LIMITS),
]


def with_file(**fields: Any) -> dict[str, Any]:
    file = {"uri": "skill://good/b.md", "digest": "sha256:" + "0" * 64, "size": 1, **fields}
    return {**GOOD_ENTRY, "resources": [*GOOD_ENTRY["resources"], file]}


BAD_FILES: list[tuple[dict[str, Any], Rule]] = [
    ({"uri": "skill://other/b.md"}, Rule.ENTRY_RESOURCES),
    ({"uri": "skill://good/../other/b.md"}, Rule.ENTRY_RESOURCES),
    ({"uri": "skill://good/%2e%2e/other/b.md"}, Rule.ENTRY_RESOURCES),
    ({"uri": "skill://good/x%5cb.md"}, Rule.ENTRY_RESOURCES),
    ({"uri": "skill://good/" + "x" * 5000}, Rule.ENTRY_RESOURCES),
    ({"uri": "skill://good/REFERENCES/A.md"}, Rule.ENTRY_RESOURCES),
    ({"digest": "md5:0"}, Rule.ENTRY_RESOURCES),
    ({"digest": "sha256:" + "0" * 63 + "G"}, Rule.ENTRY_RESOURCES),
    ({"size": -1}, Rule.ENTRY_RESOURCES),
    ({"size": True}, Rule.ENTRY_RESOURCES),
    ({"size": 1.5}, Rule.ENTRY_RESOURCES),
    ({"size": 16 * 1024 * 1024}, Rule.ENTRY_LIMITS),
]


@pytest.mark.rule("H4", "H5", "H6", "H7", "H8")
@pytest.mark.parametrize(
    ("entry", "fault"), [*BAD_ENTRIES, *((with_file(**each), fault) for each, fault in BAD_FILES)]
)
async def test_bad_entry_is_a_finding_and_good_ones_are_verified(entry: Any, fault: Rule) -> None:
    other = files_of("other")
    script = ScriptedServer([entry, entry_of("other", other)], {**GOOD, **other})
    report = await verified(script)
    assert fault in faults(report)
    assert [skill.uri for skill in report.skills] == ["skill://other/SKILL.md"]
    assert report.skills[0].findings == []
    reads = [params["uri"] for method, params in script.asked if method == "resources/read"]
    assert reads == ["skill://other/SKILL.md"]  # what is declined is not read


@pytest.mark.rule("H8")
async def test_limits_are_inclusive() -> None:
    assert isinstance(
        parse_entry(with_file(size=16 * 1024 * 1024 - sum(map(len, GOOD.values())))), SkillClaim
    )


@pytest.mark.rule("H2")
async def test_empty_cursor_is_followed_and_endless_list_is_cut() -> None:
    script = honest()
    script.pages = [{"skills": [GOOD_ENTRY], "nextCursor": ""}]
    async with Client(script.server()) as client:
        listing = await SkillsClient(client).list()
        assert listing.complete is False  # the first page again: its cursor came twice
        assert script.asked[-1] == ("skills/list", {"cursor": ""})
    endless = honest()
    endless.pages = [{"skills": [], "nextCursor": str(number + 1)} for number in range(MAX_PAGES + 10)]
    async with Client(endless.server()) as client:
        listing = await SkillsClient(client).list()
    assert (listing.complete, len(endless.asked)) == (False, MAX_PAGES)


@pytest.mark.rule("H3")
async def test_unlisted_skill_is_fetched_by_its_uri() -> None:
    script = honest()
    script.pages = [{"skills": []}]
    async with Client(script.server()) as client:
        skill = await SkillsClient(client).get(MAIN)
        assert skill.name == "good"
        other_entry(script)
        with pytest.raises(VerificationError, match="with another skill, `skill://other/SKILL"):
            await SkillsClient(client).get(MAIN)


async def test_budget_limits_bytes_read_from_one_server() -> None:
    report = await verified(honest(), budget=10)
    assert faults(report) == {Rule.READ_BUDGET}
    assert report.outcome() is Outcome.INCOMPLETE


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: (
            st.lists(each)
            | st.dictionaries(
                st.sampled_from(["uri", "frontmatter", "resources", "name", "digest", "size"]), each
            )
        ),
    )
)
def test_parser_handles_any_entry_without_crashing(entry: Any) -> None:
    parsed = parse_entry(entry)
    assert isinstance(parsed, SkillClaim) or parsed


def test_integers_equal_floats_but_never_booleans() -> None:
    assert json_equal(1, 1.0)
    assert json_equal({"a": [1, None, "x"]}, {"a": [1.0, None, "x"]})
    for one, other in [
        (1, True),
        (0, False),
        ("1", 1),
        (None, 0),
        ([1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        ([], {}),
    ]:
        assert not json_equal(one, other)  # pyright: ignore[reportArgumentType] - lists of one kind


def nonconforming(*, listed: bool) -> ScriptedServer:
    """Return a server with a good skill, and one that strict clients refuse."""
    script = honest()
    uri = script.publish("odd", fields={"license": 2})
    if not listed:
        script.got = {uri: script.entries[-1]}
        script.entries = script.entries[:-1]
    script.resources = [{"uri": each, "name": "x"} for each in (MAIN, uri, uri, "skill://none/SKILL.md")]
    return script


@every_era
@pytest.mark.parametrize("listed", [True, False])
async def test_skill_that_strict_clients_refuse_is_a_finding(mode: Any, listed: bool) -> None:  # noqa: FBT001
    report = await verified(nonconforming(listed=listed), mode)
    (finding,) = report.all_findings()
    assert (finding.rule, report.outcome()) == (Rule.ENTRY_NONCONFORMING, Outcome.NONCONFORMANT)
    assert "`license` is not text" in str(finding)
    assert [(each.uri, each.good, each.conforms) for each in report.skills] == [
        (MAIN, True, True),
        ("skill://odd/SKILL.md", True, False),
    ]


async def test_failed_resource_list_makes_verification_incomplete() -> None:
    script = nonconforming(listed=False)
    failing: list[dict[str, Any]] = [{"resources": "none"}, {"resources": [], "nextCursor": "again"}]
    for page in failing:
        script.resources = page
        assert (await verified(script)).outcome() is Outcome.INCOMPLETE


def run(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(skillwire("verify", *arguments), capture_output=True, timeout=60, check=False)


def test_verify_checks_a_real_server_over_stdio(skills_folder: Path) -> None:
    done = run("--", *skillwire("serve", skills_folder, "--no-config"))
    assert done.returncode == 0, done.stderr
    assert b"skill://one/SKILL.md: 2 files, " in done.stdout
    assert b"verified: 1 of 1 skill as listed" in done.stderr


def test_unreachable_server_exits_with_code_four_and_its_output(tmp_path: Path) -> None:
    done = run("--", sys.executable, "-c", "raise SystemExit('no \\x1b[31mluck')")
    assert done.returncode == 4
    assert b"its last output: `no \\x1b[31mluck`" in done.stderr  # and no escape reaches the terminal
    assert run("http://127.0.0.1:1/mcp").returncode == 4
    assert run("nonsense").returncode == 2


def test_missing_required_digests_exit_with_code_nine(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(
        "from skillwire import SkillServer\n"
        "server = SkillServer('x')\n"
        "server.skill('live', description='L.')(lambda request: 'x')\n"
        "server.run()\n",
        "utf-8",
    )
    assert run("--", sys.executable, program).returncode == 0
    done = run("--require-digests", "--json", "--", sys.executable, program)
    assert done.returncode == 9
    told = json.loads(done.stdout)
    assert told["outcome"] == "no-digests"
    assert told["skills"][0]["dynamic"] is True


@pytest.fixture
def skills_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "one"
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(b"---\nname: one\ndescription: x\n---\n")
    (folder / "references/a.md").write_bytes(b"a")
    return tmp_path


def test_served_but_unlisted_skills_exit_with_code_seven(tmp_path: Path) -> None:
    write(tmp_path, {"odd/SKILL.md": "---\nname: odd\ndescription: O.\nlicense: 2\n---\n"})
    write_skill(tmp_path, "good")
    done = run("--", *skillwire("serve", tmp_path, "--no-config"))
    assert done.returncode == 7
    assert b"skill://odd/SKILL.md: 1 file, 45 bytes as listed, but strict clients reject it" in done.stdout
    assert b"it is served, but not listed; strict clients refuse every list" in done.stdout
    assert b"(entry-nonconforming)" in done.stdout
    assert b"nonconformant: 2 of 2 skills as listed; 1 finding" in done.stderr

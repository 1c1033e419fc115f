"""A server that lies: each lie is found on every transport and version, and hides no honest skill."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.lies import DOCUMENT_LIES, EACH_BAD_ENTRY, ENTRY_LIES, LIES, READ_LIES, A, liar
from tests.blackbox.peers import MODERN, VERSIONS, StdioPeer
from tests.blackbox.product import FILE_TOOL, LOAD_TOOL, SERVER_META, Done, Person
from tests.blackbox.scripted import LEGACY, Program, Script, Site, document

HONEST = {"skill://honest/SKILL.md", "skill://live/SKILL.md", "skill://acme/deep/honest-too/SKILL.md"}
WAYS = ("http-2026-07-28", "http-2025-11-25", "stdio-2026-07-28", "stdio-2025-11-25")


@dataclass
class Report:
    """What `verify` found of a server."""

    done: Done
    reads: list[str] | None
    faults: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def __post_init__(self) -> None:
        found = [*self.done.json["findings"]]
        found += [each for skill in self.done.json["skills"] for each in skill["findings"]]
        for each in found:
            self.faults.setdefault(each["uri"].split("/")[2] if "//" in each["uri"] else "-", set()).add(
                each["fault"]
            )


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> "dict[str, Report]":
    """Every way to reach the liar. Each is asked when it is first looked at."""

    class Asked(dict[str, Report]):
        def __missing__(self, way: str) -> Report:
            transport, version = way.split("-", 1)
            person = Person(tmp_path_factory.mktemp(way))
            script = liar(version, **({"fresh": {}} if transport == "stdio" else {}))
            with Site(script) as site:
                program = Program(person.home / "program").play(script)
                person.has_servers(liar=site.url if transport == "http" else program.command)
                done = person.run("verify", "liar", "--json")
            self[way] = Report(done, site.reads if transport == "http" else None)
            return self[way]

    return Asked()


@pytest.fixture(params=WAYS)
def report(request: pytest.FixtureRequest, reports: "dict[str, Report]") -> Report:
    return reports[request.param]


@pytest.mark.rule("H4", "H6", "H7", "H8", "H13", "H15", "H19", "H21", "H25", "H26")
@pytest.mark.parametrize("lie", LIES)
def test_each_lie_is_found_and_named(report: Report, lie: str) -> None:
    assert report.faults.get(lie, set()) & set(LIES[lie].faults), report.done.text
    assert report.done.code == 7


@pytest.mark.rule("H5", "H31")
def test_no_lie_hides_an_honest_skill(report: Report) -> None:
    skills = {skill["uri"]: skill for skill in report.done.json["skills"]}
    assert set(skills) >= HONEST
    assert [skills[uri]["findings"] for uri in HONEST] == [[], [], []]
    assert "-" in report.faults
    assert not report.faults.keys() & {"honest", "acme", "live"}


@pytest.mark.rule("H6", "H7", "H8")
def test_nothing_of_a_bad_entry_is_read(reports: "dict[str, Report]") -> None:
    reads = reports["http-2025-11-25"].reads or []
    assert {uri.split("/")[2] for uri in reads} == {"honest", "acme", "live", *READ_LIES, *DOCUMENT_LIES}
    assert {uri.split(":")[0] for uri in reads} == {"skill"}


@pytest.mark.rule("H23")
def test_a_match_is_never_called_safe_or_trusted(reports: "dict[str, Report]") -> None:
    said = f"{reports[WAYS[0]].done.text}{reports[WAYS[0]].done.err}".lower()
    assert not {"safe", "trusted", "trustworthy", "secure", "harmless"} & set(said.replace('"', " ").split())


@pytest.fixture(scope="module", params=[(MODERN, LEGACY), (LEGACY, MODERN)], ids="-behind-".join)
def bridge(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[StdioPeer, Site]]:
    """A client of a bridge in front of the liar, whose every skill is offered."""
    theirs, ours = request.param
    person = Person(tmp_path_factory.mktemp("bridge"))
    with Site(liar(theirs)) as site:
        person.has_servers(liar=site.url)
        with StdioPeer(ours, person, "bridge", "liar", "--trust", "liar") as peer:
            yield peer, site


@pytest.mark.rule("H5", "H6", "H7", "H8")
@pytest.mark.parametrize("lie", ENTRY_LIES)
def test_a_bridge_offers_no_bad_entry(bridge: tuple[StdioPeer, Site], lie: str) -> None:
    peer, site = bridge
    uri = f"skill://liar/{lie}/SKILL.md"
    before = site.count("resources/read")
    assert uri not in peer.skills()
    assert peer.error("skills/get", {"uri": uri})["code"] == -32602
    assert peer.error("resources/read", {"uri": uri})["code"] == -32602
    assert peer.tool(LOAD_TOOL, name=f"liar/{lie}")["isError"] is True
    assert site.count("resources/read") == before


@pytest.mark.rule("H13", "H15", "H25")
@pytest.mark.parametrize("lie", READ_LIES)
def test_a_bridge_passes_no_wrong_file_on(bridge: tuple[StdioPeer, Site], lie: str) -> None:
    peer, _ = bridge
    answer = peer.request("resources/read", {"uri": f"skill://liar/{lie}/a.md"})
    assert answer["error"]["code"] == -32603
    told = peer.tool(FILE_TOOL, skill=f"liar/{lie}", path="a.md")
    assert told["isError"] is True
    assert "# A" not in json.dumps([answer, told])
    assert "# B" not in json.dumps([answer, told])
    assert peer.tool(LOAD_TOOL, name=f"liar/{lie}")["isError"] is False  # the document itself is honest


@pytest.mark.rule("H13", "H26")
@pytest.mark.parametrize("lie", DOCUMENT_LIES)
def test_a_bridge_loads_no_document_with_another_frontmatter(
    bridge: tuple[StdioPeer, Site], lie: str
) -> None:
    peer, _ = bridge
    refused = peer.tool(LOAD_TOOL, name=f"liar/{lie}")
    assert refused["isError"] is True
    assert "# Steps" not in json.dumps(refused)
    assert peer.error("resources/read", {"uri": f"skill://liar/{lie}/SKILL.md"})["code"] == -32603


@pytest.mark.rule("H5", "H13")
def test_a_bridge_passes_honest_skills_on(bridge: tuple[StdioPeer, Site]) -> None:
    peer, _ = bridge
    entries = peer.skills()
    assert entries["skill://liar/honest/SKILL.md"]["frontmatter"]["description"] == "Does honest."
    loaded = peer.tool(LOAD_TOOL, name="liar/honest")
    assert loaded["isError"] is False
    assert "# Steps" in loaded["content"][0]["text"]
    uri = "skill://liar/acme/deep/honest-too/references/a.md"
    assert peer.result("resources/read", {"uri": uri})["contents"][0]["text"].encode() == A


@pytest.mark.rule("S9")
def test_content_made_when_read_is_listed_as_dynamic(bridge: tuple[StdioPeer, Site]) -> None:
    peer, site = bridge
    uri = "skill://liar/live/SKILL.md"
    assert peer.skills()[uri]["resources"] == "dynamic"
    assert peer.result("skills/get", {"uri": uri})["skill"]["resources"] == "dynamic"
    for body in (b"# One\n", b"# Two\n"):
        site.script.tamper("skill://live/SKILL.md", document("live") + body)
        assert peer.result("resources/read", {"uri": uri})["contents"][0]["text"].encode().endswith(body)


@pytest.mark.rule("H13", "H15")
def test_a_skill_is_pulled_whole_or_not_at_all(person: Person) -> None:
    target = person.home / "pulled"
    with Site(liar(MODERN)) as site:
        person.has_servers(liar=site.url)
        assert person.run("pull", "liar:other-bytes", target).code == 1
        assert not [path for path in target.rglob("*") if path.is_file()]
        done = person.run("pull", "liar:honest", target, "--json")
    folder = Path(done.json["folder"])
    assert done.code == 0
    assert (folder / "a.md").read_bytes() == A
    assert (folder / "b.bin").read_bytes() == b"\xff\0"
    assert folder.relative_to(target).parts[0] == "liar"


@pytest.mark.rule("H4", "H8", "H10", "H11", "H27")
def test_a_list_tells_odd_entries_from_bad_ones(person: Person) -> None:
    """No file is read: any scheme is good but `file:`, the limits are inclusive, the texts are plain."""
    script = Script()
    for scheme in ("http", "data", "file-x", "filesystem"):
        script.publish(f"127.0.0.1:1/{scheme}-scheme", scheme=scheme)
    for scheme in ("file", "FILE", "File"):
        script.publish(f"localhost/{scheme.lower()}-scheme", scheme=scheme)
    many: Any = script.publish("full-of-files", {f"{number}": b"" for number in range(511)})
    large = script.publish("full-of-bytes", {"a": b"a"})
    large["resources"][1]["size"] = 16_777_216 - large["resources"][0]["size"]
    hostile = "one\ntwo\x1b[31m\u202etrap\u200b\U000e0041 \x07" + "x" * 5_000
    script.publish("terminal", fields={"description": hostile})
    script.publish("one/twin")
    script.publish("two/twin")
    assert len(many["resources"]) == 512
    with Site(script) as site, Site(Script()) as bait:
        script.publish(bait.url.removeprefix("http://").replace("/mcp", "/bait"), scheme="http")
        person.has_servers(acme=site.url)
        done = person.run("list", "acme", "--json")
        plain = person.run("list", "acme")
    names = sorted(each["name"] for each in done.json)
    schemes = ["data-scheme", "file-x-scheme", "filesystem-scheme", "http-scheme"]
    assert names == sorted(["bait", "full-of-bytes", "full-of-files", "terminal", "twin", "twin", *schemes])
    assert site.reads == []
    assert bait.asked == []
    assert "file-scheme" in done.err
    for text in (plain.text, plain.err, done.err):
        assert all(each.isprintable() or each in "\n\t" for each in text)
    (line,) = [line for line in plain.text.splitlines() if line.startswith("acme:terminal\t")]
    assert len(line) < 2_500
    twins = [line.split("\t")[0] for line in plain.text.splitlines() if "/twin/" in line]
    assert twins == ["acme:one/twin", "acme:two/twin"]


@pytest.mark.rule("H8")
def test_a_live_document_is_bounded_when_read(person: Person) -> None:
    script = Script()
    script.publish("huge", body="x" * 16_777_216)["resources"] = "dynamic"
    with Site(script) as site:
        person.has_servers(acme=site.url)
        refused = person.run("read", "acme:huge", "--raw")
    assert site.reads == ["skill://huge/SKILL.md"]
    assert (refused.code, refused.out) == (1, b"")


@pytest.mark.rule("H1")
@pytest.mark.parametrize("version", VERSIONS[:2])
def test_undeclared_methods_are_never_called(person: Person, version: str) -> None:
    script = Script(version=version, extension=None)
    script.publish("good")
    with Site(script) as site:
        person.has_servers(acme=site.url)
        done = person.run("verify", "acme", "--no-drafts", "--json")
    assert done.code == 7
    assert done.json["skills"] == []
    assert [method for method, _ in site.asked if method.startswith(("skills/", "resources/"))] == []


@pytest.mark.rule("H1")
def test_directories_are_read_only_where_declared_exactly(person: Person) -> None:
    script = Script(extension={"directoryRead": "yes"})
    script.publish("good", {"a/b.md": A})
    with Site(script) as site:
        person.has_servers(acme=site.url)
        with StdioPeer(MODERN, person, "bridge", "acme", "--trust", "acme") as peer:
            listed = peer.result("resources/directory/read", {"uri": "skill://acme/good/a"})["resources"]
            assert [each["uri"] for each in listed] == ["skill://acme/good/a/b.md"]
            assert peer.tool(FILE_TOOL, skill="acme/good", path="")["isError"] is False
        probe = person.run("servers", "acme", "--json").json
    assert site.count("resources/directory/read") == 0
    (server,) = [each for each in probe["servers"] if each["label"] == "acme"]
    assert server["probe"]["directoryRead"] is False


@pytest.mark.rule("H2")
def test_an_empty_cursor_is_followed_and_a_repeated_one_ends(person: Person) -> None:
    honest, looped = Script(), Script()
    for script in (honest, looped):
        entries = [script.publish(name) for name in ("one", "two", "three")]
        script.pages = {
            "-": {"skills": entries[:1], "nextCursor": ""},
            "": {"skills": entries[1:2], "nextCursor": "x"},
            "x": {"skills": entries[2:]},
        }
    assert looped.pages is not None
    looped.pages["x"]["nextCursor"] = ""
    with Site(honest) as fine, Site(looped) as endless:
        person.has_servers(fine=fine.url, endless=endless.url)
        good = person.run("list", "fine", "--json")
        bad = person.run("verify", "endless", "--json")
    assert (good.code, len(good.json)) == (0, 3)
    assert bad.code in {7, 8}
    assert "list-endless" in {each["fault"] for each in bad.json["findings"]}
    assert endless.count("skills/list") <= 4


@pytest.mark.rule("H2")
def test_a_list_without_end_is_left(person: Person) -> None:
    with Site(Script(endless=True)) as site:
        person.has_servers(acme=site.url)
        done = person.run("list", "acme", "--json")
    assert done.code == 1
    assert done.err
    assert site.count("skills/list") <= 1_001


@pytest.mark.rule("H3")
def test_an_unlisted_skill_is_reached_by_its_uri(person: Person) -> None:
    script = Script(version=MODERN)
    script.publish("unlisted", {"a.md": A}, listing=False)
    posing = script.publish("posing", listing=False)
    script.gets["skill://asked/SKILL.md"] = {"skill": posing}
    with Site(script) as site:
        person.has_servers(acme=site.url)
        done = person.run("read", "acme:skill://unlisted/SKILL.md", "a.md", "--json")
        assert done.json["contents"][0]["text"].encode() == A
        assert done.json["_meta"][SERVER_META] == "acme"
        refused = person.run("show", "acme:skill://asked/SKILL.md", "--json")
    assert (refused.code, refused.out) == (1, b"")
    assert site.count("skills/get") >= 2


def test_every_kind_of_bad_entry_is_tried() -> None:
    assert len(EACH_BAD_ENTRY) == 7
    assert {fault for lie in ENTRY_LIES.values() for fault in lie.faults} >= {
        "entry-resources",
        "entry-name",
        "entry-limits",
    }

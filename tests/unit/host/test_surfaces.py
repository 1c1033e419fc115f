"""Two surfaces that cannot drift: on random skills, in process and over stdio, and on servers that lie."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters

from skillwire import Skill, Skills, SkillServer
from skillwire.errors import InvalidValueError
from skillwire.host import SkillsClient
from skillwire.host.compare_prompts import PromptReport, compare_prompts
from skillwire.sources import Rule
from tests.support.peers import skillwire
from tests.support.scripted import ScriptedServer, entry_of, files_of

pytestmark = pytest.mark.anyio

bodies = st.one_of(st.binary(max_size=60), st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
segments = st.from_regex(r"[a-zA-Z0-9é ._-]{1,8}", fullmatch=True).filter(lambda text: text.strip(".") != "")
paths = (
    st.lists(segments, min_size=1, max_size=3).map("/".join).filter(lambda path: path.lower() != "skill.md")
)
references = st.lists(st.tuples(paths, bodies), max_size=4, unique_by=lambda each: each[0])


def is_text(body: str | bytes) -> bool:
    try:
        _ = body.decode() if isinstance(body, bytes) else body
    except UnicodeDecodeError:
        return False
    return True


def collected(drawn: list[tuple[str | bytes, list[tuple[str, str | bytes]]]]) -> tuple[Skills, int]:
    """Return all that can be skills, each with a prompt if it can have one, and how many have one."""
    skills, prompts = Skills(), 0
    for number, (body, files) in enumerate(drawn):
        try:
            skill = Skill(f"s{number}", body)
            for path, content in files:
                skill = skill.with_reference(path, "text/plain", content)
            Skills().add(skill).check()
        except InvalidValueError:
            continue
        if is_text(body) and all(is_text(content) for _, content in files):
            skills, prompts = skills.add(skill, prompt=f"p{number}"), prompts + 1
        else:
            with pytest.raises(InvalidValueError, match="is not UTF-8"):
                skills.add(skill, prompt=f"p{number}")
            skills = skills.add(skill)
    return skills, prompts


many = st.lists(st.tuples(bodies, references), max_size=12)


@given(many)
def test_every_prompt_equals_its_resources_in_process(drawn: Any) -> None:
    async def compare() -> None:
        skills, prompts = collected(drawn)
        async with Client(SkillServer("x").add(skills).build()) as client:
            if not prompts:
                return
            reports = [each async for each in compare_prompts(SkillsClient(client))]
            assert [each.finding for each in reports] == [None] * prompts
            assert [each.size for each in reports] == [
                len(skill.prompt_text().encode()) for skill in skills.prompts.values()
            ]

    anyio.run(compare)


PROGRAM = """
import base64, json, sys
from skillwire import Skill
from skillwire import SkillServer
server = SkillServer("x")
for name, body, files, prompt in json.load(open(sys.argv[1])):
    skill = Skill(name, base64.b64decode(body))
    for path, content in files:
        skill = skill.with_reference(path, "text/plain", base64.b64decode(content))
    server.add(skill, prompt=prompt)
server.run()
"""


@settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.generate],  # each example is a process: no search for a smaller one
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(bodies, references), min_size=20, max_size=40))
def test_every_prompt_equals_its_resources_over_stdio(tmp_path: Path, drawn: Any) -> None:
    skills, prompts = collected(drawn)
    named = {skill.path: name for name, skill in skills.prompts.items()}
    saved = [
        (
            skill.name,
            base64.b64encode(skill.content).decode(),
            [(each.path, base64.b64encode(each.content).decode()) for each in skill.references],
            named.get(skill.path),
        )
        for skill in skills
        if isinstance(skill, Skill)
    ]
    (tmp_path / "skills.json").write_text(json.dumps(saved), "utf-8")

    async def compare() -> list[PromptReport]:
        arguments = ["-c", PROGRAM, str(tmp_path / "skills.json")]
        async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
            return [each async for each in compare_prompts(SkillsClient(client))]

    reports = anyio.run(compare) if prompts else []
    assert [each.finding for each in reports] == [None] * prompts


@given(many)
def test_only_documents_are_listed_and_all_files_are_readable(drawn: Any) -> None:
    async def compare() -> None:
        skills, _ = collected(drawn)
        server = SkillServer("x").add(skills)
        listed: list[Any] = await server.list_resources()
        documents = [skill.uri for skill in skills]
        shown = [each["uri"] for each in listed if each["uri"].startswith("skill://")]
        assert shown == ([*documents, "skill://index.json"] if documents else [])
        if not documents:
            return
        (index,) = await server.read("skill://index.json")
        assert [each["url"] for each in json.loads(index["text"])["skills"]] == documents
        for skill in skills:
            assert isinstance(skill, Skill)
            for reference in skill.references:
                (uri,) = (
                    each
                    for each, path in zip(list(skill.uris())[1:], skill.references, strict=True)
                    if path is reference
                )
                (block,) = await server.read(uri)
                content = base64.b64decode(block["blob"]) if "blob" in block else block["text"].encode()
                assert content == reference.content

    anyio.run(compare)


FILES = files_of("x", {"a.md": b"A", "b.md": b"B\n"})
MAIN = "skill://x/SKILL.md"
HONEST = FILES[MAIN].decode() + "\n--- a.md ---\nA\n\n--- b.md ---\nB\n"


async def report_of(meta: dict[str, Any], text: str, **more: Any) -> PromptReport:
    script = ScriptedServer([entry_of("x", FILES)], FILES, prompts={"start": (meta, text)}, **more)
    async with Client(script.server()) as client:
        (report,) = [each async for each in compare_prompts(SkillsClient(client))]
    return report


NAMED = {"dev.skillwire/skill": MAIN, "dev.skillwire/resources": list(FILES)}


async def test_honest_prompt_has_no_finding_with_or_without_resource_order() -> None:
    for meta in (NAMED, {"dev.skillwire/skill": MAIN}):
        report = await report_of(meta, HONEST)
        assert (report.finding, report.size, report.resources) == (None, len(HONEST.encode()), 3)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HONEST.replace("A\n", "Z\n"), "differ from byte 59 on: the prompt has "),
        (HONEST[:-1], "the prompt has nothing more"),
        (HONEST + "x", "the resources have nothing more"),
        ("", "differ from byte 0 on"),
    ],
)
async def test_first_differing_byte_is_reported(text: str, told: str) -> None:
    report = await report_of(NAMED, text)
    assert report.finding is not None
    assert report.finding.rule is Rule.SURFACE_DIFFERS
    assert told in report.finding.message


@pytest.mark.parametrize(
    "meta",
    [
        {**NAMED, "dev.skillwire/resources": ["skill://x/a.md", MAIN]},
        {**NAMED, "dev.skillwire/resources": [MAIN, "skill://other/a.md"]},
        {**NAMED, "dev.skillwire/skill": "skill://nobody/SKILL.md"},
    ],
)
async def test_prompt_naming_foreign_resources_is_a_finding(meta: dict[str, Any]) -> None:
    report = await report_of(meta, HONEST)
    assert report.finding is not None
    assert report.finding.rule is Rule.SURFACE_SHAPE


async def test_result_of_a_prompt_overrides_the_list() -> None:
    listed = {**NAMED, "dev.skillwire/resources": [*FILES, "skill://x/binary.md"]}
    report = await report_of(listed, HONEST, stated=NAMED)
    assert (report.finding, report.resources) == (None, 3)
    report = await report_of(NAMED, HONEST, stated={"other": 1})
    assert (report.finding, report.resources) == (None, 3)
    for uris in ([], ["skill://other/SKILL.md"], [MAIN]):
        report = await report_of(NAMED, HONEST, stated={**NAMED, "dev.skillwire/resources": uris})
        assert (report.finding is None) == (not uris)  # an empty list means all files


async def test_unreadable_prompt_resource_is_a_finding() -> None:
    report = await report_of({**NAMED, "dev.skillwire/resources": [MAIN, "skill://x/none.md"]}, HONEST)
    assert report.finding is not None
    assert report.finding.rule is Rule.READ_FAILED


async def asked_of(script: ScriptedServer) -> list[str]:
    async with Client(script.server()) as client:
        assert [each async for each in compare_prompts(SkillsClient(client))] == []
    return [method for method, _ in script.asked]


async def test_prompts_are_requested_only_if_offered_with_the_extension() -> None:
    assert await asked_of(ScriptedServer([entry_of("x", FILES)], FILES)) == []
    assert await asked_of(ScriptedServer(prompts={"start": (NAMED, HONEST)}, declared=None)) == []
    assert await asked_of(ScriptedServer(prompts={"start": ({}, HONEST)})) == ["prompts/list"]


BARE = """
from skillwire import Skill
from skillwire import SkillServer
SkillServer("s").add(Skill("x", "---\\nname: x\\ndescription: X.\\n---\\n")).run()
"""
UNDECLARED = """
from mcp.server import MCPServer
server = MCPServer("s")
server.prompt("start")(lambda: "Hello")
server.run()
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = skillwire("verify", "--surfaces", *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_report_notes_that_no_prompt_was_compared() -> None:
    told = "no prompt names its skill, so no prompt was compared"
    done = run("--", sys.executable, "-c", BARE)
    assert (done.returncode, done.stderr) == (
        0,
        f"verified: 1 of 1 skill as listed; {told}; 0 findings\n",
    )
    shown = json.loads(run("--json", "--", sys.executable, "-c", BARE).stdout)
    assert (shown["outcome"], shown["surfaces"], shown["notes"]) == ("verified", [], [told])


def test_server_without_the_extension_gives_exactly_one_finding() -> None:
    done = run("--", sys.executable, "-c", UNDECLARED)
    assert done.returncode == 7
    assert done.stderr == "nonconformant: 0 of 0 skills as listed; 1 finding\n"
    assert done.stdout.count("\n") == 1

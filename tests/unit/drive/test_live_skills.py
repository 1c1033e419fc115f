"""Live skills in the catalog: what is listed, what is read, and what clients hear."""

from collections.abc import Mapping
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import Library, MemorySource
from skillwire.core.record import Json
from skillwire.drive import DriveLimits
from skillwire.drive.documents import description_in, document, minimal_frontmatter
from skillwire.drive.hub import Hub
from skillwire.drive.session import Connection, Mode
from skillwire.drive.source import DriveSource
from skillwire.errors import NotServedError, SourceError
from skillwire.frontmatter.document import read_document
from skillwire.sources import MemorySkill, Rule, Severity
from tests.support.clients import ERAS, text_of
from tests.support.drive import Answers, Drive, drive_server, program, registration, silent, skills
from tests.support.listening import listening
from tests.support.skills import skill_md

pytestmark = pytest.mark.anyio


def texts(texts_by_path: Mapping[str, str]) -> Answers:
    """Return a client that answers each path with its text."""

    def answer(call: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "data": texts_by_path[call["path"]]}

    return answer


async def until_listed(drive: Drive, *uris: str) -> None:
    """Wait until exactly these skills are in the catalog."""
    await drive.until_library(lambda: set(drive.library.catalog.entries) == set(uris), f"{uris}")


async def read(host: Client, uri: str) -> str:
    (block,) = (await host.read_resource(uri)).contents
    return block.text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@pytest.mark.parametrize("mode", ERAS)
async def test_live_skills_are_dynamic_and_read_from_the_program(mode: Any) -> None:
    paths = skills("/workspace/review/skill.md", "/workspace/review/files/skill.md", "/upper/SKILL.md")
    async with (
        drive_server() as drive,
        program(drive, registration("app", paths)),
        Client(drive.mcp, mode=mode) as host,
    ):
        review, files, upper = (
            f"skill://app/{path}/SKILL.md" for path in ("workspace/review", "workspace/review/files", "upper")
        )
        await until_listed(drive, review, files, upper)
        entry = drive.library.catalog.entries[files]
        assert entry.dynamic
        assert dict(entry.frontmatter) == {
            "name": "files",
            "description": "At /workspace/review/files/skill.md.",
        }
        text = await read(host, files)
        assert text.endswith("# /workspace/review/files/skill.md")
        assert dict(read_document(text.encode(), "x", "files").frontmatter or {}) == dict(entry.frontmatter)


@pytest.mark.parametrize("mode", ERAS)
async def test_clients_are_notified_of_live_skill_changes(mode: Any) -> None:
    uri = "skill://app/a/SKILL.md"
    async with (
        drive_server() as drive,
        listening(drive.mcp, mode, [uri] if mode != "legacy" else []) as (_, heard),
    ):
        async with program(drive, registration("app", skills("/a/skill.md"))) as client:
            await heard.until("resources")
            await until_listed(drive, uri)
            heard.take()
            again = {
                "type": "updateClientCatalog",
                "clientId": "app",
                "paths": skills("/a/skill.md", "/b/skill.md"),
            }
            await client.say(again)
            await heard.until("resources", *([uri] if mode != "legacy" else []))
            await until_listed(drive, uri, "skill://app/b/SKILL.md")
            heard.take()
        await heard.until("resources")
        await until_listed(drive)


async def test_reconnected_client_notifies_subscribers() -> None:
    """What it returns may be something else now, though it registers the same."""
    uri = "skill://app/a/SKILL.md"
    async with (
        drive_server() as drive,
        listening(drive.mcp, "auto", [uri]) as (_, heard),
        program(drive, registration("app", skills("/a/skill.md"))),
    ):
        await heard.until(uri)
        heard.take()
        async with program(drive, registration("app", skills("/a/skill.md"))):
            await heard.until(uri)


async def test_a_missing_description_is_made_from_the_text() -> None:
    answers = {
        "/plain/skill.md": "# Title\n\nOne line\nand another.\n\nMore.",
        "/own/skill.md": "---\nname: own\ndescription: Its own words.\n---\n# Own",
        "/empty/skill.md": "# Only a title",
    }
    paths = [{"type": "skill", "path": path} for path in answers]
    async with (
        drive_server() as drive,
        program(drive, registration("app", paths), texts(answers)),
        Client(drive.mcp) as host,
    ):
        await until_listed(drive, "skill://app/plain/SKILL.md", "skill://app/own/SKILL.md")
        entries = drive.library.catalog.entries
        assert entries["skill://app/plain/SKILL.md"].description == "One line and another."
        assert entries["skill://app/own/SKILL.md"].description == "Its own words."
        assert (await read(host, "skill://app/own/SKILL.md")).count("---\n") == 2
        (problem,) = drive.library.catalog.problems
        assert (problem.rule, problem.path) == (Rule.DESCRIPTION_MISSING, "app/empty/SKILL.md")


async def test_silent_client_does_not_delay_other_skills() -> None:
    mute = [{"type": "skill", "path": f"/a{at}/skill.md"} for at in range(20)]
    async with (
        drive_server(limits=DriveLimits(answer_seconds=0.3)) as drive,
        program(drive, registration("mute", [*mute, *skills("/told/skill.md")]), silent) as client,
        program(drive, registration("app", skills("/a/skill.md"))),
    ):
        await until_listed(drive, "skill://app/a/SKILL.md", "skill://mute/told/SKILL.md")
        await drive.until_library(lambda: len(drive.library.catalog.problems) == len(mute), "problems")
        assert len(client.calls) == 1  # after the first silence it is asked no more


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/a_b/skill.md", "`a_b` is not lowercase letters"),
        ("/.meta/skill.md", "`.meta` is not lowercase letters"),
        ("/a-/skill.md", "`a-` is not lowercase letters"),
        ("/skill.md", "it has no folder to be named after"),
    ],
)
async def test_path_without_skill_name_is_readable_and_a_problem(path: str, fault: str) -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("app", skills(path, "/good/skill.md"))),
        Client(drive.mcp) as host,
    ):
        await until_listed(drive, "skill://app/good/SKILL.md")
        (problem,) = drive.library.catalog.problems
        assert (problem.rule, problem.severity) == (Rule.LIVE_NAME, Severity.WARNING)
        assert fault in problem.message
        assert (await drive.get(f"/skills/app{path}")).text == f"# {path}"
        called = await host.call_tool("callPath", {"clientId": "app", "method": "GET", "path": path})
        assert called.structured_content == {"ok": True, "data": f"# {path}"}


async def test_path_with_parameters_becomes_a_skill_template() -> None:
    paths = skills("/users/:id/skill.md", "/users/me/skill.md")
    async with (
        drive_server() as drive,
        program(drive, registration("app", paths)) as client,
        Client(drive.mcp) as host,
    ):
        await until_listed(drive, "skill://app/users/me/SKILL.md")
        text = await read(host, "skill://app/users/42/SKILL.md")
        frontmatter = "name: '42'\ndescription: 'At /users/:id/skill.md.'"
        assert text == f"---\n{frontmatter}\n---\n\n# /users/42/skill.md"
        assert client.calls[-1]["params"] == {"id": "42"}
        templates = (await host.list_resource_templates()).resource_templates
        assert "skill://app/users/{id}/SKILL.md" in {each.uri_template for each in templates}
        assert drive.library.catalog.problems == ()
        for uri in (
            "skill://app/users/A/SKILL.md",
            "skill://app/users/42/other.md",
            "skill://app/x/42/SKILL.md",
        ):
            with pytest.raises(MCPError, match="no file is served at"):
                await read(host, uri)


@pytest.mark.parametrize("mode", ERAS)
async def test_path_with_parameters_is_offered_on_every_surface(mode: Any) -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("app", skills("/users/:id/skill.md"))),
        Client(drive.mcp, mode=mode) as host,
    ):
        await drive.until_library(lambda: bool(drive.library.catalog.templates))
        listed = text_of(await host.call_tool("load-skill", {"name": ""}))
        assert "<name>app/users/{id}</name>" in listed
        assert "<parameters>id: lowercase letters" in listed
        prompts = {prompt.name: prompt for prompt in (await host.list_prompts()).prompts}
        assert [each.name for each in prompts["app/users/{id}"].arguments or ()] == ["id"]
        for name in ("app/users/42", "/users/42/skill.md", "skill://app/users/42/SKILL.md"):
            assert text_of(await host.call_tool("load-skill", {"name": name})).endswith("/users/42/skill.md")
        (message,) = (await host.get_prompt("app/users/{id}", {"id": "42"})).messages
        assert message.content.resource.text.endswith("/users/42/skill.md")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        told = text_of(await host.call_tool("load-skill", {"name": "app/users/Not A Name"}))
        assert "in place of `{id}` in `app/users/{id}`" in told


@pytest.mark.parametrize("mode", ERAS)
async def test_paths_that_a_text_names_work_on_every_surface(mode: Any) -> None:
    paths = skills("/workspace/review/skill.md", "/workspace/review/files/skill.md")
    async with (
        drive_server() as drive,
        program(drive, registration("app", paths)),
        Client(drive.mcp, mode=mode) as host,
    ):
        uri = "skill://app/workspace/review/files/SKILL.md"
        await until_listed(drive, "skill://app/workspace/review/SKILL.md", uri)
        deeper = "/workspace/review/files/skill.md"  # as the text of the first skill names it
        for tool, arguments in (
            ("load-skill", {"name": deeper}),
            ("skill-resource", {"skill": "review", "path": deeper}),
            ("skill-resource", {"skill": "review", "path": "files/skill.md"}),
        ):
            assert text_of(await host.call_tool(tool, arguments)).endswith(f"# {deeper}")
        (message,) = (await host.get_prompt("skill", {"name": deeper})).messages
        assert message.content.resource.text.endswith(f"# {deeper}")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        assert (await read(host, uri)).endswith(f"# {deeper}")


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/users/:id/files/skill.md", "skill://my%3Aapp/users/{id}/files/SKILL.md"),
        ("/a/:user-id/skill.md", "skill://my%3Aapp/a/{p1_user_id}/SKILL.md"),
        ("/:1/:1a/SKILL.md", "skill://my%3Aapp/{p0_1}/{p1_1a}/SKILL.md"),
    ],
)
async def test_every_pattern_has_its_template(path: str, template: str) -> None:
    paths = [{"type": "skill", "path": path}]
    async with (
        drive_server() as drive,
        program(drive, registration("my:app", paths)) as client,
        Client(drive.mcp) as host,
    ):
        await drive.until_library(lambda: bool(drive.library.catalog.templates))
        (found,) = drive.library.catalog.templates
        assert found.uri == template
        uri = template
        for name in found.parameters:
            uri = uri.replace(f"{{{name}}}", "v")
        assert "# /" in await read(host, uri)
        assert set(client.calls[-1]["params"].values()) == {"v"}


@pytest.mark.parametrize("mode", ERAS)
async def test_a_program_that_fails_is_an_error_of_that_reading(mode: Any) -> None:
    failed = {"ok": False, "error": {"code": "handler_error", "message": "resolver exploded"}}
    async with (
        drive_server() as drive,
        program(drive, registration("app", skills("/a/skill.md")), lambda _: failed),
        Client(drive.mcp, mode=mode) as host,
    ):
        await until_listed(drive, "skill://app/a/SKILL.md")
        with pytest.raises(MCPError, match="resolver exploded"):
            await read(host, "skill://app/a/SKILL.md")


async def test_text_with_different_frontmatter_is_not_served() -> None:
    answers = {"/a/skill.md": "---\nname: other\ndescription: At /a/skill.md.\n---\n# A"}
    async with (
        drive_server() as drive,
        program(drive, registration("app", skills("/a/skill.md")), texts(answers)),
        Client(drive.mcp) as host,
    ):
        await until_listed(drive, "skill://app/a/SKILL.md")
        with pytest.raises(MCPError, match="its text has `name:` `other`, but it is listed with `a`"):
            await read(host, "skill://app/a/SKILL.md")
        assert (await drive.get("/skills/app/a")).text == answers["/a/skill.md"]


async def test_a_live_skill_has_no_other_file() -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("app", skills("/a/skill.md"))),
    ):
        await until_listed(drive, "skill://app/a/SKILL.md")
        (source,) = drive.library.sources
        (entry,) = drive.library.catalog.entries.values()
        (file,) = entry.files
        with pytest.raises(SourceError, match=r"no file but `SKILL\.md`"):
            await source.read(entry, type(file)("gone.md", file.mime_type))  # pyright: ignore[reportCallIssue]
        assert (await source.scan()).entries[0] is entry


async def test_flood_of_updates_causes_few_scans() -> None:
    number = 300
    async with drive_server() as drive, program(drive, registration("app", skills("/a/skill.md"))) as client:
        await until_listed(drive, "skill://app/a/SKILL.md")
        looks = 0

        def look(_: object) -> None:
            nonlocal looks
            looks += 1

        drive.library.listen(look)
        for at in range(number):
            paths = skills(*(f"/s{at}-{part}/skill.md" for part in range(20)))
            await client.say({"type": "updateClientCatalog", "clientId": "app", "paths": paths})
        last = {f"skill://app/s{number - 1}-{part}/SKILL.md" for part in range(20)}
        await drive.until_library(lambda: set(drive.library.catalog.entries) == last, "the last update")
        assert looks < number / 2


async def test_live_skill_is_refused_inside_a_static_skill() -> None:
    async def made() -> bytes:
        return b"now"

    fixed = MemorySource([MemorySkill("fixed", {"SKILL.md": skill_md("fixed")})])
    inner = {"SKILL.md": skill_md("inner"), "now.md": made}
    live = MemorySource(
        [
            MemorySkill("outer", {"SKILL.md": skill_md("outer"), "now.md": made}),
            MemorySkill("outer/inner", inner),
            MemorySkill("fixed/inner", inner),
        ],
        label="programs",
    )
    library = Library([fixed, live])
    catalog = await library.load()
    assert list(catalog.entries) == [
        "skill://fixed/SKILL.md",
        "skill://outer/SKILL.md",
        "skill://outer/inner/SKILL.md",
        "skill://programs/fixed/inner/SKILL.md",  # the complete list of `fixed` has no room for it
    ]
    assert (await library.read("skill://outer/inner/SKILL.md")).content == inner["SKILL.md"]


@pytest.mark.parametrize(("client", "spelled"), [("billing", "billing"), ("my:app", "my%3Aapp")])
async def test_template_does_not_match_inside_a_static_skill(client: str, spelled: str) -> None:
    hub = Hub()
    fixed = MemorySource([MemorySkill(f"{client}/refunds", {"SKILL.md": skill_md("refunds")})])
    library = Library([fixed, DriveSource(hub)])
    session = hub.connect(Connection(Mode.WEBSOCKET))
    await hub.receive(session, registration(client, skills("/refunds/:id/skill.md", "/free/:id/skill.md")))
    catalog = await library.load()
    assert catalog.serves(f"skill://{spelled}/free/42/SKILL.md")
    assert catalog.serves(f"skill://{spelled}/refunds/SKILL.md")
    inside = f"skill://{spelled}/refunds/42/SKILL.md"
    assert not catalog.serves(inside)
    with pytest.raises(NotServedError):
        await library.read(inside)


@pytest.mark.parametrize(
    "description",
    [
        "Plain.",
        'With "quotes" and: colons',
        "# not a comment",
        "two\nlines\n\nthree",
        "naïve ☕ \u202e",
        "- x",
    ],
)
def test_the_listed_frontmatter_equals_that_of_the_document(description: str) -> None:
    contents: list[Json] = ["text", "---\n\nA line of dashes begins no frontmatter.", {"a": [1]}, ""]
    for data in contents:
        content = document("skill-1", description, data)
        assert content.startswith(minimal_frontmatter("skill-1", description))
        found = read_document(content, "skill-1/SKILL.md", "skill-1")
        assert dict(found.frontmatter or {}) == {"name": "skill-1", "description": description}
        assert found.is_servable


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("# T\n\npara one\nline two\n\nmore", "para one line two"),
        ("Title\n=====\n\nBelow.", "Title"),
        ("# T\nright below", "right below"),
        ("# T\r\n\r\nwindows\r\nlines\r\n", "windows lines"),
        ("```sh\ncode\n```\n\nText.", "Text."),
        ("```sh\ncode\n\nmore code\n```\nText.", "Text."),
        ("~~~~\n~~~\n\n~~~~~\n\nText.", "Text."),
        ("#hashtag\nis text", "#hashtag is text"),
        ("---\n\nText.", "Text."),
        ("", ""),
        ("# Only\n\n## Headings", ""),
    ],
)
def test_a_description_is_the_first_paragraph_that_is_no_heading(text: str, description: str) -> None:
    assert description_in(text) == description

"""Skills under another scheme: the answers are those of `skill://` with other URIs, and nothing else changes.

Most tests compare two servers of one library. The expected answer is computed by replacing text, without
knowing where URIs stand in it.
"""

import base64
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import Library, LiveSkill, MemorySource, ServeOptions, Skill, Skills, SkillServer, attach
from skillwire.contract import ContractOptions
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.errors import InvalidValueError, NotServedError
from skillwire.host import Report, SkillsClient, verify_server
from skillwire.protocol.claims import Dialect
from skillwire.server import Channel, PromptContent, skills_server
from skillwire.server.serve_options import all_features
from skillwire.sources import MemorySkill
from tests.support.cached_answers import ServerPair, both, headers_for, modern
from tests.support.clients import ERAS, ask, skill, text_of
from tests.support.listening import listening
from tests.support.peers import VERSIONS, HttpPeer, HttpServer, Peer, StdioPeer, skillwire
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

PREFIX = "github://owner/repo/"
GITHUB: dict[str, Any] = {"scheme": "github", "authority": "owner/repo"}
SECOND = 1_000_000_000
REFUNDS = f"{PREFIX}acme/refunds/SKILL.md"
POLICY = f"{PREFIX}acme/refunds/references/policy.md"
EVERYTHING: dict[str, Any] = {
    "archives": True,
    "legacy_uris": True,
    "additions": [ContractOptions(tolerant=True)],
}

in_both_eras = pytest.mark.parametrize("mode", ERAS)
BLOCK = (
    f"{BLOCK_KEY}:\n  id: governed\n  version: 1.0.0\n  capabilities: [resource://skills/governed/document]\n"
)


def source() -> MemorySource:
    """Return skills of several kinds. No text in them has a URI."""
    files = {"references/policy.md": b"# Policy\n", "with space.md": b"x\n", "logo.png": bytes(range(256))}
    return MemorySource(
        [
            skill("acme/refunds", "metadata:\n  team: billing\n", files),
            skill("outer", files={"notes.md": b"outer\n"}),
            skill("outer/inner"),
            skill("one/twin"),
            skill("two/twin"),
            skill("secret", "disable-model-invocation: true\n"),
            skill("governed", BLOCK),
            *(skill(f"many/skill-{number:03}") for number in range(120)),
        ]
    )


def in_code() -> Skills:
    """Return skills with a prompt of their own, live, and from a template."""
    refunds = Skill("refunds", "---\nname: refunds\ndescription: Refunds.\n---\nRead it.\n")
    with_policy = refunds.with_path("acme/refunds").with_reference(
        "references/policy.md", "text/markdown", "# Policy\n"
    )
    guide = LiveSkill(
        "docs/{product}/guide",
        lambda request: f"# {request.params['product']}\n",
        description="Guides.",
        values={"product": ["anvil", "rocket"]},
    )
    daily = LiveSkill("reports/daily", lambda _request: "# Today\n", description="Reports.")
    return Skills().add(with_policy, prompt="start_refund").add(daily).add(guide)


def renamed(value: Any) -> Any:
    """Return a JSON value with every `skill://` replaced, except in the fixed URI of the draft index."""
    text = json.dumps(value).replace("skill://", PREFIX).replace(f"{PREFIX}index.json", "skill://index.json")
    return json.loads(text)


async def answer(client: Client, method: str, **params: object) -> Any:
    try:
        return await ask(client, method, **params)
    except MCPError as error:
        return {"code": error.error.code, "message": error.error.message, "data": error.error.data}


@asynccontextmanager
async def compared(mode: Any, **options: Any) -> AsyncGenerator[Any]:
    """Yield a function that asks both servers, sees that they agree, and returns the answer."""
    library = Library([source()])
    await library.load()
    plain = skills_server(library, options=ServeOptions(**options))
    other = skills_server(library, options=ServeOptions(**options, **GITHUB))
    async with Client(plain, mode=mode) as known, Client(other, mode=mode) as client:

        async def same(method: str, **params: Any) -> Any:
            expected, got = (
                await answer(known, method, **params),
                await answer(client, method, **renamed(params)),
            )
            for each in (expected, got):
                each.pop("nextCursor", None)
            assert got == renamed(expected), method
            return got

        assert client.instructions == renamed(known.instructions)
        assert "many/skill-" not in PREFIX
        yield same


# Every method


@in_both_eras
async def test_every_list_and_file_differs_only_in_its_uris(mode: Any) -> None:
    async with compared(mode, **EVERYTHING) as same:
        listed = (await same("skills/list"))["skills"]
        assert len(listed) == 100
        assert listed[0]["uri"] == REFUNDS
        for entry in listed[:8]:
            inner = entry["uri"].replace(PREFIX, "skill://")
            assert (await same("skills/get", uri=inner))["skill"] == entry
            for each in entry["resources"]:
                content = (await same("resources/read", uri=each["uri"].replace(PREFIX, "skill://")))[
                    "contents"
                ][0]
                assert content["uri"] == each["uri"]
                raw = content["text"].encode() if "text" in content else base64.b64decode(content["blob"])
                assert (f"sha256:{hashlib.sha256(raw).hexdigest()}", len(raw)) == (
                    each["digest"],
                    each["size"],
                )
        for method in ("resources/list", "resources/templates/list", "prompts/list", "tools/list"):
            assert await same(method)
        for folder in ("acme", "acme/refunds", "acme/refunds/references", "outer", "many"):
            listing = await same("resources/directory/read", uri=f"skill://{folder}")
            assert listing["resources"][0]["uri"].startswith(f"{PREFIX}{folder}/")


@in_both_eras
@pytest.mark.parametrize(
    "uri",
    [
        "skillwire://problems",
        "skill://index.json",
        "resource://catalog/skills_index",
        "resource://skills/governed/document",
    ],
)
async def test_documents_keep_their_uris(mode: Any, uri: str) -> None:
    async with compared(mode, **EVERYTHING) as same:
        (content,) = (await same("resources/read", uri=uri))["contents"]
        assert content["uri"] == uri
        if uri == "skill://index.json":
            urls = [each["url"] for each in json.loads(content["text"])["skills"]]
            assert urls[0] == REFUNDS
            assert f"{PREFIX}acme/refunds.tar.gz" in urls
            assert all(url.startswith(PREFIX) for url in urls)


@in_both_eras
@pytest.mark.parametrize(
    "path",
    [
        "acme/refunds/_manifest",
        "acme/refunds/with space.md",
        "acme/refunds.tar.gz",
        "acme/refunds.zip",
        "refunds",
        "refunds/",
        "outer/inner/SKILL.md",
        "nothing/SKILL.md",
        "acme/refunds",
        "acme/refunds/../refunds/SKILL.md",
        "",
    ],
)
async def test_unlisted_and_unserved_uris_are_translated(mode: Any, path: str) -> None:
    async with compared(mode, **EVERYTHING) as same:
        read = await same("resources/read", uri=f"skill://{path}")
        assert "skill://" not in json.dumps(read)
        await same("skills/get", uri=f"skill://{path}")
        await same("resources/directory/read", uri=f"skill://{path}")


async def test_archive_has_the_bytes_of_the_files() -> None:
    library = Library([source()])
    await library.load()
    server = skills_server(library, options=ServeOptions(archives=True, **GITHUB))
    async with Client(server) as client:
        read = await ask(client, "resources/read", uri=f"{PREFIX}acme/refunds.tar.gz")
    with tarfile.open(
        fileobj=io.BytesIO(gzip.decompress(base64.b64decode(read["contents"][0]["blob"])))
    ) as packed:
        found = packed.extractfile("references/policy.md")
        assert found is not None
        assert found.read() == b"# Policy\n"


@in_both_eras
@pytest.mark.parametrize("channel", list(Channel))
@pytest.mark.parametrize("content", list(PromptContent))
async def test_tools_and_prompts_differ_only_in_their_uris(mode: Any, channel: Channel, content: Any) -> None:
    async with compared(mode, channel=channel, prompt_content=content) as same:
        for arguments in (
            {"name": "refunds"},
            {"name": ""},
            {"skill": ""},
            {"name": "twin"},
            {"name": "nothing"},
            {"name": "secret"},
            {"name": "skill://acme/refunds/SKILL.md"},
            {"name": "skill://acme/refunds/references/policy.md"},
            {"name": "skill://nothing/SKILL.md"},
            {"name": "skill://secret/SKILL.md"},
            {"name": 7},
        ):
            for tool in ("load-skill", "skill"):
                await same("tools/call", name=tool, arguments=arguments)
        for path in ("", "references", "references/policy.md", "logo.png", "none", "skill://outer/notes.md"):
            for name in ("refunds", "skill://acme/refunds/SKILL.md", "skill://nothing"):
                await same("tools/call", name="skill-resource", arguments={"skill": name, "path": path})
        for name, arguments in (
            ("refunds", {}),
            ("skill", {"name": "one/twin"}),
            ("skill", {"name": "skill://acme/refunds/SKILL.md"}),
            ("skill", {"name": "skill://nothing"}),
            ("nothing", {}),
        ):
            await same("prompts/get", name=name, arguments=arguments)
        template = {"type": "ref/resource", "uri": "skill://{+skill}/{+file}"}
        done = await same("completion/complete", ref=template, argument={"name": "skill", "value": "acme"})
        assert done["completion"]["values"] == ["acme/refunds"]
        context = {"arguments": {"skill": "acme/refunds"}}
        argument = {"name": "file", "value": "ref"}
        done = await same("completion/complete", ref=template, argument=argument, context=context)
        assert done["completion"]["values"] == ["references/policy.md"]
        await same(
            "completion/complete",
            ref={"type": "ref/prompt", "name": "skill"},
            argument={"name": "name", "value": "re"},
        )


@pytest.mark.parametrize(
    ("typed", "start"),
    [
        (f"{PREFIX}acme", PREFIX),
        (f"{PREFIX}docs/an", PREFIX),
        (PREFIX, PREFIX),
        ("github://", PREFIX),
        ("github://owner/re", PREFIX),
        ("skill://acme", "skill://"),
        ("skill://docs/an", "skill://"),
        ("ref", ""),
        ("github://other/", None),
    ],
)
async def test_name_completes_as_typed_and_loads(typed: str, start: str | None) -> None:
    server = SkillServer("s", options=ServeOptions(**GITHUB)).add(in_code())
    async with Client(server.build()) as client:
        done = await ask(
            client,
            "completion/complete",
            ref={"type": "ref/prompt", "name": "skill"},
            argument={"name": "name", "value": typed},
        )
        values = done["completion"]["values"]
        assert bool(values) == (start is not None)
        for value in values:
            assert value.startswith(start)
            if typed.endswith(("acme", "an", "ref")):
                assert (await client.get_prompt("skill", {"name": value})).messages


@in_both_eras
async def test_every_page_of_a_list_can_be_reached(mode: Any) -> None:
    library = Library([source()])
    await library.load()
    async with Client(skills_server(library, options=ServeOptions(**GITHUB)), mode=mode) as client:
        for method, key, more in (
            ("skills/list", "skills", {}),
            ("resources/list", "resources", {}),
            ("resources/directory/read", "resources", {"uri": f"{PREFIX}many"}),
        ):
            first = await ask(client, method, **more)
            second = await ask(client, method, **more, cursor=first["nextCursor"])
            assert "nextCursor" not in second
            uris = [each["uri"] for each in (*first[key], *second[key])]
            assert len(set(uris)) == len(uris) > 100


@in_both_eras
async def test_texts_of_authors_are_never_changed(mode: Any) -> None:
    body = "See skill://one/twin/SKILL.md and <location>skill://x</location>.\n"
    described = "description: Like skill://other/SKILL.md, <location>skill://x</location>.\n"
    metadata = 'metadata:\n  uri: "skill://mine"\nuri: "skill://mine"\nurl: "skill://mine"\n'
    written = skill("quotes", described + metadata, {"uri.json": b'{"uri": "skill://mine"}\n'}, body)
    library = Library([MemorySource([written])])
    await library.load()
    plain, other = (skills_server(library, options=ServeOptions(**each)) for each in ({}, GITHUB))
    main = f"{PREFIX}quotes/SKILL.md"
    async with Client(plain, mode=mode) as known, Client(other, mode=mode) as client:
        (entry,), (theirs,) = [(await ask(each, "skills/list"))["skills"] for each in (client, known)]
        assert entry["frontmatter"] == theirs["frontmatter"]
        assert entry["frontmatter"]["uri"] == "skill://mine"
        read = (await ask(client, "resources/read", uri=main))["contents"][0]["text"]
        assert read.encode() == written.files["SKILL.md"]
        loaded = await client.call_tool("load-skill", {"name": main})
        assert text_of(loaded).encode() == written.files["SKILL.md"]
        file = await client.call_tool("skill-resource", {"skill": "quotes", "path": "uri.json"})
        assert text_of(file) == '{"uri": "skill://mine"}\n'
        listed = text_of(await client.call_tool("load-skill", {"name": ""}))
        assert "Like skill://other/SKILL.md, &lt;location&gt;skill://x&lt;/location&gt;." in listed
        assert f"<location>{main}</location>" in listed
        resource = (await ask(client, "resources/list"))["resources"][0]
        assert resource["description"].startswith("Like skill://other/SKILL.md")
        index = json.loads(
            (await ask(client, "resources/read", uri="skill://index.json"))["contents"][0]["text"]
        )
        assert index["skills"][0]["frontmatter"] == entry["frontmatter"]
        assert index["skills"][0]["url"] == main


@in_both_eras
async def test_skills_have_only_one_uri(mode: Any) -> None:
    library = Library([source()])
    await library.load()
    async with Client(skills_server(library, options=ServeOptions(**GITHUB)), mode=mode) as client:
        for method, uri in (
            ("skills/get", "skill://acme/refunds/SKILL.md"),
            ("resources/read", "skill://acme/refunds/SKILL.md"),
            ("resources/directory/read", "skill://acme/refunds"),
            ("skills/get", "github://owner/other/acme/refunds/SKILL.md"),
            ("resources/read", "GITHUB://owner/repo/acme/refunds/SKILL.md"),
            ("resources/read", f"{PREFIX}index.json"),
            ("resources/read", "github://owner/repo"),
        ):
            got = await answer(client, method, uri=uri)
            assert (got["code"], got["data"]) == (-32602, {"uri": uri})
            assert ("begin with `github://owner/repo/`" in got["message"]) is uri.startswith("skill://")
        # The text of a skill may still use the other form, which models then repeat.
        loaded = await client.call_tool("load-skill", {"name": "skill://acme/refunds/SKILL.md"})
        assert text_of(loaded).startswith("---\nname: refunds\n")


@in_both_eras
async def test_what_a_person_types_into_a_prompt_stays(mode: Any) -> None:
    document = "---\nname: look\ndescription: Looks.\narguments: [path]\n---\nLook at $path.\n"
    library = Library([MemorySource([MemorySkill("look", {"SKILL.md": document.encode()})])])
    await library.load()
    async with Client(skills_server(library, options=ServeOptions(**GITHUB)), mode=mode) as client:
        (message,) = (await client.get_prompt("look", {"path": REFUNDS})).messages
        assert f"Look at {REFUNDS}." in str(message.content)
        named = {"name": f"{PREFIX}look/SKILL.md", "arguments": REFUNDS}
        (message,) = (await client.get_prompt("skill", named)).messages
        assert f"Look at {REFUNDS}." in str(message.content)


@in_both_eras
async def test_skills_in_code_have_translated_prompts_and_templates(mode: Any) -> None:
    server = SkillServer("code", options=ServeOptions(**GITHUB)).add(in_code())
    plain = SkillServer("code").add(in_code())
    async with Client(server.build(), mode=mode) as client, Client(plain.build(), mode=mode) as known:
        for method, params in (
            ("prompts/list", {}),
            ("prompts/get", {"name": "start_refund"}),
            ("resources/templates/list", {}),
            ("skills/list", {}),
            ("skills/get", {"uri": "skill://docs/anvil/guide/SKILL.md"}),
            ("resources/read", {"uri": "skill://docs/anvil/guide/SKILL.md"}),
            ("resources/read", {"uri": "skill://reports/daily/SKILL.md"}),
            (
                "tools/call",
                {"name": "load-skill", "arguments": {"name": "skill://docs/rocket/guide/SKILL.md"}},
            ),
            (
                "completion/complete",
                {
                    "ref": {"type": "ref/resource", "uri": "skill://docs/{product}/guide/SKILL.md"},
                    "argument": {"name": "product", "value": "a"},
                },
            ),
        ):
            expected = await answer(known, method, **params)
            assert await answer(client, method, **renamed(params)) == renamed(expected), method
        listed = await client.list_prompts()
        started = next(each for each in listed.prompts if each.name == "start_refund")
        assert started.meta == {"dev.skillwire/skill": REFUNDS, "dev.skillwire/resources": [REFUNDS, POLICY]}
    assert (await server.list_resources())[0]["uri"] == REFUNDS
    assert (await server.read(POLICY))[0]["text"] == "# Policy\n"
    with pytest.raises(NotServedError):
        await server.read("skill://acme/refunds/SKILL.md")


# Hosts


@in_both_eras
@pytest.mark.parametrize("left_out", [(), ("extension", "directory")], ids=["final", "draft"])
async def test_our_host_verifies_the_same_skills_on_every_dialect(
    mode: Any, left_out: tuple[str, ...]
) -> None:
    library = Library([source()])
    await library.load()
    reports: list[Report] = []
    for options in (ServeOptions(archives=True), ServeOptions(archives=True, **GITHUB)):
        offered = [each for each in all_features(library, options) if each.name not in left_out]
        async with Client(skills_server(library, features=offered), mode=mode) as client:
            reports.append(await verify_server(SkillsClient(client), drafts=True))
    plain, other = reports
    assert other.dialect is plain.dialect is (Dialect.DRAFT_B if left_out else Dialect.FINAL)
    assert other.outcome() == plain.outcome()
    assert [each.rule for each in other.found.kept] == [each.rule for each in plain.found.kept]
    assert len(plain.skills) == len(library.catalog.entries)
    assert [(renamed(each.uri), each.files, each.size, each.integrity) for each in plain.skills] == [
        (each.uri, each.files, each.size, each.integrity) for each in other.skills
    ]
    assert all(each.good for each in other.skills)


# Notifications


@in_both_eras
@pytest.mark.parametrize("frozen", [False, True])
async def test_subscribers_are_notified_under_the_uri_they_know(mode: Any, *, frozen: bool) -> None:
    content = source()
    library = Library([content], frozen=frozen)
    await library.load()
    server = skills_server(library, options=ServeOptions(**GITHUB))
    index = "skill://index.json"
    async with listening(server, mode, [REFUNDS, POLICY, index]) as (_, heard):
        content.put(skill("acme/refunds", files={"references/policy.md": b"# New\n"}))
        await heard.until(REFUNDS, POLICY, index)
        assert not any(each.startswith("skill://acme") for each in heard.all)


async def test_subscribing_and_unsubscribing_need_the_uri_that_is_served() -> None:
    library = Library([source()])
    await library.load()
    async with Client(skills_server(library, options=ServeOptions(**GITHUB)), mode="legacy") as client:
        refused = await answer(client, "resources/subscribe", uri="skill://acme/refunds/SKILL.md")
        assert refused["message"] == "nothing is served at `skill://acme/refunds/SKILL.md`"
        await ask(client, "resources/subscribe", uri=REFUNDS)
        assert set(library.subscribed_uris) == {"skill://acme/refunds/SKILL.md"}
        await ask(client, "resources/unsubscribe", uri=REFUNDS)
        assert not library.subscribed_uris
        await ask(client, "resources/subscribe", uri=REFUNDS)
    assert not library.subscribed_uris


async def test_a_stream_acknowledges_only_uris_that_can_be_served() -> None:
    library = Library([source()])
    await library.load()
    server = skills_server(library, options=ServeOptions(**GITHUB))
    async with (
        Client(server) as client,
        client.listen(resource_subscriptions=[REFUNDS, "skill://acme/refunds/SKILL.md"]) as events,
    ):
        assert events is not None
        assert set(library.subscribed_uris) == {"skill://acme/refunds/SKILL.md"}
        source_of = library.sources[0]
        assert isinstance(source_of, MemorySource)
        source_of.put(skill("acme/refunds", "description: New.\n"))
        with anyio.fail_after(20):
            async for event in events:
                assert getattr(event, "uri", REFUNDS) == REFUNDS
                break


# Response cache


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("scheme")
    write_skill(root, "acme/refunds", {"references/policy.md": "# Policy\n", "blob.bin": bytes(range(256))})
    for number in range(120):
        write_skill(root, f"many/skill-{number:03}")
    return root


@pytest.fixture(scope="module")
def pair(tree: Path) -> Generator[ServerPair]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -SECOND)
        with both(tree, ServeOptions(**GITHUB)) as served:
            for pipes in (served.with_cache, served.without):
                pipes.ask(json.dumps(modern("server/discover")).encode())
            yield served


@pytest.mark.parametrize(
    ("message", "cached"),
    [
        (modern("skills/list"), True),
        (modern("skills/get", uri=REFUNDS), True),
        (modern("resources/read", uri=REFUNDS), True),
        (modern("resources/read", uri=POLICY), True),
        (modern("resources/read", uri=f"{PREFIX}acme/refunds/blob.bin"), True),
        (modern("resources/read", uri="skill://acme/refunds/SKILL.md"), False),
        (modern("skills/get", uri="skill://acme/refunds/SKILL.md"), False),
        (modern("resources/read", uri=f"{PREFIX}nothing"), False),
        (modern("resources/read", uri="skill://index.json"), False),
        (modern("resources/read", uri=f"{PREFIX}index.json"), False),
        (modern("resources/read", uri="skillwire://problems"), False),
    ],
    ids=lambda each: each["params"].get("uri", "list") if not isinstance(each, bool) else None,
)
def test_cached_answers_equal_uncached_ones(
    pair: ServerPair, message: dict[str, Any], *, cached: bool
) -> None:
    line = json.dumps(message).encode()
    expected = pair.without.ask(line)
    before = pair.response_cache.answered
    for _ in range(3):  # computed, computed and stored, stored
        assert pair.with_cache.ask(line) == expected
    assert (pair.response_cache.answered > before) is cached
    headers = headers_for(message)
    status, _, body = pair.posts_without.post(headers, line)
    for _ in range(2):
        assert pair.posts_with_cache.post(headers, line)[::2] == (status, body)


def test_a_changed_file_is_not_answered_from_the_cache(pair: ServerPair, tree: Path) -> None:
    line = json.dumps(modern("resources/read", uri=POLICY)).encode()
    before = [pair.with_cache.ask(line)["result"]["contents"][0]["text"] for _ in range(3)]
    (tree / "acme/refunds/references/policy.md").write_text("# Changed policy\n")
    after = pair.with_cache.ask(line)
    assert before == ["# Policy\n"] * 3
    assert after["result"]["contents"][0]["text"] == "# Changed policy\n"
    assert after == pair.without.ask(line)


# The command, as a process


@contextmanager
def served(transport: str, version: str, skills: Path, *options: str) -> Generator[Peer]:
    arguments = (skills, "--no-config", *options)
    if transport == "stdio":
        with StdioPeer(version, skillwire("serve", *arguments)) as peer:
            yield peer
        return
    with HttpServer(*arguments, "--http", "127.0.0.1:0") as server:
        peer = HttpPeer(version, server.url)
        yield peer
        peer.close()


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("authority", "prefix"), [("owner/repo/skills", "github://owner/repo/skills/")])
def test_the_command_serves_under_the_scheme(
    transport: str, version: str, authority: str, prefix: str, tree: Path
) -> None:
    options = ("--scheme", "github", "--authority", authority, "--archives")
    with served(transport, version, tree, *options) as peer:
        entry = peer.result("skills/list")["skills"][0]
        assert entry["uri"] == f"{prefix}acme/refunds/SKILL.md"
        for each in entry["resources"]:
            for _ in range(3):
                (content,) = peer.result("resources/read", {"uri": each["uri"]})["contents"]
                assert content["uri"] == each["uri"]
        assert peer.result("skills/get", {"uri": entry["uri"]})["skill"] == entry
        assert f"<location>{entry['uri']}</location>" in peer.handshake["instructions"]
        shown = peer.result("tools/call", {"name": "skill-display", "arguments": {"skill": entry["uri"]}})
        assert shown["structuredContent"]["skill"]["uri"] == entry["uri"]
        assert entry["uri"] in shown["content"][0]["text"]
        assert "skill://" not in json.dumps(shown)
        missing = peer.error("resources/read", {"uri": f"{prefix}nothing/SKILL.md"})
        assert missing["data"] == {"uri": f"{prefix}nothing/SKILL.md"}


def test_a_page_changes_visibility_by_the_uri_it_shows(tree: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    options = ("--config", str(config), "--allow-config", "--scheme", "docs")
    with StdioPeer(VERSIONS[0], skillwire("serve", tree, *options)) as peer:
        refunds = "docs://acme/refunds/SKILL.md"
        arguments = {"uri": refunds, "assistant": False}
        done = peer.result("tools/call", {"name": "skill-config-visibility", "arguments": arguments})
        assert done["isError"] is False, done
        shown = peer.result("tools/call", {"name": "skill-display", "arguments": {"skill": refunds}})
        assert shown["structuredContent"]["skill"]["assistant"] is False
        unknown = {**arguments, "uri": "docs://nothing/SKILL.md"}
        refused = peer.result("tools/call", {"name": "skill-config-visibility", "arguments": unknown})
        assert "there is no skill `docs://nothing/SKILL.md`" in refused["content"][0]["text"]
    assert '"skill://acme/refunds/SKILL.md"' in config.read_text()


def test_without_an_authority_the_path_follows_the_scheme(tree: Path) -> None:
    with served("stdio", VERSIONS[0], tree, "--scheme", "docs") as peer:
        assert peer.result("skills/list")["skills"][0]["uri"] == "docs://acme/refunds/SKILL.md"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--scheme", "file"], "the scheme `file` names files of the client's machine"),
        (["--scheme", "https"], "the scheme `https` is fetched from the network by clients"),
        (["--scheme="], "`--scheme=` has no value"),
        (["--scheme", "github", "--authority", "a b"], "the authority `a b` is not a path of letters"),
        (["--scheme", "github", "--authority="], "`--authority=` has no value"),
        (["--authority", "owner/repo"], "the authority `owner/repo` has no scheme; name one"),
    ],
)
def test_the_command_refuses_a_wrong_scheme(options: list[str], told: str, tree: Path) -> None:
    with StdioPeer(VERSIONS[0], skillwire("serve", tree, "--no-config", *options)) as peer:
        assert peer.process.wait(timeout=30) == 2
    assert told in peer.stderr()


# Servers that skills are attached to


@in_both_eras
async def test_attached_skills_share_a_scheme_with_the_server(mode: Any) -> None:
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - only here

    server = MCPServer[Any]("domain", log_level="ERROR")

    @server.resource("github://owner/repo/README.md")
    def readme() -> str:
        return "theirs"

    @server.resource("skill://theirs/page")
    def page() -> str:
        return "their page"

    assert all(map(callable, (readme, page)))
    attach(server, in_code(), options=ServeOptions(**GITHUB))
    async with Client(server, mode=mode) as client:
        assert (await ask(client, "skills/list"))["skills"][0]["uri"] == REFUNDS
        uris = [str(each.uri) for each in (await client.list_resources()).resources]
        assert {"github://owner/repo/README.md", "skill://theirs/page", REFUNDS} <= set(uris)
        for uri, text in (
            ("github://owner/repo/README.md", "theirs"),
            ("skill://theirs/page", "their page"),
            (POLICY, "# Policy\n"),
        ):
            (block,) = (await client.read_resource(uri)).contents
            assert getattr(block, "text", None) == text
        assert f"<location>{REFUNDS}</location>" in (client.instructions or "")
        with pytest.raises(MCPError):
            await client.read_resource("skill://acme/refunds/SKILL.md")


async def test_fastmcp_servers_refuse_another_scheme() -> None:
    from fastmcp import FastMCP  # noqa: PLC0415 - only here

    with pytest.raises(InvalidValueError, match="the scheme `github` cannot be changed on a FastMCP server"):
        attach(FastMCP("x"), in_code(), options=ServeOptions(**GITHUB))
